// SPDX-License-Identifier: BSD-3-Clause
// Faults of a router of a site, by kind, and their counts.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace plnet::sim {

enum class Mishap : std::uint8_t {
  kCrash,       // the router, or a neighbour, loses power and comes back
  kFlap,        // of one of its links, or of a neighbour's
  kPartition,   // the router and a neighbour cannot reach each other
  kOneWay,      // one of the two cannot reach the other
  kSlow,        // the path to a neighbour is slow
  kPeerDelete,  // the router deletes a neighbour, or is deleted by one
  kExhaustion,  // messages wait because all its buffers are in use
  kDrain,
};
inline constexpr std::size_t kMishaps = 8;
inline constexpr std::array<std::string_view, kMishaps> kMishapNames{
    "crash", "flap", "partition", "one_way", "slow", "peer_delete", "exhaustion", "drain"};

[[nodiscard]] constexpr std::string_view name_of(Mishap mishap) {
  return kMishapNames[static_cast<std::size_t>(mishap)];
}

// Sums over the routers: a neighbour's crash counts for each router that it deals with.
class MishapTally {
 public:
  void add(Mishap one) { ++seen_[at(one)]; }
  void add(Mishap one, Mishap other) { ++pair_of(one, other); }

  [[nodiscard]] std::uint64_t seen(Mishap one) const { return seen_[at(one)]; }
  // The number of times that one of them began while the other lasted.
  [[nodiscard]] std::uint64_t together(Mishap one, Mishap other) const {
    return together_[std::min(at(one), at(other))][std::max(at(one), at(other))];
  }

 private:
  [[nodiscard]] static constexpr std::size_t at(Mishap one) {
    return static_cast<std::size_t>(one);
  }
  std::uint64_t& pair_of(Mishap one, Mishap other) {
    return together_[std::min(at(one), at(other))][std::max(at(one), at(other))];
  }

  std::array<std::uint64_t, kMishaps> seen_{};
  std::array<std::array<std::uint64_t, kMishaps>, kMishaps> together_{};
};

}  // namespace plnet::sim
