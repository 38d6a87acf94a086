// SPDX-License-Identifier: BSD-3-Clause
// The match entries (MEs) of one shard in the order in which messages are compared with them.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "lib/base/cache_line.hpp"
#include "lib/base/check.hpp"
#include "lib/base/hash.hpp"
#include "lib/base/pool.hpp"
#include "lib/lnet/api/memory_descriptor.hpp"

namespace plnet::lnet {

struct alignas(kCacheLine) MatchEntry {
  std::uint64_t match_bits = 0;
  std::uint64_t ignore_bits = 0;
  ProcessId match;
  std::uint32_t md = 0;  // its index, while `linked`
  std::uint32_t next = 0;
  std::uint32_t previous = 0;
  std::uint32_t generation = 1;
  std::uint8_t portal = 0;
  bool linked = false;  // in its list. An ME without an MD matches nothing
  bool unlink_with_md = true;
};
static_assert(sizeof(MatchEntry) == kCacheLine);

// As in the kernel, one list holds entries with ignore bits, and the others are in lists by hash
// (lustre-release lnet/lnet/lib-ptl.c: lnet_mt_match_head()). On unique portals the kernel hashes
// NID and pid too, of the ME when it is attached and of the sender's primary NID when it searches,
// so that it may miss an ME with a second NID of the peer. Here only portal and bits are hashed:
// all entries that a message can match are in one list.
class MatchEntries {
 public:
  static constexpr std::uint32_t kNone = 0xffffffff;

  explicit MatchEntries(std::size_t capacity)
      : pool_(capacity),
        buckets_(std::bit_ceil(capacity)),
        exact_(std::make_unique<List[]>(buckets_)) {
    PLNET_CHECK(capacity < kNone, "kNone is no index");
  }

  // Takes an entry from the pool and links it; kNone: all are in use.
  [[nodiscard]] std::uint32_t insert(const MeSpec& spec, std::uint32_t md);
  // Takes the entry out of its list: it matches nothing any more.
  void unlink(MatchEntry& entry);
  void give(MatchEntry& entry);

  // The first entry to compare; then `next`, until kNone.
  [[nodiscard]] std::uint32_t first_with_ignore_bits(PortalId portal) const {
    PLNET_DEBUG_CHECK(portal < kPortalsMax, "messages are compared on a portal that exists");
    return ignoring_[portal].first;
  }
  [[nodiscard]] std::uint32_t first_exact(PortalId portal, std::uint64_t match_bits) const {
    PLNET_DEBUG_CHECK(portal < kPortalsMax, "messages are compared on a portal that exists");
    return exact_[bucket(portal, match_bits)].first;
  }

  [[nodiscard]] MatchEntry& at(std::uint32_t index) { return pool_.at(index); }
  // Null: the entry of the handle is gone.
  [[nodiscard]] MatchEntry* find(const MeHandle& handle);
  [[nodiscard]] MeHandle handle_of(std::uint32_t index, ShardId shard) const {
    return {index, pool_.at(index).generation, shard};
  }

  [[nodiscard]] std::size_t free_count() const { return pool_.free_count(); }
  [[nodiscard]] std::size_t capacity() const { return pool_.capacity(); }

 private:
  struct List {
    std::uint32_t first = kNone;
    std::uint32_t last = kNone;
  };

  [[nodiscard]] std::size_t bucket(PortalId portal, std::uint64_t match_bits) const {
    return mix_words(match_bits ^ 0xa0761d6478bd642f, portal ^ 0xe7037ed1a0b428db) & (buckets_ - 1);
  }
  [[nodiscard]] List& list_of(const MatchEntry& entry) {
    return entry.ignore_bits != 0 ? ignoring_[entry.portal]
                                  : exact_[bucket(entry.portal, entry.match_bits)];
  }

  Pool<MatchEntry> pool_;
  const std::size_t buckets_;
  const std::unique_ptr<List[]> exact_;
  std::array<List, kPortalsMax> ignoring_;
};

}  // namespace plnet::lnet
