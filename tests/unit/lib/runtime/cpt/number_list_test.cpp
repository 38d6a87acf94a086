// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/cpt/number_list.hpp"

#include <climits>

#include <gtest/gtest.h>

namespace plnet::runtime::number_list_test {
namespace {

using Numbers = std::vector<unsigned>;

TEST(NumberList, ReadsCommonNotations) {
  EXPECT_EQ(parse_number_list("", 7).value(), Numbers{});
  EXPECT_EQ(parse_number_list(" ", 7).value(), Numbers{});
  EXPECT_EQ(parse_number_list("3", 7).value(), Numbers{3});
  EXPECT_EQ(parse_number_list(" 6 , 0 - 2", 7).value(), (Numbers{0, 1, 2, 6}));
  EXPECT_EQ(parse_number_list("4294967295", UINT_MAX).value(), Numbers{UINT_MAX});
}

TEST(NumberList, RefusesWithTheColumn) {
  const auto refusal = [](std::string_view text) {
    const auto list = parse_number_list(text, 7);
    return list ? std::string("accepted") : list.error().what;
  };
  EXPECT_EQ(refusal("x"), "column 1 of \"x\": expected a number");
  EXPECT_EQ(refusal("1,"), "column 3 of \"1,\": expected a number");
  EXPECT_EQ(refusal("1-"), "column 3 of \"1-\": expected the upper end of the range");
  EXPECT_EQ(refusal("3-1"), "column 1 of \"3-1\": range 3-1 is in descending order");
  EXPECT_EQ(refusal("0,8"), "column 3 of \"0,8\": 8 is over the limit 7");
  EXPECT_EQ(refusal("0-3,2"), "column 5 of \"0-3,2\": 2 is listed twice");
  EXPECT_EQ(refusal("1 2"), "column 3 of \"1 2\": expected ',' or the end");
  EXPECT_EQ(refusal("99999999999"), "column 1 of \"99999999999\": expected a number");
  EXPECT_EQ(parse_number_list("0-9000", 9000).error().code, Errc::kTooBig);
}

TEST(NumberList, WritesTheShortestForm) {
  EXPECT_EQ(format_number_list(Numbers{}), "");
  EXPECT_EQ(format_number_list(Numbers{8, 2, 1, 0, 1}), "0-2,8");
  for (const Numbers& list : {Numbers{0}, Numbers{0, 2, 4}, Numbers{1, 2, 3, 7}}) {
    EXPECT_EQ(parse_number_list(format_number_list(list), 7).value(), list);
  }
}

}  // namespace
}  // namespace plnet::runtime::number_list_test
