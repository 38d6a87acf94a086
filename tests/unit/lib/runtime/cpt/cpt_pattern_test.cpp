// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/cpt/cpt_pattern.hpp"

#include <string>

#include <gtest/gtest.h>

namespace plnet::runtime::cpt_pattern_test {
namespace {

using Kind = CptPattern::Kind;

std::string refusal(std::string_view text) {
  const auto pattern = parse_cpt_pattern(text);
  return pattern ? "accepted" : pattern.error().what;
}

TEST(CptPattern, Kinds) {
  EXPECT_EQ(parse_cpt_pattern("")->kind, Kind::kDefault);
  EXPECT_EQ(parse_cpt_pattern("N")->kind, Kind::kPerNode);
  EXPECT_EQ(parse_cpt_pattern(" n ")->kind, Kind::kPerNode);
  EXPECT_EQ(parse_cpt_pattern("0[1]")->kind, Kind::kList);
  EXPECT_FALSE(parse_cpt_pattern("0[1]")->nodes);
  EXPECT_TRUE(parse_cpt_pattern("N 0[1]")->nodes);
  EXPECT_TRUE(parse_cpt_pattern("N0[1]")->nodes);
  EXPECT_EQ(parse_cpt_pattern("X[0]")->kind, Kind::kExclude);
  EXPECT_EQ(parse_cpt_pattern("c[0]")->kind, Kind::kExcludeRelative);
  EXPECT_EQ(parse_cpt_pattern("N C[0-1]")->kind, Kind::kExcludeRelative);
  EXPECT_TRUE(parse_cpt_pattern("Nx [0]")->nodes);
}

TEST(CptPattern, RangesWithTheirColumns) {
  const auto pattern = parse_cpt_pattern("0[0-3] 1[ 4 - 8 / 2 , 0x0a,010]2[*]");
  ASSERT_TRUE(pattern) << pattern.error().what;
  ASSERT_EQ(pattern->groups.size(), 3U);
  EXPECT_EQ(pattern->groups[0].ranges,
            (std::vector<PatternRange>{{.low = 0, .high = 3, .column = 3}}));
  EXPECT_EQ(pattern->groups[1].partition, 1U);
  EXPECT_EQ(pattern->groups[1].column, 8U);
  EXPECT_EQ(pattern->groups[1].ranges,
            (std::vector<PatternRange>{{.low = 4, .high = 8, .stride = 2, .column = 11},
                                       {.low = 10, .high = 10, .column = 23},
                                       {.low = 8, .high = 8, .column = 28}}));
  EXPECT_TRUE(pattern->groups[2].ranges[0].everything);
}

TEST(CptPattern, RefusesWithColumnAndExpectation) {
  EXPECT_EQ(
      refusal("M"),
      "pattern \"M\": column 1: expected 'N', 'X', 'C' or the number of a partition, found 'M'");
  EXPECT_EQ(refusal("N q"),
            "pattern \"N q\": column 3: expected 'X', 'C' or the number of a partition, found 'q'");
  EXPECT_EQ(refusal("0"), "pattern \"0\": column 2: expected '[', the pattern ends here");
  EXPECT_EQ(refusal("0[0-3"),
            "pattern \"0[0-3\": column 6: expected ',' or ']', the pattern ends here");
  EXPECT_EQ(refusal("0[]"), "pattern \"0[]\": column 3: expected a number or '*', found ']'");
  EXPECT_EQ(refusal("0[1,]"), "pattern \"0[1,]\": column 5: expected a number or '*', found ']'");
  EXPECT_EQ(refusal("0[1-]"),
            "pattern \"0[1-]\": column 5: expected the upper end of the range, found ']'");
  EXPECT_EQ(refusal("0[3-1]"), "pattern \"0[3-1]\": column 3: range 3-1 is in descending order");
  EXPECT_EQ(refusal("0[0-3/0]"),
            "pattern \"0[0-3/0]\": column 7: a stride of 0, expected 1 or more");
  EXPECT_EQ(refusal("0[3/2]"), "pattern \"0[3/2]\": column 4: expected ',' or ']', found '/'");
  EXPECT_EQ(refusal("0[1] x"),
            "pattern \"0[1] x\": column 6: expected the number of a partition, found 'x'");
  EXPECT_EQ(refusal("X 0[1]"), "pattern \"X 0[1]\": column 3: expected '[', found '0'");
  EXPECT_EQ(refusal("-1[0]"),
            "pattern \"-1[0]\": column 1: expected 'N', 'X', 'C' or the number of a partition, "
            "found '-'");
  EXPECT_EQ(refusal("0[09]"),
            "pattern \"0[09]\": column 3: expected a number or '*' in base 8, found '0'");
  EXPECT_NE(refusal("0[99999999999]").find("column 3: a number or '*' is too large"),
            std::string::npos);
  EXPECT_NE(refusal("   ").find("column 4: expected 'N'"), std::string::npos);
}

TEST(CptPattern, IsBounded) {
  EXPECT_NE(refusal(std::string(kMaxPatternLength + 1, ' ')).find("at most 4096"),
            std::string::npos);
  std::string many;
  for (std::size_t i = 0; i <= kMaxPatternGroups; ++i) {
    many += "0[0]";
  }
  EXPECT_NE(refusal(many).find("more than 256 partitions"), std::string::npos);
}

}  // namespace
}  // namespace plnet::runtime::cpt_pattern_test
