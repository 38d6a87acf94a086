// SPDX-License-Identifier: BSD-3-Clause
// Accepts JOIN requests of nodes, for nodes that the console cannot connect to. A node creates the
// session itself after a positive answer.
#pragma once

#include <array>

#include "lib/selftest/responder.hpp"

namespace plnet::selftest {

class JoinJudge {
 public:
  virtual ~JoinJudge() = default;
  struct Verdict {
    JoinReply reply;
    std::uint32_t features = kFeaturesKnown;
  };
  [[nodiscard]] virtual Verdict judge_join(const JoinRequest& request, std::uint32_t features,
                                           const lnet::ProcessId& peer) = 0;
};

class JoinService final : RequestHandler {
 public:
  JoinService(lnet::DataOperations& operations, RpcStatistics& statistics, std::size_t buffers,
              JoinJudge& judge, WorkMemory& memory)
      : judge_(judge),
        responder_(
            operations, statistics,
            {.services = std::array{ServedService{Service::kJoin, this, buffers}}, .rpcs = buffers},
            memory) {}
  [[nodiscard]] static std::size_t memory_bytes(std::size_t buffers) {
    return Responder::memory_bytes(
        {.services = std::array{ServedService{Service::kJoin, nullptr, buffers}}, .rpcs = buffers});
  }

  void open() { responder_.open(); }
  void close() { responder_.close(); }
  [[nodiscard]] bool closed() const { return responder_.closed(); }
  unsigned poll(Instant now) { return responder_.poll(now); }
  [[nodiscard]] bool has_work() const { return responder_.has_work(); }

 private:
  void on_request(ServerRpc& rpc) override {
    const JoinJudge::Verdict verdict =
        judge_.judge_join(rpc.request<JoinRequest>(), rpc.header().header.features, rpc.peer());
    responder_.reply(rpc, verdict.features, verdict.reply);
  }
  void on_bulk(ServerRpc& /*rpc*/) override {}
  void on_end(ServerRpc& /*rpc*/) override {}

  JoinJudge& judge_;
  Responder responder_;
};

}  // namespace plnet::selftest
