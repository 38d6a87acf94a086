// SPDX-License-Identifier: BSD-3-Clause
// A node on a network without cost, whose shards PUT to peers drawn at random.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "bench/harness/harness.hpp"
#include "drivers/net/null/device.hpp"
#include "lib/base/cache_line.hpp"
#include "lib/base/random.hpp"
#include "tests/mocks/core_node.hpp"

namespace plnet::bench {

using lnet::Nid;

inline constexpr std::size_t kPeers = 10'000;
inline constexpr std::size_t kDepth = 64;  // PUTs under way
inline constexpr lnet::PortalId kPortal = 26;

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
  // `arenas` and `taps`: for captures.
  explicit Site(unsigned shards, const ArenaTable* arenas = nullptr,
                std::span<const lnet::TapSlot> taps = {})
      : node({.shards = shards,
              .nids = {Nid::of(lnet::NetType::kTcp, 0, 1)},
              .limits = {.peer_ports = kPeers + 16,
                         .extra_links = 16,
                         .messages = 1024,
                         .receives = 1024,
                         .descriptors = 1024,
                         .match_entries = 64},
              .peers = kPeers + 16,
              .tunables = {.credits = 1024},
              .arenas = arenas,
              .taps = taps},
             [this](lnet::NiPort& port, lnet::ShardId /*shard*/) {
               return std::make_unique<drivers::NullLnd>(
                   drivers::NullConfig{.mode = drivers::NullMode::kEcho, .peers_max = kPeers + 16},
                   port, random);
             }) {}

  void add_peers(std::uint32_t count, lnet::ShardId home) {
    for (std::uint32_t i = 0; i < count; ++i) {
      const auto number = static_cast<std::uint32_t>(peers.size());
      peers.push_back(Nid::of(lnet::NetType::kTcp, 0, 0x0a000000 + number));
      node.add_peer(peers.back(), home);
    }
  }

  Random random{1};
  mocks::CoreNode node;
  std::vector<Nid> peers;
};

// One shard that puts to random peers and turns itself. Two of them share no cache line.
class alignas(kNoSharing) Putter {
 public:
  Putter(Site& site, unsigned shard, std::uint32_t first, std::uint32_t peers)
      : site_(site),
        shard_(site.node.shard(shard)),
        first_(first),
        peers_(peers),
        random_(shard + 1) {
    md_ = *shard_.bind({.handler = &handler_});
    for (std::size_t i = 0; i < drawn_.size(); ++i)
      (void)draw();
  }

  void turn() {
    now_ += std::chrono::microseconds(1);
    shard_.begin_turn(now_);
    for (; !stopping_ && begun_ - handler_.acks < kDepth; ++begun_) {
      (void)shard_.put(md_, {.target = {*draw()}, .portal = kPortal, .match_bits = begun_});
    }
    (void)shard_.poll(now_);
  }
  void stop() { stopping_ = true; }
  [[nodiscard]] std::uint64_t done() const { return handler_.acks; }
  [[nodiscard]] bool settled() const { return handler_.acks == begun_ && handler_.sends == begun_; }
  [[nodiscard]] bool failed() const { return handler_.failures > 0; }

 private:
  // A real caller knows the target of a message. This benchmark draws it from a list that is not in
  // the cache, so it prefetches the entry.
  const Nid* draw() {
    const Nid* const fresh = &site_.peers[first_ + random_.below(peers_)];
    __builtin_prefetch(fresh);
    __builtin_prefetch(reinterpret_cast<const std::byte*>(fresh + 1) - 1);
    return std::exchange(drawn_[draws_++ % drawn_.size()], fresh);
  }

  Site& site_;
  lnet::Shard& shard_;
  const std::uint32_t first_;
  const std::uint32_t peers_;
  Random random_;
  CountAcks handler_;
  lnet::MdHandle md_;
  std::array<const Nid*, 16> drawn_{};
  std::size_t draws_ = 0;
  std::uint64_t begun_ = 0;
  bool stopping_ = false;
  Instant now_{};
};

// PUT with ACK on the only shard of the site; each counts as a message.
inline void put_with_ack(benchmark::State& state, Site& site, std::uint32_t peers) {
  site.add_peers(peers, 0);
  Putter putter(site, 0, 0, peers);
  while (putter.done() < 4 * kPeers)  // every peer has its links
    putter.turn();
  const std::uint64_t before = putter.done();
  for ([[maybe_unused]] auto _ : state)
    putter.turn();
  const auto done = static_cast<double>(putter.done() - before);
  state.counters["value"] = benchmark::Counter(done, benchmark::Counter::kIsRate);
  for (putter.stop(); !putter.settled();)
    putter.turn();
  if (putter.failed()) state.SkipWithError("some PUT failed");
}

}  // namespace plnet::bench
