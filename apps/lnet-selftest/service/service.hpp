// SPDX-License-Identifier: BSD-3-Clause
// A test node of LNet selftest on all shards of a node. Each shard serves tests. Shard 0 has the
// framework, where consoles make sessions and this node's client tests run, and a console of its
// own, which `lst` drives over the control socket.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "apps/lnet-selftest/service/console_desk.hpp"
#include "apps/lnet-selftest/service/host.hpp"
#include "apps/lnet-selftest/service/session_counters.hpp"
#include "apps/lnet-selftest/service/test_verbs.hpp"
#include "lib/runtime/config/settings.hpp"
#include "lib/selftest/node.hpp"
#include "node/host/residents.hpp"

namespace plnet::apps {

class SelftestService final : public node::Residents, public ConsolePlace, public TestPlace {
 public:
  SelftestService(const runtime::SelftestSettings& settings, SelftestHost host);
  ~SelftestService() override;

  [[nodiscard]] node::ResidentNeeds needs(unsigned shard) const override;
  Outcome<void> move_in(std::span<const node::ResidentPlace> places, std::uint64_t cookie,
                        runtime::Metrics& metrics) override;
  void add_verbs(runtime::VerbTable& verbs, node::LnetAdmin& lnet) override;
  Pollable& on_shard(unsigned shard) override;
  [[nodiscard]] selftest::Console* console_owner() override;
  void session_began_owner() override;
  [[nodiscard]] selftest::SelftestNode* tests_owner() override;
  [[nodiscard]] const selftest::SelftestShared& records() const override { return *shared_; }
  // Removes our objects from the node, before it is destroyed.
  void move_out();

 private:
  class OnShard;

  const selftest::TestServerSetup server_;
  const selftest::FrameworkSetup framework_;
  std::unique_ptr<selftest::SelftestShared> shared_;
  std::vector<std::unique_ptr<selftest::RpcStatistics>> served_;  // indexed by shard
  selftest::RpcStatistics asked_;                                 // of shard 0's framework
  SessionStatistics session_;
  const SelftestHost host_;
  std::unique_ptr<ConsoleDesk> desk_;
  std::vector<std::unique_ptr<OnShard>> shards_;
  runtime::Metrics* metrics_ = nullptr;
  std::vector<runtime::Metrics::Id> metric_ids_;
};

}  // namespace plnet::apps
