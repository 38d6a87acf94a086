// SPDX-License-Identifier: BSD-3-Clause
// Estimates the round trip, and the timeout that follows from it (Jacobson 1988, as in RFC 6298,
// with bounds that fit a machine room).
#pragma once

#include <algorithm>
#include <cstdint>

#include "drivers/net/cassini/soft/link/options.hpp"

namespace plnet::cassini::soft::link {

class RoundTrip {
 public:
  void reset() { *this = RoundTrip{}; }

  void measured(std::uint64_t rtt_ns) {
    if (smoothed_ns_ == 0) {
      smoothed_ns_ = std::max<std::uint64_t>(rtt_ns, 1);
      variation_ns_ = rtt_ns / 2;
      least_ns_ = rtt_ns;
    } else {
      const std::uint64_t off =
          rtt_ns > smoothed_ns_ ? rtt_ns - smoothed_ns_ : smoothed_ns_ - rtt_ns;
      variation_ns_ = (3 * variation_ns_ + off) / 4;
      smoothed_ns_ = std::max<std::uint64_t>((7 * smoothed_ns_ + rtt_ns) / 8, 1);
      least_ns_ = std::min(least_ns_, rtt_ns);
    }
    doublings_ = 0;
  }
  void back_off() { doublings_ = std::min(doublings_ + 1, kDoublingsMax); }
  // An acknowledgement arrived: the next timeout starts without doublings.
  void progress() { doublings_ = 0; }

  [[nodiscard]] std::uint64_t timeout_ns(const LinkOptions& options) const {
    const std::uint64_t base =
        smoothed_ns_ == 0 ? options.rto_initial_ns : smoothed_ns_ + 4 * variation_ns_;
    const std::uint64_t bounded = std::clamp(base, options.rto_min_ns, options.rto_max_ns);
    return std::min(bounded << doublings_, options.rto_max_ns);
  }
  [[nodiscard]] std::uint64_t smoothed_ns() const { return smoothed_ns_; }
  [[nodiscard]] std::uint64_t least_ns() const { return least_ns_; }

 private:
  static constexpr unsigned kDoublingsMax = 16;

  std::uint64_t smoothed_ns_ = 0;  // 0: not measured
  std::uint64_t variation_ns_ = 0;
  std::uint64_t least_ns_ = 0;
  unsigned doublings_ = 0;
};

}  // namespace plnet::cassini::soft::link
