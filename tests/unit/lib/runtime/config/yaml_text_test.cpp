// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/config/yaml_text.hpp"

#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "lib/runtime/config/yaml_document.hpp"

namespace plnet::runtime::yaml_text_test {
namespace {

TEST(ParseInteger, TakesTheThreePrefixesOfC) {
  EXPECT_EQ(parse_integer("0"), 0);
  EXPECT_EQ(parse_integer("42"), 42);
  EXPECT_EQ(parse_integer("-1"), -1);
  EXPECT_EQ(parse_integer("+7"), 7);
  EXPECT_EQ(parse_integer("0x1F"), 31);
  EXPECT_EQ(parse_integer("-0X10"), -16);
  EXPECT_EQ(parse_integer("017"), 15);
}

TEST(ParseInteger, KnowsItsRange) {
  EXPECT_EQ(parse_integer("9223372036854775807"), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(parse_integer("9223372036854775808"), std::unexpected(Errc::kOutOfRange));
  EXPECT_EQ(parse_integer("99999999999999999999"), std::unexpected(Errc::kOutOfRange));
}

TEST(ParseInteger, RefusesInvalidNumbers) {
  for (const char* text : {"", "-", "+", "0x", "08", "1 ", " 1", "1e3", "1.0", "--1", "0x-1", "x",
                           "99999999999999999999z"}) {
    EXPECT_EQ(parse_integer(text), std::unexpected(Errc::kInvalid)) << text;
  }
}

TEST(ParseBoolean, TakesWordsInAnyCaseAndDigits) {
  for (const char* text : {"true", "True", "TRUE", "1"})
    EXPECT_EQ(parse_boolean(text), true) << text;
  for (const char* text : {"false", "False", "FALSE", "0"})
    EXPECT_EQ(parse_boolean(text), false) << text;
  for (const char* text : {"", "yes", "on", "2", "truee", "tru", "01"})
    EXPECT_FALSE(parse_boolean(text).has_value()) << text;
}

TEST(UnfitText, LetsOrdinaryTextPass) {
  EXPECT_FALSE(find_unfit_text("").has_value());
  EXPECT_FALSE(find_unfit_text("\xef\xbb\xbf# \xc3\xbc\r\na: 1\t# 50%\n%b: 1\n").has_value());
  EXPECT_FALSE(find_unfit_text(std::string(kMaxYamlBytes, '#')).has_value());
}

TEST(UnfitText, NamesThePlace) {
  const auto check = [](std::string_view text, Position at, std::string_view what) {
    const auto unfit = find_unfit_text(text);
    ASSERT_TRUE(unfit.has_value()) << what;
    EXPECT_EQ(unfit->at, at);
    EXPECT_EQ(unfit->what, what);
  };
  check("a: \xc3\xbc\xff", {1, 5}, "byte 0xff is not UTF-8, expected text in UTF-8");
  check("a\nb: \xc3", {2, 4}, "byte 0xc3 is not UTF-8, expected text in UTF-8");
  check("\xed\xa0\x80", {1, 1}, "byte 0xed is not UTF-8, expected text in UTF-8");
  check("\xc0\x80", {1, 1}, "byte 0xc0 is not UTF-8, expected text in UTF-8");
  check(std::string_view("a\0b", 3), {1, 2}, "control character 0x00, expected printable text");
  check("a: \x1b[31m", {1, 4}, "control character 0x1b, expected printable text");
  check("# x\n%YAML 1.2\n---\na: 1\n", {2, 1},
        "directives (%...) are not supported, expected `key: value`");
  check(std::string(kMaxYamlBytes + 1, '#'), {1, 1},
        "the document has 16777217 bytes, expected at most 16777216");
}

}  // namespace
}  // namespace plnet::runtime::yaml_text_test
