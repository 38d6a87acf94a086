// SPDX-License-Identifier: BSD-3-Clause
// Keeps a route that goes down again and again out of use until its gateway has answered several
// checks in a row, so that a bad cable does not move a site's traffic to and fro. One or two
// failures are handled as in the kernel. Each route counts by itself, since other routes through
// the same gateway may work. Used by the coordinator. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "lib/base/check.hpp"
#include "lib/base/clock.hpp"

namespace plnet::lnet {

class RouteFlaps {
 public:
  // After this many failures within the window the route is held back.
  static constexpr std::size_t kFailures = 3;
  static constexpr Duration kWindow = std::chrono::minutes(10);
  static constexpr std::uint32_t kAnswersInARow = 3;
  static_assert(kFailures > 1 && kAnswersInARow > 0, "a single failure holds no route back");

  // The route cannot be used. True: it is held back from now on.
  bool fail(Instant now) {
    const bool fell = !std::exchange(failing_, true);
    if (held()) {
      answers_wanted_ = kAnswersInARow;
      return false;
    }
    if (!fell) return false;
    failures_[count_++ % kFailures] = now;
    if (count_ < kFailures || now - failures_[count_ % kFailures] > kWindow) return false;
    answers_wanted_ = kAnswersInARow;
    return true;
  }
  // The route can be used, or is down for a reason that is no failure.
  void recover() { failing_ = false; }
  // A check was answered, and by the answer the route can be used.
  void answer() {
    if (held() && --answers_wanted_ == 0) count_ = 0;
  }
  // No check will be answered any more.
  void forget() {
    answers_wanted_ = 0;
    count_ = 0;
  }

  [[nodiscard]] bool held() const { return answers_wanted_ > 0; }
  [[nodiscard]] std::uint32_t answers_wanted() const { return answers_wanted_; }

 private:
  bool failing_ = false;
  std::uint32_t answers_wanted_ = 0;
  std::array<Instant, kFailures> failures_{};  // the latest
  std::size_t count_ = 0;
};

}  // namespace plnet::lnet
