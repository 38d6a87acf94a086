// SPDX-License-Identifier: BSD-3-Clause
// Traffic after the site is healed: each node talks to its partners again, by each route, and must
// succeed. A node that fails repeats for as long as a router may need to discover that a next hop
// is back; unlimited repetition would hide a permanent failure.
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
  // `at_once`: nothing happened that a node would have to recover from.
  After(World& world, bool at_once);

  // Each node gets all its partners if they are few; else some, so that each partner is visited.
  // Returns empty, or the lack of room.
  [[nodiscard]] std::string begin(Instant now);
  // Periodically: continues for nodes without an operation under way.
  void step(Instant now);
  void ended(const Operation& operation, bool well);

  [[nodiscard]] bool over() const { return left_ == 0; }
  [[nodiscard]] Duration patience() const;
  // The nodes that have not succeeded yet.
  [[nodiscard]] std::string missing() const;
  // Operations that failed before one succeeded.
  [[nodiscard]] std::uint64_t failed() const { return failed_; }
  // The first failure of a run without faults, or empty.
  [[nodiscard]] const std::string& wrong() const { return wrong_; }

 private:
  struct Visit {
    std::uint32_t to = 0;
    unsigned puts = 0;  // still to do
    unsigned gets = 0;
  };
  struct Visitor {
    std::uint32_t node = 0;
    bool waits = false;
    std::vector<Visit> visits;  // in reverse order
    Instant again{};
  };
  // Limit of all visits: an operation in each direction costs about as much as one of the traffic.
  static constexpr std::size_t kVisitsMax = 512;
  static constexpr Duration kAgain = std::chrono::milliseconds(500);

  void plan();
  [[nodiscard]] unsigned ways(std::uint32_t from, std::uint32_t to) const;

  World& world_;
  const bool at_once_;
  std::vector<Visitor> visitors_;
  std::vector<std::uint32_t> visitor_of_;  // indexed by node
  std::size_t left_ = 0;                   // visitors with visits left
  std::uint64_t failed_ = 0;
  std::string wrong_;
};

}  // namespace plnet::sim
