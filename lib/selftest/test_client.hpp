// SPDX-License-Identifier: BSD-3-Clause
// The units of tests that run here as a client: each sends a request, waits, judges the answer, and
// goes on until its test stops, its iterations are used up, or it failed and the test says that
// this ends it. On the shard of the framework, whose sessions these tests belong to. Behaviour
// checked against lustre-release v2_17_0 lnet/selftest/framework.c: sfw_run_test(),
// sfw_test_rpc_done(); brw_test.c: brw_client_prep_rpc(), brw_client_done_rpc(); ping_test.c.
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
  // Its last unit has ended. Nothing of the test is under way.
  virtual void on_test_idle(TestInstance& test) = 0;
};

class TestClient final : public RpcUser {
 public:
  // `latency` may be null.
  TestClient(Requester& requester, const SourceData& source, TestEvents& events,
             TestLatency* latency)
      : requester_(requester), source_(source), events_(events), latency_(latency) {}

  // All of its units. The test is a client's and none of its units is active.
  void start(TestInstance& test, Instant now);
  // Units end when their RPCs do; by force: the RPCs end now.
  void stop(TestInstance& test, bool force);

  void begin_turn(Instant now) { now_ = now; }
  void rpc_done(ClientRpc& rpc, Result<void> outcome) override;

 private:
  void send(TestUnit& unit);
  void send_brw(TestUnit& unit, const RpcSpec& spec);
  // Whether all was well; counts what was not.
  [[nodiscard]] bool judge(TestUnit& unit, const ClientRpc& rpc, Result<void> outcome);
  [[nodiscard]] static bool is_well(const TestUnit& unit, const ClientRpc& rpc);
  void end(TestUnit& unit);

  Requester& requester_;
  const SourceData& source_;
  TestEvents& events_;
  TestLatency* const latency_;
  Instant now_;
  std::uint32_t ping_sequence_ = 0;
};

}  // namespace plnet::selftest
