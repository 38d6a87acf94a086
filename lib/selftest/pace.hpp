// SPDX-License-Identifier: BSD-3-Clause
// When the requests of a test begin that does not wait for its answers: at moments that are known
// beforehand, whatever the servers do, so that whoever is slow pays for all that it kept waiting.
// The wire carries no such thing: a pace is set on the node that is the client.
#pragma once

#include <cstdint>

#include "lib/base/check.hpp"
#include "lib/base/clock.hpp"
#include "lib/base/counters.hpp"
#include "lib/base/random.hpp"

namespace plnet::selftest {

enum class Arrivals : std::uint8_t {
  kPoisson,   // at random, as those of many users who know nothing of each other
  kConstant,  // evenly spaced
};

struct Pace {
  double rate = 0;  // requests a second of each test; 0: each begins when one has ended
  Arrivals arrivals = Arrivals::kPoisson;
  std::uint64_t seed = 1;  // nodes that are to be independent have different ones
};

inline constexpr double kPaceMin = 0.01;
inline constexpr double kPaceMax = 10e6;
// A request that found no unit free for so long never begins, and is counted.
inline constexpr Duration kArrivalWaitMax = std::chrono::seconds(1);

[[nodiscard]] constexpr bool is_pace(double rate) {
  return rate == 0 || (rate >= kPaceMin && rate <= kPaceMax);
}

// The moments, one after the other. Those that nobody has taken yet need no memory.
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
  // On to the next.
  void take() {
    rest_ns_ += arrivals_ == Arrivals::kConstant ? mean_ns_ : random_.exponential(mean_ns_);
    const auto whole = static_cast<std::int64_t>(rest_ns_);
    rest_ns_ -= static_cast<double>(whole);
    due_ += Duration(whole);
  }

 private:
  double mean_ns_ = 0;
  double rest_ns_ = 0;  // less than one
  Arrivals arrivals_ = Arrivals::kPoisson;
  Random random_{1};
  Instant due_;
};

// clang-format off
#define PLNET_PACE_COUNTERS(X)                                                                        \
  X(kBegun, "begun", "requests", kCount, "that began at the pace that was set")                      \
  X(kWaited, "waited", "requests", kCount, "of these, that found all units of their test busy")      \
  X(kDropped, "dropped", "requests", kCount, "that never began: no unit was free for too long")
// clang-format on

PLNET_COUNTERS(PaceCounterTable, PLNET_PACE_COUNTERS);
using PaceStatistics = Counters<PaceCounterTable>;
using PaceCount = PaceCounterTable::Id;

}  // namespace plnet::selftest
