// SPDX-License-Identifier: BSD-3-Clause
// Routes as nodes have them, held against what a bystander knows of their gateways: whether they
// are there, can be reached, and have the link that the route needs. When that changes a route may
// be wrong for as long as its node needs to find out. From then on it may not be wrong for a
// moment, until something happens to the gateway, the node, or what lies between them.
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

  // Now and then, and whenever a fault begins or ends. The first that was wrong for too long is a
  // violation.
  void look(Instant now);
  // Something that is not seen in what is true has come between the two.
  void disturbed(std::uint32_t a, std::uint32_t b, Instant now);

  // Of the last look: the first that is not what it should be, or empty.
  [[nodiscard]] const std::string& wrong() const { return wrong_; }
  // Of the last look: nothing has changed for so long that no route may be wrong.
  [[nodiscard]] bool is_settled() const { return settled_; }
  // How long that takes, if nothing happens any more.
  [[nodiscard]] Duration patience() const { return patience_ + kLooksApart; }
  // How long a route took so far to be right, at most.
  [[nodiscard]] Duration longest(RouteTruth truth) const { return longest_[at(truth)]; }
  // How often that has been true for longer than a route may be wrong. Of kUp, after it had not.
  [[nodiscard]] std::uint64_t outlasted(RouteTruth truth) const { return outlasted_[at(truth)]; }

 private:
  // That nothing may be wrong any more is seen at the look after.
  static constexpr Duration kLooksApart = std::chrono::seconds(2);

  struct Watched {
    lnet::RouteSetup route;
    RouteTruth truth = RouteTruth::kUnknown;
    Instant since{};                       // what it is to be is the same, and undisturbed
    Instant wrong_since = Instant::max();  // since then
    Instant disturbed{};                   // last
    bool one_connection = false;           // to the gateway, or from it to those beyond
    bool meets = false;                    // its node and the gateway, each other
    Instant met_since{};                   // undisturbed; while they meet
    Instant away_since = Instant::max();   // no way to it or through it, since it was last up
    Duration was_away{};                   // when there was a way again
    Duration away{};                       // of the longest, when it was to be up
    bool recovers = false;                 // it was to be down, or there was no way
    bool outlasted = false;
  };
  struct OfHost {
    std::uint64_t cookie = 0;  // of its incarnation
    std::uint64_t connections_lost = 0;
    std::uint64_t held_up = 0;  // messages, by a router
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
  const bool breaks_;   // connections break by themselves, sometimes
  const bool obscure_;  // until the site is healed it is not seen why a check fails
  Instant in_doubt_{};  // all of them were, last
  Instant first_look_ = Instant::max();
  std::array<Duration, kRouteTruths> longest_{};
  std::array<std::uint64_t, kRouteTruths> outlasted_{};
  std::vector<OfHost> hosts_;
  // Of one look: each is asked for by every node that goes by the gateway.
  std::map<std::pair<std::uint32_t, lnet::NetId>, Instant> asked_;
  std::map<std::uint32_t, Duration> away_;
  bool settled_ = false;
  Duration patience_{};
  std::string wrong_;
};

}  // namespace plnet::sim
