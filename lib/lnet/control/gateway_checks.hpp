// SPDX-License-Identifier: BSD-3-Clause
// Decides whether the gateways of routes are alive. Each gateway is discovered (pinged and pushed
// to, regardless of its known state) at intervals on each network that it shares with this node.
// The answers, the reports of LNDs and messages through the gateway decide which routes may be
// used. Used by the coordinator. Checked against lustre-release lnet/lnet/router.c at v2_17_0:
// lnet_check_routers(), lnet_router_discovery_ping_reply(), lnet_router_discovery_complete(),
// lnet_notify().
//
// Departures from the kernel:
// - A check ends after router_ping_timeout, not with the transaction timeout of its messages.
// - It asks an NI of the gateway on the network whose turn it is.
// - A silent interface takes down only itself, unless no other interface answers.
// - A route that has flapped is held back while there is a steadier one.
// - Without regular checks, a node that routes asks each gateway until it has answered once, so
//   that messages of others do not wait for that.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "lib/lnet/api/parameters.hpp"
#include "lib/lnet/control/discovery.hpp"
#include "lib/lnet/control/gateway.hpp"
#include "lib/lnet/control/peer_recovery.hpp"
#include "lib/lnet/control/routes.hpp"
#include "lib/lnet/paths/route_aliveness.hpp"

namespace plnet::lnet {

#define PLNET_GATEWAY_COUNTERS(X)                                                           \
  X(kGateways, "gateways", "peers", kGauge, "gateways of routes")                           \
  X(kChecks, "checks", "checks", kCount, "checks of gateways begun")                        \
  X(kAnswered, "checks_answered", "checks", kCount, "checks of gateways answered")          \
  X(kTimedOut, "checks_timed_out", "checks", kCount,                                        \
    "checks of gateways without an answer in time")                                         \
  X(kFailed, "checks_failed", "checks", kCount, "checks of gateways that failed otherwise") \
  X(kNoNetwork, "checks_no_network", "checks", kCount,                                      \
    "checks of gateways not begun: no network in common")                                   \
  X(kRoutesUp, "routes_went_up", "routes", kCount, "routes that became usable again")       \
  X(kRoutesDown, "routes_went_down", "routes", kCount, "routes that became unusable")       \
  X(kUntold, "changes_untold", "changes", kCount,                                           \
    "changes of routes not logged: too many at a time")                                     \
  X(kHeldBack, "routes_held_back", "times", kCount, "routes kept unused after they flapped")

PLNET_COUNTERS(GatewayTable, PLNET_GATEWAY_COUNTERS);
using GatewayCounters = Counters<GatewayTable>;
using GatewayCounter = GatewayTable::Id;

class GatewayChecks {
 public:
  struct Parts {
    PeerDirectory& directory;
    Discovery& discovery;
    const Routes& routes;
    PeerRecovery& recovery;
    const Parameters& parameters;
  };
  explicit GatewayChecks(const Parts& parts);

  // RoutesObserver.
  void routes_published();
  void route_added(Route& route, Instant now);
  void gateway_added(PeerRecord& peer, Instant now);
  void gateway_removed(PeerRecord& peer);

  // DiscoveryObserver.
  void on_ping_reply(Peer& peer, const PingView& buffer);
  void discovered(Peer& peer, Result<void> outcome, Instant now);

  // A shard has marked a peer NI up or down, or a gateway alive; or a parameter was set. `news`:
  // the reason (GatewayNews).
  void look_again(std::uint32_t news);
  // Begins checks that are due, ends late ones, and judges routes.
  void step(const LocalView& local, Instant now);
  [[nodiscard]] Instant next_deadline() const;
  // A next hop or route was lost since the last call: messages that wait for it take another path,
  // or end.
  [[nodiscard]] bool exchange_lost() { return std::exchange(lost_, false); }
  void on_loss() { lost_ = true; }

  // Each gateway has been asked once.
  [[nodiscard]] bool all_known() const;
  // In the order in which they were added.
  [[nodiscard]] std::vector<const Gateway*> gateways() const;
  [[nodiscard]] const GatewayCounters& counters() const { return counters_; }

  // Changes since the last call, oldest first; at most kNewsMax are kept.
  static constexpr std::size_t kNewsMax = 256;
  [[nodiscard]] std::vector<RouteNews> pop_news() {
    has_news_.set(false);
    std::vector<RouteNews> news = news_;  // a copy, which keeps the capacity for the next ones
    news_.clear();
    return news;
  }
  // Any thread.
  [[nodiscard]] bool has_news() const { return has_news_.get(); }

 private:
  // gateway_checks.cpp
  [[nodiscard]] Gateway* find(const Peer& peer);
  [[nodiscard]] bool checks_by_itself() const;
  [[nodiscard]] bool needs_check(const Gateway& gateway) const;
  [[nodiscard]] Duration interval() const;
  [[nodiscard]] Duration patience() const;
  void check(Gateway& gateway, const LocalView& local, Instant now, bool look);
  void begin_check(Gateway& gateway, const LocalView& local, Instant now);
  [[nodiscard]] Gateway::Turn* next_turn(Gateway& gateway, const LocalView& local, Instant now);
  [[nodiscard]] bool is_still_tried(const Gateway& gateway, const Gateway::Turn& turn,
                                    const Nid& target) const;
  [[nodiscard]] static bool has_better_turn(Gateway& gateway, Instant now);

  // gateway_verdicts.cpp
  void check_failed(Gateway& gateway, bool asked, RouteCause why, Instant now);
  void all_down(Gateway& gateway, RouteCause why);
  void net_down(Gateway& gateway, NetId net, RouteCause why);
  static void clear_silence(Gateway& gateway);
  bool note_ni(Route& route);
  void judge_again(Gateway& gateway);
  void refresh_all(Instant now, bool all);
  void refresh(Gateway& gateway, Instant now);
  [[nodiscard]] RouteCause judge(Route& route, const Gateway& gateway,
                                 const GatewayEvidence& evidence);
  void count_flaps(Route& route, RouteCause cause, bool answered, Instant now);
  void note_steady(Route& route, bool steady);
  [[nodiscard]] bool is_held_back(const Route& route) const;
  void record(Route& route, bool up, RouteCause cause, Instant now);

  GatewayCounters counters_;  // first: lies on lines of its own
  PeerDirectory& directory_;
  Discovery& discovery_;
  const Routes& routes_;
  PeerRecovery& recovery_;
  const Parameters& parameters_;
  std::map<const Peer*, std::unique_ptr<Gateway>> gateways_;
  std::vector<Gateway::Turn> turns_;  // of the gateway in work
  std::vector<RouteNews> news_;
  std::uint64_t last_order_ = 0;
  Instant next_look_{};
  Instant next_end_ = Instant::max();  // the next end of a check or of a doubt
  bool lost_ = false;
  bool some_dirty_ = false;
  Relaxed<bool> has_news_{false};
};

}  // namespace plnet::lnet
