// SPDX-License-Identifier: BSD-3-Clause
// What has come of the RPCs of one command, told once, as plain data.
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
  kAddServers,     // TEST to servers: clients have not been asked if it is this that fails
  kAddClients,     // TEST to clients
  kRun,            // BATCH
  kStop,
  kQueryClients,
  kQueryServers,  // asks the same nodes, as the kernel does
  kStat,          // STAT
};

// What a reply carried beyond its status.
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
  NodeState state = NodeState::kUnknown;  // after it
  // 0: a reply came, and all that follows says what was in it. ETIMEDOUT; EINTR: given up before
  // that, by a timeout too short to judge, by cancel(), or before it was sent; ESHUTDOWN: the
  // session ended; else what the network said.
  int rpc_errno = 0;
  // As the reply says: an errno of Linux, 0 is good. See `refused` for whether it is a failure.
  std::uint32_t status = 0;
  bool refused = false;  // a framework error: for this kind of RPC that status is a failure
  SessionId session;     // which the node has now
  Instant when;          // it ended
  // Of a ping, a query, or a stat whose status is 0.
  std::variant<std::monostate, PingSeen, QuerySeen, StatSeen> seen;
};

struct TransactionResult {
  TransactionKind kind = TransactionKind::kPing;
  std::vector<NodeResult> nodes;  // all that an RPC was for, in the order of the group
  std::uint32_t rpcs_failed = 0;  // no reply
  std::uint32_t refused = 0;      // a reply with a framework error
  int rpc_errno = 0;              // the first of them
  int framework_errno = 0;        // the first of them
  // 0, or why it ended before all replies were there: ETIMEDOUT, EINTR, ESHUTDOWN.
  int ended_errno = 0;
  std::uint32_t features = 0;  // of the session at the end

  // Of pings: by what the replies say. Of queries: running and idle.
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

// Names a pending transaction, for cancel().
using TransactionId = std::uint64_t;

}  // namespace plnet::selftest
