// SPDX-License-Identifier: BSD-3-Clause
// Damps a flapping link: after several falls within the window it counts as down until it has
// stayed up for some time. Single falls and their ends are reported as they are. Pure.
#pragma once

#include <array>
#include <cstddef>

#include "lib/base/clock.hpp"

namespace plnet {

class LinkHold {
 public:
  // Falls within the window until the link is held. Moving a cable makes it fall twice.
  static constexpr std::size_t kFalls = 3;
  static constexpr Duration kWindow = std::chrono::seconds(60);
  // Longer than a switch needs to bring up a port finally, without spanning tree.
  static constexpr Duration kHold = std::chrono::seconds(15);

  // Reports the present state of the link. Returns whether it counts as up.
  bool see(bool up, Instant now);
  // The link has fallen too often: it counts as down even while it is up.
  [[nodiscard]] bool bounces() const { return held_; }
  // The link is up but counts as down.
  [[nodiscard]] bool held() const { return held_ && up_; }
  // The instant of the next check; Instant::max(): at the next change.
  [[nodiscard]] Instant release_at() const { return held() ? up_since_ + kHold : Instant::max(); }

 private:
  bool up_ = true;
  bool held_ = false;
  Instant up_since_{};
  std::array<Instant, kFalls> falls_{};  // the latest falls, the oldest of them at `next_`
  std::size_t next_ = 0;
  std::size_t count_ = 0;
};

}  // namespace plnet
