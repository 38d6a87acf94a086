// SPDX-License-Identifier: BSD-3-Clause
// What all shards know of the node's portals: the kind of match that each is used for, whether
// messages may wait there, and which shards have match entries (MEs) on it. The entries themselves
// stay on the shard that attached them.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "lib/base/cache_line.hpp"
#include "lib/base/relaxed.hpp"
#include "lib/base/result.hpp"
#include "lib/lnet/api/memory_descriptor.hpp"
#include "lib/lnet/api/shard_id.hpp"

namespace plnet::lnet {

// Unique: no ignore bits, and a match id without wildcards (lustre-release lnet/lnet/lib-ptl.c:
// lnet_ptl_match_type()).
enum class PortalKind : std::uint8_t { kUnset, kUnique, kWildcard };

class PortalDirectory {  // NOLINT(clang-analyzer-optin.performance.Padding): apart on purpose
 public:
  explicit PortalDirectory(unsigned shards);
  PortalDirectory(const PortalDirectory&) = delete;
  PortalDirectory& operator=(const PortalDirectory&) = delete;

  // Any shard. Portals below kPortalsMax only, here and below.
  [[nodiscard]] PortalKind kind(PortalId portal) const { return at(portal).kind.get(); }
  // The first to come decides for as long as the node runs. kNotPermitted: it is of the other kind.
  [[nodiscard]] Result<void> claim(PortalId portal, PortalKind wanted);

  // Whether a PUT that nothing matches waits instead of being dropped.
  [[nodiscard]] bool lazy(PortalId portal) const { return at(portal).lazy.get(); }
  void set_lazy(PortalId portal, bool lazy) { at(portal).lazy.set(lazy); }
  // The shard that keeps the messages that wait. It looks for a match once more when it has put one
  // on its list: an ME attached before that is found by looking, one attached later makes
  // MatchHooks::on_lazy_attach().
  [[nodiscard]] ShardId home(PortalId portal) const {
    return static_cast<ShardId>(portal % shards_);
  }

  // Which shards are worth asking. A hint: an ME may come or go while it is read.
  [[nodiscard]] ShardSet shards_with_entries(PortalId portal) const;
  [[nodiscard]] std::uint32_t entries(PortalId portal, ShardId shard) const {
    return rows_[checked(shard)].entries[checked_portal(portal)].get();
  }

  // The shard named, and only it: an ME with an MD has come or is gone.
  void added(PortalId portal, ShardId shard);
  void removed(PortalId portal, ShardId shard);

 private:
  // Read for every message, written next to never.
  struct Portal {
    Relaxed<PortalKind> kind{PortalKind::kUnset};
    Relaxed<bool> lazy{false};
    std::atomic<std::uint64_t> ever_used{0};  // by these shards
  };
  // Written by one shard: a portal that sees an attach for every transfer would otherwise take a
  // line back and forth between all of them.
  struct alignas(kNoSharing) Row {
    std::array<Relaxed<std::uint32_t>, kPortalsMax> entries;
  };

  [[nodiscard]] std::size_t checked(ShardId shard) const {
    PLNET_CHECK(shard < shards_, "no such shard");
    return shard;
  }
  [[nodiscard]] static std::size_t checked_portal(PortalId portal) {
    PLNET_CHECK(portal < kPortalsMax, "no such portal");
    return portal;
  }
  [[nodiscard]] const Portal& at(PortalId portal) const { return portals_[checked_portal(portal)]; }
  [[nodiscard]] Portal& at(PortalId portal) { return portals_[checked_portal(portal)]; }

  const unsigned shards_;
  alignas(kNoSharing) std::array<Portal, kPortalsMax> portals_;
  const std::unique_ptr<Row[]> rows_;  // by shard
};

}  // namespace plnet::lnet
