// SPDX-License-Identifier: BSD-3-Clause
// Compares the routes of nodes with the real state of their gateways: whether they run, are
// reachable, and have the link that the route needs. After a change a route may be wrong for as
// long as its node needs to detect it. Afterwards it must be right all the time, until another
// fault of the gateway, the node, or the path between them.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "apps/lnet-sim/host/host.hpp"
#include "apps/lnet-sim/net/cuts.hpp"
#include "apps/lnet-sim/plan/route_bounds.hpp"

namespace plnet::sim {

class RouteWatch {
 public:
  RouteWatch(World& world, const Cuts& cuts);

  // Call periodically, and whenever a fault begins or ends. The first route that is wrong for too
  // long is a violation.
  void look(Instant now);
  // Reports a disturbance between two nodes that the correct state does not show.
  void disturbed(std::uint32_t a, std::uint32_t b, Instant now);

  // Result of the last look: the first wrong route, or empty.
  [[nodiscard]] const std::string& wrong() const { return wrong_; }
  // Result of the last look: nothing has changed for so long that no route may be wrong.
  [[nodiscard]] bool is_settled() const { return settled_; }
  // The time until then, if nothing else happens.
  [[nodiscard]] Duration patience() const { return patience_ + kLooksApart; }
  // The longest time so far until a route was right.
  [[nodiscard]] Duration longest(RouteTruth truth) const { return longest_[at(truth)]; }
  // The number of times that this correct state lasted longer than its bound. For kUp, after
  // another state.
  [[nodiscard]] std::uint64_t outlasted(RouteTruth truth) const { return outlasted_[at(truth)]; }

 private:
  // The end of the time for detection is seen at the following look.
  static constexpr Duration kLooksApart = std::chrono::seconds(2);

  struct Watched {
    lnet::RouteSetup route;
    RouteTruth truth = RouteTruth::kUnknown;
    Instant since{};                       // start of the present correct state without
                                           // disturbances
    Instant wrong_since = Instant::max();  // start of the present wrong state
    Instant disturbed{};                   // the last one
    bool one_connection = false;           // to the gateway, or from it to the nodes beyond
    bool meets = false;                    // the node and the gateway can reach each other
    Instant met_since{};                   // undisturbed; valid while `meets`
    Instant away_since = Instant::max();   // no path to it or through it since then; reset when the
                                           // route is up
    Duration was_away{};                   // duration of that, when there is a path again
    Duration away{};                       // the longest one when the correct state became kUp
    bool recovers = false;                 // the route had to be down, or there was no path
    bool outlasted = false;
  };
  struct OfHost {
    std::uint64_t cookie = 0;  // of the node's incarnation
    std::uint64_t connections_lost = 0;
    std::uint64_t held_up = 0;  // messages that a router held up
    Instant disturbed{};
    Instant last_held_up{};
    Instant off_since = Instant::max();
    std::vector<Watched> routes;
  };

  [[nodiscard]] static std::size_t at(RouteTruth truth) { return static_cast<std::size_t>(truth); }
  [[nodiscard]] bool meet(const Host& a, const Host& b) const;
  [[nodiscard]] Instant asked_since(const Host& gateway, lnet::NetId net);
  [[nodiscard]] Instant longest_asked(const Host& gateway, lnet::NetId net) const;
  [[nodiscard]] RouteTruth truth_of(const Host& host, const Watched& watched);
  [[nodiscard]] RouteTruth far_side(const Host& gateway, const lnet::RouteSetup& route);
  [[nodiscard]] Instant undisturbed_since(const Host& host, const Watched& watched);
  [[nodiscard]] Duration away_longest(std::uint32_t gateway, Instant now);
  [[nodiscard]] Duration longest_away(std::uint32_t gateway, Instant now) const;
  [[nodiscard]] bool all_in_doubt() const;
  void note_lost_connections(Instant now);
  void note_held_up(Instant now);
  [[nodiscard]] bool is_one_connection(lnet::NetId net) const;
  void note_who_meets(Instant now);
  void note_truth(Watched& watched, RouteTruth truth, Instant now);
  void begin_anew(Watched& watched, Instant since, Instant now);
  void look_at(const Host& host, Watched& watched, Instant now);
  void note_wrong(const Host& host, const Watched& watched, bool up, bool late, Instant now);

  World& world_;
  const Cuts& cuts_;
  const RouteBounds bounds_;
  const bool breaks_;   // connections may break randomly
  const bool obscure_;  // until the site is healed the reason of failed checks is invisible
  Instant in_doubt_{};  // the last time that all routes were in doubt
  Instant first_look_ = Instant::max();
  std::array<Duration, kRouteTruths> longest_{};
  std::array<std::uint64_t, kRouteTruths> outlasted_{};
  std::vector<OfHost> hosts_;
  // Caches of one look: every user of a gateway asks for them.
  std::map<std::pair<std::uint32_t, lnet::NetId>, Instant> asked_;
  std::map<std::uint32_t, Duration> away_;
  bool settled_ = false;
  Duration patience_{};
  std::string wrong_;
};

}  // namespace plnet::sim
