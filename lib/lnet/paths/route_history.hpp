// SPDX-License-Identifier: BSD-3-Clause
// The last changes of a route with their causes, and the number of changes. Used by the
// coordinator.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "lib/base/check.hpp"
#include "lib/base/clock.hpp"

namespace plnet::lnet {

// X(name, text): the cause of a state of a route.
#define PLNET_ROUTE_CAUSES(X)                                                                    \
  X(kNone, "")                                                                                   \
  X(kAdded, "administratively added")                                                            \
  X(kAnswered, "the gateway answered")                                                           \
  X(kRevived, "revived by a message")                                                            \
  X(kToldUp, "LND said up")                                                                      \
  X(kSettings, "a setting was changed")                                                          \
  X(kUnchecked, "not checked yet")                                                               \
  X(kPingTimedOut, "ping timed out")                                                             \
  X(kPingFailed, "ping failed")                                                                  \
  X(kNotRouting, "the gateway answers that it does not route (routing is off or drained there)") \
  X(kLocalNetDown, "the gateway's NI on our network is down")                                    \
  X(kRemoteNetDown, "the gateway answers, and its NI on the remote network is down")             \
  X(kToldDown, "LND said down")                                                                  \
  X(kHeldBack, "flapped, must answer several checks in a row")

enum class RouteCause : std::uint8_t {
#define PLNET_X(name, text) name,
  PLNET_ROUTE_CAUSES(PLNET_X)
#undef PLNET_X
};

[[nodiscard]] constexpr std::string_view text_of(RouteCause cause) {
  switch (cause) {
#define PLNET_X(name, text) \
  case RouteCause::name: return text;
    PLNET_ROUTE_CAUSES(PLNET_X)
#undef PLNET_X
  }
  return {};
}

struct RouteTransition {
  Instant when{};
  bool up = false;
  RouteCause cause = RouteCause::kNone;
};

class RouteHistory {
 public:
  // Enough to distinguish a flapping gateway from one that failed once.
  static constexpr std::size_t kKept = 8;

  void record(const RouteTransition& transition) { ring_[count_++ % kKept] = transition; }
  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] std::size_t kept() const {
    return count_ < kKept ? static_cast<std::size_t>(count_) : kKept;
  }
  // 0: the newest; less than kept().
  [[nodiscard]] const RouteTransition& back(std::size_t index) const {
    PLNET_CHECK(index < kept(), "a kept transition is read");
    return ring_[(count_ - 1 - index) % kKept];
  }

 private:
  std::array<RouteTransition, kKept> ring_{};
  std::uint64_t count_ = 0;
};

}  // namespace plnet::lnet
