// SPDX-License-Identifier: BSD-3-Clause
// Nodes on simulated queue pairs: races, restarts, different settings, failures of all kinds, and
// late writes into quarantined memory.
#include "tests/mocks/seeds.hpp"
#include "tests/unit/lib/o2iblnd/o2ib_site.hpp"

namespace plnet::o2iblnd::site_test {
namespace {

using namespace std::chrono_literals;

void load(O2ibSite& site, unsigned from, unsigned to, unsigned messages) {
  for (std::uint32_t i = 0; i < messages; ++i) {
    site[from].core().put(nid_of(to), i * 997 % 20000, i % 3 == 0);
    site[from].core().get(nid_of(to), i * 1009 % 20000);
  }
}

TEST(O2iblndSite, BothConnectAtOnce) {
  for (const RaceOrder order : {RaceOrder::kHash, RaceOrder::kNumber}) {
    for (std::uint64_t seed = 1; seed <= mocks::seeds_of(10); ++seed) {
      NodeOptions options;
      options.lnd.race_order = order;
      options.lnd.tunables.conns_per_peer = seed % 3 + 1;
      O2ibSite site(seed, SimShape::calm(), 2, options);
      load(site, 0, 1, 20);
      load(site, 1, 0, 20);
      ASSERT_TRUE(site.settle(60s)) << "seed " << seed;
      site.expect_no_breach();
      for (unsigned node = 0; node < 2; ++node)
        EXPECT_EQ(site[node].core().tally().failed, 0U);
    }
  }
}

// A node of 2.15 and one of 2.16 may each give its own request precedence.
TEST(O2iblndSite, UnequalRaceOrdersAreSettled) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    O2ibSite site(seed, SimShape::calm(), 2, {});
    site.options[1].lnd.race_order = RaceOrder::kNumber;
    site.start(1);
    load(site, 0, 1, 20);
    load(site, 1, 0, 20);
    ASSERT_TRUE(site.settle(60s));
    site.expect_no_breach();
  }
}

TEST(O2iblndSite, UnequalQueueDepthsMeet) {
  NodeOptions options;
  options.lnd.tunables.peer_credits = 32;
  O2ibSite site(1, SimShape::calm(), 2, options);
  site.options[1].lnd.tunables.peer_credits = 8;
  site.start(1);
  load(site, 0, 1, 40);
  ASSERT_TRUE(site.settle(60s));
  EXPECT_EQ(site[1].count(LndId::kRejectedDepth), 1U);
  for (std::uint32_t i = 0; i < site[0].lnd().connection_slots(); ++i) {
    const auto facts = site[0].lnd().connection_facts(i, {});
    if (facts) {
      EXPECT_EQ(facts->queue_depth, 8U);
    }
  }
  EXPECT_EQ(site[0].core().tally().failed, 0U);
  site.expect_no_breach();
}

TEST(O2iblndSite, PeersWithoutListener) {
  O2ibSite site(1, SimShape::calm(), 2, {});
  site.kill(1);
  site[0].core().put(nid_of(1), 10, false);
  ASSERT_TRUE(site.settle(60s));
  EXPECT_EQ(site[0].core().completions().back().health, Health::kNetworkTimeout);
  EXPECT_EQ(site[0].core().notices(), std::vector{lnet::PeerNotice::kDown});
}

TEST(O2iblndSite, ARestartedPeerIsMetAgain) {
  for (std::uint64_t seed = 1; seed <= mocks::seeds_of(20); ++seed) {
    O2ibSite site(seed, SimShape::calm(), 2, {});
    load(site, 0, 1, 10);
    site.pass(Duration(std::chrono::microseconds(5 * seed)));
    site.kill(1);
    site.start(1);
    ASSERT_TRUE(site.settle()) << "seed " << seed;
    load(site, 0, 1, 10);
    load(site, 1, 0, 10);
    ASSERT_TRUE(site.settle()) << "seed " << seed;
    EXPECT_GE(site[0].core().tally().sent, 20U);
    EXPECT_EQ(site[1].core().tally().failed, 0U);
    site.expect_no_breach();
  }
}

TEST(O2iblndSite, FailuresOfAllKinds) {
  for (std::uint64_t seed = 1; seed <= mocks::seeds_of(30); ++seed) {
    NodeOptions options;
    options.park_percent = 20;
    options.drop_percent = 10;
    options.lnd.tunables.timeout = 8;
    O2ibSite site(seed, SimShape::hostile(), 3, options);
    for (unsigned round = 0; round < 3; ++round) {
      load(site, 0, 1, 10);
      load(site, 1, 2, 10);
      load(site, 2, 0, 10);
      site.pass(1ms);
    }
    ASSERT_TRUE(site.settle()) << "seed " << seed;
    site.expect_no_breach();
  }
}

TEST(O2iblndSite, ADeviceIsLostAndComesBack) {
  O2ibSite site(1, SimShape::calm(), 2, {});
  load(site, 0, 1, 10);
  site.pass(20us);
  site[0].driver().set_device(false, Errc::kNetworkDown);
  ASSERT_TRUE(site.settle());
  EXPECT_GT(site[0].core().tally().failed, 0U);
  site[0].driver().set_device(true, Errc::kNetworkDown);
  load(site, 0, 1, 10);
  ASSERT_TRUE(site.settle());
  EXPECT_EQ(site[0].core().interface_states(),
            (std::vector{lnet::InterfaceState::kFatal, lnet::InterfaceState::kUp}));
  site.expect_no_breach();
}

TEST(O2iblndSite, DelayedAndBrokenCompletions) {
  drivers::FaultPlan plan;
  ASSERT_TRUE(plan.add({.fault = drivers::Fault::kDelay,
                        .direction = drivers::Direction::kRx,
                        .probability = 0.05,
                        .delay = 300us}));
  ASSERT_TRUE(plan.add({.fault = drivers::Fault::kReset,
                        .direction = drivers::Direction::kTx,
                        .probability = 0.01}));
  for (std::uint64_t seed = 1; seed <= mocks::seeds_of(15); ++seed) {
    NodeOptions options;
    options.faults = &plan;
    O2ibSite site(seed, SimShape::calm(), 2, options);
    load(site, 0, 1, 20);
    load(site, 1, 0, 20);
    ASSERT_TRUE(site.settle()) << "seed " << seed;
    site.expect_no_breach();
  }
}

// The peer writes into the sink of a GET that timed out. The memory is reused as soon as the core
// may, and must not change from then on.
TEST(O2iblndSite, NoLateWriteReachesReusedMemory) {
  SimShape shape = SimShape::calm();
  shape.verbs.late_write_lands = 1'000'000;
  shape.verbs.drain_delay_max = 200us;
  constexpr std::uint32_t kLength = 20000;
  std::uint64_t late = 0;
  for (std::uint64_t seed = 1; seed <= mocks::seeds_of(60); ++seed) {
    O2ibSite site(seed, shape, 2, {});
    site[0].core().put(nid_of(1), 10, false);
    ASSERT_TRUE(site.settle());
    site[0].core().get(nid_of(1), kLength);
    site[0].ring();
    site.cluster.loop.run_for(std::chrono::nanoseconds(3000 + 200 * seed));
    site[0].lnd().shut_down();
    constexpr std::size_t kSeen = 8U * kLength;
    std::vector<std::byte> reused;
    for (unsigned i = 0; i < 1000; ++i) {
      site[0].ring();
      site[1].ring();
      site.cluster.loop.run_for(1us);
      const auto memory = site[0].memory().first(kSeen);
      if (reused.empty() && site[0].core().settled()) reused.assign(memory.begin(), memory.end());
    }
    ASSERT_FALSE(reused.empty());
    EXPECT_TRUE(std::ranges::equal(reused, site[0].memory().first(kSeen))) << "seed " << seed;
    const CounterView counters = site[0].driver().counters();
    late += counters.value(static_cast<std::size_t>(drivers::SimVerbsCounters::Id::kLateWrites));
    site.expect_no_breach();
  }
  EXPECT_GT(late, 0U);
}

}  // namespace
}  // namespace plnet::o2iblnd::site_test
