// SPDX-License-Identifier: BSD-3-Clause
// The bound, eviction and its exceptions, on a device that counts its calls.
#include "lib/base/map_cache.hpp"

#include <array>
#include <map>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "lib/base/random.hpp"

namespace plnet::map_cache_test {
namespace {

using Id = MapCounters::Id;
using Use = MapCache::Use;

constexpr std::uint64_t kBlock = MapCache::kBlockBytes;

// Counts ibv_reg_mr() and ibv_dereg_mr().
class Device final : public MapDevice {
 public:
  Result<MapKeys> enter(std::uint32_t slot, const MapRegion& region) override {
    if (fails) return std::unexpected(*fails);
    if (most && there.size() >= *most) return std::unexpected(Errc::kNoMemory);
    EXPECT_FALSE(there.contains(slot));
    there[slot] = region;
    ++entered;
    return MapKeys{.local = 2 * entered, .remote = 2 * entered + 1};
  }
  void leave(std::uint32_t slot) override {
    EXPECT_EQ(there.erase(slot), 1U);
    ++left;
  }
  [[nodiscard]] bool has(const Fragment& fragment) const {
    for (const auto& [slot, region] : there) {
      if (region.covers(fragment)) return true;
    }
    return false;
  }

  std::map<std::uint32_t, MapRegion> there;
  std::uint32_t entered = 0;
  std::uint32_t left = 0;
  std::optional<Errc> fails;
  std::optional<std::size_t> most;
};

struct Rig {
  explicit Rig(const MapRules& rules = {.arenas = true, .most = 4, .open_most = 2}) {
    auto* const base = reinterpret_cast<std::byte*>(4096);  // never dereferenced
    arena = arenas.add({.base = base, .size = 128 * kBlock}).value();
    outside = arenas.add({.base = base, .size = 1ULL << 40U, .mapped_on_demand = true}).value();
    cache.set_rules(rules);
  }
  ~Rig() { EXPECT_EQ(device.entered - device.left, device.there.size()); }
  [[nodiscard]] Fragment block(std::uint64_t number, std::uint32_t length = 4096) const {
    return {{arena, 2 * number * kBlock}, length};  // no two blocks share a region
  }
  std::uint32_t take(const Fragment& fragment, Use use = Use::kOwn) {
    const auto mapped = cache.take(fragment, use);
    EXPECT_TRUE(mapped.has_value());
    EXPECT_TRUE(device.has(fragment));
    return mapped.value_or(MapCache::Mapped{}).slot;
  }
  void touch(std::uint64_t number) { cache.give(take(block(number)), Use::kOwn); }

  ArenaTable arenas;
  ArenaId arena = kNoArena;
  ArenaId outside = kNoArena;
  Device device;
  MapCache cache{arenas, device};
};

TEST(MapCache, EarlierMappingsAreFoundAgain) {
  Rig rig;
  const auto first = rig.cache.take(rig.block(3), Use::kOwn);
  const auto again = rig.cache.take({{rig.arena, 6 * kBlock + 77}, 1U << 20U}, Use::kOpen);
  ASSERT_TRUE(first && again);
  EXPECT_EQ(first->slot, again->slot);
  EXPECT_EQ(first->keys.remote, again->keys.remote);
  EXPECT_EQ(rig.device.entered, 1U);
  EXPECT_EQ(rig.cache.count(Id::kHits), 1U);
  EXPECT_EQ(rig.cache.count(Id::kMisses), 1U);
  EXPECT_EQ(rig.cache.count(Id::kInUse), 1U);
  rig.cache.give(first->slot, Use::kOwn);
  rig.cache.give(again->slot, Use::kOpen);
  EXPECT_EQ(rig.cache.count(Id::kInUse), 0U);
  EXPECT_EQ(rig.cache.count(Id::kMapped), 1U);
}

TEST(MapCache, TheLeastRecentlyUsedGoesFirst) {
  Rig rig;
  for (const unsigned number : {0U, 1U, 2U, 3U, 0U, 2U})
    rig.touch(number);
  EXPECT_EQ(rig.cache.count(Id::kEvictions), 0U);
  rig.touch(10);  // replaces 1
  rig.touch(11);  // replaces 3
  EXPECT_EQ(rig.cache.count(Id::kEvictions), 2U);
  EXPECT_FALSE(rig.device.has(rig.block(1)));
  EXPECT_FALSE(rig.device.has(rig.block(3)));
  EXPECT_TRUE(rig.device.has(rig.block(0)) && rig.device.has(rig.block(2)));
  EXPECT_EQ(rig.device.there.size(), 4U);
}

TEST(MapCache, MappingsInUseAreNeverEvicted) {
  Rig rig;
  std::array<std::uint32_t, 4> held{};
  for (std::uint64_t i = 0; i < held.size(); ++i)
    held[i] = rig.take(rig.block(i));
  EXPECT_EQ(rig.cache.take(rig.block(9), Use::kOwn).error(), Errc::kNoSpace);
  EXPECT_EQ(rig.cache.count(Id::kWaits), 1U);
  EXPECT_EQ(rig.device.left, 0U);
  const std::uint32_t second = rig.take(rig.block(2));  // an existing mapping costs no place
  rig.cache.give(held[2], Use::kOwn);
  EXPECT_FALSE(rig.cache.take(rig.block(9), Use::kOwn).has_value());  // another user still holds it
  rig.cache.give(second, Use::kOwn);
  held[2] = rig.take(rig.block(9));
  EXPECT_FALSE(rig.device.has(rig.block(2)));
  for (const std::uint32_t slot : held)
    rig.cache.give(slot, Use::kOwn);
}

// Local transfers always find mappings that peers do not hold.
TEST(MapCache, PeersHaveAPartOnly) {
  Rig rig;
  const std::uint32_t first = rig.take(rig.block(0), Use::kOpen);
  const std::uint32_t second = rig.take(rig.block(1), Use::kOpen);
  EXPECT_EQ(rig.cache.take(rig.block(2), Use::kOpen).error(), Errc::kNoSpace);
  const std::uint32_t shared = rig.take(rig.block(1), Use::kOpen);
  rig.touch(2);
  rig.touch(3);
  rig.touch(4);
  EXPECT_EQ(rig.cache.take(rig.block(4), Use::kOpen).error(), Errc::kNoSpace);
  rig.cache.give(first, Use::kOpen);
  rig.cache.give(rig.take(rig.block(4), Use::kOpen), Use::kOpen);
  rig.cache.give(second, Use::kOpen);
  rig.cache.give(shared, Use::kOpen);
}

TEST(MapCache, WithoutAMemoryNothingIsKept) {
  Rig rig({.arenas = true, .most = 4, .open_most = 2, .keeps = false});
  rig.touch(1);
  rig.touch(1);
  EXPECT_EQ(rig.device.entered, 2U);
  EXPECT_TRUE(rig.device.there.empty());
  EXPECT_EQ(rig.cache.count(Id::kHits), 0U);
}

TEST(MapCache, RulesChangeWhileMemoryIsInUse) {
  Rig rig({.arenas = true, .most = 8, .open_most = 4});
  const std::uint32_t held = rig.take(rig.block(0));
  const std::uint32_t other = rig.take(rig.block(1));
  for (std::uint64_t i = 2; i < 8; ++i)
    rig.touch(i);
  rig.cache.set_rules({.arenas = true, .most = 2, .open_most = 1});
  EXPECT_EQ(rig.device.there.size(), 2U);
  EXPECT_FALSE(rig.cache.take(rig.block(5), Use::kOwn).has_value());
  rig.cache.set_rules({.arenas = false, .most = 16, .open_most = 1, .keeps = false});
  EXPECT_FALSE(rig.cache.maps(rig.arena));
  EXPECT_TRUE(rig.cache.maps(rig.outside));
  EXPECT_EQ(rig.take(rig.block(1)), other);
  rig.cache.give(other, Use::kOwn);
  rig.cache.give(other, Use::kOwn);
  rig.cache.give(held, Use::kOwn);
  EXPECT_TRUE(rig.device.there.empty());
}

TEST(MapCache, AFailureOfTheSystemIsReturned) {
  Rig rig;
  rig.device.fails = Errc::kNoMemory;
  EXPECT_EQ(rig.cache.take(rig.block(0), Use::kOwn).error(), Errc::kNoMemory);
  EXPECT_EQ(rig.cache.count(Id::kRefused), 1U);
  rig.device.fails.reset();
  rig.device.most = 2;  // as `ulimit -l` may
  rig.touch(0);
  rig.touch(1);
  rig.touch(2);  // replaces 0
  EXPECT_FALSE(rig.device.has(rig.block(0)));
  EXPECT_EQ(rig.cache.count(Id::kRefused), 1U);
}

// Outside of arenas only the pages themselves are known to exist.
TEST(MapCache, OutsideOfArenasPagesAreMapped) {
  Rig rig;
  rig.cache.give(rig.take({{rig.outside, 0x7000'1234}, 8192}), Use::kOwn);
  ASSERT_EQ(rig.device.there.size(), 1U);
  const MapRegion& region = rig.device.there.begin()->second;
  EXPECT_EQ(region.offset, 0x7000'1000U);
  EXPECT_EQ(region.bytes, 3 * MapCache::kPageBytes);
}

TEST(MapCache, AtTheEndOfAnArenaAndBeyondABlock) {
  Rig rig;
  rig.cache.give(rig.take({{rig.arena, 128 * kBlock - 10}, 10}), Use::kOwn);
  rig.cache.give(rig.take({{rig.arena, 5 * kBlock + 100}, 4U << 20U}), Use::kOwn);
  EXPECT_EQ(rig.device.there.size(), 2U);
}

// In any order of calls the bound is kept, and users find the mappings that they hold.
TEST(MapCache, AnyOrder) {
  Rig rig({.arenas = true, .most = 16, .open_most = 7});
  Random random(7);
  struct Taken {
    Fragment fragment;
    std::uint32_t slot;
    Use use;
  };
  std::vector<Taken> taken;
  for (unsigned i = 0; i < 20000; ++i) {
    if (taken.empty() || random.below(2) == 0) {
      const Fragment fragment =
          rig.block(random.below(40), static_cast<std::uint32_t>(1 + random.below(1U << 20U)));
      const Use use = random.below(2) == 0 ? Use::kOwn : Use::kOpen;
      if (const auto mapped = rig.cache.take(fragment, use))
        taken.push_back({fragment, mapped->slot, use});
    } else {
      const std::size_t which = random.below(taken.size());
      const Taken one = taken[which];
      ASSERT_TRUE(rig.device.there.at(one.slot).covers(one.fragment));
      rig.cache.give(one.slot, one.use);
      taken.erase(taken.begin() + static_cast<std::ptrdiff_t>(which));
    }
    ASSERT_LE(rig.device.there.size(), 16U);
  }
  EXPECT_GT(rig.cache.count(Id::kHits), 1000U);
  EXPECT_GT(rig.cache.count(Id::kEvictions), 1000U);
  EXPECT_GT(rig.cache.count(Id::kWaits), 0U);
  for (const Taken& one : taken)
    rig.cache.give(one.slot, one.use);
  EXPECT_EQ(rig.cache.count(Id::kInUse), 0U);
}

}  // namespace
}  // namespace plnet::map_cache_test
