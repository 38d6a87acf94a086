// SPDX-License-Identifier: BSD-3-Clause
// A router between clients and servers whose LNDs keep payloads and relay them to each other: under
// all events the delivered bytes are the sent ones.
#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "lib/base/random.hpp"
#include "tests/mocks/fake_core.hpp"
#include "tests/mocks/mock_stream_lnd.hpp"
#include "tests/unit/lib/lnet/move/site.hpp"

namespace plnet::lnet::forward_kept_wire_test {
namespace {

using Network = mocks::MockStreamLnd::Network;

constexpr std::uint32_t kClients = 3;
constexpr std::uint32_t kServers = 3;
constexpr BufferCounts kBuffers{{4, 6, 6}};
constexpr std::uint64_t kEndBytes = std::uint64_t{4} << 20U;

Nid client(std::uint32_t address) {
  return Nid::of(NetType::kTcp, 0, address);
}
Nid server(std::uint32_t address) {
  return Nid::of(NetType::kTcp, 1, address);
}
constexpr std::uint32_t kRouter = 1;
constexpr std::array<char, 2> kFamilies{};

// The relay abilities of the LNDs of the two networks.
enum class Kin : std::uint8_t { kNone, kOne, kTwo, kOnlyIn };

const void* family_of(Kin kin, unsigned net) {
  if (kin == Kin::kNone || (kin == Kin::kOnlyIn && net == 1)) return nullptr;
  return &kFamilies[kin == Kin::kTwo ? net : 0];
}

// A node without LNet, on the network of one shard of the router.
struct End {
  End(const mocks::MockLndConfig& lnd_setup, const mocks::FakeCoreConfig& core_setup,
      Network& network)
      : core(core_setup), lnd(lnd_setup, network, core) {
    core.attach(lnd);
  }
  mocks::FakeCore core;
  mocks::MockStreamLnd lnd;
};

struct WireSetup {
  Kin kin = Kin::kOne;
  unsigned shards = 1;
  unsigned kept_flushes = 2;
  NiTunables tunables{.peer_credits = 4};
  std::size_t window = 2;  // messages on the wire from the router to a server
};

class KeptSite {
 public:
  explicit KeptSite(const WireSetup& setup)
      : setup_(setup),
        memory_(setup.shards * (RouterMemory::bytes(kBuffers) + kEndBytes * (kClients + kServers))),
        networks_{std::vector<Network>(setup.shards), std::vector<Network>(setup.shards)} {
    (void)arenas_.add({.base = memory_.data(), .size = memory_.size()}).value();
    make_router();
    for (unsigned shard = 0; shard < setup.shards; ++shard) {
      for (std::uint32_t i = 0; i < kClients; ++i)
        add_end(clients, client(10 + i), networks_[0][shard]);
      for (std::uint32_t i = 0; i < kServers; ++i)
        add_end(servers, server(20 + i), networks_[1][shard]);
    }
  }

  [[nodiscard]] mocks::CoreNode& router() { return *router_; }
  [[nodiscard]] mocks::MockStreamLnd& lnd(unsigned net, unsigned shard = 0) {
    return *lnds_[net][shard];
  }
  [[nodiscard]] mocks::MockKept tally() const {
    mocks::MockKept sum;
    for (const mocks::MockStreamLnd* const each : lnds_[0]) {
      sum.kept += each->tally().kept;
      sum.brought += each->tally().brought;
      sum.taken += each->tally().taken;
    }
    return sum;
  }
  [[nodiscard]] std::uint64_t cause(Cause id) const {
    std::uint64_t sum = 0;
    for (unsigned i = 0; i < setup_.shards; ++i)
      sum += router_->shard(i).core().causes.get(id);
    return sum;
  }
  // Sources of the first shard's networks come first; further ones are on those of the other
  // shards.
  void put(std::size_t from, const Nid& to, std::uint32_t length) {
    Transmit& made = clients[from]->core.put(to, length, false);
    made.next_hop = &clients[from]->core.link(client(kRouter));
  }
  unsigned turn(Duration time = std::chrono::microseconds(1)) {
    now += time;
    unsigned work = 0;
    for (auto& each : clients)
      work += each->core.turn(now);
    work += router_->turn(now);
    for (auto& each : servers) {
      if (!servers_stall) work += each->core.turn(now);
    }
    return work;
  }
  void settle() {
    for (unsigned quiet = 0, turns = 0; quiet < 4 && turns < 20'000; ++turns)
      quiet = turn() == 0 ? quiet + 1 : 0;
  }
  [[nodiscard]] std::uint64_t delivered() const {
    std::uint64_t sum = 0;
    for (const auto& each : servers)
      sum += each->core.tally().puts;
    return sum;
  }
  void expect_whole() {
    for (const auto& each : servers) {
      EXPECT_EQ(each->core.tally().wrong_bytes, 0U);
      EXPECT_TRUE(each->core.breaches().empty()) << each->core.breaches().front();
      EXPECT_TRUE(each->core.settled());
    }
    for (const auto& each : clients)
      EXPECT_TRUE(each->core.breaches().empty()) << each->core.breaches().front();
    const mocks::MockKept all = tally();
    EXPECT_EQ(all.kept, all.brought + all.taken);
    expect_conserved(router(), 0);
  }

 private:
  void make_router() {
    mocks::CoreNodeSetup made{.shards = setup_.shards,
                              .nids = {client(kRouter), server(kRouter)},
                              .limits = {.peer_ports = 64,
                                         .extra_links = 4,
                                         .messages = 32,
                                         .receives = 64,
                                         .descriptors = 8,
                                         .match_entries = 8},
                              .peers = 64,
                              .tunables = setup_.tunables,
                              .arenas = &arenas_};
    for (unsigned i = 0; i < setup_.shards; ++i) {
      made.router_memory.push_back({.at = {0, used_}, .most = kBuffers});
      used_ += RouterMemory::bytes(kBuffers);
    }
    router_ = std::make_unique<mocks::CoreNode>(made, [this](NiPort& port, ShardId shard) {
      const unsigned net = port.ni().number - 1U;
      auto lnd = std::make_unique<mocks::MockStreamLnd>(
          mocks::MockLndConfig{.nid = port.ni().nid,
                               .arenas = &arenas_,
                               .window = setup_.window,
                               .family = family_of(setup_.kin, net),
                               .kept_flushes = setup_.kept_flushes},
          networks_[net][shard], port);
      lnds_[net].push_back(lnd.get());
      return lnd;
    });
    router_->shared().parameters.routing.set(static_cast<std::int32_t>(RoutingState::kEnabled));
    for (unsigned i = 0; i < setup_.shards; ++i)
      EXPECT_TRUE(router_->shard(i).core().buffers.resize(kBuffers));
  }
  void add_end(std::vector<std::unique_ptr<End>>& ends, const Nid& nid, Network& network) {
    ends.push_back(std::make_unique<End>(
        mocks::MockLndConfig{.nid = nid, .arenas = &arenas_},
        mocks::FakeCoreConfig{
            .nid = nid, .arenas = &arenas_, .memory = {0, used_}, .memory_bytes = kEndBytes},
        network));
    used_ += kEndBytes;
  }

  const WireSetup setup_;
  std::vector<std::byte> memory_;
  ArenaTable arenas_;
  std::uint64_t used_ = 0;
  std::array<std::vector<Network>, 2> networks_;
  std::array<std::vector<mocks::MockStreamLnd*>, 2> lnds_;
  std::unique_ptr<mocks::CoreNode> router_;

 public:
  std::vector<std::unique_ptr<End>> clients;
  std::vector<std::unique_ptr<End>> servers;
  bool servers_stall = false;
  Instant now{std::chrono::seconds(1)};
};

constexpr unsigned kForLong = 1'000'000;

TEST(ForwardKeptWire, IsTakenByAnLndOfItsFamilyAndBroughtForAnother) {
  for (const Kin kin : {Kin::kNone, Kin::kOne, Kin::kTwo, Kin::kOnlyIn}) {
    KeptSite site({.kin = kin, .kept_flushes = kForLong});
    site.put(0, server(20), 5000);
    site.put(1, server(21), 100'000);
    site.put(2, server(22), 500);  // arrives in one piece
    site.settle();
    EXPECT_EQ(site.delivered(), 3U);
    const mocks::MockKept all = site.tally();
    EXPECT_EQ(all.kept, kin == Kin::kOne || kin == Kin::kTwo ? 2U : 0U);
    EXPECT_EQ(all.taken, kin == Kin::kOne ? 2U : 0U);
    EXPECT_EQ(all.brought, kin == Kin::kTwo ? 2U : 0U);
    site.expect_whole();
  }
}

TEST(ForwardKeptWire, IsBroughtInTimeForAHopThatTakesNothing) {
  for (const unsigned flushes : {2U, kForLong}) {
    KeptSite site({.kept_flushes = flushes});
    site.servers_stall = true;
    for (unsigned i = 0; i < 5; ++i)
      site.put(0, server(20), 5000);
    site.settle();
    EXPECT_EQ(site.tally().kept, flushes == 2 ? 5U : 3U) << "two are with the LND of the server";
    EXPECT_EQ(site.tally().taken, 2U);
    site.servers_stall = false;
    site.settle();
    EXPECT_EQ(site.delivered(), 5U);
    EXPECT_EQ(site.tally().taken, flushes == 2 ? 2U : 5U);
    site.expect_whole();
  }
}

TEST(ForwardKeptWire, OutlivesTheInterfaceThatItCameBy) {
  KeptSite site({.kept_flushes = kForLong});
  site.servers_stall = true;
  for (unsigned i = 0; i < 3; ++i)
    site.put(i, server(20), 5000);
  site.settle();
  ASSERT_EQ(site.tally().kept, 3U);
  const Ni& ni = site.router().ni(1);
  Shard& shard = site.router().shard(0);
  shard.close_port(ni);
  site.settle();
  EXPECT_FALSE(shard.port_idle(ni)) << "one waits for its server";
  EXPECT_EQ(site.tally().brought, 1U);
  site.servers_stall = false;
  site.settle();
  EXPECT_EQ(site.delivered(), 3U);
  ASSERT_TRUE(shard.port_idle(ni));
  shard.remove_port(ni);
  site.settle();
  site.expect_whole();
}

// --- Random events ---

class KeptChaos : public testing::TestWithParam<Kin> {};

INSTANTIATE_TEST_SUITE_P(Kins, KeptChaos,
                         testing::Values(Kin::kNone, Kin::kOne, Kin::kTwo, Kin::kOnlyIn));

class Disturbance {
 public:
  Disturbance(KeptSite& site, std::uint64_t seed) : random_(seed), site_(site) {}

  void step() {
    const Nid to = server(20 + draw(kServers));
    switch (draw(40)) {
      case 0: site_.servers_stall = !site_.servers_stall; break;
      case 1: site_.router().delete_peer(to); break;
      case 2: site_.router().delete_peer(client(10 + draw(kClients))); break;
      case 3: site_.lnd(0, shard()).break_connection(client(10 + draw(kClients))); break;
      case 4: notice(to, PeerNotice::kDown); break;
      case 5:
      case 6: notice(to, PeerNotice::kAlive); break;
      case 7: rule({.kind = FaultKind::kDelay, .rate = 3, .latency_s = 1}); break;
      case 8:
        rule({.rate = 5, .health_errors = 1U << static_cast<unsigned>(Health::kRemoteError)});
        break;
      case 9:
      case 10: no_rules(); break;
      case 11: (void)site_.turn(std::chrono::seconds(1)); break;
      default: put(to);
    }
    for (std::uint32_t turns = draw(6); turns > 0; --turns)
      (void)site_.turn();
  }
  void end() {
    no_rules();
    site_.servers_stall = false;
    for (unsigned shard = 0; shard < site_.router().shards(); ++shard) {
      for (std::uint32_t i = 0; i < kServers; ++i)
        notice(server(20 + i), PeerNotice::kAlive);
    }
    for (unsigned i = 0; i < 30; ++i) {
      (void)site_.turn(std::chrono::seconds(1));
      site_.settle();
    }
  }
  [[nodiscard]] unsigned made() const { return made_; }

 private:
  std::uint32_t draw(std::uint32_t bound) {
    return static_cast<std::uint32_t>(random_.below(bound));
  }
  unsigned shard() { return draw(site_.router().shards()); }
  void put(const Nid& to) {
    constexpr std::array<std::uint32_t, 5> kLengths{0, 500, 3000, 6000, 20'000};
    site_.put(draw(static_cast<std::uint32_t>(site_.clients.size())), to, kLengths[draw(5)]);
    ++made_;
  }
  void notice(const Nid& nid, PeerNotice what) {
    site_.router().shard(shard()).core().ports[2]->on_peer(nid, what, site_.now);
  }
  void rule(const FaultSpec& spec) {
    (void)site_.router().faults().add(spec, site_.now);
    site_.router().publish_faults();
  }
  void no_rules() {
    for (const FaultKind kind : {FaultKind::kDrop, FaultKind::kDelay})
      (void)site_.router().faults().remove(kind, Nid::any(), Nid::any());
    site_.router().publish_faults();
  }

  Random random_;
  KeptSite& site_;
  unsigned made_ = 0;
};

TEST_P(KeptChaos, DeliversTheSentBytes) {
  mocks::MockKept all;
  std::uint64_t delivered = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const testing::ScopedTrace where(__FILE__, __LINE__, testing::Message() << "seed " << seed);
    KeptSite site({.kin = GetParam(),
                   .shards = static_cast<unsigned>(1 + seed % 2),
                   .kept_flushes = seed % 3 == 0 ? 2 : kForLong});
    Disturbance disturbance(site, seed);
    for (unsigned i = 0; i < 400; ++i)
      disturbance.step();
    disturbance.end();
    site.expect_whole();
    delivered += site.delivered();
    all.kept += site.tally().kept;
    all.brought += site.tally().brought;
    all.taken += site.tally().taken;
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(delivered, 500U);
  const bool keeps = GetParam() == Kin::kOne || GetParam() == Kin::kTwo;
  EXPECT_EQ(all.kept > 100, keeps) << all.kept;
  EXPECT_EQ(all.brought > 20, keeps) << all.brought;
  EXPECT_EQ(all.taken > 100, GetParam() == Kin::kOne) << all.taken;
}

}  // namespace
}  // namespace plnet::lnet::forward_kept_wire_test
