// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/peers/placement.hpp"

#include <algorithm>
#include <numeric>

#include <gtest/gtest.h>

#include "tests/mocks/fabric_addresses.hpp"
#include "tests/unit/lib/lnet/peers/peer_rig.hpp"

namespace plnet::lnet::placement_test {
namespace {

using tests::AddressPattern;

ShardsOfCpts one_shard_each(unsigned cpts) {
  ShardsOfCpts shards;
  for (unsigned cpt = 0; cpt < cpts; ++cpt)
    shards.push_back({static_cast<ShardId>(cpt)});
  return shards;
}

TEST(Placement, TheCptIsTheKernelsAndRestrictionsCount) {
  HashPlacement placement(CptHash(4), {{0}, {1}, {2}, {3, 4}});
  LocalNets local;
  Ni& ni = local.add(nid("192.168.1.1@tcp"));
  EXPECT_EQ(placement.choose(nid("192.168.1.10@tcp"), local.view()), (HomePlace{1, 1}));
  EXPECT_EQ(placement.choose(nid("192.168.1.20@tcp"), local.view()), (HomePlace{3, 3}));
  EXPECT_EQ(placement.choose(nid("192.168.1.20@tcp"), local.view()), (HomePlace{3, 4}));
  ni.cpts = {2, 0};
  EXPECT_EQ(placement.choose(nid("192.168.1.10@tcp"), local.view()), (HomePlace{0, 0}));
  ni.cpts = {2};
  EXPECT_EQ(placement.choose(nid("192.168.1.10@tcp"), local.view()), (HomePlace{2, 2}));
}

TEST(Placement, TheKernelsIsForeseenAndTheBalancedOneIsNot) {
  HashPlacement placement(CptHash(4), one_shard_each(4));
  LocalNets local;
  Ni& ni = local.add(nid("192.168.1.1@tcp"));
  EXPECT_EQ(placement.foresee(nid("192.168.1.10@tcp"), local.view()), 1);
  const Nid elsewhere = nid("192.168.1.10@tcp1");
  EXPECT_EQ(placement.foresee(elsewhere, local.view()), CptHash(4).of(elsewhere));
  ni.cpts = {2};
  EXPECT_EQ(placement.foresee(nid("192.168.1.10@tcp"), local.view()), 2);
  EXPECT_EQ(placement.load_of(2), 0U) << "nobody came";
  EXPECT_FALSE(BalancedPlacement(one_shard_each(4)).foresee(nid("1.1.1.1@tcp"), local.view()));
}

TEST(Placement, BalancedIsEvenForEveryPatternOfAddresses) {
  const LocalNets local;
  for (const unsigned cpts : {2U, 3U, 4U, 7U, 8U, 16U, 24U, 32U, 48U, 64U}) {
    for (const AddressPattern pattern : tests::kAddressPatterns) {
      BalancedPlacement placement(one_shard_each(cpts));
      const auto nids = tests::fabric_nids(pattern, 5000);
      for (std::uint32_t count = 1; count <= nids.size(); ++count) {
        (void)placement.choose(nids[count - 1], local.view());
        std::uint32_t least = UINT32_MAX;
        std::uint32_t most = 0;
        for (ShardId shard = 0; shard < cpts; ++shard) {
          least = std::min(least, placement.load_of(shard));
          most = std::max(most, placement.load_of(shard));
        }
        ASSERT_LE(most, least + 1) << cpts << ' ' << name_of(pattern) << ' ' << count;
      }
    }
  }
}

TEST(Placement, BalancedFillsFreedPlaces) {
  BalancedPlacement placement(one_shard_each(4));
  const LocalNets local;
  const auto nids = tests::fabric_nids(AddressPattern::kDense, 80);
  std::vector<HomePlace> homes;
  for (std::size_t i = 0; i < 40; ++i)
    homes.push_back(placement.choose(nids[i], local.view()));
  for (const HomePlace& home : homes) {
    if (home.cpt == 2) placement.leave(home);
  }
  for (std::size_t i = 40; i < 50; ++i)
    EXPECT_EQ(placement.choose(nids[i], local.view()), (HomePlace{2, 2}));
  EXPECT_EQ(placement.load_of(2), 10U);
}

TEST(Placement, BalancedCountsTheShardsOfACptAndItsRestrictions) {
  BalancedPlacement placement({{0}, {1, 2, 3}, {4}});
  LocalNets local;
  const auto nids = tests::fabric_nids(AddressPattern::kSparse, 50);
  for (const Nid& nid : nids)
    (void)placement.choose(nid, local.view());
  for (ShardId shard = 0; shard < 5; ++shard)
    EXPECT_EQ(placement.load_of(shard), 10U) << shard;
  Ni& ni = local.add(Nid::of(NetType::kKfi, 0, 0xfffff));
  ni.cpts = {2};
  for (const Nid& nid : nids)
    EXPECT_EQ(placement.choose(nid, local.view()).cpt, 2);
}

TEST(Placement, EachRuleMatchesItsRelease) {
  const LocalNets local;
  const auto cpt = [&](PlacementRule rule, const char* text) {
    return make_placement(rule, one_shard_each(8))->choose(nid(text), local.view()).cpt;
  };
  // 192.168.1.1@tcp of the golden vectors, for which the releases differ.
  EXPECT_EQ(cpt(PlacementRule::kV212, "192.168.1.1@tcp"), 1);
  EXPECT_EQ(cpt(PlacementRule::kV215, "192.168.1.1@tcp"), 4);
  EXPECT_EQ(cpt(PlacementRule::kV216, "192.168.1.1@tcp"), 4);
  EXPECT_EQ(cpt(PlacementRule::kV217, "192.168.1.1@tcp"), 4);
  // On an empty node the kernel's hash selects a CPT.
  EXPECT_EQ(cpt(PlacementRule::kBalanced, "192.168.1.1@tcp"), 4);
  EXPECT_EQ(name_of(PlacementRule::kV212), "lustre-2.12");
  EXPECT_EQ(name_of(PlacementRule::kBalanced), "balanced");
}

}  // namespace
}  // namespace plnet::lnet::placement_test
