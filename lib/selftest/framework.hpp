// SPDX-License-Identifier: BSD-3-Clause
// The framework services of a node: a console makes a session here, describes tests in batches,
// runs and stops them, queries their state and counters. At most one session at a time; old ones
// stay until their last units have ended.
//
// A node has one framework, on one shard. The tests that run here as a client run on that shard,
// too, so that sessions, batches and units are plain data of one thread. Servers of tests
// (test_server.hpp) may be on every shard of the node: they need to know of a session only that it
// ended, and the framework reads only their counters. Behaviour checked against lustre-release
// v2_17_0 lnet/selftest/framework.c: sfw_handle_server_rpc() and its callees.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "lib/lnet/move/statistics.hpp"
#include "lib/selftest/requester.hpp"
#include "lib/selftest/responder.hpp"
#include "lib/selftest/session.hpp"
#include "lib/selftest/sink_memory.hpp"
#include "lib/selftest/test_client.hpp"

namespace plnet::selftest {

// Counters of LNet for STAT: of all shards of the node.
class LnetCounterSource {
 public:
  virtual ~LnetCounterSource() = default;
  [[nodiscard]] virtual LnetCounters read() const = 0;
};
// Adds the counters of one shard; any thread.
void add_to(LnetCounters& sum, const Counters<lnet::LnetStatistics>& shard);

struct FrameworkSetup {
  std::uint32_t session_timeout_s = 100;  // the kernel's default; 0: sessions never expire
  Duration rpc_timeout = kRpcTimeout;     // of requests of tests that run here; 0: never
  std::size_t rpcs = 64;                  // requests of consoles under way
  std::size_t buffers = 64;               // of each service
  // Limits of the objects that consoles create; more is refused with ENOMEM.
  std::size_t sessions = 4;  // the current one and old ones
  std::size_t batches = 64;
  std::size_t tests = 256;
  std::size_t units = 1024;
  std::size_t sink_bytes = std::size_t{64} << 20;  // memory of all units' reads
  bool takes_joins = true;                         // false: a console on this node accepts them
};

class Framework final : RequestHandler, TestEvents {
 public:
  struct Surroundings {
    lnet::DataOperations& operations;
    TimerWheel& timers;
    RpcIds& ids;
    const SourceData& source;
    EndedSessions& ended;
    const LnetCounterSource& lnet;
    RpcStatistics& statistics;
    std::span<const RpcStatistics* const> servers;  // counters of the node's test servers
    TestLatency* latency = nullptr;                 // of the tests that run here as a client
    PaceStatistics* paced = nullptr;                // the same
  };
  Framework(const Surroundings& around, const FrameworkSetup& setup, WorkMemory& memory);
  ~Framework() override;
  [[nodiscard]] static std::size_t memory_bytes(const FrameworkSetup& setup);

  void open() { responder_.open(); }
  void close();
  [[nodiscard]] bool closed() const;
  unsigned poll(Instant now);
  [[nodiscard]] bool has_work() const;
  // The next deadline of paced requests and of consoles' requests.
  [[nodiscard]] Instant next_deadline() const {
    return std::min(client_.next_deadline(), responder_.next_deadline());
  }

  // For tests that start from now on, until the session ends. False: there is none.
  [[nodiscard]] bool set_pace(const Pace& pace);

  [[nodiscard]] const Session* session() const { return session_; }
  [[nodiscard]] std::size_t zombies() const { return zombies_; }

 private:
  void on_request(ServerRpc& rpc) override;
  void on_bulk(ServerRpc& rpc) override;
  void on_end(ServerRpc& rpc) override;
  void on_test_idle(TestInstance& test) override;

  // Sessions.
  void dispatch(ServerRpc& rpc);
  [[nodiscard]] Status judge_features(const ServerRpc& rpc) const;
  [[nodiscard]] bool is_current(const SessionId& id) const;
  [[nodiscard]] MakeSessionReply make_session(const MakeSessionRequest& request,
                                              std::uint32_t features);
  [[nodiscard]] RemoveSessionReply remove_session(const RemoveSessionRequest& request);
  [[nodiscard]] DebugReply debug() const;
  [[nodiscard]] StatReply stat(const StatRequest& request) const;
  void deactivate();
  void reap();
  void destroy(Session& session);
  void destroy(TestInstance& test);
  void stop_timer() { (void)timers_.cancel(session_timer_); }
  void start_timer();
  void on_session_timeout(Timer& timer, Instant now);
  // Every reply names the present session, whatever the request was: consoles learn from it about a
  // new session.
  template <class Reply>
  void answer(ServerRpc& rpc, Reply reply) {
    reply.session = session_ != nullptr ? session_->id : SessionId{};
    responder_.reply(rpc, session_ != nullptr ? session_->features : kFeaturesKnown, reply);
  }

  // Tests and batches (framework_tests.cpp).
  void add_test(ServerRpc& rpc);
  [[nodiscard]] Status judge_test(const TestRequest& request) const;
  [[nodiscard]] Status make_test(const TestRequest& request, std::span<const std::byte> list,
                                 bool swapped);
  [[nodiscard]] Status make_units(TestInstance& test, const TestRequest& request,
                                  std::span<const std::byte> list, bool swapped);
  [[nodiscard]] Batch* batch_of(std::uint64_t id, bool make);
  void control_batch(ServerRpc& rpc);
  void run(Batch& batch);
  void stop(Batch& batch, bool force);
  [[nodiscard]] static BatchReply query(Batch& batch, std::uint32_t test);

  TimerWheel& timers_;
  EndedSessions& ended_;
  const LnetCounterSource& lnet_;
  const FrameworkSetup setup_;
  const std::vector<const RpcStatistics*> servers_;
  Instant now_;

  RpcStatistics& statistics_;
  Requester requester_;
  Responder responder_;
  TestClient client_;
  SinkMemory sinks_;
  Pool<WorkMemory> pages_;  // lists of destinations under way
  Pool<Session> sessions_;
  Pool<Batch> batches_;
  Pool<TestInstance> tests_;
  Pool<TestUnit> units_;

  Session* session_ = nullptr;
  IntrusiveList<Session> old_;
  std::size_t zombies_ = 0;
  Timer session_timer_ = Timer::calling<&Framework::on_session_timeout>(*this);
};

}  // namespace plnet::selftest
