// SPDX-License-Identifier: BSD-3-Clause
#include "lib/selftest/console/transaction_runner.hpp"

#include <algorithm>
#include <utility>
#include <variant>

namespace plnet::selftest {

namespace {

// Keep a turn short.
constexpr unsigned kStartBurst = 64;
constexpr unsigned kTellBurst = 8;

template <class Request>
constexpr Service kServiceOf = Service::kDebug;
template <>
constexpr Service kServiceOf<MakeSessionRequest> = Service::kMakeSession;
template <>
constexpr Service kServiceOf<RemoveSessionRequest> = Service::kRemoveSession;
template <>
constexpr Service kServiceOf<BatchRequest> = Service::kBatch;
template <>
constexpr Service kServiceOf<TestRequest> = Service::kTest;
template <>
constexpr Service kServiceOf<StatRequest> = Service::kStat;

}  // namespace

TransactionRunner::TransactionRunner(lnet::DataOperations& operations, TimerWheel& timers,
                                     RpcIds& ids, RpcStatistics& statistics, const Setup& setup,
                                     WorkMemory& memory)
    : timers_(timers),
      requester_(operations, timers, ids, statistics, setup.rpcs, memory),
      calls_(setup.rpcs),
      lists_(setup.lists) {
  for (std::uint32_t i = 0; i < lists_.capacity(); ++i)
    lists_.at(i) = memory.split(kListPageBytes);
  running_.reserve(kConsoleTransactionsMax);
}

TransactionRunner::~TransactionRunner() {
  for (const auto& running : running_)
    (void)timers_.cancel(running->timer);
}

// --- Transactions ---

TransactionId TransactionRunner::start(std::unique_ptr<Transaction> transaction) {
  adopt(std::move(transaction), ++last_id_);
  return last_id_;
}

void TransactionRunner::adopt(std::unique_ptr<Transaction> transaction, TransactionId id) {
  auto running = std::make_unique<Running>(*this);
  running->id = id;
  running->transaction = std::move(transaction);
  running_.push_back(std::move(running));
}

void TransactionRunner::begin(Running& running) {
  Transaction& transaction = *running.transaction;
  const Duration pause = std::exchange(transaction.pause, Duration::zero());
  running.pausing = pause > Duration::zero();
  running.begun = !running.pausing;
  timers_.start(running.timer, now_ + (running.pausing ? pause : transaction.timeout));
}

void TransactionRunner::Running::on_timeout(Timer& /*timer*/, Instant /*now*/) {
  if (std::exchange(pausing, false)) return;
  runner->end(*this, transaction->timeout < kDownTimeoutMin ? EINTR : ETIMEDOUT);
}

void TransactionRunner::end(TransactionId id, int error) {
  for (const auto& running : running_) {
    if (running->id == id) return end(*running, error);
  }
}

void TransactionRunner::end_all(int error) {
  for (const auto& running : running_)
    end(*running, error);
}

void TransactionRunner::end(Running& running, int error) {
  if (running.over()) return;
  Transaction& transaction = *running.transaction;
  transaction.result.ended_errno = error;
  calls_.for_each_lent([&](Call& call) {
    if (call.running != &running) return;
    transaction.take_failure(call.index, error, now_);
    if (error == ETIMEDOUT) {
      ConsoleNode& node = *transaction.nodes[call.index];
      node.state = NodeState::kDown;
      node.heard = now_;
    }
    call.running = nullptr;
    requester_.abort(*call.rpc, Errc::kCancelled);
  });
  running.under_way = 0;
  running.begun = true;
  running.pausing = false;
  for (; running.next < running.size(); ++running.next)
    transaction.take_failure(running.next, EINTR, now_);
}

void TransactionRunner::tell(Running& running) {
  (void)timers_.cancel(running.timer);
  Transaction& transaction = *running.transaction;
  transaction.conclude();
  if (transaction.settle) {
    if (auto more = transaction.settle(transaction.result)) {
      more->when_done = std::move(transaction.when_done);
      return adopt(std::move(more), running.id);
    }
  }
  if (transaction.when_done) transaction.when_done(std::move(transaction.result));
}

// --- Calls ---

TransactionRunner::Call* TransactionRunner::take_call() {
  Call* const call = calls_.take();
  if (call == nullptr) return nullptr;
  call->rpc = requester_.take(*this, call);
  PLNET_CHECK(call->rpc != nullptr, "there are as many RPCs as calls");
  return call;
}

void TransactionRunner::give_call(Call& call) {
  requester_.give(*call.rpc);
  if (call.list != nullptr) lists_.give(call.list);
  call = {};
  calls_.give(&call);
}

bool TransactionRunner::can_start(const Running& running) const {
  if (!running.begun || running.next == running.size() || calls_.free_count() == 0) return false;
  return !running.transaction->lists || lists_.free_count() > 0;
}

void TransactionRunner::start_call(Running& running) {
  Transaction& transaction = *running.transaction;
  Call& call = *take_call();
  call.running = &running;
  call.index = running.next++;
  ++running.under_way;
  RpcSpec spec{.target = transaction.nodes[call.index]->id,
               .features = transaction.features_sent,
               .timeout = Duration::zero()};  // the transaction has its own timeout
  if (transaction.lists) {
    call.list = lists_.take();
    spec.bulk = BulkUse::kSource;
    spec.bulk_memory = call.list->fragment();
    spec.bulk_memory.length =
        write_destinations(transaction.lists->distribution, static_cast<std::uint32_t>(call.index),
                           transaction.lists->servers, transaction.features_sent, call.list->bytes);
  }
  std::visit(
      [&]<class Request>(Request request) {
        spec.service = kServiceOf<Request>;
        if constexpr (std::is_same_v<Request, BatchRequest>) {
          if (!transaction.test_numbers.empty())
            request.test = transaction.test_numbers[call.index];
        }
        requester_.start(*call.rpc, spec, request, now_);
      },
      transaction.request);
}

void TransactionRunner::rpc_done(ClientRpc& rpc, Result<void> outcome) {
  Call& call = *static_cast<Call*>(rpc.context);
  if (Running* const running = call.running) {
    --running->under_way;
    if (outcome) {
      running->transaction->take_reply(call.index, rpc, now_);
    } else {
      running->transaction->take_failure(call.index, rpc_errno_of(outcome.error()), now_);
    }
  } else if (call.pinged != nullptr) {
    ping_done(call, outcome);
  }
  give_call(call);
}

// --- Pings ---

bool TransactionRunner::ping(const ConsoleNodePtr& node, const SessionId& session,
                             std::uint32_t features) {
  Call* const call = take_call();
  if (call == nullptr) return false;
  call->pinged = node;
  call->session = session;
  node->ping_under_way = true;
  requester_.start(*call->rpc,
                   {.target = node->id, .service = Service::kDebug, .features = features},
                   DebugRequest{.session = session}, now_);
  return true;
}

// A failed ping means nothing: the next may arrive and keep the session there alive.
void TransactionRunner::ping_done(Call& call, const Result<void>& outcome) {
  call.pinged->ping_under_way = false;
  if (!outcome) return;
  call.pinged->take_reply(call.rpc->reply<DebugReply>().session, call.session, now_);
}

void TransactionRunner::forget_pings() {
  calls_.for_each_lent([this](Call& call) {
    if (call.pinged == nullptr) return;
    call.pinged->ping_under_way = false;
    call.pinged = nullptr;
    requester_.abort(*call.rpc, Errc::kCancelled);
  });
}

// --- Turns ---

unsigned TransactionRunner::take_replies(Instant now) {
  now_ = now;
  return requester_.poll();
}

unsigned TransactionRunner::turn() {
  unsigned started = 0;
  for (const auto& running : running_) {
    if (running->waits_to_begin()) begin(*running);
    for (; started < kStartBurst && can_start(*running); ++started)
      start_call(*running);
  }
  unsigned told = 0;
  for (; told < kTellBurst; ++told) {
    const auto over = std::find_if(running_.begin(), running_.end(),
                                   [](const auto& running) { return running->over(); });
    if (over == running_.end()) break;
    // The callback may start new transactions.
    const auto running = std::move(*over);
    running_.erase(over);
    tell(*running);
  }
  return started + told;
}

bool TransactionRunner::has_work() const {
  if (requester_.has_work()) return true;
  return std::any_of(running_.begin(), running_.end(), [this](const auto& running) {
    return running->waits_to_begin() || running->over() || can_start(*running);
  });
}

}  // namespace plnet::selftest
