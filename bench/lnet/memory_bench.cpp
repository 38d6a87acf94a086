// SPDX-License-Identifier: BSD-3-Clause
// The core's cost of one more peer: two nodes that differ only in their number of peers, everything
// allocated at start, and every peer known, sent to and received from.
#include <cstddef>
#include <memory>
#include <vector>

#include <malloc.h>

#include "bench/harness/harness.hpp"
#include "drivers/net/null/device.hpp"
#include "lib/base/random.hpp"
#include "lib/lnet/node/node.hpp"

namespace plnet::bench {
namespace {

using lnet::Nid;

constexpr std::size_t kFew = 10'000;
constexpr std::size_t kMany = 20'000;

// Heap in use, large blocks included.
std::size_t heap_bytes() {
  const auto info = ::mallinfo2();
  return info.uordblks + info.hblkhd;
}

struct Ignore final : lnet::EventHandler {
  void on_event(const lnet::Event& event) override { failures += event.status ? 0 : 1; }
  std::uint64_t failures = 0;
};

class EchoMaker final : public lnet::LndMaker {
 public:
  std::unique_ptr<lnet::Lnd> make(lnet::NiPort& port, lnet::ShardId /*shard*/) override {
    return std::make_unique<drivers::NullLnd>(
        drivers::NullConfig{.mode = drivers::NullMode::kEcho, .peers_max = kMany}, port, random_);
  }

 private:
  Random random_{1};
};

// A node with room for this many peers; the core's heap alone.
std::size_t bytes_of_node(std::size_t peers) {
  std::vector<std::byte> memory(1 << 20);
  ArenaTable arenas;
  (void)arenas.add({.base = memory.data(), .size = memory.size()});
  SilentDoorbell bell;
  Doorbell* const bells[] = {&bell};
  EchoMaker maker;
  Ignore handler;
  const std::size_t before = heap_bytes();
  lnet::NodeSetup setup{.shard_limits = {.peer_ports = peers + 16},
                        .coordinator = {.peers = {.peers = peers + 16, .peer_nis = peers + 16}},
                        .arenas = &arenas,
                        .doorbells = bells};
  setup.coordinator.peers.strangers_per_second = 1'000'000'000;
  setup.coordinator.peers.kept_for_own = 0;
  setup.control_memory = {{0, 0}, memory};
  lnet::Node node(setup);
  if (!node.add_ni({.nid = Nid::of(lnet::NetType::kTcp, 0, 1)}, maker)) return 0;
  const auto md = node.shard(0).bind({.handler = &handler});
  Instant now{};
  const auto turn = [&] {
    now += std::chrono::microseconds(1);
    node.shard(0).begin_turn(now);
    (void)node.shard(0).poll(now);
    (void)node.coordinate(now);
    node.quiescent(0);
  };
  for (std::uint32_t i = 0; i < peers; ++i) {
    // To the ping portal: no discovery occurs, since the null driver answers no ping.
    (void)node.shard(0).put(*md, {.target = {Nid::of(lnet::NetType::kTcp, 0, 0x0a000000 + i)},
                                  .portal = lnet::kPingPortal,
                                  .ack = false});
    for (int turns = 0; turns < 4; ++turns)
      turn();
  }
  return heap_bytes() - before;
}

void peer_memory(benchmark::State& state) {
  double bytes = 0;
  for ([[maybe_unused]] auto _ : state) {
    const std::size_t few = bytes_of_node(kFew);
    const std::size_t many = bytes_of_node(kMany);
    bytes = static_cast<double>(many - few) / static_cast<double>(kMany - kFew);
  }
  state.counters["value"] = bytes;
}

}  // namespace

void add_benchmarks(Suite& suite) {
  suite.push_back({.name = "core.peer.memory",
                   .what = "heap of the core for each peer with one NI, one shard",
                   .unit = "bytes",
                   .round_seconds = 0.01,
                   .bar = Bar{.limit = 4096},
                   .value = peer_memory});
}

}  // namespace plnet::bench
