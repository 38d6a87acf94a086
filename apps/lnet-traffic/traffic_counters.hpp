// SPDX-License-Identifier: BSD-3-Clause
// What lnet-traffic counts on each shard; `lnetctl counters show` prints it as well.
#pragma once

#include "lib/base/counters.hpp"

namespace plnet::traffic {

#define PLNET_TRAFFIC_COUNTERS(X)                                                                 \
  X(kBegun, "begun", "operations", kCount, "PUTs and GETs that we began")                         \
  X(kAnswered, "answered", "operations", kCount, "of them, that ended with an ACK or REPLY")      \
  X(kFailed, "failed", "operations", kCount, "of them, that ended without")                       \
  X(kAbandoned, "abandoned", "operations", kCount, "of them, that were out when LNet went down")  \
  X(kUnderWay, "under_way", "operations", kGauge, "of them, that have not ended")                 \
  X(kWrong, "wrong_replies", "operations", kCount, "GETs that brought other bytes than asked")    \
  X(kBytes, "answered_bytes", "bytes", kCount, "payload of those answered")                       \
  X(kDelivered, "delivered", "messages", kCount, "PUTs of others that came in whole")             \
  X(kTwice, "delivered_twice", "messages", kCount, "of them, that had come before")               \
  X(kCorrupt, "delivered_corrupt", "messages", kCount, "of them, with other bytes or length")     \
  X(kUntracked, "delivered_untracked", "messages", kCount, "of more runs than are kept apart")    \
  X(kBroken, "broken", "messages", kCount, "PUTs of others that broke off, their sender is told") \
  X(kServed, "served", "messages", kCount, "GETs of others")

PLNET_COUNTERS(TrafficTable, PLNET_TRAFFIC_COUNTERS);
using TrafficCounters = Counters<TrafficTable>;
using TrafficId = TrafficTable::Id;

}  // namespace plnet::traffic
