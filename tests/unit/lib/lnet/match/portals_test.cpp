// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "lib/lnet/match/portal_directory.hpp"
#include "lib/lnet/match/wire_handle.hpp"

namespace plnet::lnet::portals_test {
namespace {

TEST(PortalDirectory, TheFirstClaimDecides) {
  PortalDirectory portals(2);
  EXPECT_EQ(portals.kind(3), PortalKind::kUnset);
  EXPECT_TRUE(portals.claim(3, PortalKind::kUnique).has_value());
  EXPECT_TRUE(portals.claim(3, PortalKind::kUnique).has_value());
  EXPECT_EQ(portals.claim(3, PortalKind::kWildcard).error(), Errc::kNotPermitted);
  EXPECT_EQ(portals.kind(3), PortalKind::kUnique);
  EXPECT_EQ(portals.kind(4), PortalKind::kUnset);
}

TEST(PortalDirectory, KnowsWhichShardsHaveEntries) {
  PortalDirectory portals(kShardsMax);
  EXPECT_TRUE(portals.shards_with_entries(7).none());
  portals.added(7, 0);
  portals.added(7, 63);
  portals.added(7, 63);
  portals.added(8, 5);
  EXPECT_EQ(portals.shards_with_entries(7), (ShardSet{1} | ShardSet{1} << 63));
  portals.removed(7, 63);
  EXPECT_TRUE(portals.shards_with_entries(7)[63]);
  portals.removed(7, 63);
  EXPECT_EQ(portals.shards_with_entries(7), ShardSet{1});
  EXPECT_EQ(portals.entries(7, 0), 1U);
  portals.added(7, 63);
  EXPECT_TRUE(portals.shards_with_entries(7)[63]);
}

TEST(PortalDirectory, EveryPortalHasAHomeAndMayBeLazy) {
  PortalDirectory portals(3);
  for (PortalId portal = 0; portal < kPortalsMax; ++portal) {
    EXPECT_LT(portals.home(portal), 3U);
    EXPECT_FALSE(portals.lazy(portal));
  }
  portals.set_lazy(63, true);
  EXPECT_TRUE(portals.lazy(63));
  portals.set_lazy(63, false);
  EXPECT_FALSE(portals.lazy(63));
}

TEST(WireHandleOfAnMd, ComesBackAsItWent) {
  const MdHandle extremes[] = {
      {.index = 0, .generation = 1, .shard = 0},
      {.index = kDescriptorsMax - 1, .generation = 0xffffffff, .shard = kShardsMax - 1},
      {.index = 4711, .generation = 0x80000000, .shard = 17},
  };
  for (const MdHandle& md : extremes) {
    const WireHandle wire = encode_handle(md, 99);
    EXPECT_FALSE(wire.is_none());
    EXPECT_EQ(wire.interface_cookie, 99U);
    EXPECT_EQ(wire.object_cookie & 3, 1U);
    EXPECT_EQ(decode_handle(wire, 99), md);
    EXPECT_EQ(decode_handle(wire, 98).error(), Errc::kStale);
  }
}

TEST(WireHandleOfAnMd, ForeignHandlesAreMalformed) {
  const WireHandle good = encode_handle({.index = 1, .generation = 1, .shard = 1}, 99);
  for (const std::uint64_t type : {0ULL, 2ULL, 3ULL}) {
    WireHandle bad = good;
    bad.object_cookie = (bad.object_cookie & ~3ULL) | type;
    EXPECT_EQ(decode_handle(bad, 99).error(), Errc::kMalformed);
  }
  EXPECT_EQ(decode_handle({99, good.object_cookie & 0xffffffff}, 99).error(), Errc::kMalformed);
  EXPECT_EQ(decode_handle({99, good.object_cookie | 0xffULL << 2}, 99).error(), Errc::kMalformed);
  EXPECT_EQ(decode_handle({}, 99).error(), Errc::kStale);
}

}  // namespace
}  // namespace plnet::lnet::portals_test
