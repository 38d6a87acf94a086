// SPDX-License-Identifier: BSD-3-Clause
// Registers memory with a device at its first use; the number of registrations is bounded. Unused
// mappings stay for later use and are evicted in LRU order.
#pragma once

#include <cstdint>
#include <vector>

#include "lib/base/arena.hpp"
#include "lib/base/counters.hpp"
#include "lib/base/result.hpp"

namespace plnet {

#define PLNET_MAP_COUNTERS(X)                                                             \
  X(kHits, "hits", "uses", kCount, "uses of memory that was already mapped")              \
  X(kMisses, "misses", "uses", kCount, "uses that mapped their memory first")             \
  X(kEvictions, "evictions", "mappings", kCount, "mappings that made room for others")    \
  X(kWaits, "waits", "uses", kCount, "uses delayed because all mappings were in use")     \
  X(kRefused, "refused", "uses", kCount, "uses of memory that the system refused to map") \
  X(kMapped, "mapped", "mappings", kGauge, "mappings that exist now")                     \
  X(kInUse, "in_use", "mappings", kGauge, "of these, those that a transfer or a peer uses now")
PLNET_COUNTERS(MapCounters, PLNET_MAP_COUNTERS);

struct MapRegion {
  ArenaId arena = kNoArena;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;

  friend bool operator==(const MapRegion&, const MapRegion&) = default;
  [[nodiscard]] bool covers(const Fragment& fragment) const {
    return fragment.at.arena == arena && fragment.at.offset >= offset &&
           fragment.at.offset + fragment.length <= offset + bytes;
  }
};

struct MapKeys {
  std::uint32_t local = 0;
  std::uint32_t remote = 0;
};

// Implemented by the device.
class MapDevice {
 public:
  virtual ~MapDevice() = default;
  // The slot is empty.
  [[nodiscard]] virtual Result<MapKeys> enter(std::uint32_t slot, const MapRegion& region) = 0;
  virtual void leave(std::uint32_t slot) = 0;
};

struct MapRules {
  bool arenas = false;       // also arenas that could be registered once at start
  std::uint32_t most = 512;  // limit of mappings
  // Mappings that peers may use at a time. The rest is reserved for transfers of this node, which
  // end without the peer's help, so that two nodes never wait for each other.
  std::uint32_t open_most = 256;
  bool keeps = true;  // unused mappings stay for their next use

  friend bool operator==(const MapRules&, const MapRules&) = default;
};

class MapCache {
 public:
  static constexpr std::uint32_t kNone = ~0U;
  static constexpr std::uint32_t kMappingsMax = 65536;
  // Arenas are mapped in blocks, each of which reaches into the next one, so that a fragment of
  // LNet's largest payload lies in one block. Of other memory only the pages of the fragment itself
  // exist.
  static constexpr std::uint64_t kBlockBytes = std::uint64_t{1} << 20U;
  static constexpr std::uint64_t kPageBytes = 4096;

  enum class Use : std::uint8_t { kOwn, kOpen };  // by our transfers, by peers
  struct Mapped {
    std::uint32_t slot = kNone;
    MapKeys keys;
  };

  // Both outlive the cache.
  MapCache(const ArenaTable& arenas, MapDevice& device) : arenas_(arenas), device_(device) {
    set_rules({});
  }
  ~MapCache();
  MapCache(const MapCache&) = delete;
  MapCache& operator=(const MapCache&) = delete;

  // Cold. Mappings in use stay until they are released.
  void set_rules(const MapRules& rules);
  [[nodiscard]] const MapRules& rules() const { return rules_; }

  // True if memory of this arena is mapped at its use.
  [[nodiscard]] bool maps(ArenaId arena) const {
    return rules_.arenas || arenas_.arena(arena).mapped_on_demand;
  }
  // Hot. The mapping is in use until give(). kNoSpace: all mappings are in use, try again after a
  // release; other errors come from the device.
  [[nodiscard]] Result<Mapped> take(const Fragment& fragment, Use use);
  void give(std::uint32_t slot, Use use);
  // The slot is in use.
  [[nodiscard]] const MapRegion& region(std::uint32_t slot) const { return entries_[slot].region; }

  [[nodiscard]] std::uint64_t count(MapCounters::Id id) const { return counters_.get(id); }
  [[nodiscard]] CounterView counters() const { return counters_.view(); }

 private:
  using Id = MapCounters::Id;
  struct Entry {
    MapRegion region;
    MapKeys keys;
    std::uint32_t users = 0;
    std::uint32_t opens = 0;      // the users that are peers
    std::uint32_t next = kNone;   // next in its bucket or in the free list
    std::uint32_t older = kNone;  // next older unused mapping
    std::uint32_t newer = kNone;
  };

  [[nodiscard]] MapRegion region_of(const Fragment& fragment) const;
  [[nodiscard]] std::uint32_t& bucket_of(const MapRegion& region);
  [[nodiscard]] std::uint32_t find(const MapRegion& region);
  [[nodiscard]] Result<std::uint32_t> map(const MapRegion& region);
  [[nodiscard]] Mapped use(std::uint32_t slot, Use use);
  [[nodiscard]] std::uint32_t free_slot();
  void drop(std::uint32_t slot);
  void become_idle(std::uint32_t slot);
  void leave_idle(std::uint32_t slot);

  const ArenaTable& arenas_;
  MapDevice& device_;
  MapRules rules_;
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> buckets_;  // their number is a power of two
  std::uint32_t free_ = kNone;
  std::uint32_t mapped_ = 0;
  std::uint32_t open_ = 0;  // entries that peers use
  std::uint32_t oldest_ = kNone;
  std::uint32_t newest_ = kNone;
  Counters<MapCounters> counters_;
};

}  // namespace plnet
