// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-traffic/seen.hpp"

#include "lib/base/check.hpp"

namespace plnet::traffic {

std::size_t Seen::row_of(std::uint64_t run) {
  PLNET_CHECK(run != 0, "a run has a name");
  for (std::size_t row = 0; row < kRunsMax; ++row) {
    std::uint64_t owner = runs_[row].load(std::memory_order_acquire);
    if (owner == 0 && runs_[row].compare_exchange_strong(owner, run, std::memory_order_acq_rel)) {
      return row;
    }
    if (owner == run) return row;
  }
  return kRunsMax;
}

Seen::Verdict Seen::note(std::uint64_t run, std::uint64_t sequence) {
  const std::size_t row = row_of(run);
  if (row == kRunsMax) return Verdict::kUntracked;
  const auto round = static_cast<std::uint32_t>(sequence / kKept) + 1;
  auto& place = (*rows_)[row][sequence % kKept];
  return place.exchange(round, std::memory_order_acq_rel) == round ? Verdict::kAgain
                                                                   : Verdict::kFirst;
}

}  // namespace plnet::traffic
