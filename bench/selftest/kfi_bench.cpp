// SPDX-License-Identifier: BSD-3-Clause
// RPCs of selftest over kfilnd, the driver for Cassini and the software NIC. The client's thread
// steps the NICs between its turns: that time is no work of a node on a real NIC, and is reported
// separately.
#include "bench/kfilnd/soft_node.hpp"
#include "bench/selftest/run_load.hpp"

namespace plnet::bench {
namespace {

using selftest::BulkOperation;

// A node whose thread also steps the NICs.
struct SteppingNode {
  SoftFabric& fabric;
  SoftNode node;

  void turn() {
    fabric.step();
    node.turn();
  }
  void set_resident(Pollable* resident) { node.set_resident(resident); }
  [[nodiscard]] lnet::Shard& shard() { return node.shard(); }
  [[nodiscard]] std::span<std::byte> memory() { return node.memory(); }
};

struct KfiSite {
  explicit KfiSite(std::int32_t peer_credits)
      : near{fabric, SoftNode(fabric, setup_of(0, peer_credits))},
        far(fabric, setup_of(1, peer_credits)) {
    near.node.know(far.nid());
    far.know(near.node.nid());
    // Until the portals are enabled and the buffers linked.
    for (unsigned i = 0; i < 100; ++i) {
      near.turn();
      far.turn();
    }
  }
  [[nodiscard]] static const char* trouble() { return nullptr; }
  [[nodiscard]] lnet::Nid server() const { return far.nid(); }
  void begin() {
    nic_seconds = fabric.busy_seconds();
    began = clock.now();
  }
  void report(benchmark::State& state, std::uint64_t rpcs) {
    const double nics = fabric.busy_seconds() - nic_seconds;
    const double all = std::chrono::duration<double>(clock.now() - began).count();
    const auto count = static_cast<double>(rpcs);
    state.counters["nic_ns_per_rpc"] = nics * 1e9 / count;
    state.counters["ns_per_rpc"] = all * 1e9 / count;
    state.counters["rate_without_nics"] = count / (all - nics);
  }

  static SoftNodeSetup setup_of(unsigned nic, std::int32_t peer_credits) {
    return {.nic = nic,
            .memory_bytes = kLoadMemoryBytes,
            .descriptors = kLoadDescriptors,
            .peer_credits = peer_credits};
  }

  SoftFabric fabric{2};
  SteppingNode near;
  SoftNode far;
  runtime::TscClock clock;
  double nic_seconds = 0;
  Instant began{};
};

void add(Suite& suite, const std::string& name, const std::string& what, const LoadShape& shape,
         std::int32_t peer_credits, std::optional<Bar> bar) {
  suite.push_back({.name = name,
                   .what = what + ", peer_credits " + std::to_string(peer_credits) +
                           ", over software Cassinis that the client's core steps",
                   .unit = "RPC/s",
                   .timing = Timing::kReal,
                   .round_seconds = 0.2,
                   .bar = bar,
                   .value = [=](benchmark::State& state) {
                     KfiSite site(peer_credits);
                     run_load(state, site, shape);
                   }});
}

}  // namespace

void add_benchmarks(Suite& suite) {
  const Bar bar{.limit = 300e3, .side = Bar::Side::kAtLeast};
  constexpr std::int32_t kKernelCredits = 16;
  add(suite, "kfilnd.soft.4k", "4 KiB read, 32 at a time, no check",
      brw(BulkOperation::kRead, 4096, 32), kKernelCredits, bar);
  add(suite, "kfilnd.soft.4k.write", "4 KiB written, 32 at a time, no check",
      brw(BulkOperation::kWrite, 4096, 32), kKernelCredits, bar);
  add(suite, "kfilnd.soft.4k.credits", "4 KiB read, 32 at a time, no check",
      brw(BulkOperation::kRead, 4096, 32), 128, {});
  add(suite, "kfilnd.soft.ping", "pings, 64 at a time", {.concurrency = 64}, kKernelCredits, {});
}

}  // namespace plnet::bench
