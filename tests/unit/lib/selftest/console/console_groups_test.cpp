// SPDX-License-Identifier: BSD-3-Clause
// Sessions and groups as users handle them, and refused commands.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/lib/selftest/console/commands_fixture.hpp"

namespace plnet::selftest::console_groups_test {
namespace {

using Names = std::vector<std::string>;

// --- Sessions ---

TEST_F(CommandsTest, CommandsNeedASession) {
  const std::vector<lnet::ProcessId> nodes{Crowd::id(1)};
  constexpr auto kNone = Refusal::kNoSession;
  EXPECT_EQ(refusal_of(console->end_session(nobody())), kNone);
  EXPECT_EQ(refusal_of(console->show_session()), kNone);
  EXPECT_EQ(refusal_of(console->add_group("g")), kNone);
  EXPECT_EQ(refusal_of(console->add_nodes("g", nodes, nobody())), kNone);
  EXPECT_EQ(refusal_of(console->remove_nodes("g", nodes, nobody())), kNone);
  EXPECT_EQ(refusal_of(console->refresh_group("g", nobody())), kNone);
  EXPECT_EQ(refusal_of(console->del_group("g", nobody())), kNone);
  EXPECT_EQ(refusal_of(console->clean_group("g", kAllStates)), kNone);
  EXPECT_EQ(refusal_of(console->list_groups()), kNone);
  EXPECT_EQ(refusal_of(console->group_info("g")), kNone);
  EXPECT_EQ(refusal_of(console->group_nodes("g")), kNone);
  EXPECT_EQ(refusal_of(console->add_batch("b")), kNone);
  EXPECT_EQ(refusal_of(console->list_batches()), kNone);
  EXPECT_EQ(refusal_of(console->batch_info("b")), kNone);
  EXPECT_EQ(refusal_of(console->test_info("b", 1)), kNone);
  EXPECT_EQ(refusal_of(console->batch_nodes("b", 0, false)), kNone);
  EXPECT_EQ(refusal_of(console->add_test(brw(), nobody())), kNone);
  EXPECT_EQ(refusal_of(console->run("b", 0, nobody())), kNone);
  EXPECT_EQ(refusal_of(console->stop("b", false, nobody())), kNone);
  EXPECT_EQ(refusal_of(console->query("b", 0, false, 5, nobody())), kNone);
  EXPECT_EQ(refusal_of(console->ping(WholeSession{}, 5, nobody())), kNone);
  EXPECT_EQ(refusal_of(console->stat(OfGroup{"g"}, 5, nobody())), kNone);
  EXPECT_EQ(errno_of(kNone), ESRCH);
  EXPECT_FALSE(console->session().has_value());
}

TEST_F(CommandsTest, ASession) {
  NewSession wanted = plain_session();
  wanted.timeout_s = 0;
  const auto made = begin(wanted);
  EXPECT_EQ(made.total(), 0U);
  const auto shown = console->show_session();
  ASSERT_TRUE(shown.has_value());
  EXPECT_EQ(shown->name, "bulk");
  EXPECT_EQ(shown->key, 77U);
  EXPECT_EQ(shown->features, kFeaturesKnown);
  EXPECT_EQ(shown->timeout_s, 300U);
  EXPECT_EQ(shown->nodes, 0U);
  EXPECT_EQ(shown->id, (SessionId{kConsoleNid, kStamp}));
  EXPECT_EQ(console->list_batches().value(), Names{"batch"});
  EXPECT_EQ(console->batch_info("batch")->id, 1U);
  EXPECT_EQ(refusal_of(console->new_session(wanted, nobody())), Refusal::kExists);
  EXPECT_EQ(end().total(), 0U);
  EXPECT_FALSE(console->session().has_value());
  (void)begin(wanted);
  EXPECT_NE(console->session()->id, shown->id);
  EXPECT_EQ(console->batch_info("batch")->id, 2U) << "numbers are not used again";
}

TEST_F(CommandsTest, SessionsThatCannotBe) {
  const auto refused = [&](auto NewSession::* field, auto value) {
    NewSession wanted = plain_session();
    wanted.*field = value;
    return refusal_of(console->new_session(wanted, nobody()));
  };
  EXPECT_EQ(refused(&NewSession::features, 2U), Refusal::kProtocol);
  EXPECT_EQ(refused(&NewSession::name, std::string()), Refusal::kInvalid);
  EXPECT_EQ(refused(&NewSession::name, std::string(32, 'n')), Refusal::kNameTooLong);
  EXPECT_EQ(refused(&NewSession::nid, lnet::Nid::any()), Refusal::kInvalid);
  EXPECT_FALSE(console->session().has_value());
}

TEST_F(CommandsTest, ForceEndsTheSessionBefore) {
  (void)begin();
  (void)add("g", 1, 3);
  crowd.node(3).silent = true;
  NewSession wanted = plain_session();
  wanted.name = "next";
  wanted.force = true;
  const auto result = begin(wanted);
  EXPECT_EQ(result.kind, TransactionKind::kRemoveSession);
  EXPECT_EQ(result.total(), 3U);
  EXPECT_EQ(result.rpcs_failed, 1U);
  EXPECT_EQ(console->session()->name, "next");
  EXPECT_EQ(console->list_groups().value(), Names{});
  EXPECT_TRUE(crowd.node(1).session.is_none());
  // The node that did not receive it is added.
  crowd.node(3).silent = false;
  EXPECT_EQ(add("g", 3, 3).succeeded(), 1U);
  EXPECT_EQ(crowd.node(3).session, console->session()->id);
}

TEST_F(CommandsTest, WhileASessionEnds) {
  two_groups();
  crowd.node(1).silent = true;
  Told slow;
  Told over;
  ASSERT_TRUE(console->ping(WholeSession{}, 30, slow.listen()).has_value());
  settle();
  EXPECT_EQ(slow.times(), 0U);
  ASSERT_TRUE(console->end_session(over.listen()).has_value());
  EXPECT_EQ(refusal_of(console->end_session(nobody())), Refusal::kShuttingDown);
  EXPECT_EQ(refusal_of(console->list_groups()), Refusal::kShuttingDown);
  NewSession wanted = plain_session();
  wanted.force = true;
  EXPECT_EQ(refusal_of(console->new_session(wanted, nobody())), Refusal::kShuttingDown);
  EXPECT_FALSE(console->session().has_value());
  settle();
  ASSERT_EQ(slow.times(), 1U) << "messages in flight end at once";
  EXPECT_EQ(slow.result().ended_errno, ESHUTDOWN);
  EXPECT_EQ(slow.result().nodes[0].rpc_errno, ESHUTDOWN);
  EXPECT_EQ(slow.result().nodes[0].state, NodeState::kActive) << "no message waited long enough";
  EXPECT_EQ(slow.result().nodes[1].rpc_errno, 0);
  EXPECT_EQ(over.times(), 0U);
  pass(std::chrono::seconds(31));
  ASSERT_EQ(over.times(), 1U);
  EXPECT_EQ(over.result().rpcs_failed, 1U);
  EXPECT_EQ(over.result().rpc_errno, ETIMEDOUT);
  EXPECT_FALSE(console->session().has_value());
  EXPECT_EQ(refusal_of(console->list_groups()), Refusal::kNoSession);
  expect_clean();
}

TEST_F(CommandsTest, NodesThatHaveForgottenUsAreNoFailureAtTheEnd) {
  (void)begin();
  (void)add("g", 1, 2);
  crowd.node(1).session = {};
  crowd.node(2).session = {.nid = 1, .stamp = 2};
  const auto result = end();
  EXPECT_EQ(result.succeeded(), 1U);
  EXPECT_EQ(result.refused, 1U);
  EXPECT_EQ(result.framework_errno, EBUSY);
}

// --- Groups ---

TEST_F(CommandsTest, Groups) {
  (void)begin();
  EXPECT_TRUE(console->add_group("b").has_value());
  EXPECT_TRUE(console->add_group("a").has_value());
  EXPECT_EQ(console->list_groups().value(), (Names{"b", "a"})) << "as they came";
  EXPECT_EQ(refusal_of(console->add_group("a")), Refusal::kExists);
  EXPECT_EQ(refusal_of(console->add_group("")), Refusal::kInvalid);
  EXPECT_EQ(refusal_of(console->add_group(std::string_view("a\0b", 3))), Refusal::kInvalid);
  EXPECT_EQ(refusal_of(console->add_group(std::string(32, 'x'))), Refusal::kNameTooLong);
  EXPECT_TRUE(console->add_group(std::string(31, 'x')).has_value());
  EXPECT_EQ(refusal_of(console->group_info("c")), Refusal::kNotFound);
  EXPECT_EQ(refusal_of(console->add_nodes("a", {}, nobody())), Refusal::kInvalid);
  const std::vector<lnet::ProcessId> any{Crowd::id(1), {.nid = lnet::Nid::any()}};
  EXPECT_EQ(refusal_of(console->add_nodes("a", any, nobody())), Refusal::kInvalid);
  EXPECT_EQ(console->session()->nodes, 0U);
}

TEST_F(CommandsTest, TooManyGroupsAndBatches) {
  (void)begin();
  for (std::size_t i = 0; i < kConsoleGroupsMax; ++i)
    ASSERT_TRUE(console->add_group(std::to_string(i)).has_value());
  EXPECT_EQ(refusal_of(console->add_group("more")), Refusal::kTooMany);
  for (std::size_t i = 1; i < kConsoleBatchesMax; ++i)
    ASSERT_TRUE(console->add_batch(std::to_string(i)).has_value());
  EXPECT_EQ(refusal_of(console->add_batch("more")), Refusal::kTooMany);
}

TEST_F(CommandsTest, TooManyNodes) {
  (void)begin();
  EXPECT_TRUE(console->add_group("g").has_value());
  std::vector<lnet::ProcessId> nodes;
  for (unsigned i = 0; i <= kConsoleNodesMax; ++i)
    nodes.push_back(Crowd::id(i));
  EXPECT_EQ(refusal_of(console->add_nodes("g", nodes, nobody())), Refusal::kTooMany);
  (void)add("g", kConsoleNodesMax, kConsoleNodesMax);
  nodes.pop_back();
  EXPECT_EQ(refusal_of(console->add_nodes("g", nodes, nobody())), Refusal::kTooMany);
  EXPECT_EQ(console->session()->nodes, 1U) << "a refused change leaves no trace";
  EXPECT_FALSE(console->group_info("g") && console->add_group("g"));
}

TEST_F(CommandsTest, NodesOfAGroup) {
  (void)begin();
  crowd.node(2).session = {.nid = 7, .stamp = 8};
  crowd.node(2).name = name_from("night");
  crowd.node(3).silent = true;
  crowd.node(4).lost = true;
  const auto result = add("g", 1, 4);
  EXPECT_EQ(result.kind, TransactionKind::kMakeSession);
  EXPECT_EQ(result.total(), 4U);
  EXPECT_EQ(result.succeeded(), 1U);
  EXPECT_EQ(result.rpcs_failed, 2U);
  EXPECT_EQ(result.rpc_errno, ETIMEDOUT);
  EXPECT_EQ(result.refused, 1U);
  EXPECT_EQ(result.framework_errno, EBUSY);
  EXPECT_EQ(result.nodes[1].status, static_cast<std::uint32_t>(EBUSY));
  EXPECT_EQ(result.nodes[1].session, (SessionId{7, 8}));
  ASSERT_TRUE(std::holds_alternative<PingSeen>(result.nodes[1].seen)) << "the session in the way";
  EXPECT_EQ(text_of(std::get<PingSeen>(result.nodes[1].seen).session_name), "night");
  EXPECT_EQ(result.nodes[3].rpc_errno, EHOSTUNREACH);
  const StateCounts counts{.active = 1, .busy = 1, .down = 1, .unknown = 1};
  EXPECT_EQ(console->group_info("g")->nodes, counts);
  const auto down = console->group_nodes("g", mask_of(NodeState::kDown));
  ASSERT_EQ(down->size(), 1U);
  EXPECT_EQ((*down)[0].id, Crowd::id(3));
  // Only nodes that are not ACTIVE are asked again.
  crowd.node(3).silent = false;
  crowd.node(4).lost = false;
  const auto again = refresh("g");
  EXPECT_EQ(again.total(), 3U);
  EXPECT_EQ(again.succeeded(), 2U);
  EXPECT_EQ(crowd.node(1).heard.size(), 1U);
  EXPECT_EQ(state("g", 3), NodeState::kActive);
  // Members are not asked at all.
  EXPECT_EQ(add("g", 1, 5).total(), 1U);
  EXPECT_EQ(console->group_nodes("g")->size(), 5U);
  EXPECT_EQ(console->session()->nodes, 5U);
}

TEST_F(CommandsTest, ANodeMayBeNamedTwiceAndBeInTwoGroups) {
  (void)begin();
  EXPECT_TRUE(console->add_group("a").has_value());
  const std::vector<lnet::ProcessId> twice{Crowd::id(1), Crowd::id(1)};
  const auto result =
      of([&](WhenDone done) { return console->add_nodes("a", twice, std::move(done)); });
  EXPECT_EQ(result.total(), 1U);
  EXPECT_EQ(add("b", 1, 2).total(), 1U) << "it is ACTIVE";
  EXPECT_EQ(console->session()->nodes, 2U);
  EXPECT_EQ(del("a").total(), 0U) << "it is still in the other";
  EXPECT_FALSE(crowd.node(1).session.is_none());
  EXPECT_EQ(del("b").total(), 2U);
  EXPECT_TRUE(crowd.node(1).session.is_none());
  EXPECT_EQ(console->session()->nodes, 0U);
  EXPECT_EQ(console->list_groups().value(), Names{});
}

TEST_F(CommandsTest, RemovingNodes) {
  (void)begin();
  (void)add("g", 1, 4);
  const auto result = remove("g", {Crowd::id(2), Crowd::id(9), Crowd::id(2)});
  EXPECT_EQ(result.kind, TransactionKind::kRemoveSession);
  EXPECT_EQ(result.total(), 1U);
  EXPECT_EQ(console->group_info("g")->nodes.total(), 3U);
  EXPECT_EQ((*console->group_nodes("g"))[1].id, Crowd::id(3)) << "the order stays";
  // Removed whether they answer or not, and not asked without a session of ours.
  crowd.node(1).silent = true;
  crowd.node(3).session = {};
  (void)ping(OfGroup{"g"}, 6);
  EXPECT_EQ(state("g", 0), NodeState::kDown);
  EXPECT_EQ(state("g", 1), NodeState::kUnknown);
  EXPECT_EQ(remove("g", {Crowd::id(1), Crowd::id(3), Crowd::id(4)}).total(), 1U);
  EXPECT_EQ(console->list_groups().value(), Names{}) << "an empty group goes, too";
}

TEST_F(CommandsTest, CleaningAGroup) {
  (void)begin();
  crowd.node(2).session = {.nid = 7, .stamp = 8};
  (void)add("g", 1, 3);
  EXPECT_EQ(refusal_of(console->clean_group("g", 0)), Refusal::kInvalid);
  EXPECT_EQ(refusal_of(console->clean_group("g", 16)), Refusal::kInvalid);
  EXPECT_TRUE(console->clean_group("g", kInvalidStates).has_value());
  EXPECT_EQ(console->group_info("g")->nodes, StateCounts{.active = 2});
  EXPECT_TRUE(console->clean_group("g", mask_of(NodeState::kActive)).has_value());
  EXPECT_EQ(console->list_groups().value(), Names{});
  EXPECT_FALSE(crowd.node(1).session.is_none()) << "nothing is sent";
}

TEST_F(CommandsTest, AGroupThatIsBeingChanged) {
  (void)begin();
  (void)add("g", 1, 1);
  crowd.node(2).silent = true;
  Told told;
  const std::vector<lnet::ProcessId> nodes{Crowd::id(2)};
  ASSERT_TRUE(console->add_nodes("g", nodes, told.listen()).has_value());
  settle();
  EXPECT_EQ(refusal_of(console->add_nodes("g", nodes, nobody())), Refusal::kBusy);
  EXPECT_EQ(refusal_of(console->remove_nodes("g", nodes, nobody())), Refusal::kBusy);
  EXPECT_EQ(refusal_of(console->refresh_group("g", nobody())), Refusal::kBusy);
  EXPECT_EQ(refusal_of(console->del_group("g", nobody())), Refusal::kBusy);
  EXPECT_EQ(refusal_of(console->clean_group("g", 1)), Refusal::kBusy);
  AddTest test = brw();
  test.from = test.to = "g";
  EXPECT_EQ(refusal_of(console->add_test(test, nobody())), Refusal::kBusy);
  EXPECT_EQ(ping(OfGroup{"g"}).active, 1U) << "looking is allowed";
  pass(std::chrono::seconds(31));
  EXPECT_EQ(told.times(), 1U);
  EXPECT_EQ(state("g", 1), NodeState::kDown);
  EXPECT_TRUE(console->clean_group("g", mask_of(NodeState::kDown)).has_value());
}

}  // namespace
}  // namespace plnet::selftest::console_groups_test
