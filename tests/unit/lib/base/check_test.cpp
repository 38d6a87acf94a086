// SPDX-License-Identifier: BSD-3-Clause
#include "lib/base/check.hpp"

#include <gtest/gtest.h>

namespace plnet::check_test {
namespace {

TEST(Check, EvaluatesOnceAndGoesOn) {
  int evaluated = 0;
  PLNET_CHECK(++evaluated == 1, "must hold");
  EXPECT_EQ(evaluated, 1);
}

TEST(CheckDeathTest, ReportsPlaceConditionAndReason) {
  const int credits = -1;
  EXPECT_DEATH(PLNET_CHECK(credits >= 0, "credits below zero"),
               "bug at .*check_test.cpp:[0-9]+: credits below zero \\(credits >= 0\\)");
}

TEST(DebugCheck, IsOnOnlyWhereAskedFor) {
  int evaluated = 0;  // NOLINT(misc-const-correctness): debug checks count it
  PLNET_DEBUG_CHECK(++evaluated > 0, "must hold");
#ifdef PLNET_DEBUG_CHECKS
  EXPECT_EQ(evaluated, 1);
#else
  EXPECT_EQ(evaluated, 0);
#endif
}

}  // namespace
}  // namespace plnet::check_test
