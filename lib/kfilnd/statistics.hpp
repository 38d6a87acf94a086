// SPDX-License-Identifier: BSD-3-Clause
// The durations of transactions and of their states, by payload size, as the kernel shows them in
// debugfs: kfilnd/<nid>/initiator_stats, initiator_state_stats, target_stats, target_state_stats,
// reset_stats (lustre-release lnet/klnds/kfilnd/kfilnd_debugfs.c).
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

#include "lib/base/clock.hpp"
#include "lib/kfilnd/transaction.hpp"

namespace plnet::kfilnd {

// Labels 0, 1, 2, 4 … 1 MiB. A size belongs to the greatest label that is not above it.
inline constexpr std::size_t kSizeBuckets = 22;
[[nodiscard]] constexpr std::size_t bucket_of(std::uint32_t bytes) {
  return std::min<std::size_t>(static_cast<std::size_t>(std::bit_width(bytes)), kSizeBuckets - 1);
}
[[nodiscard]] constexpr std::uint32_t label_of(std::size_t bucket) {
  return bucket == 0 ? 0 : 1U << (bucket - 1);
}

struct DurationStatistics {
  std::uint64_t count = 0;
  std::uint64_t sum_ns = 0;
  std::uint64_t min_ns = 0;
  std::uint64_t max_ns = 0;

  [[nodiscard]] std::uint64_t average_ns() const { return count == 0 ? 0 : sum_ns / count; }
  void add(Duration duration) {
    const auto ns = static_cast<std::uint64_t>(std::max<std::int64_t>(0, duration.count()));
    min_ns = count == 0 ? ns : std::min(min_ns, ns);
    max_ns = std::max(max_ns, ns);
    sum_ns += ns;
    ++count;
  }
};

// The columns of *_state_stats.
inline constexpr auto kStateColumns = std::to_array<TransactionState>({
    TransactionState::kIdle,
    TransactionState::kWaitTagComp,
    TransactionState::kImmSend,
    TransactionState::kTaggedRecvPosted,
    TransactionState::kSendFailed,
    TransactionState::kWaitComp,
    TransactionState::kWaitTimeoutComp,
    TransactionState::kWaitSendComp,
    TransactionState::kWaitTimeoutTagComp,
    TransactionState::kFail,
    TransactionState::kImmRecv,
    TransactionState::kWaitTagRmaComp,
});

// One side: transactions of ours, or of peers. Written by its shard alone; another thread reads it
// between two turns.
class SideStatistics {
 public:
  void add_total(std::uint32_t bytes, Duration duration) {
    totals_[bucket_of(bytes)].add(duration);
  }
  void add_state(std::uint32_t bytes, TransactionState state, Duration duration) {
    states_[bucket_of(bytes)][static_cast<std::size_t>(state)].add(duration);
  }
  [[nodiscard]] const DurationStatistics& total(std::size_t bucket) const {
    return totals_[bucket];
  }
  [[nodiscard]] const DurationStatistics& state(std::size_t bucket, TransactionState state) const {
    return states_[bucket][static_cast<std::size_t>(state)];
  }
  void reset() { *this = {}; }

 private:
  std::array<DurationStatistics, kSizeBuckets> totals_{};
  std::array<std::array<DurationStatistics, kTransactionStates>, kSizeBuckets> states_{};
};

struct Statistics {
  SideStatistics initiator;
  SideStatistics target;
};

// Tables for reports, with the kernel's order of columns and rows. Cold.
[[nodiscard]] std::string total_table(const SideStatistics& side);
[[nodiscard]] std::string state_table(const SideStatistics& side);

}  // namespace plnet::kfilnd
