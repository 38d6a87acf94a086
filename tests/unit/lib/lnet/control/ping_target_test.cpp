// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/control/ping_target.hpp"

#include <gtest/gtest.h>

#include "lib/lnet/control/push_target.hpp"
#include "tests/unit/lib/lnet/control/test_node.hpp"

namespace plnet::lnet::ping_target_test {
namespace {

using Id = PingTargetTable::Id;

// Descriptors whose events the test delivers.
class HeldOperations final : public DataOperations {
 public:
  struct Md {
    MdHandle handle;
    MdSpec spec;
    MeSpec me;
    bool unlinked = false;
  };
  [[nodiscard]] Result<Attached> attach(const MeSpec& me, const MdSpec& md) override {
    if (refuse) return std::unexpected(Errc::kNoMemory);
    const auto index = static_cast<std::uint32_t>(mds.size());
    mds.push_back({.handle = {index, 1, 0}, .spec = md, .me = me});
    return Attached{.me = {index, 1, 0}, .md = {index, 1, 0}};
  }
  [[nodiscard]] Result<MdHandle> bind(const MdSpec& /*md*/) override {
    return std::unexpected(Errc::kNoMemory);
  }
  Result<void> unlink(MdHandle md) override {
    mds[md.index].unlinked = true;
    return {};
  }
  Result<void> unlink(MeHandle /*me*/) override { return {}; }
  Result<void> put(MdHandle /*md*/, const PutSpec& /*put*/) override { return {}; }
  Result<void> get(MdHandle /*md*/, const GetSpec& /*get*/) override { return {}; }
  [[nodiscard]] ShardId shard() const override { return 0; }

  void tell(std::size_t index, Event event) {
    event.user = mds[index].spec.user;
    mds[index].spec.handler->on_event(event);
  }

  std::vector<Md> mds;
  bool refuse = false;
};

class PingTargetTest : public ::testing::Test {
 protected:
  [[nodiscard]] PingView seen() const {
    const auto view = PingView::parse(target_.bytes());
    EXPECT_TRUE(view);
    return *view;
  }
  [[nodiscard]] std::vector<PingEntry> entries() const {
    std::vector<PingEntry> all;
    const PingView view = seen();
    auto walk = view.walk();
    while (const auto entry = walk.next())
      all.push_back(*entry);
    return all;
  }
  // The memory of the last descriptor.
  [[nodiscard]] std::span<const std::byte> served() const {
    const Fragment& fragment = operations_.mds.back().spec.fragments[0];
    return std::span(memory_).subspan(fragment.at.offset - 128, fragment.length);
  }

  HeldOperations operations_;
  std::vector<std::byte> memory_ =
      std::vector<std::byte>(PingTarget::kBuffers * std::size_t{kPingSlotBytes});
  PingTarget target_{operations_, {.at = {.arena = 3, .offset = 128}, .bytes = memory_}};
  const std::vector<PingEntry> two_{{nid("10.0.0.1@tcp"), kNiUp}, {nid("1@kfi"), kNiDown}};
};

TEST_F(PingTargetTest, IsAttachedAsTheKernelsIs) {
  ASSERT_TRUE(target_.set_interfaces(two_));
  ASSERT_EQ(operations_.mds.size(), 1U);
  const auto& md = operations_.mds[0];
  EXPECT_EQ(md.me.portal, 0U);
  EXPECT_EQ(md.me.match_bits, 0x8000'0000'0000'0000U);
  EXPECT_EQ(md.me.ignore_bits, 0U);
  EXPECT_TRUE(md.me.match.nid.is_any());
  EXPECT_EQ(md.me.match.pid, kPidAny);
  EXPECT_EQ(md.spec.options, kMdGet | kMdTruncate | kMdManageRemote);
  EXPECT_EQ(md.spec.threshold, kThresholdInfinite);
  EXPECT_EQ(md.spec.length, 16U + 3 * 16);
  EXPECT_EQ(md.spec.fragments[0].at.arena, 3U);
  EXPECT_TRUE(std::ranges::equal(served(), target_.bytes()));
}

TEST_F(PingTargetTest, FeaturesFollowTheParameters) {
  ASSERT_TRUE(target_.set_interfaces(two_));
  EXPECT_EQ(seen().features(), 0x1eU);
  EXPECT_TRUE(target_.set_routing(true));
  EXPECT_EQ(seen().features(), 0x1aU);
  EXPECT_TRUE(target_.set_discovery(false));
  EXPECT_EQ(seen().features(), 0x0aU);
  EXPECT_FALSE(target_.set_discovery(false));
  EXPECT_TRUE(target_.set_routing(false));
  EXPECT_EQ(seen().features(), 0x0eU);
  EXPECT_EQ(seen().sequence(), 1U) << "in place";
  ASSERT_TRUE(target_.set_interfaces(two_));
  EXPECT_EQ(seen().features(), 0x0eU) << "a new buffer has them, too";
  EXPECT_EQ(seen().sequence(), 2U);
}

TEST_F(PingTargetTest, LargeNidsHaveTheirFeatures) {
  const std::vector<PingEntry> mixed{{nid("10.0.0.1@tcp"), kNiUp}, {nid("fd00::1@tcp"), kNiUp}};
  ASSERT_TRUE(target_.set_interfaces(mixed));
  EXPECT_EQ(seen().features(), 0x3eU);
  const std::vector<PingEntry> large{{nid("fd00::1@tcp"), kNiDown}, {nid("10.0.0.1@tcp"), kNiUp}};
  ASSERT_TRUE(target_.set_interfaces(large));
  EXPECT_EQ(seen().features(), 0x7eU);
  EXPECT_EQ(seen().primary(), nid("fd00::1@tcp"));
  EXPECT_EQ(operations_.mds.back().spec.length, seen().total_bytes());
  EXPECT_TRUE(target_.set_status(nid("fd00::1@tcp"), kNiUp));
  EXPECT_EQ(entries()[1].status, kNiUp);
  EXPECT_TRUE(target_.set_discovery(false));
  EXPECT_EQ(seen().features(), 0x6eU);
}

TEST_F(PingTargetTest, AStatusChangesInPlace) {
  ASSERT_TRUE(target_.set_interfaces(two_));
  EXPECT_TRUE(target_.set_status(two_[0].nid, kNiDown));
  EXPECT_FALSE(target_.set_status(two_[0].nid, kNiDown)) << "no news";
  EXPECT_FALSE(target_.set_status(nid("10.9.9.9@tcp"), kNiDown));
  EXPECT_EQ(entries()[0].status, kNiDown);
  EXPECT_EQ(seen().sequence(), 1U);
  EXPECT_EQ(operations_.mds.size(), 1U);
}

TEST_F(PingTargetTest, ABufferWithRepliesInFlightIsUnchanged) {
  ASSERT_TRUE(target_.set_interfaces(two_));
  const auto first = target_.bytes();
  const std::vector<std::byte> before(first.begin(), first.end());
  for (std::uint32_t n = 0; n < 10; ++n) {
    const std::vector<PingEntry> one{{Nid::of(NetType::kTcp, 0, n + 1), kNiUp}};
    ASSERT_TRUE(target_.set_interfaces(one));
    EXPECT_TRUE(std::ranges::equal(first, before));
  }
  EXPECT_EQ(operations_.mds.size(), PingTarget::kBuffers);
  EXPECT_EQ(target_.sequence(), PingTarget::kBuffers);
  EXPECT_GT(target_.counters().get(Id::kPutOff), 0U);
  EXPECT_FALSE(target_.step());
  operations_.tell(1, {.kind = EventKind::kUnlink, .unlinked = true});
  EXPECT_TRUE(target_.step());
  EXPECT_FALSE(target_.step()) << "once";
  EXPECT_EQ(entries()[0].nid, Nid::of(NetType::kTcp, 0, 10)) << "the latest report";
  EXPECT_EQ(target_.sequence(), PingTarget::kBuffers + 1);
  EXPECT_TRUE(std::ranges::equal(first, before));
}

TEST_F(PingTargetTest, TheOldDescriptorGoesAfterTheNewOneHasCome) {
  ASSERT_TRUE(target_.set_interfaces(two_));
  ASSERT_TRUE(target_.set_interfaces(two_));
  EXPECT_TRUE(operations_.mds[0].unlinked);
  EXPECT_FALSE(operations_.mds[1].unlinked);
}

TEST_F(PingTargetTest, WithoutADescriptorTheOldBufferStays) {
  ASSERT_TRUE(target_.set_interfaces(two_));
  operations_.refuse = true;
  EXPECT_EQ(target_.set_interfaces(std::span(two_).first(1)).error(), Errc::kNoMemory);
  EXPECT_EQ(entries().size(), 2U);
  EXPECT_EQ(target_.sequence(), 1U);
  operations_.refuse = false;
  EXPECT_TRUE(target_.step());
  EXPECT_EQ(entries().size(), 1U);
}

TEST_F(PingTargetTest, ThereIsALimit) {
  std::vector<PingEntry> many;
  for (std::uint32_t n = 0; n < kNisMax; ++n)
    many.push_back({Nid::of(NetType::kTcp, 0, n + 1), kNiUp});
  EXPECT_EQ(target_.set_interfaces(many).error(), Errc::kTooBig);
  many.pop_back();
  EXPECT_TRUE(target_.set_interfaces(many));
}

TEST_F(PingTargetTest, PingsAreCounted) {
  ASSERT_TRUE(target_.set_interfaces(two_));
  operations_.tell(0, {.kind = EventKind::kGet});
  EXPECT_EQ(target_.counters().get(Id::kAnswered), 1U);
}

class PushTargetTest : public ::testing::Test, public PushReader {
 protected:
  void on_push(const Event& /*event*/, std::span<const std::byte> bytes) override {
    heard_.push_back(bytes.size());
  }

  HeldOperations operations_;
  std::vector<std::byte> memory_ = std::vector<std::byte>(kPingSlotBytes);
  PushTarget target_{operations_, *this, {.at = {.arena = 3, .offset = 0}, .bytes = memory_}};
  std::vector<std::size_t> heard_;
};

TEST_F(PushTargetTest, IsPostedForOnePushAndPostedAgain) {
  ASSERT_TRUE(target_.step());
  ASSERT_TRUE(target_.step());
  ASSERT_EQ(operations_.mds.size(), 1U);
  const auto& md = operations_.mds[0];
  EXPECT_EQ(md.spec.options, kMdPut | kMdTruncate);
  EXPECT_EQ(md.spec.threshold, 1);
  EXPECT_TRUE(md.spec.unlink_when_exhausted);
  EXPECT_EQ(md.spec.length, 272U);
  EXPECT_EQ(md.me.match_bits, kPingMatchBits);
  operations_.tell(0, {.kind = EventKind::kPut, .unlinked = true, .accepted_length = 48});
  EXPECT_EQ(heard_, std::vector<std::size_t>{48});
  EXPECT_FALSE(target_.posted());
  ASSERT_TRUE(target_.step());
  EXPECT_EQ(operations_.mds.size(), 2U);
}

TEST_F(PushTargetTest, GrowsWhenItHasComeBackAndNeverBeyondItsMemory) {
  ASSERT_TRUE(target_.step());
  target_.grow(1000);
  ASSERT_TRUE(target_.step());
  ASSERT_TRUE(target_.step());
  EXPECT_TRUE(operations_.mds[0].unlinked);
  EXPECT_EQ(operations_.mds.size(), 1U) << "it may still be written to";
  operations_.tell(0, {.kind = EventKind::kUnlink, .unlinked = true});
  ASSERT_TRUE(target_.step());
  EXPECT_EQ(operations_.mds[1].spec.length, 1000U);
  target_.grow(500);
  target_.grow(1U << 30);
  EXPECT_EQ(target_.length(), kPingSlotBytes);
}

TEST_F(PushTargetTest, IsTriedAgainWhenThereWasNoDescriptor) {
  operations_.refuse = true;
  EXPECT_FALSE(target_.step());
  operations_.refuse = false;
  EXPECT_TRUE(target_.step());
  EXPECT_TRUE(target_.posted());
  target_.close();
  EXPECT_TRUE(operations_.mds[0].unlinked);
  operations_.tell(0, {.kind = EventKind::kUnlink, .unlinked = true});
  EXPECT_TRUE(target_.step());
  EXPECT_FALSE(target_.posted());
}

}  // namespace
}  // namespace plnet::lnet::ping_target_test
