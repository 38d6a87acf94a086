// SPDX-License-Identifier: BSD-3-Clause
// The two services of tests, ping and brw, as a server. They know no session: every request is
// answered. One object for each shard that serves; LNet finds a buffer on any of them. Servers
// share only EndedSessions. Behaviour checked against lustre-release v2_17_0
// lnet/selftest/ping_test.c: ping_server_handle(), brw_test.c: brw_server_handle(),
// brw_bulk_ready(). Unlike the kernel's since 2.16 this server answers every bad request with an
// error.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "lib/base/pollable.hpp"
#include "lib/selftest/data_pattern.hpp"
#include "lib/selftest/responder.hpp"

namespace plnet::selftest {

inline constexpr std::uint32_t kBulkBytesMax = lnet::kPayloadBytesMax;
inline constexpr std::uint32_t kPageBytes = kPatternPageBytes;  // also of bulk without lengths

// Data that any number of transfers may read at the same time: the pattern's word everywhere, which
// passes every check. So sent data is never filled again.
class SourceData {
 public:
  explicit SourceData(WorkMemory& memory) : memory_(memory.split(kBulkBytesMax)) {
    fill_data(memory_.bytes, Check::kFull, 0, kDataMagic);
  }
  [[nodiscard]] Fragment first(std::uint32_t length) const {
    PLNET_CHECK(length <= kBulkBytesMax, "longer than any bulk data");
    return {memory_.at, length};
  }

 private:
  WorkMemory memory_;
};

// Counts ended sessions: RPCs under way in a server end with them. Written by the framework, read
// by all servers.
struct EndedSessions {
  std::atomic<std::uint32_t> count{0};
};

struct TestServerSetup {
  std::size_t rpcs = 256;
  // Buffers of each service: one for each request that may be under way to this shard. A request
  // without a buffer waits in the portal and holds up its connection. The data of a WRITE that an
  // earlier RPC waits for may come on the same connection; then nothing moves until LNet gives up
  // on that data.
  std::size_t buffers = 2048;
  std::size_t sinks = 32;  // WRITEs with data under way; further ones wait
};

class TestServer final : public Pollable, RequestHandler {
 public:
  // `statistics`, written here and read by any thread, may outlive this object.
  TestServer(lnet::DataOperations& operations, const EndedSessions& ended, const SourceData& source,
             RpcStatistics& statistics, const TestServerSetup& setup, WorkMemory& memory);
  [[nodiscard]] static std::size_t memory_bytes(const TestServerSetup& setup);

  void open() { responder_.open(); }
  void close() { responder_.close(); }
  [[nodiscard]] bool closed() const { return responder_.closed(); }

  [[nodiscard]] const RpcStatistics& statistics() const { return statistics_; }

  unsigned poll(Instant now) override;
  [[nodiscard]] std::string_view name() const override { return "selftest_server"; }
  [[nodiscard]] bool woken_by_doorbell() const override { return true; }
  [[nodiscard]] Instant next_deadline() const override {
    const Instant deadline = responder_.next_deadline();
    return shares_.any_waits() ? std::min(deadline, look_at_) : deadline;
  }

 private:
  void on_request(ServerRpc& rpc) override;
  void on_bulk(ServerRpc& rpc) override;
  void on_end(ServerRpc& rpc) override;

  void answer_ping(ServerRpc& rpc);
  void begin_brw(ServerRpc& rpc);
  void pull_into(WorkMemory& sink, ServerRpc& rpc);
  void answer_brw(ServerRpc& rpc, Status status);

  const EndedSessions& ended_;
  std::uint32_t ended_seen_;
  const SourceData& source_;
  RpcStatistics& statistics_;
  Pool<WorkMemory> sinks_;  // targets of clients' writes
  Responder responder_;
  PeerShares<ServerRpc> shares_;  // shares of the sinks; RPCs wait for one
  Instant look_at_;               // from then on a peer may lose a sink to waiting peers
};

}  // namespace plnet::selftest
