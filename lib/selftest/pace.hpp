// SPDX-License-Identifier: BSD-3-Clause
// The schedule of a test whose requests do not wait for answers: due times are fixed in advance,
// independent of the servers, so that a slow server is charged for every request that it delayed.
// The wire carries no pace: it is set on the node that is the client.
#pragma once

#include <cstdint>

#include "lib/base/check.hpp"
#include "lib/base/clock.hpp"
#include "lib/base/counters.hpp"
#include "lib/base/random.hpp"

namespace plnet::selftest {

enum class Arrivals : std::uint8_t {
  kPoisson,   // at random, like requests of many independent users
  kConstant,  // evenly spaced
};

struct Pace {
  double rate = 0;  // requests a second of each test; 0: each begins when one has ended
  Arrivals arrivals = Arrivals::kPoisson;
  std::uint64_t seed = 1;  // independent nodes need different ones
};

inline constexpr double kPaceMin = 0.01;
inline constexpr double kPaceMax = 10e6;
// A request that finds no free unit for this long is skipped and counted.
inline constexpr Duration kArrivalWaitMax = std::chrono::seconds(1);

[[nodiscard]] constexpr bool is_pace(double rate) {
  return rate == 0 || (rate >= kPaceMin && rate <= kPaceMax);
}

// The due times in sequence. Future ones need no memory.
class ArrivalTimes {
 public:
  void begin(const Pace& pace, Instant now) {
    PLNET_CHECK(pace.rate >= kPaceMin && pace.rate <= kPaceMax, "an open loop has a rate");
    mean_ns_ = 1e9 / pace.rate;
    arrivals_ = pace.arrivals;
    random_ = Random(pace.seed);
    rest_ns_ = 0;
    due_ = now;
    take();
  }
  [[nodiscard]] Instant due() const { return due_; }
  // Advances to the next due time.
  void take() {
    rest_ns_ += arrivals_ == Arrivals::kConstant ? mean_ns_ : random_.exponential(mean_ns_);
    const auto whole = static_cast<std::int64_t>(rest_ns_);
    rest_ns_ -= static_cast<double>(whole);
    due_ += Duration(whole);
  }

 private:
  double mean_ns_ = 0;
  double rest_ns_ = 0;  // fraction of a nanosecond
  Arrivals arrivals_ = Arrivals::kPoisson;
  Random random_{1};
  Instant due_;
};

// clang-format off
#define PLNET_PACE_COUNTERS(X)                                                                         \
  X(kBegun, "begun", "requests", kCount, "requests that began at the configured pace")                 \
  X(kWaited, "waited", "requests", kCount, "of these, delayed because all units of their test were busy")\
  X(kDropped, "dropped", "requests", kCount, "requests skipped because no unit was free for too long")
// clang-format on

PLNET_COUNTERS(PaceCounterTable, PLNET_PACE_COUNTERS);
using PaceStatistics = Counters<PaceCounterTable>;
using PaceCount = PaceCounterTable::Id;

}  // namespace plnet::selftest
