// SPDX-License-Identifier: BSD-3-Clause
// Counters of a fault driver beside the counts of each rule: faults by kind.
#pragma once

#include "lib/base/counters.hpp"

namespace plnet::drivers {

// The first ten in the order of enum Fault.
#define PLNET_FAULT_COUNTERS(X)                                                         \
  X(kDrop, "drop", "faults", kCount, "drops drawn")                                     \
  X(kDelay, "delay", "faults", kCount, "delays drawn")                                  \
  X(kDuplicate, "duplicate", "faults", kCount, "duplicates drawn")                      \
  X(kReorder, "reorder", "faults", kCount, "reorderings drawn")                         \
  X(kTruncate, "truncate", "faults", kCount, "truncations drawn")                       \
  X(kCorrupt, "corrupt", "faults", kCount, "corruptions drawn")                         \
  X(kStall, "stall", "faults", kCount, "stalls drawn")                                  \
  X(kReset, "reset", "faults", kCount, "resets drawn")                                  \
  X(kFail, "fail", "faults", kCount, "failures drawn")                                  \
  X(kSplit, "split", "faults", kCount, "splits drawn")                                  \
  X(kSkipped, "skipped", "faults", kCount, "drawn, but could not be applied just then") \
  X(kDiscarded, "discarded", "messages", kCount, "held messages that ended with their peer")

PLNET_COUNTERS(FaultTable, PLNET_FAULT_COUNTERS);
using FaultStats = Counters<FaultTable>;

}  // namespace plnet::drivers
