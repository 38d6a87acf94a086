// SPDX-License-Identifier: BSD-3-Clause
// The results of the RPCs of one command, delivered once as plain data.
#pragma once

#include <cstdint>
#include <functional>
#include <variant>
#include <vector>

#include "lib/selftest/console/console_node.hpp"

namespace plnet::selftest {

enum class TransactionKind : std::uint8_t {
  kMakeSession,    // MAKE_SESSION
  kRemoveSession,  // REMOVE_SESSION
  kPing,           // DEBUG
  kAddServers,     // TEST to servers: if it fails, clients have got no TEST
  kAddClients,     // TEST to clients
  kRun,            // BATCH
  kStop,
  kQueryClients,
  kQueryServers,  // sent to the clients, too, as in the kernel
  kStat,          // STAT
};

// The data of a reply beyond its status. Of a node that refuses a session: the session that it has.
struct PingSeen {
  std::uint32_t timeout_s = 0;
  Name session_name{};
};
struct QuerySeen {
  std::uint32_t active = 0;  // tests of a batch, units of a test
};
struct StatSeen {
  FrameworkCounters framework;
  RpcCounters rpc;
  LnetCounters lnet;
};

struct NodeResult {
  lnet::ProcessId id;
  NodeState state = NodeState::kUnknown;  // after this RPC
  // 0: a reply came, and the fields below describe it. ETIMEDOUT; EINTR: ended early, by a timeout
  // too short to judge, by cancel(), or before it was sent; ESHUTDOWN: the session ended; else the
  // error of the network.
  int rpc_errno = 0;
  // The status in the reply: an errno of Linux, 0 is success. `refused` shows whether it is a
  // failure.
  std::uint32_t status = 0;
  bool refused = false;  // a framework error: the status is a failure for this kind of RPC
  SessionId session;     // the node's present session
  Instant when;          // end of the RPC
  // Data of a ping, a query, or a stat whose status is 0; of a session that is refused with EBUSY.
  std::variant<std::monostate, PingSeen, QuerySeen, StatSeen> seen;
};

struct TransactionResult {
  TransactionKind kind = TransactionKind::kPing;
  std::vector<NodeResult> nodes;  // all nodes of the command, in the order of the group
  std::uint32_t rpcs_failed = 0;  // no reply
  std::uint32_t refused = 0;      // a reply with a framework error
  int rpc_errno = 0;              // the first one
  int framework_errno = 0;        // the first one
  // 0, or the reason for an end before all replies: ETIMEDOUT, EINTR, ESHUTDOWN.
  int ended_errno = 0;
  std::uint32_t features = 0;  // of the session at the end

  // Pings: counts of the states in the replies. Queries: running and idle.
  std::uint32_t active = 0;
  std::uint32_t busy = 0;
  std::uint32_t unknown = 0;
  std::uint32_t running = 0;
  std::uint32_t idle = 0;

  [[nodiscard]] std::uint32_t total() const { return static_cast<std::uint32_t>(nodes.size()); }
  [[nodiscard]] std::uint32_t succeeded() const { return total() - rpcs_failed - refused; }
};

// Called once, from within Console::poll() and never from within a command.
using WhenDone = std::move_only_function<void(TransactionResult)>;

// Identifies a pending transaction, for cancel().
using TransactionId = std::uint64_t;

}  // namespace plnet::selftest
