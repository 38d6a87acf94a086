// SPDX-License-Identifier: BSD-3-Clause
// Keeps a link that bounces from taking everybody along: after a few falls within a while it counts
// as down until it has stayed up for some time. One fall and its end are told as they are. Pure.
#pragma once

#include <array>
#include <cstddef>

#include "lib/base/clock.hpp"

namespace plnet {

class LinkHold {
 public:
  // So many falls within the window and it is held: twice happens when a cable is moved.
  static constexpr std::size_t kFalls = 3;
  static constexpr Duration kWindow = std::chrono::seconds(60);
  // Longer than a switch takes to bring a port up for good (spanning tree aside).
  static constexpr Duration kHold = std::chrono::seconds(15);

  // The link is so now. Returns whether it counts as up.
  bool see(bool up, Instant now);
  // It has fallen too often: up again, it counts as down.
  [[nodiscard]] bool bounces() const { return held_; }
  // It is up and counts as down.
  [[nodiscard]] bool held() const { return held_ && up_; }
  // When to look again; Instant::max(): when something changes.
  [[nodiscard]] Instant release_at() const { return held() ? up_since_ + kHold : Instant::max(); }

 private:
  bool up_ = true;
  bool held_ = false;
  Instant up_since_{};
  std::array<Instant, kFalls> falls_{};  // the latest, the oldest of them at `next_`
  std::size_t next_ = 0;
  std::size_t count_ = 0;
};

}  // namespace plnet
