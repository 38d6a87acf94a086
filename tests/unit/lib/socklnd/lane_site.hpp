// SPDX-License-Identifier: BSD-3-Clause
// Nodes of several shards of one CPT, each the real core over the real TCP LND on simulated
// streams: the connections of one peer lie on several shards.
#pragma once

#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "drivers/net/sim/stream_driver.hpp"
#include "lib/socklnd/acceptor.hpp"
#include "lib/socklnd/lane_exchange.hpp"
#include "lib/socklnd/lnd.hpp"
#include "tests/mocks/core_node.hpp"
#include "tests/unit/lib/socklnd/tcp_site.hpp"

namespace plnet::socklnd {

struct LaneOptions {
  unsigned shards = 2;
  unsigned connections = 4;  // in each bulk direction
  std::uint64_t incarnation = 1;
};

class LaneNode final : public PeerHomes, public lnet::EventHandler {
 public:
  static constexpr std::uint32_t kTargetAt = 1U << 20U;
  static constexpr std::uint32_t kBytes = 5U << 20U;
  static constexpr lnet::PortalId kPortal = 7;

  LaneNode(drivers::SimCluster& cluster, drivers::SimStreamFabric& fabric, unsigned index,
           const LaneOptions& options, std::uint64_t seed)
      : nid_(nid_of(index)),
        local_{.incarnation = options.incarnation},
        bytes_(kBytes),
        exchange_(std::vector<std::uint16_t>(options.shards, 0)),
        arrivals_(options.shards) {
    PLNET_CHECK(arenas_.add({.base = bytes_.data(), .size = bytes_.size()}).has_value(), "room");
    for (std::uint32_t i = 0; i < kTargetAt; ++i)
      bytes_[i] = static_cast<std::byte>(i * 7 + i / 251 + index);
    SimShard& first = *cluster.shards[index];
    std::vector<Doorbell*> bells{&first};
    for (unsigned i = 1; i < options.shards; ++i) {
      more_.push_back(std::make_unique<SimShard>(cluster.network, first.host(), cluster.shape.shard,
                                                 seed, 1000 + index * 64 + i));
      bells.push_back(more_.back().get());
    }
    exchange_.set_doorbells(bells);
    for (unsigned i = 0; i < options.shards; ++i)
      sides_.push_back(std::make_unique<Side>(*this, fabric, i == 0 ? first : *more_[i - 1], i));
    acceptor_ = std::make_unique<Acceptor>(AcceptorConfig{}, sides_[0]->streams, *this);
    SockLndConfig config{.nid = nid_,
                         .incarnation = options.incarnation,
                         .arenas = &arenas_,
                         .start = cluster.loop.now()};
    config.tunables.conns_per_peer = options.connections;
    lnds_.resize(options.shards);
    core_ = std::make_unique<mocks::CoreNode>(
        mocks::CoreNodeSetup{.shards = options.shards,
                             .nids = {nid_},
                             .limits = {.peer_ports = 8,
                                        .extra_links = 4,
                                        .lane_sets = 4,
                                        .messages = 128,
                                        .receives = 256,  // a quarter exceeds the credits
                                        .descriptors = 512,
                                        .match_entries = 16},
                             .interface_cookie = options.incarnation,
                             .tunables = {.peer_credits = 32},
                             .arenas = &arenas_,
                             .doorbells = bells},
        [&](lnet::NiPort& port, lnet::ShardId shard) {
          config.lanes = exchange_.end(shard);
          auto lnd = std::make_unique<SockLnd>(config, port, sides_[shard]->streams);
          lnds_[shard] = lnd.get();
          return lnd;
        });
    for (unsigned i = 0; i < options.shards; ++i)
      sides_[i]->attach();
    EXPECT_TRUE(sides_[0]->driver->listen(address_of(index), 127, {}).has_value());
  }

  // Sets the home of a peer.
  void know(unsigned peer, unsigned home) {
    core_->add_peer(nid_of(peer), static_cast<lnet::ShardId>(home));
  }
  void attach(unsigned shard) {
    const auto attached = core_->shard(shard).attach(
        {.portal = kPortal}, {.fragments = target_,
                              .length = kBytes - kTargetAt,
                              .options = lnet::kMdPut | lnet::kMdManageRemote,
                              .handler = this});
    ASSERT_TRUE(attached);
  }
  // `number` selects the bytes to send and their offset at the target.
  void put(unsigned shard, unsigned to, std::uint32_t number, std::uint32_t length,
           bool ack = true) {
    auto& fragments = sources_.emplace_back();
    fragments[0] = {{0, number % 64 * 977}, length};
    const auto md = core_->shard(shard).bind(
        {.fragments = fragments, .length = length, .threshold = ack ? 2 : 1, .handler = this});
    ASSERT_TRUE(md);
    ASSERT_TRUE(core_->shard(shard).put(
        *md, {.target = {nid_of(to)}, .portal = kPortal, .offset = number * length, .ack = ack}));
    ++puts;
  }
  [[nodiscard]] bool holds(const LaneNode& from, std::uint32_t number, std::uint32_t length) const {
    return std::ranges::equal(std::span(bytes_).subspan(kTargetAt + number * length, length),
                              std::span(from.bytes_).subspan(number % 64 * 977, length));
  }

  void on_event(const lnet::Event& event) override {
    if (event.kind == lnet::EventKind::kSend) ++(event.status ? sent : failed);
    if (event.kind == lnet::EventKind::kAck) ++acks;
    if (event.kind == lnet::EventKind::kPut) ++(event.status ? received : broken);
  }

  [[nodiscard]] mocks::CoreNode& core() { return *core_; }
  [[nodiscard]] SockLnd& lnd(unsigned shard) { return *lnds_[shard]; }
  [[nodiscard]] unsigned shards() const { return static_cast<unsigned>(lnds_.size()); }
  [[nodiscard]] std::uint64_t sum(LndId id) const {
    std::uint64_t all = 0;
    for (const SockLnd* const lnd : lnds_)
      all += lnd->count(id);
    return all;
  }
  [[nodiscard]] std::size_t lanes() {
    std::size_t all = 0;
    for (unsigned i = 0; i < shards(); ++i) {
      const LaneEnd* const end = exchange_.end(i);
      for (const lnet::ShardId other : end->others())
        all += end->lent_to(other);
    }
    return all;
  }
  [[nodiscard]] bool idle() {
    for (unsigned i = 0; i < shards(); ++i) {
      if (!core_->shard(i).idle()) return false;
    }
    return true;
  }
  // The number of shards that report the peer.
  [[nodiscard]] unsigned rows_of(unsigned peer, Instant now) {
    unsigned rows = 0;
    for (SockLnd* const lnd : lnds_) {
      for (std::uint32_t slot = 0; slot < lnd->peer_slots(); ++slot) {
        const auto facts = lnd->peer_facts(slot, now);
        rows += facts && facts->id.nid == nid_of(peer) ? 1U : 0U;
      }
    }
    return rows;
  }
  // No message is in flight: all credits are home, and no lane counts bytes.
  void expect_all_home() {
    for (unsigned shard = 0; shard < shards(); ++shard) {
      lnet::ShardCore& core = core_->shard(shard).core();
      EXPECT_EQ(core.messages.free_count(), core.messages.capacity());
      EXPECT_EQ(core.ports[1]->tx_credits(), core.ports[1]->tx_credits_max());
      core.peers.for_each([&](lnet::PeerPort& peer) {
        EXPECT_EQ(peer.tx_credits(), peer.tx_credits_max);
        for (const lnet::LndLink* link = peer.links; link != nullptr; link = link->next) {
          for (unsigned lane = 0; link->lanes != 0 && lane < shards(); ++lane)
            EXPECT_EQ(core.peers.lanes(*link).bytes(static_cast<lnet::ShardId>(lane)), 0U);
        }
      });
    }
  }
  // Large messages to the peer avoid connections of its home.
  void shun_home(unsigned peer) {
    const lnet::PeerNi& there = *core_->directory().find(nid_of(peer));
    lnet::ShardCore& core = core_->shard(there.home).core();
    core.ports[1]->on_lane(*core.peers.find(there)->links, lnet::lane_of_shard(there.home), false,
                           true);
  }
  void ring() {
    for (const auto& side : sides_)
      side->shard.ring();
  }
  // Removes the interface on every shard, as the node does.
  void close() {
    for (unsigned i = 0; i < shards(); ++i)
      core_->shard(i).close_port(core_->ni(1));
  }
  [[nodiscard]] bool closed() {
    for (unsigned i = 0; i < shards(); ++i) {
      if (!core_->shard(i).port_idle(core_->ni(1))) return false;
    }
    return true;
  }

  std::optional<LocalInterface> local(const lnet::Nid& nid) const override {
    if (nid != nid_) return std::nullopt;
    return local_;
  }
  Room room_for(const Arrival& arrival) override {
    return core_->directory().find(arrival.peer.nid) != nullptr ? Room::kFree : Room::kNone;
  }
  void hand_over(const Arrival& arrival) override {
    const lnet::ShardId home = core_->directory().find(arrival.peer.nid)->home;
    arrivals_[home].push_back(arrival);
    sides_[home]->shard.ring();
  }

  std::uint64_t puts = 0, sent = 0, failed = 0, acks = 0, received = 0, broken = 0;
  bool gone = false;  // the interface of shards beyond the first is not there yet, or no longer

 private:
  struct Side final : Pollable {
    Side(LaneNode& the_node, drivers::SimStreamFabric& fabric, SimShard& the_shard, unsigned number)
        : node(the_node),
          shard(the_shard),
          index(number),
          streams(4096),
          driver(std::make_unique<drivers::SimStreamDriver>(fabric, the_shard.host(), streams,
                                                            the_shard)) {
      streams.set_driver(*driver);
    }
    void attach() {
      shard.add(*driver);
      shard.add(*this);
    }
    unsigned poll(Instant now) override {
      unsigned work = 0;
      SockLnd& lnd = *node.lnds_[index];
      for (const Arrival& arrival : std::exchange(node.arrivals_[index], {})) {
        lnd.accept(arrival);
        ++work;
      }
      if (LaneEnd* const lanes = node.exchange_.end(index)) {
        work += lanes->collect([&](const LaneNote& note) {
          if (!node.gone || index == 0) return lnd.on_lane_note(note);
          if (note.word == LaneWord::kTake) driver->discard(note.lane->arrival.stream);
          lanes->answer_without_interface(note);
        });
      }
      if (index == 0) {
        work += node.acceptor_->flush(now);
        work += node.core_->step_directory(now);
      }
      return work + node.core_->turn_shard(index, now);
    }
    std::string_view name() const override { return "lane side"; }
    Instant next_deadline() const override {
      const Instant own = node.core_->shard(index).next_deadline();
      return index == 0 ? std::min(own, node.acceptor_->next_deadline()) : own;
    }

    LaneNode& node;
    SimShard& shard;
    const unsigned index;
    StreamSwitch streams;
    std::unique_ptr<drivers::SimStreamDriver> driver;
  };

  const lnet::Nid nid_;
  const LocalInterface local_;
  std::vector<std::byte> bytes_;
  ArenaTable arenas_;
  const std::array<Fragment, 1> target_{Fragment{{0, kTargetAt}, kBytes - kTargetAt}};
  std::deque<std::array<Fragment, 1>> sources_;  // stable addresses
  LaneExchange exchange_;
  std::vector<std::unique_ptr<SimShard>> more_;
  std::vector<std::unique_ptr<Side>> sides_;
  std::unique_ptr<Acceptor> acceptor_;
  std::vector<SockLnd*> lnds_;
  std::unique_ptr<mocks::CoreNode> core_;
  std::vector<std::vector<Arrival>> arrivals_;
};

// Two nodes. The home of the peer is another shard on each.
class LaneSite {
 public:
  LaneSite(std::uint64_t the_seed, const SimShape& shape, const LaneOptions& options)
      : seed(the_seed), cluster(the_seed, shape, 2), fabric(cluster.network, shape.stream, seed) {
    for (unsigned i = 0; i < 2; ++i)
      make(i, options);
  }
  void make(unsigned index, const LaneOptions& options) {
    nodes[index] = std::make_unique<LaneNode>(cluster, fabric, index, options, seed);
    nodes[index]->know(1 - index, static_cast<unsigned>(seed + index) % options.shards);
    nodes[index]->attach(static_cast<unsigned>(seed / 2) % options.shards);
  }
  LaneNode& operator[](unsigned index) { return *nodes[index]; }

  bool run(const std::function<bool()>& done, Duration within = std::chrono::minutes(10)) {
    const Instant end = cluster.loop.now() + within;
    // The test's own calls ring no doorbell. Afterwards shards sleep, and wake one another.
    for (const auto& node : nodes) {
      if (node) node->ring();
    }
    while (cluster.loop.now() < end) {
      if (done()) return true;
      cluster.loop.run_for(pace);
    }
    return done();
  }
  void run_for(Duration span) {
    (void)run([] { return false; }, span);
  }
  bool settle() {
    return run([this] {
      return std::ranges::all_of(nodes, [](const auto& node) {
        return !node || (node->idle() && node->sent + node->failed == node->puts);
      });
    });
  }
  // Messages between the nodes, by all shards in turn, numbered from `first`.
  void exchange(unsigned from, std::uint32_t first, std::uint32_t count, std::uint32_t length) {
    for (std::uint32_t i = first; i < first + count; ++i)
      nodes[from]->put(i % nodes[from]->shards(), 1 - from, i, length);
    nodes[from]->ring();
  }
  // Establishes all connections.
  void connect() {
    exchange(0, 0, 1, 100);
    ASSERT_TRUE(settle());
    ASSERT_TRUE(run([this] {
      const Peer* const peer = nodes[0]->lnd(home(0)).peer({nid_of(1)});
      return peer != nullptr && !peer->connections.empty() && peer->attempt == nullptr &&
             peer->waiting.empty() && peer->retry_at < cluster.loop.now();
    }));
    run_for(std::chrono::seconds(2));
  }
  [[nodiscard]] unsigned home(unsigned index) {
    return nodes[index]->core().directory().find(nid_of(1 - index))->home;
  }
  // All messages of a removed node must have ended.
  void restart(unsigned index, const LaneOptions& options) {
    const drivers::HostId host = cluster.shards[index]->host();
    cluster.network.set_present(host, false);
    nodes[index].reset();
    cluster.shards[index] =
        std::make_unique<SimShard>(cluster.network, host, cluster.shape.shard, seed, 500);
    cluster.network.set_present(host, true);
    make(index, options);
  }

  const std::uint64_t seed;
  Duration pace = std::chrono::milliseconds(5);
  drivers::SimCluster cluster;
  drivers::SimStreamFabric fabric;
  std::array<std::unique_ptr<LaneNode>, 2> nodes;
};

}  // namespace plnet::socklnd
