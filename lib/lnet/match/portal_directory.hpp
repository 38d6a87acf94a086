// SPDX-License-Identifier: BSD-3-Clause
// The facts about the node's portals that all shards share: the kind of match, whether messages may
// wait there, and the shards with match entries (MEs). The entries themselves stay on the shard
// that attached them.
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
  // The first claim is valid as long as the node runs. kNotPermitted: the portal is of the other
  // kind.
  [[nodiscard]] Result<void> claim(PortalId portal, PortalKind wanted);

  // A PUT without a match waits instead of being dropped.
  [[nodiscard]] bool lazy(PortalId portal) const { return at(portal).lazy.get(); }
  void set_lazy(PortalId portal, bool lazy) { at(portal).lazy.set(lazy); }
  // The shard that keeps waiting messages. It searches once more after it has put a message on its
  // list: an ME attached before that is found by the search, one attached later causes
  // MatchHooks::on_lazy_attach().
  [[nodiscard]] ShardId home(PortalId portal) const {
    return static_cast<ShardId>(portal % shards_);
  }

  // The shards to ask. A hint: an ME may come or go meanwhile.
  [[nodiscard]] ShardSet shards_with_entries(PortalId portal) const;
  [[nodiscard]] std::uint32_t entries(PortalId portal, ShardId shard) const {
    return rows_[checked(shard)].entries[checked_portal(portal)].get();
  }

  // Called by the named shard: an ME with an MD was attached or is gone.
  void added(PortalId portal, ShardId shard);
  void removed(PortalId portal, ShardId shard);

 private:
  // Read for every message, rarely written.
  struct Portal {
    Relaxed<PortalKind> kind{PortalKind::kUnset};
    Relaxed<bool> lazy{false};
    std::atomic<std::uint64_t> ever_used{0};  // shards that ever had entries
  };
  // Written by one shard: on a portal with an attach for every transfer, a shared line would move
  // between all shards.
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
