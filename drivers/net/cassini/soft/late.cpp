// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/cassini/soft/late.hpp"

#include <algorithm>

#include "lib/base/check.hpp"
#include "lib/base/random.hpp"

namespace plnet::cassini::soft {

unsigned Late::take() {
  PLNET_CHECK(room(), "asked before");
  const unsigned flight = free_.back();
  free_.pop_back();
  flights_[flight] = Flight{};
  flights_[flight].used = true;
  return flight;
}

void Late::give_back(unsigned flight) {
  PLNET_CHECK(flights_[flight].used, "a flight ends once");
  flights_[flight].used = false;
  free_.push_back(flight);
}

void Late::schedule(unsigned flight, Flight::Stage stage, std::uint64_t at_ns) {
  due_.push({at_ns, order_++, flight, stage});
}

std::uint64_t Late::in_order(const Message& message, std::uint64_t at_ns) {
  if (message.restricted) return at_ns;  // no connection, no order
  const std::uint64_t to = std::uint64_t{message.destination} << 32 |
                           std::uint64_t{message.pid} << 16 | std::uint64_t{message.index} << 8 |
                           message.traffic_class;
  const std::uint64_t from = std::uint64_t{message.source} << 16 | message.vni;
  std::uint64_t& last =
      last_arrival_[SplitMix64(to ^ SplitMix64(from).next()).next() % kConnections];
  last = std::max(last, at_ns);
  return last;
}

unsigned Late::pop(std::uint64_t now_ns) {
  if (due_.empty() || due_.top().at_ns > now_ns) return kNone;
  const Due next = due_.top();
  due_.pop();
  flights_[next.flight].stage = next.stage;
  return next.flight;
}

}  // namespace plnet::cassini::soft
