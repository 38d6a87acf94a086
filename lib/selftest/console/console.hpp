// SPDX-License-Identifier: BSD-3-Clause
// The console of LNet's selftest: names groups of nodes, describes tests in batches, runs and stops
// them, collects their counters. One session at a time. Each method is a request of `lst` to the
// kernel, under the same name; parsing of command lines and printing are elsewhere.
//
// Commands that need no RPC answer at once. Others start a transaction: one RPC for each node
// concerned, all at the same time. Its end is reported once, with the result of each RPC. A refusal
// means that nothing has been sent and nothing changed. Timeouts are in seconds, as given by users;
// values out of range are clamped as in the kernel.
//
// A batch is stopped in two steps: stop(), and then query() once per second until its result shows
// that nothing is running. The caller does this, since it prints a line for each step.
//
// Everything is on one shard. Polled after LNet, like SelftestNode; both may run on one node, even
// on one shard. To end: end_session() and optionally wait; close() and poll until closed().
// Behaviour checked against lustre-release 2.17.57 lnet/selftest/{conctl,console,conrpc}.c.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "lib/base/pollable.hpp"
#include "lib/lnet/api/data_operations.hpp"
#include "lib/selftest/console/console_node.hpp"
#include "lib/selftest/console/console_session.hpp"
#include "lib/selftest/console/join_service.hpp"
#include "lib/selftest/console/limits.hpp"
#include "lib/selftest/console/pinger.hpp"
#include "lib/selftest/console/refusal.hpp"
#include "lib/selftest/console/test_spec.hpp"
#include "lib/selftest/console/transaction_result.hpp"
#include "lib/selftest/console/transaction_runner.hpp"
#include "lib/selftest/rpc_counters.hpp"
#include "lib/selftest/work_memory.hpp"

namespace plnet::selftest {

struct ConsoleSetup {
  // RPCs under way; further ones wait for one to end. Best is one for each node: an RPC to a dead
  // node returns only when LNet gives it up. Each takes up to three MDs and two MEs.
  std::size_t rpcs = 1024;
  std::size_t lists = 128;  // lists of destinations under way, 4 KiB each: clients that get a TEST
                            // at the same time
  std::size_t join_buffers = 64;  // JOIN requests
  // Wall-clock time at the start: later than that of any earlier run of the node. See RpcIds.
  std::uint64_t unix_seconds = 0;
  unsigned shards = 1;  // of the node
  Instant start{};
};

struct NewSession {
  std::string name;
  std::uint32_t key = 0;  // of the user's shell; stored only
  std::uint32_t features = kFeaturesKnown;
  std::uint32_t timeout_s = kConsoleTimeoutS;  // limit of time without commands. 0: the default
  bool force = false;                          // nodes and this console drop another session for it
  lnet::Nid nid;                               // the local NID that the session is named after
};
struct SessionInfo {
  SessionId id;
  std::string name;
  std::uint32_t key = 0;
  std::uint32_t features = 0;  // of the nodes, after the first answer
  std::uint32_t timeout_s = 0;
  bool force = false;
  std::uint32_t nodes = 0;
};

struct GroupInfo {
  std::string name;
  StateCounts nodes;
};

// The nodes of a command.
struct WholeSession {};
struct OfGroup {
  std::string name;
};
struct OfBatch {
  std::string name;
  bool servers = false;
};
using OfNodes = std::vector<lnet::ProcessId>;
using PingTarget = std::variant<WholeSession, OfGroup, OfBatch, OfNodes>;
using StatTarget = std::variant<OfGroup, OfNodes>;

class Console final : public Pollable, JoinJudge {
 public:
  Console(lnet::DataOperations& operations, const ConsoleSetup& setup, WorkMemory& memory);
  ~Console() override;
  [[nodiscard]] static std::size_t memory_bytes(const ConsoleSetup& setup);

  // Accepts JOIN requests from now on.
  void open();
  // Pending transactions end with ESHUTDOWN, the session is dropped; no node is informed.
  void close();
  [[nodiscard]] bool closed() const;

  // --- Sessions ---

  // kExists: a session exists, and `force` is not set. With `force` the old one is ended first, and
  // the result has the RPCs of that end; otherwise it has none. kProtocol: unknown features.
  [[nodiscard]] Answer<TransactionId> new_session(const NewSession& session, WhenDone when_done);
  // The session ends whatever the nodes answer. Until then other commands are refused with
  // kShuttingDown; other transactions end at once with ESHUTDOWN. Clients that may be running are
  // first stopped by force and get kHaltTimeout to end.
  [[nodiscard]] Answer<TransactionId> end_session(WhenDone when_done);
  [[nodiscard]] Answer<SessionInfo> show_session();
  // The same, without resetting the session's timeout.
  [[nodiscard]] std::optional<SessionInfo> session() const;
  // Seconds until the session ends if no command comes; 0: there is none.
  [[nodiscard]] std::uint32_t session_left_s() const;

  // --- Groups: kBusy while a test uses them or another command changes them ---

  [[nodiscard]] Answer<void> add_group(std::string_view name);
  // Sends MAKE_SESSION to the nodes that are not ACTIVE. All of them are in the group afterwards,
  // whatever they answered; present members are skipped. kInvalid: a wildcard among them.
  [[nodiscard]] Answer<TransactionId> add_nodes(std::string_view group,
                                                std::span<const lnet::ProcessId> nodes,
                                                WhenDone when_done);
  // Sends MAKE_SESSION to the members that are not ACTIVE.
  [[nodiscard]] Answer<TransactionId> refresh_group(std::string_view name, WhenDone when_done);
  // Sends REMOVE_SESSION to those of the nodes that are ACTIVE and in no other group. They leave
  // the group, and an empty group is deleted.
  [[nodiscard]] Answer<TransactionId> remove_nodes(std::string_view group,
                                                   std::span<const lnet::ProcessId> nodes,
                                                   WhenDone when_done);
  // The same as removing all its nodes.
  [[nodiscard]] Answer<TransactionId> del_group(std::string_view name, WhenDone when_done);
  // Removes nodes in these states, and the group if it is empty then. Nothing is sent.
  [[nodiscard]] Answer<void> clean_group(std::string_view name, NodeStates states);
  [[nodiscard]] Answer<std::vector<std::string>> list_groups();
  [[nodiscard]] Answer<GroupInfo> group_info(std::string_view name);
  [[nodiscard]] Answer<std::vector<NodeInfo>> group_nodes(std::string_view name,
                                                          NodeStates states = kAllStates);

  // --- Batches: a new session has one named "batch" ---

  [[nodiscard]] Answer<void> add_batch(std::string_view name);
  [[nodiscard]] Answer<std::vector<std::string>> list_batches();
  [[nodiscard]] Answer<BatchInfo> batch_info(std::string_view name);
  // Tests are numbered from 1 on.
  [[nodiscard]] Answer<TestInfo> test_info(std::string_view batch, std::uint32_t test);
  // `test` 0: nodes of all tests of the batch.
  [[nodiscard]] Answer<std::vector<NodeInfo>> batch_nodes(std::string_view batch,
                                                          std::uint32_t test, bool servers,
                                                          NodeStates states = kAllStates);
  // Sends TEST to all of `to`; if all of them accept, TEST to all of `from`. The result is that of
  // the last phase. The test is in the batch afterwards, even if nodes failed, so that users can
  // inspect it. kInvalid: see judge(); the batch is running; a group without ACTIVE nodes; more
  // span than servers. kNodeInactive: a node is not ACTIVE. kNotPermitted: the batch is being
  // changed.
  [[nodiscard]] Answer<TransactionId> add_test(const AddTest& test, WhenDone when_done);
  // Runs the batch on all its clients. kNodeInactive: not all of them are ACTIVE. kNotPermitted:
  // see add_test(). `timeout_s` is sent along, but nodes ignore it.
  [[nodiscard]] Answer<TransactionId> run(std::string_view batch, std::uint32_t timeout_s,
                                          WhenDone when_done);
  // Stops the batch on its ACTIVE clients. `force`: RPCs under way are aborted.
  [[nodiscard]] Answer<TransactionId> stop(std::string_view batch, bool force, WhenDone when_done);
  // `test` 0: the batch, which is idle afterwards if all answers report that nothing is running.
  [[nodiscard]] Answer<TransactionId> query(std::string_view batch, std::uint32_t test,
                                            bool servers, std::uint32_t timeout_s,
                                            WhenDone when_done);

  // --- Queries of nodes, in any state ---

  // Nodes by name need not be in the session.
  [[nodiscard]] Answer<TransactionId> ping(const PingTarget& target, std::uint32_t timeout_s,
                                           WhenDone when_done);
  // The data of `stat` and `show_error`. Nodes by name: kNotFound if one is not in the session.
  [[nodiscard]] Answer<TransactionId> stat(const StatTarget& target, std::uint32_t timeout_s,
                                           WhenDone when_done);

  // --- Transactions ---

  // Pending RPCs end with EINTR, and no node becomes DOWN for it. Does nothing if the transaction
  // has ended.
  void cancel(TransactionId transaction);
  [[nodiscard]] std::size_t pending() const { return runner_.pending(); }

  [[nodiscard]] const RpcStatistics& statistics() const { return statistics_; }

  unsigned poll(Instant now) override;
  [[nodiscard]] std::string_view name() const override { return "selftest console"; }
  [[nodiscard]] bool woken_by_doorbell() const override { return true; }
  [[nodiscard]] Instant next_deadline() const override;

 private:
  using Nodes = std::vector<ConsoleNodePtr>;

  // The first step of each command; resets the session's timeout.
  [[nodiscard]] Answer<ConsoleSession*> use();
  [[nodiscard]] Answer<ConsoleGroup*> use_group(std::string_view name);
  [[nodiscard]] Answer<ConsoleBatch*> use_batch(std::string_view name);
  // A group that this command may change; also checks that there is room for a transaction.
  [[nodiscard]] Answer<ConsoleGroup*> change_group(std::string_view name);
  [[nodiscard]] Answer<ConsoleBatch*> change_batch(std::string_view name);
  [[nodiscard]] Answer<void> judge_room() const;

  // Sessions (console.cpp).
  void make_session(const NewSession& wanted);
  TransactionId end(bool notify_nodes, std::move_only_function<void()> then, WhenDone when_done);
  [[nodiscard]] std::unique_ptr<Transaction> ask_to_forget(bool notify_nodes,
                                                           std::move_only_function<void()> then);
  void on_expiry(Timer& timer, Instant now);
  [[nodiscard]] Verdict judge_join(const JoinRequest& request, std::uint32_t features,
                                   const lnet::ProcessId& peer) override;
  [[nodiscard]] Status join(const JoinRequest& request, std::uint32_t features,
                            const lnet::ProcessId& peer);

  // Groups (console_groups.cpp).
  TransactionId invite(ConsoleGroup& group, const Nodes& nodes, WhenDone when_done);
  TransactionId dismiss(ConsoleGroup& group, const Nodes& nodes, bool whole_group,
                        WhenDone when_done);

  // Batches (console_batches.cpp).
  struct Halt {
    Instant until;  // end of waiting
    std::move_only_function<std::unique_ptr<Transaction>()> then;
    const ConsoleBatch* stopped = nullptr;  // its clients got a stop
    Duration pause = Duration::zero();
  };
  [[nodiscard]] std::unique_ptr<Transaction> halt(Halt halt);
  [[nodiscard]] Answer<const ConsoleTest*> use_test(std::string_view batch, std::uint32_t number);
  [[nodiscard]] static Answer<void> judge_groups(const ConsoleTest& test);
  [[nodiscard]] TestRequest request_of(const ConsoleBatch& batch, const ConsoleTest& test,
                                       bool for_client) const;
  [[nodiscard]] std::unique_ptr<Transaction> ask_servers(ConsoleBatch& batch,
                                                         std::unique_ptr<ConsoleTest> test);
  [[nodiscard]] std::unique_ptr<Transaction> ask_clients(ConsoleBatch& batch,
                                                         std::unique_ptr<ConsoleTest> test);
  [[nodiscard]] std::unique_ptr<Transaction> ask_batch(const ConsoleBatch& batch,
                                                       TransactionKind kind, Nodes nodes,
                                                       std::uint32_t argument);
  [[nodiscard]] Answer<Nodes> nodes_of(const PingTarget& target);

  TimerWheel timers_;
  RpcIds ids_;
  RpcStatistics statistics_;
  std::unique_ptr<ConsoleSession> session_;
  TransactionRunner runner_;
  JoinService joins_;
  Pinger pinger_;
  Timer expiry_ = Timer::calling<&Console::on_expiry>(*this);
  Instant now_;
  Instant last_command_;
  bool used_ = false;  // by a command since the last turn
  bool closing_ = false;
  std::int64_t last_stamp_ = 0;   // of a session
  std::uint64_t last_batch_ = 0;  // numbers of batches are not reused
};

}  // namespace plnet::selftest
