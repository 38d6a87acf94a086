// SPDX-License-Identifier: BSD-3-Clause
// Traffic when all is healed: whoever talks to somebody does so again, by each way that there is,
// and must succeed. Who does not at once tries again for as long as a router may need to find by
// itself that a next hop is back; for ever would go unnoticed otherwise.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "apps/lnet-sim/books/ledger.hpp"
#include "lib/base/clock.hpp"

namespace plnet::sim {

struct World;

class After {
 public:
  // `at_once`: nothing has happened that a node would have to get over.
  After(World& world, bool at_once);

  // Each node with those that it talks to, if they are few; else with some, so that each of them
  // has somebody. Empty, or what has no room.
  [[nodiscard]] std::string begin(Instant now);
  // Now and then: who has nothing under way goes on.
  void step(Instant now);
  void ended(const Operation& operation, bool well);

  [[nodiscard]] bool over() const { return left_ == 0; }
  [[nodiscard]] Duration patience() const;
  // Who has not come through yet.
  [[nodiscard]] std::string missing() const;
  // Operations that failed before one succeeded.
  [[nodiscard]] std::uint64_t failed() const { return failed_; }
  // The first that failed though nothing had happened, or empty.
  [[nodiscard]] const std::string& wrong() const { return wrong_; }

 private:
  struct Visit {
    std::uint32_t to = 0;
    unsigned puts = 0;  // still to be made
    unsigned gets = 0;
  };
  struct Visitor {
    std::uint32_t node = 0;
    bool waits = false;
    std::vector<Visit> visits;  // the last first
    Instant again{};
  };
  // Together: an operation each way costs about as much as one of the traffic.
  static constexpr std::size_t kVisitsMax = 512;
  static constexpr Duration kAgain = std::chrono::milliseconds(500);

  void plan();
  [[nodiscard]] unsigned ways(std::uint32_t from, std::uint32_t to) const;

  World& world_;
  const bool at_once_;
  std::vector<Visitor> visitors_;
  std::vector<std::uint32_t> visitor_of_;  // by node
  std::size_t left_ = 0;                   // visitors with visits to make
  std::uint64_t failed_ = 0;
  std::string wrong_;
};

}  // namespace plnet::sim
