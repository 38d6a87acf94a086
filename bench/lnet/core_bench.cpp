// SPDX-License-Identifier: BSD-3-Clause
// The core on a network that is not there: what LNet itself costs per message. PUTs with ACK to
// peers drawn at random, counters on; a message is one PUT with everything that follows from it,
// its ACK included. doc/performance.md has the cycles step by step.
#include <array>
#include <memory>
#include <vector>

#include "bench/harness/harness.hpp"
#include "drivers/net/null/device.hpp"
#include "lib/base/random.hpp"
#include "tests/mocks/core_node.hpp"

namespace plnet::bench {
namespace {

using lnet::Nid;

constexpr std::size_t kPeers = 10'000;
constexpr std::size_t kDepth = 64;  // PUTs under way
constexpr lnet::PortalId kPortal = 26;

struct CountAcks final : lnet::EventHandler {
  void on_event(const lnet::Event& event) override {
    if (event.kind == lnet::EventKind::kAck) ++acks;
    if (event.kind == lnet::EventKind::kSend) ++sends;
    if (!event.status) ++failures;
  }
  std::uint64_t acks = 0;
  std::uint64_t sends = 0;
  std::uint64_t failures = 0;
};

struct Site {
  explicit Site(unsigned shards)
      : node({.shards = shards,
              .nids = {Nid::of(lnet::NetType::kTcp, 0, 1)},
              .limits = {.peer_ports = kPeers + 16,
                         .extra_links = 16,
                         .messages = 1024,
                         .receives = 1024,
                         .descriptors = 1024,
                         .match_entries = 64},
              .peers = kPeers + 16,
              .tunables = {.credits = 1024}},
             [this](lnet::NiPort& port, lnet::ShardId /*shard*/) {
               return std::make_unique<drivers::NullLnd>(
                   drivers::NullConfig{.mode = drivers::NullMode::kEcho, .peers_max = kPeers + 16},
                   port, random);
             }) {}

  Random random{1};
  lnet::PeerDirectory* directory = nullptr;
  mocks::CoreNode node;
  std::vector<Nid> peers;
  CountAcks handler;
  Instant now{};
};

// `home`: which shard the peers have.
std::unique_ptr<Site> make_site(unsigned shards, lnet::ShardId home, std::uint32_t peers) {
  auto site = std::make_unique<Site>(shards);
  for (std::uint32_t i = 0; i < peers; ++i) {
    site->peers.push_back(Nid::of(lnet::NetType::kTcp, 0, 0x0a000000 + i));
    site->node.add_peer(site->peers.back(), home);
  }
  return site;
}

void put_with_ack(benchmark::State& state, unsigned shards, lnet::ShardId home,
                  std::uint32_t peers = kPeers) {
  const auto site = make_site(shards, home, peers);
  lnet::Shard& shard = site->node.shard(0);
  const auto md = shard.bind({.handler = &site->handler});
  std::uint64_t begun = 0;
  const auto turn = [&] {
    site->now += std::chrono::microseconds(1);
    for (; begun - site->handler.acks < kDepth; ++begun) {
      const Nid& peer = site->peers[site->random.below(peers)];
      (void)shard.put(*md, {.target = {peer}, .portal = kPortal, .match_bits = begun});
    }
    for (unsigned i = 0; i < shards; ++i) {
      site->node.shard(i).begin_turn(site->now);
      (void)site->node.shard(i).poll(site->now);
    }
  };
  while (site->handler.acks < 4 * kPeers)  // every peer has its links
    turn();
  const std::uint64_t before = site->handler.acks;
  for ([[maybe_unused]] auto _ : state)
    turn();
  const auto done = static_cast<double>(site->handler.acks - before);
  state.counters["value"] = benchmark::Counter(done, benchmark::Counter::kIsRate);
  while (site->handler.acks < begun || site->handler.sends < begun) {
    site->now += std::chrono::microseconds(1);
    (void)site->node.turn(site->now);
  }
  if (site->handler.failures > 0) state.SkipWithError("some PUT failed");
}

}  // namespace

void add_benchmarks(Suite& suite) {
  suite.push_back({.name = "core.null.rate",
                   .what = "PUT with ACK through the core, 10 000 peers at random, one shard",
                   .unit = "msg/s",
                   .round_seconds = 0.2,
                   .bar = Bar{.limit = 5e6, .side = Bar::Side::kAtLeast},
                   .value = [](benchmark::State& state) { put_with_ack(state, 1, 0); }});
  suite.push_back({.name = "core.null.hot",
                   .what = "the same to 16 peers: what is left when nothing misses the cache",
                   .unit = "msg/s",
                   .round_seconds = 0.2,
                   .value = [](benchmark::State& state) { put_with_ack(state, 1, 0, 16); }});
  suite.push_back({.name = "core.null.cross",
                   .what = "the same, every message by way of another shard, on one CPU",
                   .unit = "msg/s",
                   .round_seconds = 0.2,
                   .bar = Bar{.limit = 2.5e6, .side = Bar::Side::kAtLeast},
                   .value = [](benchmark::State& state) { put_with_ack(state, 2, 1); }});
}

}  // namespace plnet::bench
