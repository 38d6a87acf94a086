// SPDX-License-Identifier: BSD-3-Clause
// The node's activity of the last seconds: rates, duty cycles and the causes of drops that grow.
// Made of samples of counters, one a second. Owned by the admin thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string_view>
#include <vector>

#include "lib/base/clock.hpp"
#include "lib/lnet/move/statistics.hpp"

namespace plnet::node {

struct ShardActivity {
  std::uint64_t busy_nsec = 0;
  std::uint64_t idle_nsec = 0;
  std::uint64_t asleep_nsec = 0;
  std::uint64_t messages = 0;  // sent, received and forwarded, and tokens of the exchange
};

// Counters as they were at one moment. Without LNet those of LNet are 0.
struct ActivitySample {
  Instant at{};
  std::vector<ShardActivity> shards;
  std::uint64_t sent = 0;  // messages
  std::uint64_t received = 0;
  std::uint64_t forwarded = 0;
  std::uint64_t dropped = 0;
  std::uint64_t bytes = 0;  // payload sent, received and forwarded
  std::array<std::uint64_t, lnet::LnetCauses::kInfo.size()> causes{};
};

struct ActivityRates {
  double seconds = 0;  // the time that they are of; 0: there are not two samples yet
  double sent = 0;     // a second
  double received = 0;
  double forwarded = 0;
  double dropped = 0;
  double bytes = 0;
};

// A cause of lost messages that has grown.
struct GrowingCause {
  lnet::Cause cause{};
  std::uint64_t lately = 0;  // messages in RecentActivity::kDropWindow
  std::uint64_t ever = 0;
};

class RecentActivity {
 public:
  static constexpr Duration kPeriod = std::chrono::seconds(1);
  // Long enough to smooth bursts, short enough to be called "now".
  static constexpr Duration kRateWindow = std::chrono::seconds(5);
  // Drops are rare: the last ones still show a minute later.
  static constexpr Duration kDropWindow = std::chrono::minutes(1);
  // A sample a period and one more; a late timer leaves fewer.
  static constexpr auto kSamplesMax = static_cast<std::size_t>(kDropWindow / kPeriod + 2);

  void take(ActivitySample sample);

  [[nodiscard]] ActivityRates rates() const;
  // The share of its time, 0 to 1, that the shard's poller spent on work. Before the second sample:
  // since the start.
  [[nodiscard]] double duty(std::size_t shard) const;
  // Working time for each message; 0 if there was none.
  [[nodiscard]] double nsec_per_message(std::size_t shard) const;
  // The largest first.
  [[nodiscard]] std::vector<GrowingCause> growing_causes() const;

 private:
  [[nodiscard]] const ActivitySample* sample_before(Duration window) const;
  [[nodiscard]] ShardActivity grown(std::size_t shard) const;

  std::deque<ActivitySample> samples_;  // oldest first
};

// True: a message counted under this cause went no further. False: it waited or took another way.
[[nodiscard]] bool is_loss(lnet::Cause cause);

}  // namespace plnet::node
