// SPDX-License-Identifier: BSD-3-Clause
// A console's own activity: it keeps sessions alive, ends an unused session, and accepts JOIN.
#include <chrono>

#include <gtest/gtest.h>

#include "tests/unit/lib/selftest/console/crowd_site.hpp"

namespace plnet::selftest::console_pinger_test {
namespace {

using std::chrono::seconds;

class PingerTest : public testing::Test, public CrowdSite {
 protected:
  [[nodiscard]] unsigned pings(unsigned node) {
    return crowd.node(node).count(MessageType::kDebugRequest);
  }
};

TEST_F(PingerTest, IdleNodesAreAskedBeforeHalfOfTheirTime) {
  (void)begin();
  crowd.node(2).timeout_s = 20;
  crowd.node(3).session = {.nid = 1, .stamp = 2};
  crowd.node(4).timeout_s = 0xffff'ffff;
  (void)add("g", 1, 4);
  pass(seconds(49));
  EXPECT_EQ(pings(1), 0U);
  pass(seconds(10));
  EXPECT_EQ(pings(1), 1U);
  EXPECT_GE(pings(2), 3U);
  EXPECT_EQ(pings(3), 0U) << "it is another's";
  pass(seconds(50));
  EXPECT_EQ(pings(1), 2U);
  EXPECT_EQ(pings(4), 0U);
  const auto& last = crowd.node(1).heard.back();
  EXPECT_EQ(std::get<DebugRequest>(last.body).session, console->session()->id);
  // Every answer counts, including errors.
  for (int i = 0; i < 10; ++i) {
    pass(seconds(20));
    (void)of([&](WhenDone done) { return console->stat(OfGroup{"g"}, 5, std::move(done)); });
  }
  EXPECT_EQ(pings(1), 2U);
  (void)end();
  pass(seconds(200));
  EXPECT_EQ(pings(1), 2U);
  expect_clean();
}

TEST_F(PingerTest, OnePingAtATimeWithoutDeclaringNodesDown) {
  (void)begin();
  (void)add("g", 1, 1);
  crowd.node(1).silent = true;
  pass(seconds(60));
  EXPECT_EQ(pings(1), 1U);
  pass(seconds(50));
  EXPECT_EQ(pings(1), 1U);
  pass(seconds(24));
  EXPECT_EQ(pings(1), 2U) << "the first has been given up";
  EXPECT_EQ(state("g", 0), NodeState::kActive);
  crowd.node(1).silent = false;
  pass(seconds(100));
  EXPECT_EQ(state("g", 0), NodeState::kActive);
}

TEST_F(PingerTest, StatesReportedByNodesAreRecorded) {
  (void)begin();
  (void)add("g", 1, 2);
  crowd.node(1).session = {};
  crowd.node(2).session = {.nid = 1, .stamp = 2};
  pass(seconds(60));
  EXPECT_EQ(state("g", 0), NodeState::kUnknown);
  EXPECT_EQ(state("g", 1), NodeState::kBusy);
  pass(seconds(120));
  EXPECT_EQ(pings(1), 1U) << "it is not ours any more";
}

TEST_F(PingerTest, EndingASessionForgetsPingsUnderWay) {
  (void)begin();
  (void)add("g", 1, 1);
  crowd.node(1).silent = true;
  crowd.hold_unlinks(true);
  pass(seconds(60));
  EXPECT_EQ(pings(1), 1U);
  crowd.node(1).silent = false;
  EXPECT_EQ(end().succeeded(), 1U);
  expect_clean();
}

TEST_F(PingerTest, AConsoleMayGoWithEverythingUnderWay) {
  (void)begin();
  (void)add("g", 1, 2);
  crowd.node(1).silent = true;
  Told told;
  ASSERT_TRUE(console->ping(WholeSession{}, 30, told.listen()).has_value());
  pass(seconds(2));
  console.reset();
  EXPECT_EQ(told.times(), 0U);
}

TEST_F(PingerTest, AClosedConsoleSendsNothing) {
  (void)begin();
  (void)add("g", 1, 1);
  Told told;
  ASSERT_TRUE(console->ping(WholeSession{}, 30, told.listen()).has_value());
  console->close();
  EXPECT_EQ(refusal_of(console->list_groups()), Refusal::kShuttingDown);
  EXPECT_EQ(refusal_of(console->new_session(plain_session(), {})), Refusal::kShuttingDown);
  settle();
  EXPECT_EQ(told.times(), 1U);
  EXPECT_EQ(told.result().ended_errno, ESHUTDOWN);
  EXPECT_TRUE(console->closed());
  EXPECT_EQ(crowd.node(1).count(MessageType::kRemoveSessionRequest), 0U);
  console->open();
  (void)begin();
}

// --- Expiry ---

TEST_F(PingerTest, AnUnusedSessionEnds) {
  NewSession session = plain_session();
  session.timeout_s = 60;
  (void)begin(session);
  crowd.node(3).session = {.nid = 1, .stamp = 2};
  (void)add("g", 1, 3);
  pass(seconds(50));
  EXPECT_TRUE(console->list_groups().has_value());
  pass(seconds(55));
  EXPECT_TRUE(console->session().has_value()) << "it was used in between";
  EXPECT_GE(console->session_left_s(), 4U);
  EXPECT_LE(console->session_left_s(), 6U);
  pass(seconds(10));
  EXPECT_FALSE(console->session().has_value());
  EXPECT_EQ(refusal_of(console->list_groups()), Refusal::kNoSession);
  EXPECT_TRUE(crowd.node(1).session.is_none());
  EXPECT_EQ(crowd.node(3).count(MessageType::kRemoveSessionRequest), 0U);
  const auto heard = crowd.node(1).heard.size();
  pass(seconds(200));
  EXPECT_EQ(crowd.node(1).heard.size(), heard);
  (void)begin();
  expect_clean();
}

TEST_F(PingerTest, LookingFromBesideDoesNotKeepItAlive) {
  NewSession session = plain_session();
  session.timeout_s = 10;
  (void)begin(session);
  for (int i = 0; i < 12; ++i) {
    (void)console->session();
    (void)console->session_left_s();
    pass(seconds(1));
  }
  EXPECT_FALSE(console->session().has_value());
}

// --- JOIN ---

class JoinTest : public PingerTest {
 protected:
  JoinReply join(unsigned node, const JoinRequest& request,
                 std::uint32_t features = kFeaturesKnown) {
    const auto reply = crowd.join(Crowd::id(node), request, features, [this] { turn(); });
    EXPECT_TRUE(reply.has_value());
    return reply.value_or(JoinReply{.status = Status::kIo});
  }
  static JoinRequest to(const char* group) { return {.group = name_from(group)}; }
};

TEST_F(JoinTest, ANodeJoins) {
  EXPECT_EQ(join(1, to("g")).status, Status::kNoSession);
  EXPECT_TRUE(join(1, to("g")).session.is_none());
  (void)begin();
  const auto id = console->session()->id;
  const auto reply = join(1, to("g"));
  EXPECT_EQ(reply, (JoinReply{Status::kOk, id, 300, name_from("bulk")}));
  EXPECT_EQ(console->group_info("g")->nodes, StateCounts{.active = 1});
  EXPECT_EQ(join(1, to("g")).status, Status::kExists);
  EXPECT_EQ(join(1, to("other")).status, Status::kOk);
  EXPECT_EQ(join(2, {.session = id, .group = name_from("g")}).status, Status::kOk);
  const auto busy = join(3, {.session = {.nid = 1, .stamp = 2}, .group = name_from("g")});
  EXPECT_EQ(busy, (JoinReply{.status = Status::kBusy, .session = id}));
  EXPECT_EQ(join(3, to("")).status, Status::kInvalid);
  EXPECT_EQ(join(3, to("g"), 0).status, Status::kProtocol);
  EXPECT_EQ(join(3, to("g"), 2).status, Status::kProtocol);
  JoinRequest endless;
  endless.group.fill('x');
  EXPECT_EQ(join(3, endless).status, Status::kInvalid);
  EXPECT_EQ(console->session()->nodes, 2U);
  // It is pinged like others, with the timeout that it was told.
  crowd.node(1).session = id;
  pass(seconds(140));
  EXPECT_EQ(pings(1), 0U);
  pass(seconds(30));
  EXPECT_EQ(pings(1), 1U);
  EXPECT_EQ(crowd.node(1).count(MessageType::kMakeSessionRequest), 0U);
}

TEST_F(JoinTest, TheFirstJoinSetsTheFeatures) {
  (void)begin();
  EXPECT_EQ(join(1, to("g"), 0).status, Status::kOk);
  EXPECT_EQ(console->session()->features, 0U);
  EXPECT_EQ(join(2, to("g"), 1).status, Status::kProtocol);
}

TEST_F(JoinTest, NotIntoAGroupThatIsUsed) {
  (void)begin();
  (void)add("clients", 1, 1);
  (void)add("servers", 2, 2);
  (void)add_test(brw());
  EXPECT_EQ(join(3, to("clients")).status, Status::kBusy);
  crowd.node(4).silent = true;
  EXPECT_TRUE(console->add_group("g").has_value());
  const std::vector<lnet::ProcessId> nodes{Crowd::id(4)};
  EXPECT_TRUE(console->add_nodes("g", nodes, {}).has_value());
  EXPECT_EQ(join(3, to("g")).status, Status::kBusy) << "it is being changed";
}

TEST_F(JoinTest, GroupsHaveALimit) {
  (void)begin();
  for (std::size_t i = 0; i < kConsoleGroupsMax; ++i)
    ASSERT_TRUE(console->add_group(std::to_string(i)).has_value());
  EXPECT_EQ(join(1, to("more")).status, Status::kNoMemory);
}

}  // namespace
}  // namespace plnet::selftest::console_pinger_test
