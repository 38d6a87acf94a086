// SPDX-License-Identifier: BSD-3-Clause
// The counters of a poller, and figures derived from them.
#pragma once

#include "lib/base/counters.hpp"

namespace plnet::runtime {

#define PLNET_POLLER_COUNTERS(X)                                                      \
  X(kTurns, "turns", "turns", kCount, "passes over the list of devices")              \
  X(kTurnsWithWork, "turns_with_work", "turns", kCount, "turns that found work")      \
  X(kWork, "work", "pieces", kCount, "pieces of work that devices reported")          \
  X(kBusyNsec, "busy_nsec", "nsec", kCount, "time in turns that found work")          \
  X(kIdleNsec, "idle_nsec", "nsec", kCount, "time in turns that found none")          \
  X(kAsleepNsec, "asleep_nsec", "nsec", kCount, "time in the kernel, asleep")         \
  X(kLongestTurnNsec, "longest_turn_nsec", "nsec", kHighWater, "the longest turn")    \
  X(kLongTurns, "long_turns", "turns", kCount, "turns over the limit")                \
  X(kSleeps, "sleeps", "sleeps", kCount, "waits for a wake-up")                       \
  X(kSleepsRefused, "sleeps_refused", "sleeps", kCount,                               \
    "waits refused: the kernel could not fence the other shards")                     \
  X(kNaps, "naps", "naps", kCount, "short waits: some device cannot wake the shard")  \
  X(kWakesByDoorbell, "wakes_by_doorbell", "wakes", kCount, "woken by another shard") \
  X(kWakesByDescriptor, "wakes_by_descriptor", "wakes", kCount, "woken by a device")  \
  X(kWakesByTimer, "wakes_by_timer", "wakes", kCount, "woken by a deadline")          \
  X(kHopsIn, "hops_in", "hops", kCount, "objects taken from other shards")            \
  X(kHopsOut, "hops_out", "hops", kCount, "objects handed to other shards")           \
  X(kRemoteBuffers, "remote_buffers", "buffers", kCount,                              \
    "buffers touched that lie on another NUMA node")                                  \
  X(kTokens, "tokens", "tokens", kCount, "tokens of the exchange handled")            \
  X(kInvoluntarySwitches, "involuntary_switches", "switches", kCount,                 \
    "times the kernel took the CPU away (looked up once a second)")                   \
  X(kCommands, "commands", "commands", kCount, "orders of the admin thread")

PLNET_COUNTERS(PollerTable, PLNET_POLLER_COUNTERS);

using PollerCounter = PollerTable::Id;
using PollerCounters = Counters<PollerTable>;

}  // namespace plnet::runtime
