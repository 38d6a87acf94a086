// SPDX-License-Identifier: BSD-3-Clause
// The fault driver between the LND and its streams, at both ends of every connection.
#include <gtest/gtest.h>

#include "tests/unit/lib/socklnd/tcp_site.hpp"

namespace plnet::socklnd {
namespace {

using drivers::Direction;
using drivers::Fault;
using drivers::FaultPlan;
using std::chrono::seconds;

struct Case {
  Fault fault;
  double probability;
  bool both_ways;
};

TEST(SockLndUnderFaults, EveryMessageEndsOnceAndServiceIsBackWhenTheyAreOver) {
  constexpr Case kCases[] = {{Fault::kReset, 0.02, true},   {Fault::kStall, 0.05, true},
                             {Fault::kDelay, 0.05, true},   {Fault::kTruncate, 0.02, false},
                             {Fault::kCorrupt, 0.02, true}, {Fault::kSplit, 0.3, false}};
  for (const Case& one : kCases) {
    std::uint64_t applied = 0;
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
      SCOPED_TRACE(std::string(name_of(one.fault)) + ", seed " + std::to_string(seed));
      FaultPlan plan;
      for (const Direction direction : {Direction::kTx, Direction::kRx}) {
        if (direction == Direction::kRx && !one.both_ways) continue;
        ASSERT_TRUE(plan.add({.fault = one.fault,
                              .direction = direction,
                              .probability = one.probability,
                              .delay = std::chrono::milliseconds(300),
                              .error = Errc::kReset}));
      }
      const bool spoils = one.fault == Fault::kCorrupt;
      TcpSite site(seed, seed % 2 == 0 ? SimShape::rough() : SimShape::calm(), 3,
                   {.faults = &plan,
                    .two_shards = seed % 3 == 0,
                    .park_percent = 10,
                    .check_bytes = !spoils});
      for (unsigned round = 0; round < 4; ++round) {
        for (unsigned from = 0; from < 3; ++from)
          exchange(site, from, (from + 1 + round % 2) % 3, 12);
        site.run_for(seconds(3));
      }
      ASSERT_TRUE(site.settle());
      for (const auto& node : site.nodes) {
        applied += node->faults_applied();
        node->heal();
      }
      // A reconnect backoff lasts a minute at most.
      const Duration pace = std::exchange(site.pace, seconds(1));
      site.run_for(seconds(130));
      site.pace = pace;
      std::array<std::uint64_t, 3> before{};
      for (unsigned i = 0; i < 3; ++i)
        before[i] = site[i].core().tally().puts;
      for (unsigned i = 0; i < 3; ++i)
        site[i].core().put(nid_of((i + 1) % 3), 100, false);
      ASSERT_TRUE(site.settle());
      for (unsigned i = 0; i < 3; ++i) {
        const auto& core = site[i].core();
        EXPECT_EQ(core.breaches(), std::vector<std::string>{});
        EXPECT_EQ(core.tally().accepted,
                  core.tally().sent + core.tally().failed + core.tally().cancelled);
        EXPECT_EQ(core.tally().puts, before[i] + 1);
      }
      if (!spoils) site.expect_no_breach();
      if (HasFailure()) return;
    }
    EXPECT_GT(applied, 10U) << name_of(one.fault);
  }
}

TEST(SockLndUnderFaults, ANodeWithoutItsAddressFindsOutWhenItConnects) {
  TcpSite site(1, SimShape::calm(), 2);
  site.cluster.network.remove_address(address_of(0).ip);
  site[0].core().put(nid_of(1), 10, false);
  ASSERT_TRUE(site.settle());
  site.run_for(seconds(2));
  EXPECT_EQ(site[0].core().interface_states(), std::vector{lnet::InterfaceState::kFatal});
  ASSERT_TRUE(site.cluster.network.add_address(site.cluster.shards[0]->host(), address_of(0).ip));
  site.run_for(seconds(2));
  EXPECT_EQ(site[0].core().interface_states().size(), 2U);
  site[0].core().put(nid_of(1), 10, false);
  ASSERT_TRUE(site.settle());
  EXPECT_EQ(site[1].core().tally().puts, 1U);
}

}  // namespace
}  // namespace plnet::socklnd
