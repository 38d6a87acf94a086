// SPDX-License-Identifier: BSD-3-Clause
// Routes as nodes have them, held against what a bystander knows of their gateways: whether they
// are there, can be reached, and have the link that the route needs. A route may be wrong for as
// long as its node needs to find out, no longer.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "apps/lnet-sim/cuts.hpp"
#include "apps/lnet-sim/host.hpp"
#include "apps/lnet-sim/route_bounds.hpp"

namespace plnet::sim {

class RouteWatch {
 public:
  RouteWatch(World& world, const Cuts& cuts);

  // Now and then, and whenever a fault begins or ends. The first that was wrong for too long is a
  // violation.
  void look(Instant now);
  // Of the last look: the first that is not what it should be, or empty.
  [[nodiscard]] const std::string& wrong() const { return wrong_; }
  // How long it may take until all routes are right, if nothing happens any more.
  [[nodiscard]] Duration patience() const;
  // How long it took so far, at most.
  [[nodiscard]] Duration longest(RouteTruth truth) const {
    return longest_[static_cast<std::size_t>(truth)];
  }

 private:
  struct Watched {
    lnet::RouteSetup route;
    RouteTruth truth = RouteTruth::kUnknown;
    Instant wrong_since = Instant::max();
    Instant away_since = Instant::max();  // no way to it or through it, since it was last up
    Duration away{};                      // for how long, when there was a way again
  };
  struct OfHost {
    std::uint64_t cookie = 0;  // of its incarnation
    std::vector<Watched> routes;
  };

  [[nodiscard]] RouteTruth truth_of(const Host& host, const lnet::RouteSetup& route);
  [[nodiscard]] RouteTruth far_side(const Host& gateway, const lnet::RouteSetup& route);
  [[nodiscard]] bool is_asked(const Host& gateway, lnet::NetId net);
  [[nodiscard]] bool somebody_asks(const Host& gateway, lnet::NetId net) const;
  [[nodiscard]] bool meet(const Host& a, const Host& b) const;
  [[nodiscard]] bool is_doubtful() const;
  [[nodiscard]] Duration away_longest(std::uint32_t gateway, Instant now);
  [[nodiscard]] Duration longest_away(std::uint32_t gateway, Instant now) const;
  void note_truth(Watched& watched, RouteTruth truth, Instant now);
  void look_at(const Host& host, Watched& watched, Instant now);

  World& world_;
  const Cuts& cuts_;
  const RouteBounds bounds_;
  bool doubtful_ = false;
  Instant doubtful_until_{};  // at the earliest
  std::array<Duration, kRouteTruths> longest_{};
  std::vector<OfHost> hosts_;
  // Of one look: each is asked for by every node that goes by the gateway.
  std::map<std::pair<std::uint32_t, lnet::NetId>, bool> asked_;
  std::map<std::uint32_t, Duration> away_;
  std::string wrong_;
};

}  // namespace plnet::sim
