// SPDX-License-Identifier: BSD-3-Clause
// Each program that checks an LND against the contract compiles these cases once.
#include "tests/conformance/lnd_conformance.hpp"

namespace plnet::conformance {

TEST_P(LndConformance, EveryMessageEndsOnceAndArrivesWhole) {
  const auto rig = GetParam().build({});
  for (std::uint32_t i = 0; i < 200; ++i) {
    rig->a().put(rig->nid_b(), i * 37 % 4000, i % 2 == 0);
    rig->a().get(rig->nid_b(), i * 53 % 4000);
  }
  ASSERT_TRUE(rig->settle());
  rig->expect_no_breach();
  const auto& tally = rig->a().tally();
  EXPECT_EQ(tally.failed + tally.cancelled, 0U);
  EXPECT_EQ(tally.acks, 100U);
  EXPECT_EQ(tally.replies + tally.replies_placed, 200U);
  EXPECT_EQ(tally.wrong_bytes, 0U);
  if (rig->b() == nullptr) return;
  EXPECT_EQ(rig->b()->tally().puts, 200U);
  EXPECT_EQ(rig->b()->tally().gets, 200U);
  EXPECT_EQ(rig->b()->tally().wrong_bytes, 0U);
  if (GetParam().ends_in_order) {
    EXPECT_TRUE(std::ranges::is_sorted(rig->b()->order()));
  }
}

TEST_P(LndConformance, ParkedAndDroppedMessagesKeepTheContract) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const auto rig = GetParam().build({.seed = seed, .park_percent = 40, .drop_percent = 20});
    for (std::uint32_t i = 0; i < 60; ++i) {
      rig->a().put(rig->nid_b(), i * 41 % 3000, true);
      rig->a().get(rig->nid_b(), i * 43 % 3000);
    }
    ASSERT_TRUE(rig->settle()) << "seed " << seed;
    rig->expect_no_breach();
    EXPECT_EQ(rig->a().tally().wrong_bytes, 0U);
    EXPECT_GT(rig->a().tally().parked + (rig->b() ? rig->b()->tally().parked : 0), 0U);
  }
}

TEST_P(LndConformance, TheSameSeedGivesTheSameRun) {
  mocks::FakeCoreTally first;
  for (int run = 0; run < 2; ++run) {
    const auto rig = GetParam().build({.seed = 7, .park_percent = 30, .drop_percent = 30});
    for (std::uint32_t i = 0; i < 50; ++i)
      rig->a().get(rig->nid_b(), i * 31 % 2000);
    ASSERT_TRUE(rig->settle());
    if (run == 0) first = rig->a().tally();
    EXPECT_EQ(rig->a().tally(), first);
  }
}

TEST_P(LndConformance, ACancelledMessageStillEndsOnce) {
  for (unsigned delay = 0; delay < 6; ++delay) {
    const auto rig = GetParam().build({.seed = delay + 1, .park_percent = 50});
    std::vector<lnet::Transmit*> all;
    for (std::uint32_t i = 0; i < 16; ++i) {
      all.push_back(&rig->a().put(rig->nid_b(), 2000, true));
      all.push_back(&rig->a().get(rig->nid_b(), 2000));
    }
    for (unsigned i = 0; i < delay; ++i)
      rig->step();
    for (lnet::Transmit* const transmit : all)
      rig->a().cancel(*transmit);
    ASSERT_TRUE(rig->settle()) << "cancelled after " << delay << " turns";
    rig->expect_no_breach();
  }
}

TEST_P(LndConformance, AStaleResumeIsHarmless) {
  const auto rig = GetParam().build({});
  rig->a().get(rig->nid_b(), 100);
  ASSERT_TRUE(rig->settle());
  rig->lnd_a().resume({.index = 0, .generation = 12345}, {});
  rig->lnd_a().resume({.index = 0x7fffffff, .generation = 1}, {});
  rig->a().get(rig->nid_b(), 100);
  ASSERT_TRUE(rig->settle());
  rig->expect_no_breach();
  EXPECT_EQ(rig->a().tally().replies + rig->a().tally().replies_placed, 2U);
}

TEST_P(LndConformance, APeerIsReleasedAfterItsMessages) {
  for (unsigned delay = 0; delay < 6; ++delay) {
    const auto rig = GetParam().build({.seed = delay + 1, .park_percent = 50});
    for (std::uint32_t i = 0; i < 16; ++i) {
      rig->a().put(rig->nid_b(), 2000, true);
      rig->a().get(rig->nid_b(), 2000);
    }
    for (unsigned i = 0; i < delay; ++i)
      rig->step();
    rig->a().release_peer(rig->nid_b());
    ASSERT_TRUE(rig->settle()) << "released after " << delay << " turns";
    EXPECT_EQ(rig->a().tally().peers_released, 1U);
    rig->a().get(rig->nid_b(), 500);  // and it can be used again
    ASSERT_TRUE(rig->settle());
    rig->expect_no_breach();
  }
}

TEST_P(LndConformance, ShutDownEndsEverything) {
  const auto rig = GetParam().build({.park_percent = 60, .park_turns_max = 1000});
  for (std::uint32_t i = 0; i < 16; ++i) {
    rig->a().put(rig->nid_b(), 2000, false);
    rig->a().get(rig->nid_b(), 2000);
  }
  rig->step();
  rig->step();
  rig->lnd_a().shut_down();
  for (unsigned i = 0; i < 4000 && !rig->lnd_a().idle(); ++i)
    rig->step();
  EXPECT_TRUE(rig->lnd_a().idle());
  const auto& tally = rig->a().tally();
  EXPECT_EQ(tally.accepted, tally.sent + tally.failed + tally.cancelled);
  rig->expect_no_breach();
}

}  // namespace plnet::conformance
