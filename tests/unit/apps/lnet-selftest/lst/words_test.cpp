// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "apps/lnet-selftest/lst/nid_words.hpp"
#include "apps/lnet-selftest/lst/test_words.hpp"

namespace plnet::lst::words_test {
namespace {

using selftest::BrwTest;
using selftest::BulkOperation;
using selftest::Check;
using selftest::PingTest;
using Names = std::vector<std::string>;

TEST(NidWords, BracketsStandForNumbers) {
  const auto all = [](std::string_view text) {
    return expand_brackets(text).value_or(Names{"refused"});
  };
  EXPECT_EQ(all("10.0.0.1@tcp"), (Names{"10.0.0.1@tcp"}));
  EXPECT_EQ(all("10.0.0.[7]@tcp"), (Names{"10.0.0.7@tcp"}));
  EXPECT_EQ(all("10.0.0.[3,1]@tcp"), (Names{"10.0.0.3@tcp", "10.0.0.1@tcp"}));
  EXPECT_EQ(all("a[1-3]"), (Names{"a1", "a2", "a3"}));
  EXPECT_EQ(all("a[1-6/2]"), (Names{"a1", "a3", "a5"}));
  EXPECT_EQ(all("a[35,40-42]"), (Names{"a35", "a40", "a41", "a42"}));
  EXPECT_EQ(all("[1-2].[8-9]"), (Names{"1.8", "1.9", "2.8", "2.9"}));
  EXPECT_EQ(all("a,b[1,2],c"), (Names{"a", "b1", "b2", "c"}));
  EXPECT_EQ(all("192.168.1.[1-253/2]@o2ib").size(), 127U);
}

TEST(NidWords, InvalidListsAreRefused) {
  for (const char* const wrong :
       {"", ",", "a,", "a[", "a]", "a[]", "a[x]", "a[3-1]", "a[1-1]", "a[1-5/0]", "a[1-]", "a[-1]",
        "a[1 - 2]", "a[1-99999]", "a[0-200].[0-200]", "a[4294967296]"})
    EXPECT_FALSE(expand_brackets(wrong).has_value()) << wrong;
}

TEST(NidWords, NodesAreProcesses) {
  EXPECT_EQ(read_nodes("10.0.0.[1-2]@tcp").value_or(Names{}),
            (Names{"12345-10.0.0.1@tcp", "12345-10.0.0.2@tcp"}));
  EXPECT_EQ(read_nodes("12345-10.0.0.1@o2ib3").value_or(Names{}), (Names{"12345-10.0.0.1@o2ib3"}));
  EXPECT_FALSE(read_nodes("group").has_value());
  EXPECT_FALSE(read_nodes("10.0.0.[254-256]@tcp").has_value());
}

BrwTest brw(const Names& words) {
  const auto test = read_test("brw", words);
  EXPECT_TRUE(test.has_value()) << (test ? "" : test.error().what);
  return test ? std::get<BrwTest>(*test) : BrwTest{};
}

std::string wrong(const Names& words) {
  const auto test = read_test("brw", words);
  return test ? "fine" : test.error().what;
}

TEST(TestWords, DefaultsOfBrw) {
  const BrwTest test = brw({});
  EXPECT_EQ(test.operation, BulkOperation::kRead);
  EXPECT_EQ(test.check, Check::kNone);
  EXPECT_EQ(test.length, 4096U);
  EXPECT_EQ(test.client_offset, 0U);
}

TEST(TestWords, EveryParameterInEitherCase) {
  EXPECT_EQ(brw({"write"}).operation, BulkOperation::kWrite);
  EXPECT_EQ(brw({"W"}).operation, BulkOperation::kWrite);
  EXPECT_EQ(brw({"write", "R"}).operation, BulkOperation::kRead);
  EXPECT_EQ(brw({"CHECK=Full"}).check, Check::kFull);
  EXPECT_EQ(brw({"c=simple"}).check, Check::kSimple);
  EXPECT_EQ(brw({"check=discard"}).check, Check::kDiscard);
  EXPECT_EQ(brw({"skip_rx_copy"}).check, Check::kDiscard);
  EXPECT_EQ(brw({"Skip-RX-copy", "c=discard"}).check, Check::kDiscard);
  EXPECT_EQ(brw({"size=1M"}).length, 1U << 20);
  EXPECT_EQ(brw({"s=4k"}).length, 4096U);
  EXPECT_EQ(brw({"SIZE=8K"}).length, 8192U);
  EXPECT_EQ(brw({"size=0x1000"}).length, 4096U);
  EXPECT_EQ(brw({"size=1"}).length, 1U);  // the console checks the value
  EXPECT_EQ(brw({"off=16"}).client_offset, 16U);
  EXPECT_EQ(brw({"off=16"}).server_offset, 16U);
}

TEST(TestWords, ParametersThatLstRefuses) {
  EXPECT_EQ(wrong({"check=some"}), "Unknow flag some");
  EXPECT_EQ(wrong({"size=0"}), "Invalid size 0");
  EXPECT_EQ(wrong({"size=-4"}), "Invalid size -4");
  EXPECT_EQ(wrong({"size=x"}), "Invalid size x");
  EXPECT_EQ(wrong({"size="}), "Invalid size ");
  EXPECT_EQ(wrong({"size=2M"}), "Size exceed limitation: 2097152 bytes");
  EXPECT_EQ(wrong({"size=9223372036854775807k"}),
            "Size exceed limitation: 9223372036854775807 bytes");
  EXPECT_EQ(wrong({"off=4"}), "Invalid offset 4/4, it should be postive value and multiple of 8");
  EXPECT_EQ(wrong({"off=-8"}),
            "Invalid offset -8/-8, it should be postive value and multiple of 8");
  EXPECT_EQ(wrong({"fast"}), "Unknow parameter: fast");
  EXPECT_NE(wrong({"check=full", "skip_rx_copy"}), "fine");
  const auto test = read_test("dd", {});
  EXPECT_EQ(test ? "fine" : test.error().what, "Unknow test name dd");
}

TEST(TestWords, PingHasNoParameters) {
  const auto test = read_test("ping", {});
  EXPECT_TRUE(test && std::holds_alternative<PingTest>(*test));
}

TEST(TestWords, Distribution) {
  const auto read = read_distribution("2:3");
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->distribute, 2U);
  EXPECT_EQ(read->span, 3U);
  for (const char* const bad : {"", "1", "1:", ":1", "0:1", "1:0", "-1:1", "a:b", "1:2:3"})
    EXPECT_FALSE(read_distribution(bad).has_value()) << bad;
}

}  // namespace
}  // namespace plnet::lst::words_test
