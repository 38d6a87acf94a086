// SPDX-License-Identifier: BSD-3-Clause
#include "node/net/tcp/place.hpp"

#include <algorithm>

namespace plnet::node {

TcpPlace::TcpPlace(const drivers::TcpConfig& config)
    : streams_max_(config.connections_max), streams_(config.connections_max) {}

Outcome<std::unique_ptr<TcpPlace>> TcpPlace::open(const drivers::TcpConfig& config) {
  std::unique_ptr<TcpPlace> place(new TcpPlace(config));
  auto device = drivers::TcpDevice::open(config, place->streams_);
  if (!device) return std::unexpected(device.error());
  place->device_ = std::move(*device);
  place->streams_.set_driver(*place->device_);
  return place;
}

TcpPlace::~TcpPlace() {
  PLNET_CHECK(inbox_.lnds().empty(), "LNDs are destroyed before their sockets");
  inbox_.discard_all();
}

std::uint64_t TcpPlace::open_streams() const {
  return device_->counters().value(static_cast<std::size_t>(drivers::TcpTable::Id::kOpen));
}

bool TcpPlace::quiet() const {
  return inbox_.lnds().empty() && !listening_ && open_streams() == 0 && inbox_.empty();
}

unsigned TcpPlace::poll(Instant now) {
  if (quiet()) return 0;
  const std::uint64_t open = open_streams();
  const std::size_t room = open < streams_max_ ? streams_max_ - open : 0;
  unsigned work = inbox_.take_arrivals(kTakenPerTurn, room);
  work += inbox_.collect_lane_notes();
  work += device_->poll(now);
  if (acceptor_ != nullptr) work += acceptor_->flush(now);
  return work;
}

Instant TcpPlace::next_deadline() const {
  if (!inbox_.empty()) return Instant::min();
  const Instant own = device_->next_deadline();
  return acceptor_ == nullptr ? own : std::min(own, acceptor_->next_deadline());
}

}  // namespace plnet::node
