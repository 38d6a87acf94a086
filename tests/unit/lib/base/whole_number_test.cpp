// SPDX-License-Identifier: BSD-3-Clause
#include "lib/base/whole_number.hpp"

#include <cstdint>

#include <gtest/gtest.h>

namespace plnet::whole_number_test {
namespace {

TEST(WholeNumber, IsDigitsFromTheFirstLetterToTheLast) {
  EXPECT_EQ(whole_number<unsigned>("0"), 0U);
  EXPECT_EQ(whole_number<unsigned>("017"), 17U);
  EXPECT_EQ(whole_number<unsigned>("17", 8), 15U);
  EXPECT_EQ(whole_number<unsigned>("ff", 16), 255U);
  for (const char* const text : {"", " 7", "7 ", "+7", "-7", "7x", "0x7", "x"})
    EXPECT_FALSE(whole_number<unsigned>(text)) << text;
}

TEST(WholeNumber, HasASignWhereItsTypeHasOne) {
  EXPECT_EQ(whole_number<std::int32_t>("-7"), -7);
  EXPECT_FALSE(whole_number<std::int32_t>("--7"));
}

TEST(WholeNumber, IsNothingBeyondItsType) {
  EXPECT_EQ(whole_number<std::uint8_t>("255"), 255);
  EXPECT_FALSE(whole_number<std::uint8_t>("256"));
  EXPECT_EQ(whole_number<std::uint64_t>("18446744073709551615"), UINT64_MAX);
  EXPECT_FALSE(whole_number<std::uint64_t>("18446744073709551616"));
}

TEST(WholeNumber, MayHaveAFraction) {
  EXPECT_EQ(whole_number<double>("0.5"), 0.5);
  EXPECT_FALSE(whole_number<double>("0.5s"));
}

}  // namespace
}  // namespace plnet::whole_number_test
