// SPDX-License-Identifier: BSD-3-Clause
// Whether LNDs can connect peer NIs. The shard whose LND reports a change counts it and tells the
// admin thread.
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

#define PLNET_LNET_REACH(X)                                                                  \
  X(kLost, "lost", "interfaces", kCount, "peer NIs that became unreachable")                 \
  X(kFound, "found", "interfaces", kCount, "peer NIs that became reachable again")           \
  X(kForgotten, "forgotten", "interfaces", kCount, "unreachable peer NIs that were removed") \
  X(kUntold, "untold", "changes", kCount, "changes not logged by name: too many at a time")
PLNET_COUNTERS(LnetReach, PLNET_LNET_REACH);

// A view for all shards. Any shard may write, since the LNDs of our NIs lie on different ones.
class Reachability {
 public:
  // The reason why no connection can be made. Absent: one can, or none was tried.
  [[nodiscard]] std::optional<Errc> trouble() const { return trouble_of(code_.get()); }
  // Returns the previous reason.
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
  Nid ni = Nid::any();               // the NI of this node that reports it
  std::optional<Errc> trouble{};     // absent: it can be connected again
  std::optional<Duration> silent{};  // time since its last message; absent: none has arrived
  bool forgotten = false;            // the node has removed the peer NI
};

// The reports of one shard. Of more than fit within 100 ms, some are only counted.
class ReachBook {
 public:
  static constexpr std::size_t kNewsMax = 256;

  // The peer NI has the state `news.trouble` from now on.
  void note(Reachability& of, const PeerNews& news) {
    using Id = LnetReach::Id;
    const std::optional<Errc> before = of.exchange(news.trouble);
    if (before == news.trouble) return;
    if (!before) counters_.add(Id::kLost);
    if (!news.trouble) counters_.add(Id::kFound);
    if (!news_.push(news)) counters_.add(Id::kUntold);
  }
  // The peer NI is released, in any state.
  void forget(const Nid& nid, Reachability& of) {
    if (!of.exchange(std::nullopt)) return;
    counters_.add(LnetReach::Id::kForgotten);
    (void)news_.push({.nid = nid, .forgotten = true});
  }

  // Called by the admin thread.
  [[nodiscard]] bool take(PeerNews& news) { return news_.pop(news); }
  [[nodiscard]] const Counters<LnetReach>& counters() const { return counters_; }

 private:
  Counters<LnetReach> counters_;
  SpscRing<PeerNews> news_{kNewsMax};
};

}  // namespace plnet::lnet
