// SPDX-License-Identifier: BSD-3-Clause
// `lnetctl ping` and `lnetctl discover`: a limited number of requests at a time, a queue for the
// rest, and an answer in bounded time.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "lib/lnet/node/lnet_control.hpp"
#include "node/host/lnet_desk.hpp"

namespace plnet::node {

class LnetPings {
 public:
  // Limits of requests at a time, of one order and of all. The coordinator has more slots, since
  // discovery needs some, too.
  static constexpr std::size_t kAtATime = lnet::PingOrder::kWindowMax;
  static constexpr std::size_t kAllAtATime = 2 * kAtATime;
  // A burst ends early after this many timeouts in a row.
  static constexpr std::uint32_t kSilentMax = 8;

  explicit LnetPings(LnetDesk& desk) : desk_(desk) {}

  void ping(lnet::PingOrder order, lnet::Reply<std::vector<lnet::PingReport>> reply);
  // A NID that is not discovered within `bound` is reported as a failure.
  void discover(lnet::DiscoverOrder order, Duration bound,
                lnet::Reply<std::vector<lnet::PingReport>> reply);
  // LNet goes down: the requests in the queue fail.
  void shut_down();

 private:
  struct Course;
  struct Batch;
  struct Ping;
  struct Discover;
  struct Next {
    std::shared_ptr<Batch> batch;
    std::size_t index = 0;
  };

  void begin(const std::shared_ptr<Batch>& batch, Duration bound);
  [[nodiscard]] bool may_start(const Batch& batch) const;
  void start_waiting();
  void start(const Next& next);
  void ended(const Next& next, Outcome<lnet::RemoteNode> answer, Duration round_trip = {});
  static void set_answer(Batch& batch, std::size_t index, Outcome<lnet::RemoteNode> answer);

  LnetDesk& desk_;
  std::deque<Next> waiting_;
  std::size_t out_ = 0;
};

}  // namespace plnet::node
