// SPDX-License-Identifier: BSD-3-Clause
// Several LNDs on simulated endpoints over many seeds: reordering, refused posts, lost messages and
// answers, partial transfers, restarts, a disconnected cable.
#include <gtest/gtest.h>

#include "tests/mocks/seeds.hpp"
#include "tests/unit/drivers/seeds.hpp"
#include "tests/unit/lib/kfilnd/kfi_site.hpp"

namespace plnet::kfilnd::site_test {
namespace {

using drivers::for_each_seed;
using std::chrono::seconds;

const std::uint64_t kSeeds = mocks::seeds_of(40);

NodeOptions options_of(std::uint64_t seed) {
  NodeOptions options;
  options.park_percent = seed % 3 == 0 ? 30 : 0;
  options.drop_percent = seed % 4 == 0 ? 10 : 0;
  options.lnd.tunables.kfi_timeout = 4;
  options.lnd.tunables.immediate_rx_buf_count = 2 + static_cast<std::int64_t>(seed % 4);
  options.lnd.tunables.cksum = static_cast<std::int64_t>(seed % 2);
  options.lnd.first_session_key = static_cast<std::uint32_t>(seed * 1000);
  options.receive_bytes = 1U << 18U;
  return options;
}

void some_traffic(KfiSite& site, Random& random, unsigned messages) {
  for (unsigned i = 0; i < messages; ++i) {
    const auto from = static_cast<unsigned>(random.below(site.size()));
    const auto to = (from + 1 + static_cast<unsigned>(random.below(site.size() - 1))) % site.size();
    const auto length =
        static_cast<std::uint32_t>(random.chance(0.3) ? random.below(60000) : random.below(5000));
    if (random.chance(0.5)) {
      site[from].core().put(nid_of(to), length, random.chance(0.5));
    } else {
      site[from].core().get(nid_of(to), length);
    }
  }
}

std::uint64_t failures(KfiSite& site) {
  std::uint64_t sum = 0;
  for (unsigned i = 0; i < site.size(); ++i)
    sum += site[i].core().tally().failed + site[i].core().tally().cancelled;
  return sum;
}

TEST(KfilndSite, MessagesArriveOnARoughNetwork) {
  for_each_seed(kSeeds, [&](std::uint64_t seed) {
    SimShape shape = seed % 2 == 0 ? SimShape::rough() : SimShape::calm();
    shape.endpoint.retries_max = 10000;
    KfiSite site(seed, shape, 2 + static_cast<unsigned>(seed % 3), options_of(seed));
    Random random(seed);
    for (int round = 0; round < 4; ++round) {
      some_traffic(site, random, 60);
      ASSERT_TRUE(site.settle(seconds(30)));
    }
    site.expect_no_breach();
    std::uint64_t refused_by_peer = 0;
    for (const auto& completion : site[0].core().completions())
      refused_by_peer += completion.status == Result<void>(std::unexpected(Errc::kNoData));
    if (seed % 4 != 0) {
      EXPECT_EQ(failures(site), 0U);
      EXPECT_EQ(refused_by_peer, 0U);
    }
  });
}

TEST(KfilndSite, EverythingEndsOnceOnAHostileNetwork) {
  std::uint64_t failed = 0;
  std::uint64_t deleted = 0;
  for_each_seed(kSeeds, [&](std::uint64_t seed) {
    SimShape shape = SimShape::hostile();
    shape.endpoint.message_lost *= 4;
    shape.endpoint.answer_lost *= 4;
    KfiSite site(seed, shape, 3, options_of(seed));
    Random random(seed);
    for (int round = 0; round < 4; ++round) {
      some_traffic(site, random, 60);
      ASSERT_TRUE(site.settle(seconds(60)));
    }
    site.expect_no_breach();
    failed += failures(site);
    for (unsigned i = 0; i < site.size(); ++i)
      deleted += site[i].count(LndId::kPeersDeleted);
    // Afterwards it works: stale and unknown peers are greeted.
    site.pass(seconds(10));
    for (unsigned i = 0; i < site.size(); ++i)
      EXPECT_EQ(site[i].lnd().transactions(), 0U);
  });
  EXPECT_GT(failed, kSeeds) << "or the network was not hostile";
  EXPECT_GT(deleted, kSeeds);
}

// A peer dies with access to our memory and returns with another session; late operations of the
// dead one must not reach new buffers.
TEST(KfilndSite, APeerRestartsInTheMiddle) {
  std::uint64_t timeouts = 0;
  for_each_seed(kSeeds, [&](std::uint64_t seed) {
    KfiSite site(seed, SimShape::rough(), 2, options_of(seed));
    Random random(seed);
    some_traffic(site, random, 20);
    ASSERT_TRUE(site.settle(seconds(30)));
    for (int life = 0; life < 3; ++life) {
      for (int i = 0; i < 30; ++i) {
        site[0].core().put(nid_of(1), 20000, true);
        site[0].core().get(nid_of(1), 20000);
      }
      site.pass(std::chrono::microseconds(200 + random.below(3000)));
      site.kill(1);
      site.pass(std::chrono::milliseconds(random.below(2000)));
      site.options[1].lnd.first_session_key += 100;
      site.start(1);
      ASSERT_TRUE(site.settle(seconds(60)));
    }
    site.pass(seconds(9));
    const std::uint64_t before = site[0].core().tally().sent;
    some_traffic(site, random, 40);
    ASSERT_TRUE(site.settle(seconds(60)));
    EXPECT_GT(site[0].core().tally().sent, before) << "they speak again";
    site.expect_no_breach();
    timeouts += site[0].count(LndId::kTimeouts) + site[0].count(LndId::kPeersDeleted);
  });
  EXPECT_GT(timeouts, 0U);
}

TEST(KfilndSite, ACableIsPulledAndPutBack) {
  for_each_seed(10, [&](std::uint64_t seed) {
    KfiSite site(seed, SimShape::calm(), 2, options_of(1));
    Random random(seed);
    some_traffic(site, random, 20);
    ASSERT_TRUE(site.settle(seconds(30)));
    some_traffic(site, random, 20);
    site.fabric.set_link(nic_address_of(nid_of(1)), false);
    ASSERT_TRUE(site.settle(seconds(60)));
    using enum lnet::InterfaceState;
    EXPECT_EQ(site[1].core().interface_states(), std::vector{kFatal});
    site.fabric.set_link(nic_address_of(nid_of(1)), true);
    site.pass(seconds(5));
    const std::uint64_t failed = failures(site);
    some_traffic(site, random, 20);
    ASSERT_TRUE(site.settle(seconds(60)));
    EXPECT_EQ(failures(site), failed);
    EXPECT_EQ(site[1].core().interface_states(), (std::vector{kFatal, kUp}));
    site.expect_no_breach();
  });
}

// The cable is connected to another port. Operations under way end, the interface goes down and
// comes up with its new NID, and its peers meet it there.
TEST(KfilndSite, ACableIsMoved) {
  constexpr unsigned kShift = 8;
  std::uint64_t failed = 0;
  for_each_seed(kSeeds, [&](std::uint64_t seed) {
    KfiSite site(seed, seed % 2 == 0 ? SimShape::rough() : SimShape::calm(), 2, options_of(seed));
    Random random(seed);
    some_traffic(site, random, 20);
    ASSERT_TRUE(site.settle(seconds(30)));
    some_traffic(site, random, 40);
    site.pass(std::chrono::microseconds(random.below(600)));
    site.fabric.change_nic_address(nic_address_of(nid_of(1)), nic_address_of(nid_of(1 + kShift)));
    site.pass(std::chrono::milliseconds(1));
    ASSERT_TRUE(site.settle(seconds(60)));
    EXPECT_EQ(site[1].core().interface_states(), std::vector{lnet::InterfaceState::kFatal});
    ASSERT_EQ(site[1].lnd().moved_to(), nid_of(1 + kShift));
    failed += failures(site);
    // As the core does then.
    site[1].lnd().shut_down();
    ASSERT_TRUE(site.run([&] { return site[1].lnd().idle(); }, seconds(60)));
    site.expect_no_breach();
    site.kill(1);
    site.options[1].address_shift = kShift;
    site.options[1].lnd.first_session_key += 100'000;
    site.start(1);
    const std::uint64_t sent = site[0].core().tally().sent;
    for (int i = 0; i < 10; ++i) {
      site[0].core().put(nid_of(1 + kShift), i % 2 == 0 ? 100 : 20000, true);
      site[1].core().get(nid_of(0), 20000);
    }
    ASSERT_TRUE(site.settle(seconds(60)));
    EXPECT_GE(site[0].core().tally().sent, sent + 10);
    if (seed % 4 != 0) {  // otherwise GETs are dropped
      EXPECT_EQ(site[1].core().tally().failed, 0U);
    }
    site.expect_no_breach();
  });
  EXPECT_GT(failed, 0U) << "or nothing was in flight";
}

// Two small buffers and many senders.
TEST(KfilndSite, ExhaustedReceiveBuffersRecover) {
  std::uint64_t failed = 0;
  for_each_seed(10, [&](std::uint64_t seed) {
    NodeOptions options = options_of(1);
    options.lnd.tunables.immediate_rx_buf_count = 2;
    options.lnd.copies_max = 1;
    options.receive_bytes = 16384;
    options.park_percent = 50;
    options.park_turns_max = 2000;
    KfiSite site(seed, SimShape::calm(), 5, options);
    for (unsigned i = 0; i < 200; ++i)
      site[1 + i % 4].core().put(nid_of(0), 3900, false);
    ASSERT_TRUE(site.settle(seconds(60)));
    failed += failures(site);
    site.pass(seconds(5));
    EXPECT_EQ(site[0].lnd().receive_buffers().posted(), 2U);
    EXPECT_GT(site[0].driver().counters().value(2), 0U) << "found no buffer";
    site.expect_no_breach();
  });
  EXPECT_GT(failed, 0U) << "or nothing was exhausted";
}

TEST(KfilndSite, ShutDownAtAnyMoment) {
  for_each_seed(kSeeds, [&](std::uint64_t seed) {
    KfiSite site(seed, SimShape::rough(), 2, options_of(seed));
    Random random(seed);
    some_traffic(site, random, 60);
    site.pass(std::chrono::microseconds(random.below(1500)));
    site[0].lnd().shut_down();
    ASSERT_TRUE(site.run([&] { return site[0].lnd().idle(); }, seconds(60)));
    const auto& tally = site[0].core().tally();
    EXPECT_EQ(tally.accepted, tally.sent + tally.failed + tally.cancelled);
    ASSERT_TRUE(site.run([&] { return site[1].lnd().idle(); }, seconds(60)));
    site.expect_no_breach();
  });
}

// Every fault of the fault driver on an endpoint: bytes may be wrong, but every message ends, and
// corrupted input causes no crash.
TEST(KfilndSite, EveryFaultThereIs) {
  using enum drivers::Fault;
  using drivers::Direction;
  std::uint64_t applied = 0;
  for_each_seed(kSeeds, [&](std::uint64_t seed) {
    drivers::FaultPlan plan;
    for (const auto& [fault, direction] :
         {std::pair{kCorrupt, Direction::kRx}, std::pair{kTruncate, Direction::kRx},
          std::pair{kDuplicate, Direction::kRx}, std::pair{kDrop, Direction::kRx},
          std::pair{kDelay, Direction::kRx}, std::pair{kReorder, Direction::kRx},
          std::pair{kFail, Direction::kTx}, std::pair{kStall, Direction::kTx}}) {
      ASSERT_TRUE(plan.add({.fault = fault,
                            .direction = direction,
                            .probability = 0.02,
                            .delay = std::chrono::microseconds(50)}));
    }
    NodeOptions options = options_of(seed);
    options.faults = &plan;
    options.check_bytes = false;
    KfiSite site(seed, SimShape::calm(), 2, options);
    Random random(seed);
    for (int round = 0; round < 3; ++round) {
      some_traffic(site, random, 60);
      ASSERT_TRUE(site.settle(seconds(60)));
    }
    for (unsigned i = 0; i < site.size(); ++i) {
      EXPECT_EQ(site[i].core().breaches(), std::vector<std::string>{});
      EXPECT_EQ(site[i].lnd().transactions(), 0U);
      applied += site[i].faults().judge().applied();
    }
  });
  EXPECT_GT(applied, 10 * kSeeds);
}

TEST(KfilndSite, TheSameSeedIsTheSameRun) {
  drivers::expect_seed_decides([](std::uint64_t seed) {
    KfiSite site(seed, SimShape::hostile(), 3, options_of(3));
    Random random(1);
    some_traffic(site, random, 60);
    EXPECT_TRUE(site.settle(seconds(60)));
    return site.cluster.loop.digest();
  });
}

}  // namespace
}  // namespace plnet::kfilnd::site_test
