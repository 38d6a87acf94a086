// SPDX-License-Identifier: BSD-3-Clause
// The two halves of a test without a console: a client whose units run for ever, and a server. Each
// belongs to a shard, polled before LNet sends.
#pragma once

#include <cstdint>
#include <vector>

#include "lib/base/pollable.hpp"
#include "lib/selftest/test_client.hpp"
#include "lib/selftest/test_latency.hpp"
#include "lib/selftest/test_server.hpp"

namespace plnet::bench {

struct LoadShape {
  selftest::Service service = selftest::Service::kPing;
  selftest::BulkSetup bulk{};
  std::uint32_t concurrency = 1;
};

class ClientLoad final : public Pollable, selftest::TestEvents {
 public:
  ClientLoad(lnet::DataOperations& operations, const lnet::ProcessId& server,
             const LoadShape& shape, selftest::WorkMemory& memory, Instant start);
  ~ClientLoad() override;

  void begin(Instant now) { client_.start(test_, now); }
  // Units end with their RPCs.
  void stop() { client_.stop(test_, false); }
  [[nodiscard]] bool idle() const { return test_.active_units == 0; }
  // RPCs sent, and failed tests.
  [[nodiscard]] std::uint64_t sent() const { return statistics_.get(selftest::RpcCount::kSent); }
  [[nodiscard]] bool failed() const { return session_.brw_errors + session_.ping_errors > 0; }

  unsigned poll(Instant now) override;
  [[nodiscard]] std::string_view name() const override { return "load"; }

 private:
  void on_test_idle(selftest::TestInstance& /*test*/) override {}

  TimerWheel timers_;
  selftest::RpcIds ids_{1, 0, 1};
  selftest::RpcStatistics statistics_;
  selftest::SourceData source_;
  selftest::Requester requester_;
  selftest::TestLatency latency_;  // as in a node
  selftest::TestClient client_;
  selftest::Session session_;
  selftest::Batch batch_;
  selftest::TestInstance test_;
  std::vector<selftest::TestUnit> units_;
};

// The server of the clients.
struct ServerLoad {
  ServerLoad(lnet::DataOperations& operations, selftest::WorkMemory& memory)
      : source(memory), server(operations, ended, source, statistics, kSetup, memory) {
    server.open();
  }

  static constexpr selftest::TestServerSetup kSetup{.rpcs = 256, .buffers = 256, .sinks = 32};
  selftest::EndedSessions ended;
  selftest::SourceData source;
  selftest::RpcStatistics statistics;
  selftest::TestServer server;
};

inline constexpr std::size_t kLoadMemoryBytes = std::size_t{128} << 20U;
inline constexpr std::size_t kLoadDescriptors = 2048;

}  // namespace plnet::bench
