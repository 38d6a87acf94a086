// SPDX-License-Identifier: BSD-3-Clause
// When the users of a router see their routes through it go down and come up again.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "apps/lnet-sim/host/host.hpp"

namespace plnet::sim {

class RouteSight {
 public:
  RouteSight(const World& world, std::uint32_t router);

  // Call periodically.
  void look(Instant now);

  // The node's routes through the router.
  struct Seen {
    std::uint32_t node = 0;
    std::optional<Instant> down{};  // the first one
    std::optional<Instant> up{};    // all of them, for the last time
  };
  [[nodiscard]] const std::vector<Seen>& seen() const { return seen_; }
  // All routes through the router are up now.
  [[nodiscard]] bool all_up() const;

 private:
  [[nodiscard]] bool are_up(const Host& host) const;

  const World& world_;
  const std::uint32_t router_;
  std::vector<Seen> seen_;
};

}  // namespace plnet::sim
