// SPDX-License-Identifier: BSD-3-Clause
// A console and any number of test nodes on one simulated network and clock.
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <vector>

#include "apps/lnet-selftest/sim/selftest_host.hpp"
#include "drivers/net/sim/event_loop.hpp"
#include "drivers/net/sim/network.hpp"

namespace plnet::sim {

inline constexpr unsigned kSelftestNodesMax = selftest::kConsoleNodesMax;

struct SelftestSiteSetup {
  unsigned nodes = 2;
  std::uint64_t seed = 1;
  drivers::SimShape shape = drivers::SimShape::calm();
  SelftestHostLimits node;
  // 0: as many as nodes; further requests of the console wait.
  std::size_t console_rpcs = 0;
};

class SelftestSite {
 public:
  explicit SelftestSite(const SelftestSiteSetup& setup);
  SelftestSite(const SelftestSite&) = delete;
  SelftestSite& operator=(const SelftestSite&) = delete;

  // 10.0.0.1@tcp is the console; the nodes are 10.1.0.1@tcp to 10.1.0.250@tcp, then 10.1.1.1@tcp
  // and so on: ranges like 10.1.[0-3].[1-250]@tcp.
  [[nodiscard]] static lnet::Nid console_nid();
  [[nodiscard]] static lnet::Nid nid_of(unsigned node);

  void start();  // all of them
  [[nodiscard]] SelftestHost& console() { return *console_; }
  [[nodiscard]] SelftestHost& node(unsigned number) { return *nodes_[number]; }
  [[nodiscard]] unsigned nodes() const { return static_cast<unsigned>(nodes_.size()); }
  [[nodiscard]] drivers::EventLoop& loop() { return loop_; }
  [[nodiscard]] drivers::SimNetwork& network() { return network_; }
  [[nodiscard]] drivers::SimStreamFabric& streams() { return streams_; }
  // The figures of all clients together.
  [[nodiscard]] const selftest::TestLatency& latency() const { return latency_; }
  [[nodiscard]] const selftest::PaceStatistics& paced() const { return paced_; }

  void run_for(Duration span) { (void)loop_.run_for(span); }
  // False: the condition was not met within the bound.
  [[nodiscard]] bool run_until(const std::function<bool()>& done, Duration bound);

  // A command with an immediate result.
  template <class Call>
  auto ask(Call call) {
    console_->begin_turn();
    auto answer = call(*console_->console());
    console_->ring();
    return answer;
  }
  // Runs a transaction to its end.
  using Begin = std::move_only_function<selftest::Answer<selftest::TransactionId>(
      selftest::Console& console, selftest::WhenDone when_done)>;
  [[nodiscard]] std::expected<selftest::TransactionResult, selftest::Refused> transact(Begin begin);

  // Ends all programs. Returns objects that have not returned, or a node that does not end; empty:
  // none.
  [[nodiscard]] std::string close();

 private:
  selftest::TestLatency latency_;
  selftest::PaceStatistics paced_;
  const SelftestSiteSetup setup_;
  std::unique_ptr<std::byte[]> source_;
  drivers::EventLoop loop_;
  drivers::SimNetwork network_;
  drivers::SimStreamFabric streams_;
  selftest::SourceData source_data_;
  SelftestWorld world_;
  std::unique_ptr<SelftestHost> console_;
  std::vector<std::unique_ptr<SelftestHost>> nodes_;
};

}  // namespace plnet::sim
