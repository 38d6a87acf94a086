// SPDX-License-Identifier: BSD-3-Clause
// The lifetime of MDs: creation, use and end.
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/lib/lnet/match/fixture.hpp"

namespace plnet::lnet::descriptors_test {
namespace {

using Descriptors = MatchTest;
using Id = MatchCounters::Id;

TEST_F(Descriptors, PassiveOnesNeedAnOperationAndActiveOnesHaveNone) {
  EXPECT_EQ(table.attach(me(), md(0)).error(), Errc::kInvalid);
  EXPECT_EQ(table.attach(me(), md(kMdTruncate)).error(), Errc::kInvalid);
  EXPECT_EQ(table.bind(md(kMdPut)).error(), Errc::kInvalid);
  EXPECT_EQ(table.bind(md(kMdGet | kMdTruncate)).error(), Errc::kInvalid);
  EXPECT_TRUE(table.bind(md(kMdTruncate)).has_value());
}

TEST_F(Descriptors, LengthsAndFragmentsAreChecked) {
  EXPECT_TRUE(table.bind(md(0, kPayloadBytesMax)).has_value());
  EXPECT_EQ(table.bind(md(0, kPayloadBytesMax + 1)).error(), Errc::kInvalid);
  EXPECT_TRUE(table.attach(me(), md(kMdPut, kPayloadBytesMax + 1)).has_value());
  EXPECT_EQ(table.attach(me(), md(kMdPut, kMemoryBytes + 1)).error(), Errc::kInvalid);

  MdSpec sized = md(kMdPut | kMdMaxSize, 100);
  sized.max_size = 101;
  EXPECT_EQ(table.attach(me(), sized).error(), Errc::kInvalid);
  sized.max_size = 100;
  EXPECT_TRUE(table.attach(me(), sized).has_value());

  const std::vector<Fragment> many(kFragmentsMax + 1, Fragment{{0, 0}, 1});
  MdSpec scattered = md(0, 1);
  scattered.fragments = many;
  EXPECT_EQ(table.bind(scattered).error(), Errc::kInvalid);
  scattered.fragments = std::span(many).first(kFragmentsMax);
  EXPECT_TRUE(table.bind(scattered).has_value());
  scattered.length = kFragmentsMax + 1;
  EXPECT_EQ(table.bind(scattered).error(), Errc::kInvalid);

  MdSpec threshold = md(0);
  threshold.threshold = -2;
  EXPECT_EQ(table.bind(threshold).error(), Errc::kInvalid);
}

TEST_F(Descriptors, TheFirstAttachDecidesTheKindOfAPortal) {
  MeSpec unique = me(1);
  unique.match = {nid_of(1), kLustrePid};
  std::ignore = attach(unique, md(kMdPut));
  EXPECT_EQ(table.attach(me(1), md(kMdPut)).error(), Errc::kNotPermitted);
  MeSpec any_pid = unique;
  any_pid.match.pid = kPidAny;
  EXPECT_EQ(table.attach(any_pid, md(kMdPut)).error(), Errc::kNotPermitted);
  MeSpec ignoring = unique;
  ignoring.ignore_bits = 1;
  EXPECT_EQ(table.attach(ignoring, md(kMdPut)).error(), Errc::kNotPermitted);
  unique.match_bits = 2;
  std::ignore = attach(unique, md(kMdPut));
  unique.portal = kPortalsMax;
  EXPECT_EQ(table.attach(unique, md(kMdPut)).error(), Errc::kInvalid);
}

TEST_F(Descriptors, ARefusedMdLeavesThePortalOpen) {
  MeSpec unique = me(1);
  unique.match = {nid_of(1), kLustrePid};
  EXPECT_FALSE(table.attach(unique, md(0)).has_value());
  EXPECT_EQ(portals.kind(4), PortalKind::kUnset);
}

TEST_F(Descriptors, TheirNumberIsBounded) {
  std::vector<MdHandle> bound;
  bound.reserve(64);
  for (int i = 0; i < 64; ++i)
    bound.push_back(bind(md(0)));
  EXPECT_EQ(table.bind(md(0)).error(), Errc::kNoMemory);
  EXPECT_EQ(table.attach(me(), md(kMdPut)).error(), Errc::kNoMemory);
  EXPECT_EQ(count(Id::kMdsInUse), 64U);
  EXPECT_EQ(count(Id::kNoDescriptor), 2U);
  EXPECT_TRUE(table.unlink(bound[17]).has_value());
  EXPECT_TRUE(table.bind(md(0)).has_value());
}

TEST_F(Descriptors, ThresholdUsedUpUnlinksWithTheLastOperationsEvent) {
  MdSpec twice = md(kMdPut);
  twice.threshold = 2;
  const Attached both = attach_both(me(), twice);
  const MatchResult one = table.match(put(1));
  EXPECT_EQ(portals.entries(4, kShard), 1U);
  const MatchResult two = table.match(put(1));
  ASSERT_TRUE(one.matched() && two.matched());
  // It matches nothing and no handle finds it, though both are still under way.
  EXPECT_EQ(portals.entries(4, kShard), 0U);
  EXPECT_FALSE(table.match(put(1)).matched());
  EXPECT_EQ(table.unlink(both.md).error(), Errc::kNotFound);
  EXPECT_EQ(table.unlink(both.me).error(), Errc::kNotFound);
  EXPECT_EQ(count(Id::kMdsInUse), 1U);
  // The operation that ends last reports the unlink.
  EXPECT_TRUE(outcome_of(two.grant).has_value());
  EXPECT_FALSE(events().back().unlinked);
  EXPECT_TRUE(outcome_of(one.grant).has_value());
  EXPECT_TRUE(events().back().unlinked);
  EXPECT_TRUE(events().back().status.has_value());
  EXPECT_EQ(count(Id::kMdsInUse), 0U);
}

TEST_F(Descriptors, TooLittleRoomForMaxSizeUsesItUp) {
  MdSpec spec = md(kMdPut | kMdMaxSize, 100);
  spec.max_size = 40;
  std::ignore = attach(me(), spec);
  finish(table.match(put(40)).grant);
  EXPECT_FALSE(events().back().unlinked);
  finish(table.match(put(21)).grant);
  EXPECT_TRUE(events().back().unlinked);
  EXPECT_EQ(table.match(put(1)).cause, MatchCause::kNoEntry);
}

TEST_F(Descriptors, AFullMdWithoutMaxSizeAcceptsEmptyMessages) {
  std::ignore = attach(me(), md(kMdPut, 10));
  finish(table.match(put(10)).grant);
  EXPECT_FALSE(events().back().unlinked);
  EXPECT_EQ(table.match(put(1)).cause, MatchCause::kTooLong);
  finish(table.match(put(0)).grant);
}

TEST_F(Descriptors, AThresholdOfZeroIsUsedUpFromTheStart) {
  MdSpec none = md(kMdPut);
  none.threshold = 0;
  const MdHandle handle = attach(me(), none);
  EXPECT_FALSE(table.match(put(1)).matched());
  EXPECT_TRUE(table.unlink(handle).has_value());
}

TEST_F(Descriptors, AnEntryThatIsKeptMatchesNothingAndIsUnlinkedByItself) {
  MeSpec kept = me();
  kept.unlink_with_md = false;
  const Attached both = attach_both(kept, md(kMdPut));
  EXPECT_TRUE(table.unlink(both.md).has_value());
  EXPECT_EQ(count(Id::kMesInUse), 1U);
  EXPECT_EQ(portals.entries(4, kShard), 0U);
  EXPECT_FALSE(table.match(put(1)).matched());
  EXPECT_TRUE(table.unlink(both.me).has_value());
  EXPECT_EQ(count(Id::kMesInUse), 0U);
  EXPECT_EQ(events().size(), 1U);
  EXPECT_EQ(table.unlink(both.me).error(), Errc::kNotFound);
}

TEST_F(Descriptors, UnlinkWithoutOperationsIsReportedAtOnce) {
  MdSpec spec = md(kMdPut | kMdTruncate);
  spec.user = &spec;
  const MdHandle handle = attach(me(), spec);
  EXPECT_TRUE(table.unlink(handle).has_value());
  ASSERT_EQ(events().size(), 1U);
  const Event& event = events()[0];
  EXPECT_EQ(event.kind, EventKind::kUnlink);
  EXPECT_TRUE(event.unlinked);
  EXPECT_TRUE(event.status.has_value());
  EXPECT_EQ(event.md, handle);
  EXPECT_EQ(event.user, &spec);
  EXPECT_EQ(event.md_options, kMdPut | kMdTruncate);
  EXPECT_EQ(table.unlink(handle).error(), Errc::kNotFound);
}

TEST_F(Descriptors, UnlinkIsReportedByTheLastOperation) {
  const MdHandle handle = attach(me(), md(kMdPut));
  const MatchResult one = table.match(put(1));
  const MatchResult two = table.match(put(1));
  EXPECT_TRUE(table.unlink(handle).has_value());
  EXPECT_TRUE(events().empty());
  EXPECT_TRUE(table.aborted(one.grant));
  EXPECT_FALSE(table.match(put(1)).matched());
  EXPECT_EQ(table.unlink(handle).error(), Errc::kNotFound);

  // A success becomes an error and is not acknowledged; an error stays as it is.
  EXPECT_EQ(outcome_of(one.grant).error(), Errc::kTimedOut);
  EXPECT_FALSE(events().back().unlinked);
  EXPECT_EQ(outcome_of(two.grant, std::unexpected(Errc::kIo)).error(), Errc::kIo);
  EXPECT_TRUE(events().back().unlinked);
  EXPECT_EQ(events().size(), 2U);
  EXPECT_EQ(count(Id::kEndedAborted), 1U);
}

TEST_F(Descriptors, UnlinkOfTheEntryUnlinksItsMdEvenIfItWasToBeKept) {
  MeSpec kept = me();
  kept.unlink_with_md = false;
  const Attached both = attach_both(kept, md(kMdPut));
  const MatchResult result = table.match(put(1));
  EXPECT_TRUE(table.unlink(both.me).has_value());
  EXPECT_EQ(count(Id::kMesInUse), 0U);
  EXPECT_EQ(outcome_of(result.grant).error(), Errc::kTimedOut);
  EXPECT_TRUE(events().back().unlinked);
}

TEST_F(Descriptors, WithoutAHandlerEverythingElseIsTheSame) {
  MdSpec silent = md(kMdPut);
  silent.handler = nullptr;
  const MdHandle handle = attach(me(), silent);
  const MatchResult result = table.match(put(1));
  EXPECT_TRUE(table.unlink(handle).has_value());
  // As in the kernel, which searches for aborted MDs only with an event handler.
  EXPECT_TRUE(outcome_of(result.grant).has_value());
  EXPECT_EQ(count(Id::kMdsInUse), 0U);
  EXPECT_EQ(count(Id::kEvents), 0U);
}

TEST_F(Descriptors, AHandleOfAReusedMdFindsNothing) {
  const MdHandle old = bind(md(0));
  EXPECT_TRUE(table.unlink(old).has_value());
  const MdHandle fresh = bind(md(0));
  EXPECT_EQ(fresh.index, old.index);
  EXPECT_NE(fresh.generation, old.generation);
  EXPECT_EQ(table.unlink(old).error(), Errc::kNotFound);
  EXPECT_EQ(start(old, MessageType::kPut).error(), Errc::kNotFound);
  EXPECT_EQ(respond(old, MessageType::kAck).cause, MatchCause::kGone);
  EXPECT_TRUE(table.unlink(fresh).has_value());
  EXPECT_EQ(table.unlink(MdHandle{}).error(), Errc::kNotFound);
  EXPECT_EQ(table.unlink(MdHandle{.index = 1000, .generation = 1, .shard = kShard}).error(),
            Errc::kNotFound);
  // The handle that a free MD would get next is invalid as well.
  EXPECT_EQ(table.unlink(MdHandle{fresh.index, fresh.generation + 1, kShard}).error(),
            Errc::kNotFound);
}

TEST_F(Descriptors, HandlersMayUnlinkAndBindInsideAnEvent) {
  const MdHandle handle = attach(me(), md(kMdPut));
  recorder.also = [&](const Event& event) {
    if (event.kind == EventKind::kPut) {
      EXPECT_TRUE(table.unlink(event.md).has_value());
    }
    EXPECT_TRUE(table.bind({.length = 0}).has_value());
  };
  finish(table.match(put(1)).grant);
  ASSERT_EQ(events().size(), 2U);
  EXPECT_EQ(events()[1].kind, EventKind::kUnlink);
  EXPECT_EQ(events()[1].md, handle);
}

TEST_F(Descriptors, ALazyPortalReportsANewEntry) {
  std::ignore = attach(me(), md(kMdPut));
  EXPECT_TRUE(hooks.lazy.empty());
  portals.set_lazy(4, true);
  std::ignore = attach(me(), md(kMdPut));
  EXPECT_EQ(hooks.lazy, std::vector<PortalId>{4});
  EXPECT_EQ(table.match(get(1)).verdict, MatchVerdict::kNoMatch);
}

using DescriptorsDeath = MatchTest;

TEST_F(DescriptorsDeath, AGrantEndsOnce) {
  std::ignore = attach(me(), md(kMdPut));
  const MatchResult result = table.match(put(1));
  finish(result.grant);
  EXPECT_DEATH(finish(result.grant), "ended twice");
}

}  // namespace
}  // namespace plnet::lnet::descriptors_test
