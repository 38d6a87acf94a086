// SPDX-License-Identifier: BSD-3-Clause
// The speed of a shard's operations: the duration of each, and of all together.
#pragma once

#include <algorithm>

#include "lib/base/clock.hpp"
#include "lib/base/histogram.hpp"

namespace plnet::traffic {

class Pace {
 public:
  void begin(Instant now) { first_ = std::min(first_, now); }
  void end(Instant begun, Instant now) {
    last_ = std::max(last_, now);
    took_ns_.record(static_cast<std::uint64_t>((now - begun).count()));
  }

  // The figures of a shard that has no operation under way.
  struct Report {
    Instant first = Instant::max();
    Instant last = Instant::min();
    HistogramSnapshot took_ns;

    void merge(const Report& other) {
      first = std::min(first, other.first);
      last = std::max(last, other.last);
      took_ns.merge(other.took_ns);
    }
    [[nodiscard]] double seconds() const {
      return took_ns.count() == 0 ? 0 : std::chrono::duration<double>(last - first).count();
    }
  };
  [[nodiscard]] Report report() const {
    Report report{.first = first_, .last = last_, .took_ns = {}};
    took_ns_.snapshot(report.took_ns);
    return report;
  }

 private:
  Instant first_ = Instant::max();
  Instant last_ = Instant::min();
  Histogram took_ns_;
};

}  // namespace plnet::traffic
