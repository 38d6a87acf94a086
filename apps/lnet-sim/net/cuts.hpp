// SPDX-License-Identifier: BSD-3-Clause
// The pairs of nodes that are cut or slow now. Faults overlap: a pair is joined when all its faults
// have ended.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "drivers/net/sim/network.hpp"

namespace plnet::sim {

class Cuts {
 public:
  using HostId = drivers::HostId;

  explicit Cuts(drivers::SimNetwork& network) : network_(network) {}

  void cut(HostId from, HostId to) {
    if (cuts_[{from, to}]++ == 0) network_.block(from, to);
  }
  void join(HostId from, HostId to) {
    const auto at = cuts_.find({from, to});
    if (at == cuts_.end() || --at->second > 0) return;
    cuts_.erase(at);
    network_.unblock(from, to);
  }
  void cut_both(HostId a, HostId b) {
    cut(a, b);
    cut(b, a);
  }
  void join_both(HostId a, HostId b) {
    join(a, b);
    join(b, a);
  }
  // Both directions.
  void slow_down(HostId a, HostId b) {
    if (slow_[ordered(a, b)]++ > 0) return;
    network_.set_link(a, b, kSlow);
    network_.set_link(b, a, kSlow);
  }
  void speed_up(HostId a, HostId b) {
    const auto at = slow_.find(ordered(a, b));
    if (at == slow_.end() || --at->second > 0) return;
    slow_.erase(at);
    reset_links(a, b);
  }
  // Ends all faults.
  void heal() {
    for (const auto& [pair, count] : cuts_)
      network_.unblock(pair.first, pair.second);
    cuts_.clear();
    for (const auto& [pair, count] : slow_)
      reset_links(pair.first, pair.second);
    slow_.clear();
  }

  [[nodiscard]] bool is_cut(HostId from, HostId to) const { return cuts_.contains({from, to}); }
  [[nodiscard]] bool is_slow(HostId a, HostId b) const { return slow_.contains(ordered(a, b)); }

 private:
  using Pair = std::pair<HostId, HostId>;
  // A message of 1 MiB takes seconds, a ping does not.
  static constexpr drivers::LinkShape kSlow{.latency_min = std::chrono::milliseconds(30),
                                            .latency_spread = std::chrono::milliseconds(30),
                                            .bytes_per_second = 300'000};

  [[nodiscard]] static Pair ordered(HostId a, HostId b) { return a < b ? Pair{a, b} : Pair{b, a}; }
  void reset_links(HostId a, HostId b) {
    network_.reset_link(a, b);
    network_.reset_link(b, a);
  }

  drivers::SimNetwork& network_;
  std::map<Pair, unsigned> cuts_;
  std::map<Pair, unsigned> slow_;
};

}  // namespace plnet::sim
