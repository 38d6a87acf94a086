// SPDX-License-Identifier: BSD-3-Clause
// Nodes of the real TCP LND on simulated streams, each with a core that checks the LND contract.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "drivers/net/fault/stream.hpp"
#include "drivers/net/sim/stream_driver.hpp"
#include "lib/socklnd/acceptor.hpp"
#include "lib/socklnd/lnd.hpp"
#include "tests/mocks/fake_core.hpp"
#include "tests/unit/drivers/sim_cluster.hpp"

namespace plnet::socklnd {

using drivers::SimShape;
using drivers::SimShard;
using LndId = SockLndCounters::Id;
using AcceptorId = AcceptorCounters::Id;

inline constexpr std::uint64_t kCoreBytes = 8U << 20U;

inline lnet::Nid nid_of(unsigned node) {
  return lnet::Nid::of(lnet::NetType::kTcp, 0, drivers::kFirstAddress + node);
}

inline SocketAddress address_of(unsigned node, std::uint16_t port = 988) {
  return {drivers::mapped_ipv4(drivers::kFirstAddress + node), port};
}

// 2001:db8::1 and so on.
inline drivers::IpBytes ipv6_of(unsigned node) {
  drivers::IpBytes ip{0x20, 0x01, 0x0d, 0xb8};
  ip[15] = static_cast<std::uint8_t>(node + 1);
  return ip;
}

inline lnet::Nid large_nid_of(unsigned node) {
  lnet::Nid nid = lnet::Nid::of(lnet::NetType::kTcp, 0, 0);
  nid.size = sizeof nid.address_be - 4;
  std::ranges::copy(ipv6_of(node), nid.address_be.begin());
  return nid;
}

struct NodeOptions {
  SockLndConfig lnd;  // NID, arenas and memory are filled in
  AcceptorConfig acceptor;
  bool ipv6 = false;                           // large NIDs, hence V4
  const drivers::FaultPlan* faults = nullptr;  // between the LND and its streams
  bool two_shards = false;                     // acceptor on one, peers at home on the other
  unsigned backlog = listen_backlog({});
  lnet::Nid shut_out = lnet::Nid::any();  // refused by the gate; any: none
  unsigned park_percent = 0;
  unsigned drop_percent = 0;
  bool check_bytes = true;
  std::uint64_t core_bytes = kCoreBytes;
};

// One life of a node: a restart makes another.
class TcpNode final : public PeerHomes {
 public:
  TcpNode(drivers::SimCluster& cluster, drivers::SimStreamFabric& fabric, unsigned index,
          const NodeOptions& options, std::uint64_t seed)
      : bytes_(options.core_bytes),
        nid_(options.ipv6 ? large_nid_of(index) : nid_of(index)),
        shut_out_(options.shut_out),
        local_{.incarnation = options.lnd.incarnation} {
    PLNET_CHECK(arenas_.add({.base = bytes_.data(), .size = bytes_.size()}).has_value(), "room");
    SimShard& first = *cluster.shards[index];
    if (options.two_shards) {
      second_ = std::make_unique<SimShard>(cluster.network, first.host(), cluster.shape.shard, seed,
                                           1000 + index);
    }
    SimShard& home = options.two_shards ? *second_ : first;
    const Random random(seed * 100 + index);
    door_ = std::make_unique<Side>(*this, fabric, first, options.faults, random);
    if (options.two_shards)
      home_side_ = std::make_unique<Side>(*this, fabric, home, options.faults, random);
    Side& home_side = options.two_shards ? *home_side_ : *door_;
    acceptor_ = std::make_unique<Acceptor>(options.acceptor, door_->streams, *this);
    core_ = std::make_unique<mocks::FakeCore>(
        mocks::FakeCoreConfig{.nid = nid_,
                              .arenas = &arenas_,
                              .memory = {0, 0},
                              .memory_bytes = options.core_bytes,
                              .seed = seed * 1000 + index,
                              .park_percent = options.park_percent,
                              .drop_percent = options.drop_percent,
                              .check_bytes = options.check_bytes});
    SockLndConfig config = options.lnd;
    config.nid = nid_;
    config.arenas = &arenas_;
    config.start = cluster.loop.now();
    lnd_ = std::make_unique<SockLnd>(config, *core_, home_side.streams);
    core_->attach(*lnd_);
    door_->acceptor = acceptor_.get();
    home_side.core = core_.get();
    home_side.lnd = lnd_.get();
    const SocketAddress address =
        options.ipv6 ? SocketAddress{ipv6_of(index), 988} : address_of(index);
    EXPECT_TRUE(door_->driver->listen(address, options.backlog, {}).has_value());
  }

  unsigned later = 0;  // asks the core to retry this often

  [[nodiscard]] const lnet::Nid& nid() const { return nid_; }
  [[nodiscard]] mocks::FakeCore& core() { return *core_; }
  [[nodiscard]] SockLnd& lnd() { return *lnd_; }
  [[nodiscard]] Acceptor& acceptor() { return *acceptor_; }
  [[nodiscard]] std::uint64_t count(LndId id) const { return lnd_->count(id); }
  [[nodiscard]] std::uint64_t count(AcceptorId id) const { return acceptor_->count(id); }
  [[nodiscard]] drivers::SimStreamDriver& driver() { return *door_->driver; }
  // The faults applied, of all kinds.
  [[nodiscard]] std::uint64_t faults_applied() const {
    const auto of = [](const auto& side) {
      return side && side->faults ? side->faults->judge().applied() : 0;
    };
    return of(door_) + of(home_side_);
  }
  // Stops all faults.
  void heal() {
    for (Side* const side : {door_.get(), home_side_.get()}) {
      if (side != nullptr && side->faults) {
        EXPECT_TRUE(side->faults->set_plan({}).has_value());
      }
    }
  }
  void ring() {
    door_->shard.ring();
    if (home_side_) home_side_->shard.ring();
  }

  std::optional<LocalInterface> local(const lnet::Nid& nid) const override {
    if (nid != nid_) return std::nullopt;
    return local_;
  }
  bool admits(const Arrival& arrival) override { return arrival.peer.nid != shut_out_; }
  Room room_for(const Arrival&) override {
    if (later > 0) {
      --later;
      return Room::kLater;
    }
    return lnd_->has_room() ? Room::kFree : Room::kNone;
  }
  void hand_over(const Arrival& arrival) override {
    arrivals_.push_back(arrival);
    (home_side_ ? *home_side_ : *door_).shard.ring();
  }

 private:
  struct Side final : Pollable {
    Side(TcpNode& the_node, drivers::SimStreamFabric& fabric, SimShard& the_shard,
         const drivers::FaultPlan* plan, const Random& random)
        : node(the_node), shard(the_shard), streams(4096) {
      if (plan != nullptr) {
        faults = std::make_unique<drivers::FaultStreamDriver>(streams, random);
        EXPECT_TRUE(faults->set_plan(*plan).has_value());
      }
      StreamEvents& events = faults ? static_cast<StreamEvents&>(*faults) : streams;
      driver = std::make_unique<drivers::SimStreamDriver>(fabric, the_shard.host(), events, shard);
      streams.set_driver(*driver);
      if (faults) {
        faults->attach(*driver);
        streams.set_driver(*faults);
        shard.add(*faults);
      }
      shard.add(*driver);
      shard.add(*this);
    }
    unsigned poll(Instant now) override {
      unsigned work = 0;
      if (lnd != nullptr) {
        for (const Arrival& arrival : std::exchange(node.arrivals_, {})) {
          lnd->accept(arrival);
          ++work;
        }
      }
      if (acceptor != nullptr) work += acceptor->flush(now);
      if (core != nullptr) work += core->turn(now);
      return work;
    }
    std::string_view name() const override { return "tcp node"; }
    Instant next_deadline() const override {
      const Instant door = acceptor != nullptr ? acceptor->next_deadline() : Instant::max();
      return lnd != nullptr ? std::min(door, lnd->next_deadline()) : door;
    }

    TcpNode& node;
    SimShard& shard;
    StreamSwitch streams;
    std::unique_ptr<drivers::FaultStreamDriver> faults;
    std::unique_ptr<drivers::SimStreamDriver> driver;
    Acceptor* acceptor = nullptr;
    mocks::FakeCore* core = nullptr;
    SockLnd* lnd = nullptr;
  };

  std::vector<std::byte> bytes_;
  ArenaTable arenas_;
  const lnet::Nid nid_;
  const lnet::Nid shut_out_;
  LocalInterface local_;
  std::unique_ptr<SimShard> second_;
  std::unique_ptr<Side> door_;
  std::unique_ptr<Side> home_side_;
  std::unique_ptr<Acceptor> acceptor_;
  std::unique_ptr<mocks::FakeCore> core_;
  std::unique_ptr<SockLnd> lnd_;
  std::vector<Arrival> arrivals_;
};

class TcpSite {
 public:
  TcpSite(std::uint64_t the_seed, const SimShape& shape, unsigned count,
          const NodeOptions& options = {})
      : seed(the_seed),
        cluster(the_seed, shape, count),
        fabric(cluster.network, shape.stream, the_seed) {
    for (unsigned i = 0; i < count && options.ipv6; ++i)
      EXPECT_TRUE(cluster.network.add_address(cluster.shards[i]->host(), ipv6_of(i)).has_value());
    for (unsigned i = 0; i < count; ++i)
      nodes.push_back(std::make_unique<TcpNode>(cluster, fabric, i, options, seed));
  }
  TcpNode& operator[](unsigned index) { return *nodes[index]; }

  void ring() {
    for (const auto& node : nodes) {
      if (node) node->ring();
    }
  }
  // Rings all nodes regularly, since a core that parks a message counts turns.
  bool run(const std::function<bool()>& done, Duration within = std::chrono::minutes(10)) {
    const Instant end = cluster.loop.now() + within;
    while (cluster.loop.now() < end) {
      if (done()) return true;
      ring();
      cluster.loop.run_for(pace);
    }
    return done();
  }
  void run_for(Duration span) {
    (void)run([] { return false; }, span);
  }
  // All messages have ended, nothing is in flight, and this state lasts for a while.
  bool settle(Duration within = std::chrono::minutes(10)) {
    unsigned quiet = 0;
    return run(
        [this, &quiet] {
          const bool all = std::ranges::all_of(nodes, [](const auto& node) {
            return !node || (node->core().settled() && node->lnd().idle());
          });
          quiet = all ? quiet + 1 : 0;
          return quiet > kQuietRounds;
        },
        within);
  }
  void expect_no_breach() {
    for (const auto& node : nodes) {
      if (!node) continue;
      EXPECT_EQ(node->core().breaches(), std::vector<std::string>{});
      EXPECT_EQ(node->core().tally().wrong_bytes, 0U);
      EXPECT_EQ(node->core().tally().duplicates, 0U);
      const auto& tally = node->core().tally();
      EXPECT_EQ(tally.accepted, tally.sent + tally.failed + tally.cancelled);
    }
  }
  // Power failure without notice, and power on again: the host has its address but no node.
  void take_away(unsigned index) {
    const drivers::HostId host = cluster.shards[index]->host();
    cluster.network.set_present(host, false);
    nodes[index].reset();
    cluster.shards[index] = std::make_unique<SimShard>(cluster.network, host, cluster.shape.shard,
                                                       seed, 500 + ++restarts_);
    cluster.network.set_present(host, true);
  }
  void restart(unsigned index, NodeOptions options) {
    take_away(index);
    options.lnd.incarnation = 1000 + restarts_;
    nodes[index] = std::make_unique<TcpNode>(cluster, fabric, index, options, seed + restarts_);
  }

  const std::uint64_t seed;
  Duration pace = std::chrono::milliseconds(1);
  drivers::SimCluster cluster;
  drivers::SimStreamFabric fabric;
  std::vector<std::unique_ptr<TcpNode>> nodes;

 private:
  static constexpr unsigned kQuietRounds = 20;

  unsigned restarts_ = 0;
};

// This many messages of both kinds, of sizes on both sides of min_bulk.
inline void exchange(TcpSite& site, unsigned from, unsigned to, unsigned count) {
  mocks::FakeCore& core = site[from].core();
  for (std::uint32_t i = 0; i < count; ++i) {
    core.put(nid_of(to), i * 97 % 5000, i % 2 == 0);
    if (i % 3 == 0) core.get(nid_of(to), i * 131 % 6000);
  }
}

}  // namespace plnet::socklnd
