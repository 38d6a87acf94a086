// SPDX-License-Identifier: BSD-3-Clause
// The counters of lnet-traffic on each shard; `lnetctl counters show` prints them as well.
#pragma once

#include "lib/base/counters.hpp"

namespace plnet::traffic {

#define PLNET_TRAFFIC_COUNTERS(X)                                                                \
  X(kBegun, "begun", "operations", kCount, "PUTs and GETs begun")                                \
  X(kAnswered, "answered", "operations", kCount, "of these, ended with an ACK or REPLY")         \
  X(kFailed, "failed", "operations", kCount, "of these, ended without an answer")                \
  X(kAbandoned, "abandoned", "operations", kCount, "of these, under way when LNet went down")    \
  X(kUnderWay, "under_way", "operations", kGauge, "of these, not ended yet")                     \
  X(kWrong, "wrong_replies", "operations", kCount, "GETs that returned wrong data")              \
  X(kBytes, "answered_bytes", "bytes", kCount, "payload of answered operations")                 \
  X(kDelivered, "delivered", "messages", kCount, "PUTs of other nodes delivered completely")     \
  X(kTwice, "delivered_twice", "messages", kCount, "of these, delivered before")                 \
  X(kCorrupt, "delivered_corrupt", "messages", kCount, "of these, with wrong data or length")    \
  X(kUntracked, "delivered_untracked", "messages", kCount, "of these, of runs beyond the limit") \
  X(kBroken, "broken", "messages", kCount, "PUTs of other nodes that failed during receipt")     \
  X(kServed, "served", "messages", kCount, "GETs of other nodes")

PLNET_COUNTERS(TrafficTable, PLNET_TRAFFIC_COUNTERS);
using TrafficCounters = Counters<TrafficTable>;
using TrafficId = TrafficTable::Id;

}  // namespace plnet::traffic
