// SPDX-License-Identifier: BSD-3-Clause
// Nodes of several shards of one CPT, each the real core over the real o2ib LND on simulated queue
// pairs: the queue pairs of one peer lie on several shards.
#pragma once

#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "drivers/net/sim/verbs_driver.hpp"
#include "lib/o2iblnd/lnd.hpp"
#include "tests/mocks/core_node.hpp"
#include "tests/unit/drivers/sim_cluster.hpp"

namespace plnet::o2iblnd {

struct LaneOptions {
  unsigned shards = 2;
  unsigned connections = 4;  // conns_per_peer
  std::uint64_t incarnation = 1;
  bool spreads = true;  // else all queue pairs are at home, as with a kernel node
};

class LaneNode final : public lnet::EventHandler {
 public:
  static constexpr std::uint32_t kSourceBytes = 1U << 20U;
  static constexpr std::uint32_t kTargetAt = kSourceBytes;
  static constexpr std::uint32_t kSinkAt = 5U << 20U;
  static constexpr std::uint32_t kMessagesAt = 9U << 20U;
  static constexpr lnet::PortalId kPutPortal = 7;
  static constexpr lnet::PortalId kGetPortal = 8;

  static lnet::Nid nid_of(unsigned node) {
    return lnet::Nid::of(lnet::NetType::kO2ib, 0, drivers::kFirstAddress + node);
  }

  LaneNode(drivers::SimCluster& cluster, drivers::SimVerbsFabric& fabric, unsigned index,
           const LaneOptions& options, std::uint64_t seed)
      : nid_(nid_of(index)), exchange_(std::vector<std::uint16_t>(options.shards, 0)) {
    O2ibLndConfig config{.nid = nid_,
                         .incarnation = options.incarnation,
                         .arenas = &arenas_,
                         .tunables = {.conns_per_peer = options.connections, .ntx = 64},
                         .peers_max = 8,
                         .connections_max = 24,
                         .receives_max = 64,
                         .replies_max = 64,
                         .start = cluster.loop.now()};
    bytes_.resize(kMessagesAt + options.shards * message_memory_bytes(config));
    PLNET_CHECK(arenas_.add({.base = bytes_.data(), .size = bytes_.size()}).has_value(), "room");
    for (std::uint32_t i = 0; i < kSourceBytes; ++i)
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
    lnds_.resize(options.shards);
    core_ = std::make_unique<mocks::CoreNode>(
        mocks::CoreNodeSetup{.shards = options.shards,
                             .nids = {nid_},
                             .limits = {.peer_ports = 8,
                                        .extra_links = 4,
                                        .lane_sets = 4,
                                        .messages = 128,
                                        .receives = 256,
                                        .descriptors = 512,
                                        .match_entries = 16},
                             .interface_cookie = options.incarnation,
                             .tunables = {.peer_credits = 32},
                             .arenas = &arenas_,
                             .doorbells = bells},
        [&](lnet::NiPort& port, lnet::ShardId shard) {
          config.message_memory = {0, kMessagesAt + shard * message_memory_bytes(config)};
          config.lanes = options.spreads ? exchange_.end(shard) : nullptr;
          auto lnd = std::make_unique<O2ibLnd>(config, port, *sides_[shard]->driver);
          lnds_[shard] = lnd.get();
          return lnd;
        });
    for (unsigned i = 0; i < options.shards; ++i)
      sides_[i]->attach();
    EXPECT_TRUE(lnds_[0]->listen().has_value());
  }

  // Sets the home of a peer.
  void know(unsigned peer, unsigned home) {
    core_->add_peer(nid_of(peer), static_cast<lnet::ShardId>(home));
  }
  void attach(unsigned shard) {
    const auto puts_to = core_->shard(shard).attach(
        {.portal = kPutPortal}, {.fragments = target_,
                                 .length = kSinkAt - kTargetAt,
                                 .options = lnet::kMdPut | lnet::kMdManageRemote,
                                 .handler = this});
    const auto gets_from = core_->shard(shard).attach(
        {.portal = kGetPortal}, {.fragments = source_,
                                 .length = kSourceBytes,
                                 .options = lnet::kMdGet | lnet::kMdManageRemote,
                                 .handler = this});
    ASSERT_TRUE(puts_to);
    ASSERT_TRUE(gets_from);
  }
  // `number` selects the bytes to send and their offset at the target.
  void put(unsigned shard, unsigned to, std::uint32_t number, std::uint32_t length) {
    const auto md = bind(shard, {{0, source_of(number)}, length});
    ASSERT_TRUE(core_->shard(shard).put(
        md, {.target = {nid_of(to)}, .portal = kPutPortal, .offset = number * length}));
    ++puts;
  }
  void get(unsigned shard, unsigned from, std::uint32_t number, std::uint32_t length) {
    const auto md = bind(shard, {{0, kSinkAt + number * length}, length});
    ASSERT_TRUE(core_->shard(shard).get(
        md, {.target = {nid_of(from)}, .portal = kGetPortal, .offset = source_of(number)}));
    ++gets;
  }
  [[nodiscard]] bool holds(const LaneNode& from, std::uint32_t number, std::uint32_t length) const {
    return std::ranges::equal(std::span(bytes_).subspan(kTargetAt + number * length, length),
                              std::span(from.bytes_).subspan(source_of(number), length));
  }
  [[nodiscard]] bool fetched(const LaneNode& from, std::uint32_t number,
                             std::uint32_t length) const {
    return std::ranges::equal(std::span(bytes_).subspan(kSinkAt + number * length, length),
                              std::span(from.bytes_).subspan(source_of(number), length));
  }

  void on_event(const lnet::Event& event) override {
    if (event.kind == lnet::EventKind::kSend) ++(event.status ? sent : failed);
    if (event.kind == lnet::EventKind::kAck) ++acks;
    if (event.kind == lnet::EventKind::kReply && event.status) ++replies;
    if (event.kind == lnet::EventKind::kPut) ++(event.status ? received : broken);
  }

  [[nodiscard]] mocks::CoreNode& core() { return *core_; }
  [[nodiscard]] O2ibLnd& lnd(unsigned shard) { return *lnds_[shard]; }
  [[nodiscard]] drivers::SimVerbsDriver& driver(unsigned shard) { return *sides_[shard]->driver; }
  [[nodiscard]] unsigned shards() const { return static_cast<unsigned>(lnds_.size()); }
  [[nodiscard]] std::uint64_t sum(O2ibCounters::Id id) const {
    std::uint64_t all = 0;
    for (const O2ibLnd* const lnd : lnds_)
      all += lnd->count(id);
    return all;
  }
  // The open connections of a shard, without stand-ins.
  [[nodiscard]] unsigned open_on(unsigned shard) const {
    unsigned open = 0;
    for (std::uint32_t slot = 0; slot < lnds_[shard]->connection_slots(); ++slot) {
      const auto facts = lnds_[shard]->connection_facts(slot, Instant{});
      open += facts && facts->state == Connection::State::kEstablished ? 1U : 0U;
    }
    return open;
  }
  [[nodiscard]] unsigned open() const {
    unsigned all = 0;
    for (unsigned shard = 0; shard < shards(); ++shard)
      all += open_on(shard);
    return all;
  }
  [[nodiscard]] std::size_t lanes() {
    std::size_t all = 0;
    for (unsigned i = 0; i < shards(); ++i) {
      const LaneEnd* const end = exchange_.end(i);
      if (end == nullptr) continue;
      for (const lnet::ShardId other : end->others())
        all += end->lent_to(other);
    }
    return all;
  }
  // The reports about a peer: the number of shards that report it, and its connections in them.
  struct Row {
    unsigned rows = 0;
    unsigned connections = 0;
  };
  [[nodiscard]] Row row_of(unsigned peer, Instant now) {
    Row row;
    for (O2ibLnd* const lnd : lnds_) {
      for (std::uint32_t slot = 0; slot < lnd->peer_slots(); ++slot) {
        const auto facts = lnd->peer_facts(slot, now);
        if (!facts || facts->nid != nid_of(peer)) continue;
        ++row.rows;
        row.connections += facts->connections;
      }
    }
    return row;
  }
  [[nodiscard]] bool idle() {
    for (unsigned i = 0; i < shards(); ++i) {
      if (!core_->shard(i).idle()) return false;
    }
    return true;
  }
  // No message is under way: all credits are home, and no lane counts bytes.
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
      EXPECT_EQ(lnds_[shard]->count(O2ibCounters::Id::kUnexpected), 0U);
      EXPECT_EQ(lnds_[shard]->count(O2ibCounters::Id::kStray), 0U);
      EXPECT_EQ(lnds_[shard]->count(O2ibCounters::Id::kWrongLife), 0U);
    }
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

  std::uint64_t puts = 0, gets = 0, sent = 0, failed = 0, acks = 0, replies = 0, received = 0,
                broken = 0;
  bool gone = false;  // the interface of shards beyond the first is not there yet, or no longer

 private:
  using SimShard = drivers::SimShard;

  // The queue pairs of a shard. The first listens, and brings requests to the home of their peer.
  struct Side final : Pollable, VerbsEvents {
    Side(LaneNode& the_node, drivers::SimVerbsFabric& fabric, SimShard& the_shard, unsigned number)
        : node(the_node),
          shard(the_shard),
          index(number),
          driver(std::make_unique<drivers::SimVerbsDriver>(fabric, the_shard.host(), node.arenas_,
                                                           *this, the_shard)) {}
    void attach() {
      shard.add(*driver);
      shard.add(*this);
    }
    [[nodiscard]] O2ibLnd& lnd() const { return *node.lnds_[index]; }
    unsigned poll(Instant now) override {
      unsigned work = 0;
      if (LaneEnd* const lanes = node.exchange_.end(index)) {
        work += lanes->collect([&](const LaneNote& note) {
          if (!node.gone || index == 0) return lnd().on_lane_note(note);
          if (note.word == LaneWord::kTake) driver->turn_down(note.lane->request);
          lanes->answer_without_interface(note);
        });
      }
      if (index == 0) work += node.core_->step_directory(now);
      return work + node.core_->turn_shard(index, now);
    }
    std::string_view name() const override { return "lane side"; }
    Instant next_deadline() const override { return node.core_->shard(index).next_deadline(); }

    void on_connect_request(QueuePairId request, const Ipv4Endpoint& from, const Ipv4Endpoint& to,
                            std::span<const std::byte> data) override {
      const lnet::Nid peer = lnet::Nid::of(lnet::NetType::kO2ib, 0, from.address);
      const lnet::PeerNi* const known = node.core_->directory().find(peer);
      if (known == nullptr) return driver->reject(request, {});
      if (known->home != index)
        return driver->hand_over(request, *node.sides_[known->home]->driver, data);
      lnd().on_connect_request(request, from, to, data);
    }
    void on_completions(std::span<const WorkCompletion> burst) override {
      lnd().on_completions(burst);
    }
    void on_established(QueuePairId id, std::span<const std::byte> data) override {
      lnd().on_established(id, data);
    }
    void on_rejected(QueuePairId id, RejectKind kind, std::span<const std::byte> data) override {
      lnd().on_rejected(id, kind, data);
    }
    void on_disconnected(QueuePairId id, Errc cause) override { lnd().on_disconnected(id, cause); }
    void on_drained(QueuePairId id) override { lnd().on_drained(id); }
    void on_device(bool usable, Errc cause) override { lnd().on_device(usable, cause); }

    LaneNode& node;
    SimShard& shard;
    const unsigned index;
    std::unique_ptr<drivers::SimVerbsDriver> driver;
  };

  [[nodiscard]] static std::uint32_t source_of(std::uint32_t number) { return number % 64 * 977; }
  [[nodiscard]] lnet::MdHandle bind(unsigned shard, const Fragment& fragment) {
    auto& fragments = memory_.emplace_back();
    fragments[0] = fragment;
    const auto md = core_->shard(shard).bind(
        {.fragments = fragments, .length = fragment.length, .threshold = 2, .handler = this});
    PLNET_CHECK(md.has_value(), "there are descriptors");
    return *md;
  }

  const lnet::Nid nid_;
  std::vector<std::byte> bytes_;
  ArenaTable arenas_;
  const std::array<Fragment, 1> source_{Fragment{{0, 0}, kSourceBytes}};
  const std::array<Fragment, 1> target_{Fragment{{0, kTargetAt}, kSinkAt - kTargetAt}};
  std::deque<std::array<Fragment, 1>> memory_;  // memory of descriptors: its addresses stay
  LaneExchange exchange_;
  std::vector<std::unique_ptr<SimShard>> more_;
  std::vector<std::unique_ptr<Side>> sides_;
  std::vector<O2ibLnd*> lnds_;
  std::unique_ptr<mocks::CoreNode> core_;
};

// Two nodes. The home of the peer is another shard on each.
class LaneSite {
 public:
  LaneSite(std::uint64_t the_seed, const drivers::SimShape& shape, const LaneOptions& options)
      : LaneSite(the_seed, shape, options, options) {}
  LaneSite(std::uint64_t the_seed, const drivers::SimShape& shape, const LaneOptions& first,
           const LaneOptions& second)
      : seed(the_seed), cluster(the_seed, shape, 2), fabric(cluster.network, shape.verbs, seed) {
    make(0, first);
    make(1, second);
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
      cluster.loop.run_for(std::chrono::milliseconds(5));
    }
    return done();
  }
  void run_for(Duration span) {
    (void)run([] { return false; }, span);
  }
  bool settle() {
    return run([this] {
      return std::ranges::all_of(nodes, [](const auto& node) {
        return !node || (node->idle() && node->sent + node->failed == node->puts + node->gets);
      });
    });
  }
  // Messages between the nodes, by all shards in turn, numbered from `first`: PUT and GET in turn.
  void exchange(unsigned from, std::uint32_t first, std::uint32_t count, std::uint32_t length) {
    LaneNode& node = *nodes[from];
    for (std::uint32_t i = first; i < first + count; ++i) {
      const unsigned shard = i / 2 % node.shards();
      if (i % 2 == 0) node.put(shard, 1 - from, i, length);
      if (i % 2 == 1) node.get(shard, 1 - from, i, length);
    }
    node.ring();
  }
  // Establishes all connections.
  void connect() {
    nodes[0]->put(0, 1, 0, 100);
    ASSERT_TRUE(settle());
    run_for(std::chrono::seconds(3));
  }
  [[nodiscard]] unsigned home(unsigned index) {
    return nodes[index]->core().directory().find(LaneNode::nid_of(1 - index))->home;
  }
  void restart(unsigned index, const LaneOptions& options) {
    const drivers::HostId host = cluster.shards[index]->host();
    cluster.network.set_present(host, false);
    nodes[index].reset();
    cluster.shards[index] =
        std::make_unique<drivers::SimShard>(cluster.network, host, cluster.shape.shard, seed, 500);
    cluster.network.set_present(host, true);
    make(index, options);
  }

  const std::uint64_t seed;
  drivers::SimCluster cluster;
  drivers::SimVerbsFabric fabric;
  std::array<std::unique_ptr<LaneNode>, 2> nodes;
};

}  // namespace plnet::o2iblnd
