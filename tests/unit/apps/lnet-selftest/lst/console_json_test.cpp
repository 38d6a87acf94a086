// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-selftest/lst/console_json.hpp"

#include <cerrno>

#include <gtest/gtest.h>

#include "lib/lnet/names/nid_text.hpp"

namespace plnet::lst::console_json_test {
namespace {

// Encodes and decodes: the result is the same.
template <class T>
std::string there_and_back(const T& value) {
  const Json json = Json::parse(to_json(value).dump());
  const auto read = from_json<T>(json);
  if (!read) return read.error().what;
  return to_json(*read) == json ? "same" : to_json(*read).dump();
}

TEST(ConsoleJson, ResultsOfTransactions) {
  selftest::TransactionResult result;
  result.kind = selftest::TransactionKind::kStat;
  result.rpcs_failed = 1;
  result.rpc_errno = ETIMEDOUT;
  result.features = 1;
  const lnet::ProcessId id{lnet::Nid::of(lnet::NetType::kO2ib, 3, 0x0a000001), lnet::kLustrePid};
  selftest::StatSeen stat;
  stat.lnet.send_length = ~0ULL;
  stat.rpc.expired = ~0U;
  result.nodes = {{.id = id, .state = selftest::NodeState::kDown, .rpc_errno = ETIMEDOUT},
                  {.id = id, .session = {.nid = 0x20005'0a000001, .stamp = -1}, .seen = stat},
                  {.id = id, .seen = selftest::QuerySeen{7}},
                  {.id = id,
                   .status = 16,
                   .refused = true,
                   .seen = selftest::PingSeen{100, selftest::name_from("night run")}}};
  EXPECT_EQ(there_and_back(result), "same");
  const auto read = from_json<selftest::TransactionResult>(to_json(result));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(lnet::text_of(read->nodes[1].id), "12345-10.0.0.1@o2ib3");
  EXPECT_EQ(std::get<selftest::StatSeen>(read->nodes[1].seen).lnet.send_length, ~0ULL);
  EXPECT_TRUE(std::holds_alternative<std::monostate>(read->nodes[0].seen));
  // Failure counts do not refuse the command.
  EXPECT_FALSE(refusal_of(to_json(result)).has_value());
}

TEST(ConsoleJson, TheRest) {
  selftest::AddTest test{.batch = "b", .from = "c", .to = "s", .test = selftest::PingTest{}};
  EXPECT_EQ(there_and_back(test), "same");
  test.test = selftest::BrwTest{.length = 1U << 20, .client_offset = 8};
  test.loop = -1;
  EXPECT_EQ(there_and_back(test), "same");
  EXPECT_EQ(there_and_back(selftest::SessionInfo{.name = "x", .key = ~0U, .force = true}), "same");
  EXPECT_EQ(there_and_back(selftest::GroupInfo{"g", {.active = 1, .down = 2}}), "same");
  EXPECT_EQ(there_and_back(selftest::BatchInfo{.id = 1, .name = "b"}), "same");
  EXPECT_EQ(there_and_back(selftest::TestInfo{.loop = -1}), "same");
  EXPECT_EQ(there_and_back(ConsoleHost{"n", 3, true, true, "night", 70}), "same");
  EXPECT_EQ(there_and_back(std::vector<std::string>{"a", "b"}), "same");
}

TEST(ConsoleJson, Refusals) {
  const Refusal refusal{EBUSY, "used by a test"};
  EXPECT_EQ(refusal_of(refusal_json(refusal)), refusal);
  EXPECT_FALSE(refusal_of(Json::object()).has_value());
  EXPECT_FALSE(refusal_of(Json::array()).has_value());
  EXPECT_EQ(refusal_of(Json{{"refusal", 3}}).value_or(Refusal{}).number, EPROTO);
}

TEST(ConsoleJson, InvalidJsonIsReportedWithItsPlace) {
  Json json = to_json(selftest::GroupInfo{"g", {}});
  json["nodes"].erase("down");
  const auto missing = from_json<selftest::GroupInfo>(json);
  ASSERT_FALSE(missing.has_value());
  EXPECT_NE(missing.error().what.find("down"), std::string::npos) << missing.error().what;
  for (const Json& wrong : {Json(-1), Json(4294967296), Json("1"), Json(1.5), Json(nullptr)}) {
    Json host = to_json(ConsoleHost{});
    host["key"] = wrong;
    EXPECT_FALSE(from_json<ConsoleHost>(host).has_value()) << wrong;
  }
  EXPECT_FALSE(from_json<std::vector<std::string>>(Json{"a", 1}).has_value());
  EXPECT_FALSE(from_json<selftest::TransactionResult>(Json::array()).has_value());
}

}  // namespace
}  // namespace plnet::lst::console_json_test
