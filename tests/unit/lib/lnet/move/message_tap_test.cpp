// SPDX-License-Identifier: BSD-3-Clause
// A tap sees each message once for each interface that it passes, and each drop with its cause.
#include <array>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/lib/lnet/move/kept_rig.hpp"

namespace plnet::lnet::message_tap_test {
namespace {

using kept::KeptRig;
constexpr Nid kClient = AcquaintedRig::kClient;
constexpr Nid kServer = AcquaintedRig::kServer;
constexpr Nid kIn = ForwardRig::client(ForwardRig::kRouter);
constexpr Nid kOut = ForwardRig::server(ForwardRig::kRouter);

class Listener final : public MessageTap {
 public:
  struct Shown {
    TapWay way;
    Cause cause;
    Nid interface;
    Nid hop;
    MessageType type;
    std::uint32_t payload;
  };

  void on_message(const TappedMessage& message) override {
    shown.push_back({message.way, message.cause, message.interface, message.hop,
                     message.header.type, message.payload.length});
  }
  void end_turn() override { shown_at_end_of_turn = shown.size(); }
  [[nodiscard]] bool wants_payload() const override { return payloads; }

  bool payloads = true;
  std::vector<Shown> shown;
  std::size_t shown_at_end_of_turn = 0;
};

struct Tapped {
  Tapped() { slots[0].tap = &listener; }

  Listener listener;
  std::array<TapSlot, 1> slots;
};

TEST(MessageTap, ShowsBothLegsOfForwardedMessage) {
  Tapped tapped;
  AcquaintedRig rig({.taps = tapped.slots});
  ASSERT_EQ(rig.forward(kClient, kServer, 100, {1, 1}), RxVerdict::kReceive);
  const auto& shown = tapped.listener.shown;
  ASSERT_EQ(shown.size(), 2U);
  EXPECT_EQ(shown[0].way, TapWay::kReceived);
  EXPECT_EQ(shown[0].interface, kIn);
  EXPECT_EQ(shown[0].hop, kClient);
  EXPECT_EQ(shown[0].payload, 100U);
  EXPECT_EQ(shown[1].way, TapWay::kSent);
  EXPECT_EQ(shown[1].interface, kOut);
  EXPECT_EQ(shown[1].hop, kServer);
  EXPECT_EQ(shown[1].payload, 100U);
  rig.settle();
  EXPECT_EQ(tapped.listener.shown_at_end_of_turn, shown.size());
  rig.end_all();
  rig.expect_conserved();
}

TEST(MessageTap, ShowsNothingBeforePayloadIsThere) {
  Tapped tapped;
  AcquaintedRig rig({.taps = tapped.slots});
  ASSERT_EQ(rig.offer(kClient, kServer, 100, {1, 1}).verdict, RxVerdict::kReceive);
  rig.settle();
  EXPECT_TRUE(tapped.listener.shown.empty());
  rig.received(kClient, {1, 1}, std::unexpected(Errc::kReset));
  ASSERT_EQ(tapped.listener.shown.size(), 1U);
  EXPECT_EQ(tapped.listener.shown[0].way, TapWay::kDropped);
  EXPECT_EQ(tapped.listener.shown[0].cause, Cause::kReceiveFailed);
  EXPECT_EQ(tapped.listener.shown[0].payload, 0U);
  rig.end_all();
  rig.expect_conserved();
}

TEST(MessageTap, ShowsDropsWithTheirCounters) {
  Tapped tapped;
  AcquaintedRig rig({.buffers = {{1, 1, 0}}, .taps = tapped.slots});
  const Nid nowhere = Nid::of(NetType::kTcp, 9, 1);
  EXPECT_EQ(rig.forward(kClient, nowhere, 10, {1, 1}), RxVerdict::kDrop);
  EXPECT_EQ(rig.forward(kClient, kServer, 5000, {2, 1}), RxVerdict::kDrop);
  EXPECT_EQ(rig.offer(kClient, kServer, 10, {3, 1}, MessageType::kGet).verdict, RxVerdict::kReject);
  const auto& shown = tapped.listener.shown;
  ASSERT_EQ(shown.size(), 3U);
  const std::array causes{Cause::kDroppedForwardNoPath, Cause::kDroppedNoBuffers,
                          Cause::kRejectedGetPayload};
  for (std::size_t i = 0; i < shown.size(); ++i) {
    EXPECT_EQ(shown[i].way, TapWay::kDropped);
    EXPECT_EQ(shown[i].cause, causes[i]);
    EXPECT_EQ(shown[i].interface, kIn);
    EXPECT_EQ(shown[i].hop, kClient);
    EXPECT_EQ(rig.cause(causes[i]), 1U);
  }
  rig.expect_conserved();
}

TEST(MessageTap, MayComeAndGoWhileMessagesFlow) {
  Tapped tapped;
  AcquaintedRig rig({.taps = tapped.slots});
  tapped.slots[0].tap = nullptr;
  ASSERT_EQ(rig.offer(kClient, kServer, 100, {1, 1}).verdict, RxVerdict::kReceive);
  tapped.slots[0].tap = &tapped.listener;
  rig.received(kClient, {1, 1});
  tapped.slots[0].tap = nullptr;
  rig.settle();
  EXPECT_EQ(tapped.listener.shown.size(), 1U);
  rig.end_all();
  rig.expect_conserved();
}

TEST(MessageTap, LeavesPayloadsWithLndUnlessItWantsThem) {
  Tapped tapped;
  tapped.listener.payloads = false;
  KeptRig rig({.taps = tapped.slots});
  EXPECT_TRUE(rig.offer(kClient, kServer, 100, {1, 1}).may_keep);
  tapped.listener.payloads = true;
  EXPECT_FALSE(rig.offer(kClient, kServer, 100, {2, 1}).may_keep);
  rig.received(kClient, {1, 1});
  rig.received(kClient, {2, 1});
  rig.settle();
  rig.end_all();
  rig.expect_conserved();
}

}  // namespace
}  // namespace plnet::lnet::message_tap_test
