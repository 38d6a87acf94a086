// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/poll/tsc_clock.hpp"

#include <gtest/gtest.h>

namespace plnet::runtime {
namespace {

void expect_never_backwards(const TscClock& clock) {
  Instant last = clock.now();
  const Instant first = last;
  for (int i = 0; i < 100000; ++i) {
    const Instant now = clock.now();
    ASSERT_GE(now, last);
    last = now;
  }
  EXPECT_GT(last, first);
}

TEST(TscClock, NeverGoesBackwards) {
  expect_never_backwards(TscClock());
  expect_never_backwards(TscClock(TscClock::Source::kMonotonic));
}

TEST(TscClock, FallsBackToTheSystem) {
  const TscClock clock(TscClock::Source::kMonotonic);
  EXPECT_FALSE(clock.uses_counter());
  EXPECT_EQ(clock.cycles_per_second(), 1e9);
}

TEST(TscClock, AgreesWithItsOwnCycles) {
  const TscClock clock;
  const std::uint64_t cycles_before = clock.cycles();
  const Instant before = clock.now();
  while (clock.now() < before + std::chrono::milliseconds(2)) {
  }
  const Instant after = clock.now();
  const std::uint64_t cycles_after = clock.cycles();
  // The cycles enclose the instants.
  const double enclosed =
      static_cast<double>(cycles_after - cycles_before) / clock.cycles_per_second() * 1e9;
  EXPECT_GE(enclosed * 1.0001, static_cast<double>((after - before).count()));
  EXPECT_GT(clock.cycles_per_second(), 1e6);
}

}  // namespace
}  // namespace plnet::runtime
