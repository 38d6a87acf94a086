// SPDX-License-Identifier: BSD-3-Clause
// Interfaces with 1, 2 and 4 receive contexts on simulated endpoints: greetings from either side,
// once, twice or from both at once, with lost HELLOs and restarted nodes.
#include <gtest/gtest.h>

#include "tests/mocks/seeds.hpp"
#include "tests/unit/drivers/seeds.hpp"
#include "tests/unit/lib/kfilnd/contexts_site.hpp"

namespace plnet::kfilnd::contexts_sim_test {
namespace {

using drivers::for_each_seed;
using drivers::SimShape;
using std::chrono::seconds;
using Id = KfiLndCounters::Id;

const std::uint64_t kSeeds = mocks::seeds_of(12);

// Every pair of 1, 2 and 4 contexts meets in 3 nodes as the seed varies.
std::vector<ContextNodeOptions> options_of(std::uint64_t seed) {
  std::vector<ContextNodeOptions> all(3);
  for (unsigned i = 0; i < all.size(); ++i) {
    all[i].contexts = 1U << ((seed / (i == 0 ? 1 : i * 3) + i) % 3);
    all[i].misses = static_cast<unsigned>(seed % 4);
    all[i].shift = static_cast<unsigned>(seed);
    all[i].lnd.tunables.kfi_timeout = 4;
    all[i].lnd.first_session_key = static_cast<std::uint32_t>(seed * 1000);
  }
  return all;
}

void traffic(ContextSite& site, Random& random, unsigned messages) {
  for (unsigned i = 0; i < messages; ++i) {
    const auto from = static_cast<unsigned>(random.below(site.size()));
    const auto to = (from + 1 + static_cast<unsigned>(random.below(site.size() - 1))) % site.size();
    const auto length =
        static_cast<std::uint32_t>(random.chance(0.3) ? random.below(60000) : random.below(5000));
    mocks::FakeCore& core = site[from].core_for(to);
    if (random.chance(0.5)) {
      core.put(nid_of(to), length, random.chance(0.5));
    } else {
      core.get(nid_of(to), length);
    }
  }
}

std::uint64_t failures(ContextSite& site) {
  std::uint64_t sum = 0;
  for (unsigned i = 0; i < site.size(); ++i)
    sum += site[i].tally().failed;
  return sum;
}

TEST(KfilndContexts, MessagesArriveAndEachPeerIsAtHome) {
  std::uint64_t handed_over = 0;
  for_each_seed(kSeeds, [&](std::uint64_t seed) {
    SimShape shape = seed % 2 == 0 ? SimShape::rough() : SimShape::calm();
    shape.endpoint.retries_max = 10000;
    ContextSite site(seed, shape, options_of(seed));
    Random random(seed);
    for (int round = 0; round < 3; ++round) {
      traffic(site, random, 60);
      ASSERT_TRUE(site.settle(seconds(30)));
    }
    EXPECT_EQ(failures(site), 0U);
    site.expect_no_breach();
    site.expect_peers_at_home(true);
    for (unsigned i = 0; i < site.size(); ++i)
      handed_over += site[i].count(Id::kHandedOver);
  });
  EXPECT_GT(handed_over, kSeeds) << "or everybody lives where HELLOs come";
}

// Both send their first message in the same instant.
TEST(KfilndContexts, BothGreetAtOnce) {
  for (const unsigned contexts : {1U, 2U, 4U}) {
    for (const unsigned others : {1U, 2U, 4U}) {
      std::vector<ContextNodeOptions> options(2);
      options[0].contexts = contexts;
      options[1].contexts = others;
      options[0].shift = contexts - 1;
      options[1].shift = others;
      ContextSite site(contexts * 10 + others, SimShape::calm(), options);
      site[0].core_for(1).put(nid_of(1), 100, true);
      site[1].core_for(0).get(nid_of(0), 60000);
      ASSERT_TRUE(site.settle(seconds(5)));
      EXPECT_EQ(failures(site), 0U);
      site.expect_no_breach();
      site.expect_peers_at_home(true);
      for (unsigned node = 0; node < 2; ++node)
        EXPECT_EQ(site[node].count(Id::kPeersMade), 1U) << "one for each NID";
    }
  }
}

TEST(KfilndContexts, LostHellosAreAskedForAgain) {
  std::uint64_t hellos_failed = 0;
  for_each_seed(kSeeds, [&](std::uint64_t seed) {
    SimShape shape = SimShape::hostile();
    shape.endpoint.message_lost *= 8;
    shape.endpoint.answer_lost *= 8;
    ContextSite site(seed, shape, options_of(seed));
    Random random(seed);
    for (int round = 0; round < 4; ++round) {
      traffic(site, random, 40);
      ASSERT_TRUE(site.settle(seconds(60)));
    }
    site.expect_no_breach();
    site.expect_peers_at_home(false);
    for (unsigned i = 0; i < site.size(); ++i)
      hellos_failed += site[i].count(Id::kHellosFailed);
  });
  EXPECT_GT(hellos_failed, 0U) << "or nothing was lost";
}

// The node returns with its peers at other homes: messages to the old homes arrive, and the sender
// learns the new ones.
TEST(KfilndContexts, ARestartWithOtherHomes) {
  std::uint64_t misdirected = 0;
  for_each_seed(kSeeds, [&](std::uint64_t seed) {
    std::vector<ContextNodeOptions> options = options_of(seed);
    options[1].contexts = 2U << (seed % 2);
    SimShape shape = SimShape::calm();
    shape.endpoint.retries_max = 10000;
    ContextSite site(seed, shape, options);
    Random random(seed);
    traffic(site, random, 40);
    ASSERT_TRUE(site.settle(seconds(30)));
    site.pass(seconds(1));
    for (int life = 0; life < 3; ++life) {
      // Restart in the middle. Only messages without a reply: the next life has not asked, and a
      // core without LNet replies from the context that received the request.
      for (int i = 0; i < 30; ++i)
        site[2].core_for(1).put(nid_of(1), i % 2 == 0 ? 100 : 20000, false);
      site.pass(std::chrono::microseconds(random.below(3000)));
      site.kill(1);
      site.pass(std::chrono::milliseconds(random.below(500)));
      ++site.options[1].shift;
      site.options[1].lnd.first_session_key += 100'000;
      site.start(1);
      // The peers do not know about the restart and send as before.
      for (int i = 0; i < 10; ++i) {
        site[0].core_for(1).put(nid_of(1), i % 2 == 0 ? 100 : 20000, false);
        site[2].core_for(1).put(nid_of(1), i % 2 == 0 ? 100 : 20000, false);
      }
      ASSERT_TRUE(site.settle(seconds(60)));
    }
    site.pass(seconds(9));
    traffic(site, random, 40);
    ASSERT_TRUE(site.settle(seconds(60)));
    site.pass(seconds(9));
    const std::uint64_t failed = failures(site);
    traffic(site, random, 40);
    ASSERT_TRUE(site.settle(seconds(60)));
    EXPECT_EQ(failures(site), failed) << "they know each other again";
    site.expect_no_breach();
    site.expect_peers_at_home(false);
    misdirected += site[1].count(Id::kMisdirected);
  });
  EXPECT_GT(misdirected, 0U);
}

}  // namespace
}  // namespace plnet::kfilnd::contexts_sim_test
