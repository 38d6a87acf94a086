// SPDX-License-Identifier: BSD-3-Clause
// Answers of a node about sessions.
#include <gtest/gtest.h>

#include "tests/unit/lib/selftest/console_site.hpp"

namespace plnet::selftest::session_test {
namespace {

using std::chrono::seconds;

class SessionTest : public testing::Test, public ConsoleSite {
 protected:
  SessionTest() : ConsoleSite(Wire::kStream, 1) {}
  DebugReply debug(SessionId id = {}) {
    return call<DebugReply>(1, Service::kDebug, DebugRequest{.session = id})
        .value_or(DebugReply{.status = Status::kIo});
  }
  const SessionId other{.nid = 0x0002'0000'c0a8'010b, .stamp = 99};
  const SessionId none;
};

TEST_F(SessionTest, IsMadeAskedForAndRemoved) {
  EXPECT_EQ(debug().status, Status::kNoSession);
  EXPECT_EQ(debug().session, none);
  EXPECT_EQ(features_told, kFeaturesKnown);
  const auto made = make_session(1, session);
  EXPECT_EQ(made.status, Status::kOk);
  EXPECT_EQ(made.session, session);
  EXPECT_EQ(made.timeout_s, 100U);
  const auto seen = debug(other);  // independent of the requested session
  EXPECT_EQ(seen.status, Status::kOk);
  EXPECT_EQ(seen.session, session);
  EXPECT_EQ(seen.timeout_s, 100U);
  EXPECT_EQ(text_of(seen.name), "bulk");
  const auto removed = remove_session(1, session);
  EXPECT_EQ(removed.status, Status::kOk);
  EXPECT_EQ(removed.session, none);
  EXPECT_EQ(remove_session(1, session).status, Status::kNoSession);
  expect_clean(1);
}

TEST_F(SessionTest, MadeTwiceIsRemovedTwice) {
  make_session(1, session);
  EXPECT_EQ(make_session(1, session).status, Status::kOk);
  EXPECT_EQ(remove_session(1, session).session, session);
  EXPECT_EQ(remove_session(1, session).session, none);
  EXPECT_EQ(debug().status, Status::kNoSession);
}

TEST_F(SessionTest, SessionsOfOtherConsolesEndByForceOnly) {
  make_session(1, session);
  const auto busy = make_session(1, other);
  EXPECT_EQ(busy.status, Status::kBusy);
  EXPECT_EQ(busy.session, session);
  EXPECT_EQ(busy.timeout_s, 100U);
  EXPECT_EQ(text_of(busy.name), "bulk");
  EXPECT_EQ(remove_session(1, other).status, Status::kBusy);
  const auto forced = make_session(1, other, true);
  EXPECT_EQ(forced.status, Status::kOk);
  EXPECT_EQ(forced.session, other);
  EXPECT_EQ(remove_session(1, session).status, Status::kBusy);
  EXPECT_EQ(remove_session(1, other).status, Status::kOk);
  expect_clean(1);
}

TEST_F(SessionTest, WildcardsAreRefused) {
  EXPECT_EQ(make_session(1, none).status, Status::kInvalid);
  EXPECT_EQ(make_session(1, {.stamp = 5}).status, Status::kInvalid);
  EXPECT_EQ(remove_session(1, none).status, Status::kInvalid);
  make_session(1, session);
  EXPECT_EQ(make_session(1, none).session, session);
  session = none;
  EXPECT_EQ(stat(1).status, Status::kInvalid);
}

TEST_F(SessionTest, UnknownFeaturesAreRefused) {
  features = 2;
  EXPECT_EQ(make_session(1, session).status, Status::kProtocol);
  EXPECT_EQ(debug().status, Status::kProtocol);
  features = 0;
  EXPECT_EQ(make_session(1, session).status, Status::kOk);
  EXPECT_EQ(features_told, 0U);
  features = kFeaturesKnown;
  const auto reply = remove_session(1, session);
  EXPECT_EQ(reply.status, Status::kProtocol) << "not those of the session";
  EXPECT_EQ(reply.session, session);
  EXPECT_EQ(stat(1).status, Status::kProtocol);
  EXPECT_EQ(add_test(1, ping_test()), Status::kProtocol);
  EXPECT_EQ(batch(1, BatchOperation::kRun).status, Status::kProtocol);
  EXPECT_EQ(debug().status, Status::kOk) << "anybody may ask";
  EXPECT_EQ(features_told, 0U);
}

TEST_F(SessionTest, ExpiresWhenItsConsoleIsSilent) {
  make_session(1, session);
  for (int i = 0; i < 3; ++i) {
    pass(seconds(90));
    EXPECT_EQ(debug(session).status, Status::kOk);
  }
  pass(seconds(90));
  EXPECT_EQ(make_session(1, other).status, Status::kBusy) << "also keeps it alive";
  pass(seconds(90));
  EXPECT_EQ(hosts[0]->node.framework().session()->id, session);
  pass(seconds(11));
  EXPECT_EQ(hosts[0]->node.framework().session(), nullptr);
  EXPECT_EQ(debug(session).session, none);
  expect_clean(1);
}

TEST_F(SessionTest, StatCountsFromItsBeginning) {
  EXPECT_EQ(stat(1).status, Status::kNoSession);
  make_session(1, session);
  pass(seconds(10));
  const auto first = stat(1);
  EXPECT_EQ(first.status, Status::kOk);
  EXPECT_EQ(first.session, session);
  EXPECT_NEAR(first.framework.running_ms, 10'000, 20);
  EXPECT_EQ(first.rpc.received, 3U);
  EXPECT_EQ(first.rpc.dropped, 0U);
  const auto second = stat(1);
  EXPECT_EQ(second.rpc.received, 4U);
  EXPECT_EQ(second.lnet.receive_count - first.lnet.receive_count, 1U);
  EXPECT_EQ(second.lnet.receive_length - first.lnet.receive_length, kMessageBytes);
  EXPECT_EQ(second.lnet.send_length - first.lnet.send_length, kMessageBytes);
}

TEST_F(SessionTest, JoinRequestsToANodeAreRefused) {
  make_session(1, session);
  const auto reply =
      call<JoinReply>(1, Service::kJoin, JoinRequest{.session = session, .group = name_from("g")});
  ASSERT_TRUE(reply.has_value());
  EXPECT_EQ(reply->status, Status::kNoSession);
  EXPECT_EQ(reply->session, none);
}

TEST_F(SessionTest, OldOnesAreBounded) {
  for (int i = 0; i < 20; ++i) {
    const SessionId next{.nid = 7, .stamp = i};
    EXPECT_EQ(make_session(1, next, true).status, Status::kOk);
  }
  expect_clean(1);
}

TEST_F(SessionTest, AnEndingNodeSendsNoAnswers) {
  make_session(1, session);
  hosts[0]->node.close();
  hosts[0]->server.close();
  settle();
  EXPECT_TRUE(hosts[0]->node.closed() && hosts[0]->server.closed());
  EXPECT_EQ(nodes.descriptors(1), 0U);
  EXPECT_EQ(debug().status, Status::kIo);
}

}  // namespace
}  // namespace plnet::selftest::session_test
