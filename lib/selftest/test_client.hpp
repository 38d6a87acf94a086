// SPDX-License-Identifier: BSD-3-Clause
// The units of tests that run here as a client. Each sends a request, waits, checks the answer, and
// repeats until its test stops, its iterations are used up, or a failure ends it (if the test says
// so). At a pace (pace.hpp) units wait for the due times of their test instead. On the shard of the
// framework, which owns the sessions. Behaviour checked against lustre-release v2_17_0
// lnet/selftest/framework.c: sfw_run_test(), sfw_test_rpc_done(); brw_test.c:
// brw_client_prep_rpc(), brw_client_done_rpc(); ping_test.c.
#pragma once

#include <cstdint>

#include "lib/selftest/requester.hpp"
#include "lib/selftest/session.hpp"
#include "lib/selftest/test_latency.hpp"
#include "lib/selftest/test_server.hpp"

namespace plnet::selftest {

class TestEvents {
 public:
  virtual ~TestEvents() = default;
  // The last unit of the test has ended. Nothing of the test is under way.
  virtual void on_test_idle(TestInstance& test) = 0;
};

class TestClient final : public RpcUser {
 public:
  // `latency` and `paced` may be null.
  TestClient(Requester& requester, const SourceData& source, TestEvents& events,
             Duration rpc_timeout, TestLatency* latency, PaceStatistics* paced = nullptr)
      : requester_(requester),
        source_(source),
        events_(events),
        rpc_timeout_(rpc_timeout),
        latency_(latency),
        paced_statistics_(paced) {}

  // For tests that start from now on.
  void set_pace(const Pace& pace) { pace_ = pace; }

  // Starts all of its units. The node is a client of the test and none of its units is active.
  void start(TestInstance& test, Instant now);
  // Units end with their RPCs; by force: the RPCs end now.
  void stop(TestInstance& test, bool force);

  // The test is about to be destroyed, in any state.
  void forget(TestInstance& test);

  void begin_turn(Instant now) { now_ = now; }
  // Begins due requests of paced tests; call it after the turn's RPCs have ended. Returns the
  // number of requests begun.
  unsigned poll();
  // The next time at which poll() has work.
  [[nodiscard]] Instant next_deadline() const { return next_due_; }
  void rpc_done(ClientRpc& rpc, Result<void> outcome) override;

 private:
  void send(TestUnit& unit, Instant meant);
  [[nodiscard]] unsigned serve(TestInstance& test);
  void drop_late(TestInstance& test);
  [[nodiscard]] bool is_late(const TestInstance& test) const;
  void count(PaceCount what) {
    if (paced_statistics_ != nullptr) paced_statistics_->add(what);
  }
  void send_brw(TestUnit& unit, const RpcSpec& spec);
  // Returns true without an error; counts errors.
  [[nodiscard]] bool judge(TestUnit& unit, const ClientRpc& rpc, Result<void> outcome);
  [[nodiscard]] static bool is_well(const TestUnit& unit, const ClientRpc& rpc);
  void end(TestUnit& unit);

  Requester& requester_;
  const SourceData& source_;
  TestEvents& events_;
  const Duration rpc_timeout_;
  TestLatency* const latency_;
  PaceStatistics* const paced_statistics_;
  Instant now_;
  std::uint32_t ping_sequence_ = 0;
  Pace pace_;
  std::uint64_t paced_starts_ = 0;
  IntrusiveList<TestInstance, PacedTest> paced_;
  Instant next_due_ = Instant::max();
};

}  // namespace plnet::selftest
