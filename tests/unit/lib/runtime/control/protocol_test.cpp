// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/control/protocol.hpp"

#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace plnet::runtime {
namespace {

TEST(ParseRequest, AcceptsValidRequests) {
  const auto request =
      parse_request(R"({"v":1,"id":7,"verb":"cpt show","args":{"level":2,"name":"ä"}})");
  ASSERT_TRUE(request);
  EXPECT_EQ(request->id, 7);
  EXPECT_EQ(request->verb, "cpt show");
  EXPECT_EQ(request->args["level"], 2);
  const auto without_args = parse_request(R"({"id":0,"verb":"x","v":1})");
  ASSERT_TRUE(without_args);
  EXPECT_TRUE(without_args->args.is_object());
}

struct Malformed {
  std::string line;
  std::string_view words;  // part of the error message
  std::int64_t id = -1;    // -1: unknown
  Errc code = Errc::kMalformed;
};

class MalformedRequest : public testing::TestWithParam<Malformed> {};

TEST_P(MalformedRequest, IsRefusedInWords) {
  const auto refused = parse_request(GetParam().line);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().error.what.find(GetParam().words), std::string::npos)
      << refused.error().error.what;
  EXPECT_NE(refused.error().error.what.find("expected {\"v\":1"), std::string::npos);
  EXPECT_EQ(refused.error().id.value_or(-1), GetParam().id);
  EXPECT_EQ(refused.error().error.code, GetParam().code);
  EXPECT_LT(refused.error().error.what.size(), 300U) << "a stranger's text is not echoed at length";
}

INSTANTIATE_TEST_SUITE_P(
    All, MalformedRequest,
    testing::Values(
        Malformed{"", "empty line"}, Malformed{"   ", "not JSON"}, Malformed{"hello", "not JSON"},
        Malformed{R"({"v":1,"id":7,"verb":"x")", "error at byte"},
        Malformed{R"({"v":1,"id":7,"verb":"x"} {})", "not JSON"}, Malformed{"[]", "not an object"},
        Malformed{"7", "not an object"}, Malformed{R"({"id":7,"verb":"x"})", "'v'", 7},
        Malformed{R"({"v":2,"id":7,"verb":"x","new":1})", "version 2", 7, Errc::kVersion},
        Malformed{R"({"v":"1","id":7,"verb":"x"})", "'v' is not a number", 7},
        Malformed{R"({"v":1,"verb":"x"})", "'id' is missing"},
        Malformed{R"({"v":1,"id":-1,"verb":"x"})", "'id'"},
        Malformed{R"({"v":1,"id":"7","verb":"x"})", "'id'"},
        Malformed{R"({"v":1,"id":7.5,"verb":"x"})", "'id'"},
        Malformed{R"({"v":1,"id":18446744073709551615,"verb":"x"})", "'id'"},
        Malformed{R"({"v":1,"id":7,"args":{}})", "'verb' is missing", 7},
        Malformed{R"({"v":1,"id":7,"verb":8})", "'verb' is not a string", 7},
        Malformed{R"({"v":1,"id":7,"verb":""})", "'verb' has 0", 7},
        Malformed{R"({"v":1,"id":7,"verb":")" + std::string(65, 'x') + "\"}", "'verb' has 65", 7},
        Malformed{R"({"v":1,"id":7,"verb":"x","args":[]})", "'args' is not an object", 7},
        Malformed{R"({"v":1,"id":7,"verb":"x","args":null})", "'args'", 7},
        Malformed{R"({"v":1,"id":7,"verb":"x","what":1})", "unknown field 'what'", 7},
        Malformed{R"({"v":1,"id":7,"verb":"x","args":{"a":1,"a":2}})", "'a' is given twice"},
        Malformed{R"({"v":1,"id":7,"id":8,"verb":"x"})", "'id' is given twice"},
        Malformed{"{\"v\":1,\"id\":7,\"verb\":\"\xff\"}", "not JSON"},
        Malformed{R"({"v":1,"id":7,"verb":"x","args":{"n":1e999}})", "not JSON"},
        Malformed{std::string("{\"v\":1,\"id\":7,\"verb\":\"a\0b\"}", 27), "not JSON"},
        Malformed{"{\"" + std::string(5000, 'k') + "\":1,\"v\":1,\"id\":7}", "unknown field", 7},
        Malformed{std::string(40, '['), "nested 40 deep", -1, Errc::kTooBig},
        Malformed{std::string(1'000'000, '{'), "deep", -1, Errc::kTooBig}));

TEST(ParseRequest, BracesInStringsAreNotDepth) {
  const std::string text =
      R"({"v":1,"id":7,"verb":"x","args":{"t":"\")" + std::string(100, '{') + R"("}})";
  ASSERT_TRUE(parse_request(text));
}

TEST(Reply, CarriesAResultOrFaults) {
  const auto result = parse_reply(encode_reply(7, Json{{"b", 1}, {"a", 2}}));
  ASSERT_TRUE(result) << result.error().what;
  EXPECT_EQ(result->id, 7);
  ASSERT_TRUE(result->reply);
  EXPECT_EQ(result->reply->dump(), R"({"b":1,"a":2})") << "order is kept";

  const VerbError error(
      {{Errc::kInvalid, "bad", "f:1:2", "route", 5}, {Errc::kNotFound, "gone", "", "", -1}});
  const std::string line = encode_reply(std::nullopt, std::unexpected(error));
  EXPECT_EQ(line, R"({"v":1,"id":null,"error":{"errno":-22,"descr":"bad","where":"f:1:2",)"
                  R"("entity":"route","seq_no":5,"more":[{"errno":-2,"descr":"gone"}]}})"
                  "\n");
  const auto failed = parse_reply(line);
  ASSERT_TRUE(failed);
  EXPECT_FALSE(failed->id);
  ASSERT_FALSE(failed->reply);
  const auto& faults = failed->reply.error().faults;
  ASSERT_EQ(faults.size(), 2U);
  EXPECT_EQ(faults[0].code, Errc::kInvalid);
  EXPECT_EQ(faults[0].where, "f:1:2");
  EXPECT_EQ(faults[0].entity, "route");
  EXPECT_EQ(faults[0].seq_no, 5);
  EXPECT_EQ(faults[1].code, Errc::kNotFound);
  EXPECT_EQ(faults[1].what, "gone");
}

TEST(ParseRequest, FieldsOfAnObjectAreBounded) {
  std::string args;
  for (std::size_t i = 0; i < 200'000; ++i)
    args += (i > 0 ? "," : "") + fmt::format(R"("key{}":1)", i);
  const auto refused = parse_request(R"({"v":1,"id":7,"verb":"x","args":{)" + args + "}}");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().error.code, Errc::kTooBig);
  EXPECT_TRUE(refused.error().error.what.contains("more than 64 fields"));
}

TEST(Reply, OversizedAndBinaryRepliesAreStillLines) {
  const auto big = parse_reply(encode_reply(1, Json{{"t", std::string(kReplyBytesMax, 'x')}}));
  ASSERT_TRUE(big);
  ASSERT_FALSE(big->reply);
  EXPECT_EQ(big->reply.error().faults[0].code, Errc::kTooBig);
  EXPECT_TRUE(parse_reply(encode_reply(1, Json{{"t", "\xff\n"}})));
}

TEST(Reply, ListsABoundedNumberOfFaults) {
  const VerbError error(std::vector<VerbFault>(kFaultsMax + 50));
  const auto reply = parse_reply(encode_reply(1, std::unexpected(error)));
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->reply.error().faults.size(), kFaultsMax);
}

TEST(Reply, InvalidRepliesAreErrors) {
  for (const char* line :
       {"", "x", "[]", R"({"v":1,"id":1})", R"({"v":2,"id":1,"result":{}})",
        R"({"v":1,"id":"a","result":{}})", R"({"v":1,"result":{}})",
        R"({"v":1,"id":1,"result":{},"error":{}})", R"({"v":1,"id":1,"result":{},"more":1})"}) {
    EXPECT_FALSE(parse_reply(line)) << line;
  }
  for (const char* line : {R"({"v":1,"id":1,"error":7})", R"({"v":1,"id":1,"error":{"errno":"x"}})",
                           R"({"v":1,"id":1,"error":{"errno":-9999999999,"more":[1,{}]}})"}) {
    const auto reply = parse_reply(line);
    ASSERT_TRUE(reply) << line;
    ASSERT_FALSE(reply->reply);
    EXPECT_EQ(reply->reply.error().faults[0].code, Errc::kIo);
  }
}

TEST(LineBuffer, CutsAStreamIntoLines) {
  LineBuffer buffer(10);
  ASSERT_TRUE(buffer.feed("ab"));
  EXPECT_FALSE(buffer.next());
  EXPECT_FALSE(buffer.has_line());
  ASSERT_TRUE(buffer.feed("c\r\n\nd"));
  EXPECT_TRUE(buffer.has_line());
  EXPECT_EQ(buffer.next(), "abc");
  EXPECT_EQ(buffer.next(), "");
  EXPECT_FALSE(buffer.next());
  ASSERT_TRUE(buffer.feed("ef\ng"));
  EXPECT_EQ(buffer.next(), "def");
  EXPECT_FALSE(buffer.next());
  EXPECT_EQ(buffer.size(), 1U);
}

TEST(LineBuffer, GivesUpOnALineThatIsTooLong) {
  LineBuffer exact(4);
  EXPECT_TRUE(exact.feed("abcd\nefgh\n"));
  EXPECT_EQ(exact.next(), "abcd");
  LineBuffer whole(4);
  EXPECT_FALSE(whole.feed("abcde\n"));
  LineBuffer growing(4);
  EXPECT_TRUE(growing.feed("ab\nabc"));
  EXPECT_EQ(growing.next(), "ab");
  EXPECT_FALSE(growing.next());
  EXPECT_FALSE(growing.feed("de"));
  EXPECT_FALSE(growing.next());
  EXPECT_FALSE(growing.feed("\n")) << "it stays lost";
  EXPECT_EQ(growing.size(), 0U);
}

}  // namespace
}  // namespace plnet::runtime
