// SPDX-License-Identifier: BSD-3-Clause
// The reports of a node for `lnetctl`: copies of one moment, as plain values. The core fills them
// in, lib/runtime/lnet prints them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/clock.hpp"
#include "lib/base/result.hpp"
#include "lib/lnet/api/parameters.hpp"
#include "lib/lnet/names/nid.hpp"
#include "lib/lnet/node/node_config.hpp"
#include "lib/lnet/peers/health.hpp"
#include "lib/lnet/peers/net_interface.hpp"

namespace plnet::lnet {

// The detail of a report: `-v 0` to `-v 4` of lnetctl.
inline constexpr int kReportLevelMax = 4;

struct TrafficReport {
  std::uint32_t send_count = 0;
  std::uint32_t recv_count = 0;
  std::uint32_t drop_count = 0;
};

// Messages by type.
struct MessageCounts {
  std::uint32_t put = 0;
  std::uint32_t get = 0;
  std::uint32_t reply = 0;
  std::uint32_t ack = 0;
  std::uint32_t hello = 0;
};

struct MessageReport {
  MessageCounts sent;
  MessageCounts received;
  MessageCounts dropped;
};

// The values that policies (UDSP) give an interface.
struct PolicyReport {
  std::uint32_t net_priority = kPriorityLowest;
  std::uint32_t nid_priority = kPriorityLowest;
  std::vector<Nid> preferred_gateways;
  std::vector<Nid> preferred_sources;
};

struct NiHealthReport {
  std::int32_t fatal_error = 0;
  std::int32_t health_value = kHealthMax;
  std::uint32_t interrupts = 0;
  std::uint32_t dropped = 0;
  std::uint32_t aborted = 0;
  std::uint32_t no_route = 0;
  std::uint32_t timeouts = 0;
  std::uint32_t error = 0;
  std::uint32_t ping_count = 0;
  std::int64_t next_ping = 0;  // in seconds; 0: none is due
};

// The queue of an NI on one CPT.
struct TxQueueReport {
  std::uint16_t cpt = 0;
  std::int32_t references = 0;
  std::int32_t credits_max = 0;
  std::int32_t credits = 0;
  std::int32_t credits_min = 0;
};

struct NiReport {
  Nid nid;
  bool up = true;
  std::string down_cause;            // the cause if it is not up
  std::uint32_t status_changes = 0;  // since it exists
  std::vector<std::string> interfaces;
  TrafficReport traffic;
  PolicyReport policy;
  MessageReport messages;
  NiHealthReport health;
  NiTunables tunables;
  std::vector<LndTunable> lnd_tunables;  // in the order of printing
  std::string driver;                    // the driver of `parameters`: "ksocklnd"
  std::vector<LndTunable> parameters;    // all present values, under the kernel's names
  std::uint16_t device_cpt = 0;
  std::vector<std::uint16_t> cpts;       // all that it uses, listed
  std::vector<TxQueueReport> tx_queues;  // of these, in order
  std::int64_t since_alive_s =
      -1;  // since the last message on its network; -1: the node does not route
};

// The first net is lo, whose only NI is 0@lo.
struct NetReport {
  NetId net = 0;
  std::vector<NiReport> nis;
};

struct PeerNiHealthReport {
  std::int32_t health_value = kHealthMax;
  std::uint32_t dropped = 0;
  std::uint32_t timeout = 0;
  std::uint32_t error = 0;
  std::uint32_t network_timeout = 0;
  std::uint32_t ping_count = 0;
  std::int64_t next_ping = 0;
};

enum class Aliveness : std::uint8_t {
  kUnknown,  // "NA": nobody asks, since this node is no router
  kUp,
  kDown,
};
[[nodiscard]] constexpr std::string_view name_of(Aliveness state) {
  return state == Aliveness::kUnknown ? "NA" : state == Aliveness::kUp ? "up" : "down";
}

struct PeerNiReport {
  Nid nid;
  Aliveness state = Aliveness::kUnknown;
  std::optional<Errc> trouble{};     // it cannot be connected
  std::optional<Duration> silent{};  // then: time since its last message, if any
  std::string state_cause{};         // the same in words
  std::int32_t max_ni_tx_credits = 0;
  std::int32_t available_tx_credits = 0;
  std::int32_t min_tx_credits = 0;
  std::uint64_t tx_q_num_of_buf = 0;
  std::int32_t available_rtr_credits = 0;
  std::int32_t min_rtr_credits = 0;
  std::int32_t refcount = 0;
  TrafficReport traffic;
  PolicyReport policy;
  MessageReport messages;
  PeerNiHealthReport health;
};

struct PeerReport {
  Nid primary;
  bool multi_rail = false;
  std::uint32_t state = 0;        // PeerState
  std::vector<PeerNiReport> nis;  // the primary first
};

// A change of a route, newest first in its report.
struct RouteChangeReport {
  Duration ago{};
  bool up = false;
  std::string cause;
};

struct RouteReport {
  RouteConfig route;
  bool up = false;
  bool single_hop = true;
  std::uint64_t changes = 0;  // ever
  std::vector<RouteChangeReport> last_changes;
  std::uint32_t answers_wanted = 0;  // checks to answer, before it is used again after it flapped

  // Why it is down: "" if it is up, or if no check has judged it yet.
  [[nodiscard]] std::string down_cause() const {
    return up || last_changes.empty() ? std::string() : last_changes.front().cause;
  }
};

// Interfaces under recovery.
struct RecoveryReport {
  std::vector<Nid> local;  // of this node, without full health
  std::vector<Nid> peers;  // peer NIs that are down or lack health, and are pinged
};

// A node that routes lead through.
struct GatewayReport {
  Nid primary;
  std::uint32_t references = 0;  // of the peer: its networks, and its use as a gateway
  std::uint32_t routes = 0;
  bool up = false;  // it answers, and an NI on each of its networks is up
  bool checking = false;
  std::optional<Duration> since_checked{};
};

struct BufferPoolReport {
  std::int32_t pages = 0;
  std::int32_t buffers = 0;
  std::int32_t credits = 0;
  std::int32_t credits_min = 0;
  // Not in the kernel; since the start or `stats reset`.
  std::uint64_t used_max = 0;
  std::uint64_t waited = 0;  // messages
};

// A start, stop or drain that is under way, or a drain that has ended.
struct RoutingChangeReport {
  std::string phase;
  std::int64_t seconds_least = 0;  // of a stop, if no message is held
  std::int64_t seconds_left = 0;   // at most
  bool is_drain = false;           // else only `held` is known
  std::uint32_t peers = 0;         // peers that can be told
  std::uint32_t acknowledged = 0;
  std::uint32_t by_ping = 0;  // peers that learn of it by their pings
  std::uint64_t held = 0;     // forwarded messages that are here
  std::uint64_t cut_off = 0;  // messages held when the time was over
  std::uint64_t unsent = 0;   // bytes that have left LNet, but not this machine
};

// A resource that messages wait for because there is too little of it.
struct StarvingReport {
  std::string of;  // in the words of the log
  unsigned cpt = 0;
  unsigned shard = 0;
  std::uint64_t waited = 0;  // messages at the time of the last log line
  std::string most;          // the one that has most of it, or waits most; "" if none stands out
  std::string more;          // the cause, and the command that changes it
};

struct RoutingReport {
  struct OfCpt {
    BufferPoolReport tiny;
    BufferPoolReport small;
    BufferPoolReport large;
  };
  std::vector<OfCpt> cpts;
  bool configured = false;  // configured to route, in any present state
  RoutingState state = RoutingState::kDisabled;
  std::optional<RoutingChangeReport> change;
  std::vector<StarvingReport> starving;
  BuffersConfig buffers;  // of the whole node
};

// `stats show`: X(name), in its order.
#define PLNET_STATISTICS_REPORT(X) \
  X(msgs_alloc)                    \
  X(msgs_max)                      \
  X(rst_alloc)                     \
  X(errors)                        \
  X(send_count)                    \
  X(resend_count)                  \
  X(response_timeout_count)        \
  X(local_interrupt_count)         \
  X(local_dropped_count)           \
  X(local_aborted_count)           \
  X(local_no_route_count)          \
  X(local_timeout_count)           \
  X(local_error_count)             \
  X(remote_dropped_count)          \
  X(remote_error_count)            \
  X(remote_timeout_count)          \
  X(network_timeout_count)         \
  X(failed_resends)                \
  X(successful_resends)            \
  X(recv_count)                    \
  X(route_count)                   \
  X(drop_count)                    \
  X(send_length)                   \
  X(recv_length)                   \
  X(route_length)                  \
  X(drop_length)

struct StatisticsReport {
#define PLNET_X(name) std::uint64_t name = 0;
  PLNET_STATISTICS_REPORT(PLNET_X)
#undef PLNET_X
};

// The answer of a node to a ping, or the result of discovery; without 0@lo.
struct RemoteNode {
  std::optional<Nid> primary;  // absent: not in the peer table
  bool multi_rail = false;
  std::vector<Nid> nids;
};

struct PingBurst {
  std::uint32_t sent = 0;
  std::uint32_t answered = 0;
  std::uint32_t failed = 0;
  Duration least{};  // round trips of those answered
  Duration average{};
  Duration most{};
};

struct PingReport {
  Nid asked;
  Outcome<RemoteNode> answer;  // of a burst: the last one
  std::optional<PingBurst> burst;
};

}  // namespace plnet::lnet
