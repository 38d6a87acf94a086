// SPDX-License-Identifier: BSD-3-Clause
// Counters of a shard's RPC engine: the rpc block of a STAT reply, and further ones.
#pragma once

#include "lib/base/counters.hpp"
#include "lib/selftest/srpc_wire.hpp"

namespace plnet::selftest {

// clang-format off
#define PLNET_RPC_COUNTERS(X)                                                                                  \
  X(kErrors, "errors", "events", kCount, "operations on the network that failed")                              \
  X(kSent, "rpcs_sent", "rpcs", kCount, "requests that were sent")                                             \
  X(kReceived, "rpcs_received", "rpcs", kCount, "requests that arrived, valid or not")                             \
  X(kDropped, "rpcs_dropped", "rpcs", kCount, "requests that got no reply, or whose reply failed")             \
  X(kExpired, "rpcs_expired", "rpcs", kCount, "requests of this node that timed out")                           \
  X(kInDoubt, "rpcs_in_doubt", "rpcs", kCount, "requests of this node ended by the failure of an NI on their path") \
  X(kBulkGot, "bulk_get", "bytes", kCount, "pulled from clients")                                              \
  X(kBulkPut, "bulk_put", "bytes", kCount, "pushed to clients")                                                \
  X(kMalformed, "requests_malformed", "rpcs", kCount, "dropped: length, magic or type of the request")         \
  X(kWaited, "requests_waited", "rpcs", kCount, "requests that waited because all RPC descriptors were in use") \
  X(kStalled, "rpcs_stalled", "rpcs", kCount, "ended: they did not move, and other peers waited")               \
  X(kUnposted, "buffers_unposted", "buffers", kCount, "request buffers that could not be posted at once")
// clang-format on

PLNET_COUNTERS(RpcCounterTable, PLNET_RPC_COUNTERS);
using RpcStatistics = Counters<RpcCounterTable>;
using RpcCount = RpcCounterTable::Id;

// Most of them have 32 bits on the wire and wrap there.
inline void add_to(RpcCounters& sum, const RpcStatistics& one) {
  sum.errors += static_cast<std::uint32_t>(one.get(RpcCount::kErrors));
  sum.sent += static_cast<std::uint32_t>(one.get(RpcCount::kSent));
  sum.received += static_cast<std::uint32_t>(one.get(RpcCount::kReceived));
  sum.dropped += static_cast<std::uint32_t>(one.get(RpcCount::kDropped));
  sum.expired += static_cast<std::uint32_t>(one.get(RpcCount::kExpired));
  sum.bulk_got += one.get(RpcCount::kBulkGot);
  sum.bulk_put += one.get(RpcCount::kBulkPut);
}

}  // namespace plnet::selftest
