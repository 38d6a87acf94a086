// SPDX-License-Identifier: BSD-3-Clause
// Sends the RPCs of transactions, as many at a time as there are free RPCs, and reports their
// results. A transaction does not wait for RPCs after its timeout: they return when the network
// releases them.
//
// Memory is allocated when a transaction begins and when it ends, not in between.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "lib/base/pool.hpp"
#include "lib/base/timer_wheel.hpp"
#include "lib/selftest/console/transaction.hpp"
#include "lib/selftest/requester.hpp"
#include "lib/selftest/work_memory.hpp"

namespace plnet::selftest {

class TransactionRunner final : RpcUser {
 public:
  struct Setup {
    std::size_t rpcs = 0;
    std::size_t lists = 0;
  };
  TransactionRunner(lnet::DataOperations& operations, TimerWheel& timers, RpcIds& ids,
                    RpcStatistics& statistics, const Setup& setup, WorkMemory& memory);
  ~TransactionRunner() override;
  [[nodiscard]] static constexpr std::size_t memory_bytes(const Setup& setup) {
    return Requester::memory_bytes(setup.rpcs) + setup.lists * kListPageBytes;
  }

  // Begins in the next turn, as does its timeout.
  TransactionId start(std::unique_ptr<Transaction> transaction);
  // Pending RPCs end with this error; a node that did not answer in time becomes DOWN.
  void end(TransactionId id, int error);
  void end_all(int error);
  [[nodiscard]] std::size_t pending() const { return running_.size(); }

  // Sends a ping. False: all RPCs are in use.
  [[nodiscard]] bool ping(const ConsoleNodePtr& node, const SessionId& session,
                          std::uint32_t features);
  void forget_pings();

  // Call them in this order, with timers in between: a reply that arrived in time then precedes its
  // timeout.
  unsigned take_replies(Instant now);
  unsigned turn();
  [[nodiscard]] bool has_work() const;
  // No RPC is under way.
  [[nodiscard]] bool idle() const { return requester_.idle(); }

 private:
  struct Running {
    explicit Running(TransactionRunner& owner) : runner(&owner) {}
    void on_timeout(Timer& timer, Instant now);
    [[nodiscard]] bool waits_to_begin() const { return !begun && !pausing; }
    [[nodiscard]] bool over() const { return begun && next == size() && under_way == 0; }
    [[nodiscard]] std::size_t size() const { return transaction->nodes.size(); }

    TransactionRunner* runner;
    TransactionId id = 0;
    std::unique_ptr<Transaction> transaction;
    bool pausing = false;  // until its timer expires
    bool begun = false;
    std::size_t next = 0;  // the first node without an RPC
    std::size_t under_way = 0;
    Timer timer = Timer::calling<&Running::on_timeout>(*this);
  };
  // One RPC: of a transaction, of a ping, or of a transaction that has ended.
  struct Call {
    Running* running = nullptr;
    std::size_t index = 0;
    ConsoleNodePtr pinged;
    SessionId session;
    ClientRpc* rpc = nullptr;
    WorkMemory* list = nullptr;
  };

  void rpc_done(ClientRpc& rpc, Result<void> outcome) override;
  void ping_done(Call& call, const Result<void>& outcome);
  [[nodiscard]] Call* take_call();
  void give_call(Call& call);
  [[nodiscard]] bool can_start(const Running& running) const;
  void start_call(Running& running);
  void end(Running& running, int error);
  void begin(Running& running);
  void adopt(std::unique_ptr<Transaction> transaction, TransactionId id);
  void tell(Running& running);

  TimerWheel& timers_;
  Requester requester_;
  Pool<Call> calls_;
  Pool<WorkMemory> lists_;
  std::vector<std::unique_ptr<Running>> running_;
  TransactionId last_id_ = 0;
  Instant now_;
};

}  // namespace plnet::selftest
