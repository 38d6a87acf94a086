// SPDX-License-Identifier: BSD-3-Clause
// Our PUTs and GETs: start, ACK and REPLY, response timeout, and memory that a peer may still
// access after their end.
#include <gtest/gtest.h>

#include "lib/lnet/match/response_tracking.hpp"
#include "tests/unit/lib/lnet/match/fixture.hpp"

namespace plnet::lnet::match_operations_test {
namespace {

using Operations = MatchTest;
using Id = MatchCounters::Id;
using std::chrono::milliseconds;

constexpr Instant at_ms(int ms) {
  return Instant(milliseconds(ms));
}

TEST_F(Operations, StartLendsTheWholeMd) {
  const MdHandle handle = bind(md(0, 1000));
  const auto grant = start(handle, MessageType::kPut);
  ASSERT_TRUE(grant.has_value());
  EXPECT_EQ(grant->window.length, 1000U);
  EXPECT_EQ(grant->window.offset, 0U);
  EXPECT_EQ(grant->window.fragments.data(), memory.data());
  EXPECT_EQ(grant->kind, EventKind::kSend);
  EXPECT_EQ(grant->md, handle);
  finish(*grant);
}

TEST_F(Operations, APutWithAckUsesTwoOfItsThresholdInEitherOrder) {
  for (const bool ack_first : {false, true}) {
    events().clear();
    MdSpec spec = md(0);
    spec.threshold = 2;
    const MdHandle handle = bind(spec);
    const auto send = start(handle, MessageType::kPut);
    ASSERT_TRUE(send.has_value());
    const MatchResult ack = respond(handle, MessageType::kAck);
    ASSERT_TRUE(ack.matched());
    EXPECT_EQ(ack.grant.window.length, 0U);
    finish(ack_first ? ack.grant : *send);
    finish(ack_first ? *send : ack.grant);
    ASSERT_EQ(events().size(), 2U);
    EXPECT_FALSE(events()[0].unlinked);
    EXPECT_TRUE(events()[1].unlinked);
    EXPECT_EQ(respond(handle, MessageType::kAck).cause, MatchCause::kGone);
  }
}

TEST_F(Operations, AThresholdUsedUpRefusesToStart) {
  MdSpec spec = md(0);
  spec.threshold = 1;
  const MdHandle handle = bind(spec);
  const auto send = start(handle, MessageType::kPut);
  ASSERT_TRUE(send.has_value());
  EXPECT_EQ(start(handle, MessageType::kPut).error(), Errc::kNotFound);
  const MatchResult ack = respond(handle, MessageType::kAck);
  EXPECT_EQ(ack.verdict, MatchVerdict::kNoMatch);
  EXPECT_EQ(ack.cause, MatchCause::kExhausted);
  EXPECT_EQ(table.reply_placed(*send, 0).cause, MatchCause::kExhausted);
  finish(*send);
  EXPECT_TRUE(events().back().unlinked);
  EXPECT_EQ(count(Id::kStartRefused), 1U);
  EXPECT_EQ(count(Id::kDropExhausted), 2U);
}

TEST_F(Operations, AnAttachedMdStartsNothingAndGetsNoAnswers) {
  const MdHandle handle = attach(me(), md(kMdPut));
  EXPECT_EQ(start(handle, MessageType::kPut).error(), Errc::kNotFound);
  EXPECT_EQ(respond(handle, MessageType::kAck).cause, MatchCause::kAttached);
  EXPECT_EQ(respond(handle, MessageType::kReply).verdict, MatchVerdict::kNoMatch);
  EXPECT_EQ(count(Id::kDropAttached), 2U);
}

TEST_F(Operations, AnUnlinkedMdStartsNothingAndGetsNoAnswers) {
  const MdHandle handle = bind(md(0));
  const auto send = start(handle, MessageType::kGet);
  ASSERT_TRUE(send.has_value());
  EXPECT_FALSE(table.aborted(*send));
  EXPECT_TRUE(table.unlink(handle).has_value());
  EXPECT_TRUE(table.aborted(*send));
  EXPECT_EQ(start(handle, MessageType::kGet).error(), Errc::kNotFound);
  EXPECT_EQ(respond(handle, MessageType::kReply).cause, MatchCause::kGone);
  finish(*send, std::unexpected(Errc::kCancelled));
  EXPECT_TRUE(events().back().unlinked);
  EXPECT_EQ(events().back().status.error(), Errc::kCancelled);
}

TEST_F(Operations, HandlesOfOthersAndOfEarlierRunsFindNothing) {
  const MdHandle handle = bind(md(0));
  RespondRequest request{.type = MessageType::kAck, .handle = table.wire_handle(handle)};
  request.handle.interface_cookie ^= 1;
  EXPECT_EQ(table.respond(request).cause, MatchCause::kOtherIncarnation);
  request.handle = {};
  EXPECT_EQ(table.respond(request).cause, MatchCause::kOtherIncarnation);
  request.handle = {kTestCookie, 0};
  EXPECT_EQ(table.respond(request).cause, MatchCause::kGone);
  request.handle = table.wire_handle(handle);
  request.handle.object_cookie ^= 2;  // not an MD
  EXPECT_EQ(table.respond(request).cause, MatchCause::kGone);
  MdHandle elsewhere = handle;
  elsewhere.shard = 3;
  request.handle = table.wire_handle(elsewhere);
  EXPECT_EQ(table.respond(request).cause, MatchCause::kGone);
  EXPECT_EQ(count(Id::kDropIncarnation), 2U);
  EXPECT_EQ(count(Id::kDropGone), 3U);
}

TEST_F(Operations, AReplyIsCutOrDroppedIfItIsTooLong) {
  const MdHandle strict = bind(md(0, 10));
  const MdHandle cut = bind(md(kMdTruncate, 10));
  const MatchResult dropped = respond(strict, MessageType::kReply, 11);
  EXPECT_EQ(dropped.verdict, MatchVerdict::kDrop);
  EXPECT_EQ(dropped.cause, MatchCause::kTooLong);
  const MatchResult fits = respond(strict, MessageType::kReply, 10);
  const MatchResult shorter = respond(strict, MessageType::kReply, 3);
  const MatchResult truncated = respond(cut, MessageType::kReply, 11);
  ASSERT_TRUE(fits.matched() && shorter.matched() && truncated.matched());
  EXPECT_EQ(fits.grant.window.length, 10U);
  EXPECT_EQ(shorter.grant.window.length, 3U);
  EXPECT_EQ(shorter.grant.window.offset, 0U);
  EXPECT_EQ(truncated.grant.accepted_length, 10U);
  for (const MatchResult& result : {fits, shorter, truncated})
    finish(result.grant);
  EXPECT_EQ(events().back().kind, EventKind::kReply);
}

TEST_F(Operations, APlacedReplyIsAnOperationOfItsOwn) {
  MdSpec spec = md(0, 100);
  spec.threshold = 2;
  const MdHandle handle = bind(spec);
  const auto send = start(handle, MessageType::kGet);
  ASSERT_TRUE(send.has_value());
  EXPECT_EQ(table.reply_placed(*send, 101).verdict, MatchVerdict::kDrop);
  const MatchResult reply = table.reply_placed(*send, 60);
  ASSERT_TRUE(reply.matched());
  finish(*send);
  EXPECT_FALSE(events().back().unlinked);
  finish(reply.grant);
  EXPECT_EQ(events().back().kind, EventKind::kReply);
  EXPECT_EQ(events().back().accepted_length, 60U);
  EXPECT_TRUE(events().back().unlinked);
}

TEST_F(Operations, AnInfiniteMdStaysUntilItIsUnlinked) {
  const MdHandle handle = bind(md(0));
  for (int i = 0; i < 5; ++i) {
    finish(start(handle, MessageType::kPut).value());
    finish(respond(handle, MessageType::kAck).grant);
  }
  for (const Event& event : events())
    EXPECT_FALSE(event.unlinked);
  EXPECT_TRUE(table.unlink(handle).has_value());
}

// --- Response tracking ---

TEST(ResponseTrackingRule, TheSettingTheOptionsAndLNetItselfDecide) {
  using enum ResponseTracking;
  constexpr auto tracks = [](MessageType type, std::uint32_t options, ResponseTracking setting) {
    return tracks_response(type, options, setting, false);
  };
  for (const MessageType type : {MessageType::kPut, MessageType::kGet}) {
    const bool put = type == MessageType::kPut;
    EXPECT_FALSE(tracks(type, 0, kInternalOnly));
    EXPECT_EQ(tracks(type, 0, kGets), !put);
    EXPECT_EQ(tracks(type, 0, kPuts), put);
    EXPECT_TRUE(tracks(type, 0, kAll));
    EXPECT_TRUE(tracks(type, kMdTrackResponse, kInternalOnly));
    EXPECT_FALSE(tracks(type, kMdNoTrackResponse, kAll));
    EXPECT_FALSE(tracks(type, kMdNoTrackResponse | kMdTrackResponse, kAll));
    EXPECT_TRUE(tracks_response(type, 0, kInternalOnly, true));
    EXPECT_FALSE(tracks_response(type, kMdNoTrackResponse, kInternalOnly, true));
  }
}

TEST_F(Operations, AnAnswerThatDoesNotComeUnlinksTheMd) {
  MdSpec spec = md(0);
  spec.threshold = 2;
  const MdHandle handle = bind(spec);
  const auto send = start(handle, MessageType::kGet, at_ms(100));
  ASSERT_TRUE(send.has_value());
  table.set_next_hop(*send, 5, nid_of(5), nid_of(77));
  finish(*send);
  pass_time(at_ms(99));
  EXPECT_EQ(events().size(), 1U);
  pass_time(at_ms(100));
  ASSERT_EQ(events().size(), 2U);
  EXPECT_EQ(events()[1].kind, EventKind::kUnlink);
  EXPECT_TRUE(events()[1].unlinked);
  ASSERT_EQ(hooks.timeouts.size(), 1U);
  EXPECT_EQ(hooks.timeouts[0].md, handle);
  EXPECT_EQ(hooks.timeouts[0].next_hop.peer_ni, 5U);
  EXPECT_EQ(hooks.timeouts[0].next_hop.nid, nid_of(5));
  EXPECT_EQ(hooks.timeouts[0].next_hop.beyond, nid_of(77));
  EXPECT_TRUE(hooks.given_up.empty()) << "a timeout is no decision of the user";
  EXPECT_EQ(count(Id::kResponseTimeouts), 1U);
  EXPECT_EQ(respond(handle, MessageType::kReply).cause, MatchCause::kGone);
}

TEST_F(Operations, ATimeoutDuringTheRequestEndsWithTheRequest) {
  const MdHandle handle = bind(md(0));
  const auto send = start(handle, MessageType::kGet, at_ms(100));
  ASSERT_TRUE(send.has_value());
  pass_time(at_ms(200));
  EXPECT_TRUE(events().empty());
  EXPECT_EQ(hooks.timeouts.size(), 1U);
  EXPECT_EQ(hooks.timeouts[0].next_hop.peer_ni, kNoPeerNi);
  EXPECT_EQ(outcome_of(*send).error(), Errc::kTimedOut);
  EXPECT_TRUE(events().back().unlinked);
}

TEST_F(Operations, AnAnswerInTimeStopsTheClock) {
  MdSpec spec = md(0);
  spec.threshold = 2;
  const MdHandle handle = bind(spec);
  finish(start(handle, MessageType::kPut, at_ms(100)).value());
  EXPECT_EQ(timers.running(), 1U);
  finish(respond(handle, MessageType::kAck).grant);
  EXPECT_EQ(timers.running(), 0U);
}

TEST_F(Operations, AnExplicitUnlinkStopsTheClock) {
  const MdHandle handle = bind(md(0));
  const auto send = start(handle, MessageType::kGet, at_ms(100));
  EXPECT_TRUE(table.unlink(handle).has_value());
  EXPECT_EQ(timers.running(), 0U);
  finish(*send);
}

TEST_F(Operations, ARequestBeyondAGatewayThatIsGivenUpIsReported) {
  MdSpec spec = md(0);
  spec.threshold = 2;
  const auto request = [&](const Nid& beyond) {
    const MdHandle handle = bind(spec);
    const auto send = start(handle, MessageType::kGet, at_ms(100));
    table.set_next_hop(*send, 5, nid_of(5), beyond);
    finish(*send);
    return handle;
  };
  EXPECT_TRUE(table.unlink(request(Nid::any())).has_value());
  EXPECT_TRUE(hooks.given_up.empty()) << "the next hop is the target";
  const MdHandle answered = request(nid_of(77));
  finish(respond(answered, MessageType::kReply).grant);
  EXPECT_FALSE(table.unlink(answered).has_value());
  EXPECT_TRUE(hooks.given_up.empty());
  EXPECT_TRUE(table.unlink(request(nid_of(77))).has_value());
  EXPECT_EQ(hooks.given_up, std::vector<Nid>{nid_of(77)});
}

TEST_F(Operations, AnInfiniteMdIsTrackedWhileItHasOperations) {
  const MdHandle handle = bind(md(0));
  const auto one = start(handle, MessageType::kPut, at_ms(100));
  const auto two = start(handle, MessageType::kPut, at_ms(200));
  finish(*one);
  pass_time(at_ms(150));  // the later one moved the deadline
  EXPECT_TRUE(hooks.timeouts.empty());
  finish(*two);
  EXPECT_EQ(timers.running(), 0U);
}

TEST_F(Operations, APutThatAsksForNoAckIsNotTracked) {
  const MdHandle handle = bind(md(kMdTrackResponse));
  const auto send = table.start(handle, {.response_deadline = at_ms(100)});
  EXPECT_EQ(timers.running(), 0U);
  finish(*send);
}

TEST_F(Operations, ANewRequestDoesNotInheritANextHop) {
  const MdHandle old = bind(md(0));
  const auto first = start(old, MessageType::kGet, at_ms(100));
  table.set_next_hop(*first, 5, nid_of(5), nid_of(77));
  EXPECT_TRUE(table.unlink(old).has_value());
  finish(*first);
  const MdHandle fresh = bind(md(0));
  ASSERT_EQ(fresh.index, old.index);
  const auto second = start(fresh, MessageType::kGet, at_ms(100));
  pass_time(at_ms(100));
  EXPECT_EQ(hooks.timeouts.at(0).next_hop.peer_ni, kNoPeerNi);
  EXPECT_EQ(hooks.given_up.size(), 1U) << "the first one";
  finish(*second);
}

// --- Quarantine ---

TEST_F(Operations, AQuarantinedMdIsUnlinkedWhenThePeerIsShutOut) {
  MdSpec spec = md(0);
  spec.threshold = 1;
  const MdHandle handle = bind(spec);
  const auto send = start(handle, MessageType::kGet);
  quarantine(*send, Errc::kTimedOut);
  ASSERT_EQ(events().size(), 1U);
  EXPECT_EQ(events()[0].kind, EventKind::kSend);
  EXPECT_EQ(events()[0].status.error(), Errc::kTimedOut);
  EXPECT_FALSE(events()[0].unlinked);
  EXPECT_EQ(count(Id::kQuarantined), 1U);
  EXPECT_EQ(count(Id::kMdsInUse), 1U);
  table.end_quarantine(*send);
  ASSERT_EQ(events().size(), 2U);
  EXPECT_EQ(events()[1].kind, EventKind::kUnlink);
  EXPECT_TRUE(events()[1].unlinked);
  EXPECT_EQ(count(Id::kQuarantined), 0U);
  EXPECT_EQ(count(Id::kMdsInUse), 0U);
}

TEST_F(Operations, UnlinkWaitsForTheQuarantineToEnd) {
  MdSpec spec = md(0);
  spec.threshold = 2;
  const MdHandle handle = bind(spec);
  const auto send = start(handle, MessageType::kGet);
  quarantine(*send, Errc::kIo);
  EXPECT_TRUE(table.unlink(handle).has_value());
  EXPECT_EQ(events().size(), 1U);
  table.end_quarantine(*send);
  ASSERT_EQ(events().size(), 2U);
  EXPECT_EQ(events()[1].kind, EventKind::kUnlink);
  EXPECT_TRUE(events()[1].unlinked);
}

TEST_F(Operations, AnMdThatIsStillWantedOutlivesItsQuarantine) {
  const MdHandle handle = bind(md(0));
  const auto send = start(handle, MessageType::kGet);
  quarantine(*send, Errc::kIo);
  table.end_quarantine(*send);
  EXPECT_EQ(events().size(), 1U);
  const auto again = start(handle, MessageType::kGet);
  ASSERT_TRUE(again.has_value());
  finish(*again);
}

TEST_F(Operations, OperationsThatOutlastAQuarantineSayUnlinked) {
  const MdHandle handle = bind(md(0));
  const auto one = start(handle, MessageType::kGet);
  const auto two = start(handle, MessageType::kGet);
  quarantine(*one, Errc::kIo);
  EXPECT_TRUE(table.unlink(handle).has_value());
  table.end_quarantine(*one);
  EXPECT_EQ(events().size(), 1U);
  finish(*two);
  ASSERT_EQ(events().size(), 2U);
  EXPECT_TRUE(events()[1].unlinked);
  EXPECT_EQ(events()[1].kind, EventKind::kSend);
}

}  // namespace
}  // namespace plnet::lnet::match_operations_test
