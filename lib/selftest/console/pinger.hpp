// SPDX-License-Identifier: BSD-3-Clause
// Keeps the sessions of idle nodes alive: pings a node after silence of half its session's timeout.
// An unanswered ping does not make a node DOWN; commands do. Checked against lustre-release 2.17.57
// lnet/selftest/conrpc.c: lstcon_rpc_pinger().
#pragma once

#include "lib/base/timer_wheel.hpp"
#include "lib/selftest/console/console_session.hpp"
#include "lib/selftest/console/transaction_runner.hpp"

namespace plnet::selftest {

class Pinger {
 public:
  Pinger(TimerWheel& timers, TransactionRunner& runner) : timers_(timers), runner_(runner) {}
  ~Pinger() { (void)timers_.cancel(timer_); }
  Pinger(const Pinger&) = delete;
  Pinger& operator=(const Pinger&) = delete;

  // The session outlives the use until stop().
  void start(ConsoleSession& session, Instant now) {
    session_ = &session;
    timers_.start(timer_, now + kPingInterval);
  }
  void stop() {
    session_ = nullptr;
    (void)timers_.cancel(timer_);
    runner_.forget_pings();
  }

 private:
  // Pings that are due at the same time leave in small groups.
  void on_tick(Timer& /*timer*/, Instant now) {
    unsigned asked = 0;
    bool more = false;
    session_->nodes.for_each([&](ConsoleNode& node) {
      if (node.state != NodeState::kActive || node.ping_under_way) return;
      if (now - node.heard < std::chrono::seconds(node.timeout_s / 2)) return;
      more = asked == kBurst ||
             !runner_.ping(session_->nodes.find(node.id), session_->id, session_->features.value);
      asked += more ? 0 : 1;
    });
    timers_.start(timer_, now + (asked > 0 && more ? kPause : kPingInterval));
  }

  static constexpr unsigned kBurst = 64;
  static constexpr Duration kPause = std::chrono::milliseconds(100);

  TimerWheel& timers_;
  TransactionRunner& runner_;
  ConsoleSession* session_ = nullptr;
  Timer timer_ = Timer::calling<&Pinger::on_tick>(*this);
};

}  // namespace plnet::selftest
