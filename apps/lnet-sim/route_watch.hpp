// SPDX-License-Identifier: BSD-3-Clause
// Routes as nodes have them, held against what a bystander knows of their gateways: whether they
// are there, can be reached, and have the link that the route needs. A route may be wrong for as
// long as its node needs to find out, no longer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "apps/lnet-sim/cuts.hpp"
#include "apps/lnet-sim/host.hpp"

namespace plnet::sim {

class RouteWatch {
 public:
  RouteWatch(World& world, const Cuts& cuts);

  // Now and then, and whenever a fault begins or ends. The first that was wrong for too long is a
  // violation.
  void look(Instant now);
  // Of the last look: the first that is not what it should be, or empty.
  [[nodiscard]] const std::string& wrong() const { return wrong_; }
  // How long a node may take to find out that a gateway is well again; that one fails, less.
  [[nodiscard]] Duration patience() const { return patience_; }

 private:
  enum class Truth : std::uint8_t { kUp, kDown, kUnknown };

  struct Watched {
    lnet::RouteSetup route;
    Truth truth = Truth::kUnknown;
    Instant wrong_since = Instant::max();
  };
  struct OfHost {
    std::uint64_t cookie = 0;  // of its incarnation
    std::vector<Watched> routes;
  };

  [[nodiscard]] Truth truth_of(const Host& host, const lnet::RouteSetup& route) const;
  [[nodiscard]] Truth far_side(const Host& gateway, const lnet::RouteSetup& route) const;
  [[nodiscard]] bool is_asked(const Host& gateway, lnet::NetId net) const;
  [[nodiscard]] bool meet(const Host& a, const Host& b) const;
  [[nodiscard]] bool is_doubtful() const;
  void look_at(const Host& host, Watched& watched, Instant now);

  World& world_;
  const Cuts& cuts_;
  const Duration patience_;
  const Duration patience_down_;
  std::vector<OfHost> hosts_;
  std::string wrong_;
};

}  // namespace plnet::sim
