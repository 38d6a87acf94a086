// SPDX-License-Identifier: BSD-3-Clause
// Whether LNDs can connect peer NIs. The shard whose LND finds out counts the change and tells the
// admin thread of it.
#pragma once

#include <cstdint>
#include <optional>

#include "lib/base/clock.hpp"
#include "lib/base/counters.hpp"
#include "lib/base/relaxed.hpp"
#include "lib/base/result.hpp"
#include "lib/base/ring.hpp"
#include "lib/lnet/names/nid.hpp"

namespace plnet::lnet {

#define PLNET_LNET_REACH(X)                                                                   \
  X(kLost, "lost", "interfaces", kCount, "peer NIs that could not be connected any more")     \
  X(kFound, "found", "interfaces", kCount, "peer NIs that could be connected again")          \
  X(kForgotten, "forgotten", "interfaces", kCount, "peer NIs that went while they could not") \
  X(kUntold, "untold", "changes", kCount, "not logged by name: too many at a time")
PLNET_COUNTERS(LnetReach, PLNET_LNET_REACH);

// A view for all shards. Any of them may write: our NIs have their LNDs on different ones.
class Reachability {
 public:
  // Why no connection can be made. Absent: one can, or nobody has tried.
  [[nodiscard]] std::optional<Errc> trouble() const { return trouble_of(code_.get()); }
  // Returns the former trouble.
  std::optional<Errc> exchange(std::optional<Errc> trouble) {
    if (trouble == this->trouble()) return trouble;
    return trouble_of(code_.exchange(
        trouble ? static_cast<std::uint8_t>(static_cast<std::uint8_t>(*trouble) + 1) : kNone));
  }

 private:
  [[nodiscard]] static std::optional<Errc> trouble_of(std::uint8_t code) {
    if (code == kNone) return std::nullopt;
    return static_cast<Errc>(code - 1);
  }

  static constexpr std::uint8_t kNone = 0;
  Relaxed<std::uint8_t> code_{kNone};
};

struct PeerNews {
  Nid nid = Nid::any();
  Nid ni = Nid::any();               // ours that found out
  std::optional<Errc> trouble{};     // absent: it can be connected again
  std::optional<Duration> silent{};  // since it was last heard; absent: it never was
  bool forgotten = false;            // the node has no such peer NI any more
};

// One shard's. Peers that are lost within 100 ms and find no room are counted only.
class ReachBook {
 public:
  static constexpr std::size_t kNewsMax = 256;

  // It has `news.trouble` from now on.
  void note(Reachability& of, const PeerNews& news) {
    using Id = LnetReach::Id;
    const std::optional<Errc> before = of.exchange(news.trouble);
    if (before == news.trouble) return;
    if (!before) counters_.add(Id::kLost);
    if (!news.trouble) counters_.add(Id::kFound);
    if (!news_.push(news)) counters_.add(Id::kUntold);
  }
  // The peer NI is released, whatever its trouble.
  void forget(const Nid& nid, Reachability& of) {
    if (!of.exchange(std::nullopt)) return;
    counters_.add(LnetReach::Id::kForgotten);
    (void)news_.push({.nid = nid, .forgotten = true});
  }

  // The admin thread.
  [[nodiscard]] bool take(PeerNews& news) { return news_.pop(news); }
  [[nodiscard]] const Counters<LnetReach>& counters() const { return counters_; }

 private:
  Counters<LnetReach> counters_;
  SpscRing<PeerNews> news_{kNewsMax};
};

}  // namespace plnet::lnet
