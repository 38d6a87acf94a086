// SPDX-License-Identifier: BSD-3-Clause
// Each wait of a message is a state that is counted, timed and shown to the tap.
#include <array>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "tests/unit/lib/lnet/move/forward_rig.hpp"

namespace plnet::lnet::waits_test {
namespace {

constexpr Nid kClient = ForwardRig::client(10);
constexpr Nid kServer = ForwardRig::server(20);
constexpr Duration kSecond = std::chrono::seconds(1);

std::uint64_t count(ShardCore& core, Wait wait, WaitMark mark) {
  return core.waits.counters().value(static_cast<std::size_t>(counter_of(wait, mark)));
}

class Tracer final : public MessageTap {
 public:
  void on_message(const TappedMessage&) override {}
  void on_wait(const TappedWait& wait) override {
    shown.push_back(fmt::format("{}{} {}", wait.over ? "after " : "",
                                kWaitNames[static_cast<std::size_t>(wait.wait)],
                                wait.header.payload_length));
  }
  void end_turn() override {}
  [[nodiscard]] bool wants_payload() const override { return false; }

  std::vector<std::string> shown;
};

struct Rig : ForwardRig {
  explicit Rig(const ForwardSetup& setup) : ForwardRig(setup) {
    for (const Nid& nid : {kClient, kServer})
      node.add_peer(nid, ShardId{0});
    settle();
  }
};

TEST(Waits, AMessageWaitsForAFreeBuffer) {
  Rig rig({.buffers = {{1, 1, 1}}, .tunables = {.peer_buffer_credits = 8}});
  ASSERT_EQ(rig.forward(kClient, kServer, 100, {1, 1}), RxVerdict::kReceive);
  ASSERT_EQ(rig.forward(kClient, kServer, 100, {2, 1}), RxVerdict::kPark);
  EXPECT_EQ(rig.core().waits.waiting(Wait::kBuffer), 1U);
  EXPECT_EQ(count(rig.core(), Wait::kBuffer, WaitMark::kWaited), 0U);
  rig.pass(kSecond);
  rig.end_all();
  EXPECT_EQ(rig.core().waits.waiting(Wait::kBuffer), 0U);
  EXPECT_EQ(count(rig.core(), Wait::kBuffer, WaitMark::kWaited), 1U);
  EXPECT_GE(count(rig.core(), Wait::kBuffer, WaitMark::kTime), 1'000'000U);
  EXPECT_EQ(count(rig.core(), Wait::kBuffer, WaitMark::kTime),
            count(rig.core(), Wait::kBuffer, WaitMark::kLongest));
  rig.expect_conserved();
}

TEST(Waits, AClientCreditAndAHopCreditAreDifferentWaits) {
  Rig rig({.tunables = {.peer_credits = 1, .peer_buffer_credits = 2}});
  for (std::uint32_t i = 1; i <= 3; ++i)
    (void)rig.forward(kClient, kServer, 100, {i, 1});
  EXPECT_EQ(rig.core().waits.waiting(Wait::kClientCredit), 1U) << "the client has two";
  EXPECT_EQ(rig.core().waits.waiting(Wait::kHopCredit), 1U) << "the server has one";
  rig.end_all();
  EXPECT_EQ(count(rig.core(), Wait::kClientCredit, WaitMark::kWaited), 1U);
  EXPECT_EQ(count(rig.core(), Wait::kHopCredit, WaitMark::kWaited), 1U);
  rig.expect_conserved();
}

TEST(Waits, ALostConnectionEndsTheWaitOfItsMessage) {
  Rig rig({.buffers = {{1, 1, 1}}, .tunables = {.peer_buffer_credits = 8}});
  ASSERT_EQ(rig.forward(kClient, kServer, 100, {1, 1}), RxVerdict::kReceive);
  ASSERT_EQ(rig.forward(kClient, kServer, 100, {2, 1}), RxVerdict::kPark);
  rig.port(kClient).on_parked_gone({2, 1}, Errc::kReset);
  EXPECT_EQ(rig.core().waits.waiting(Wait::kBuffer), 0U);
  EXPECT_EQ(count(rig.core(), Wait::kBuffer, WaitMark::kWaited), 1U);
  rig.end_all();
  rig.expect_conserved();
}

TEST(Waits, ATapSeesTheBeginAndTheEndOfAWait) {
  Tracer tracer;
  std::array<TapSlot, 1> slots;
  slots[0].tap = &tracer;
  Rig rig({.buffers = {{1, 1, 1}}, .tunables = {.peer_buffer_credits = 8}, .taps = slots});
  ASSERT_EQ(rig.forward(kClient, kServer, 100, {1, 1}), RxVerdict::kReceive);
  ASSERT_EQ(rig.forward(kClient, kServer, 200, {2, 1}), RxVerdict::kPark);
  EXPECT_EQ(tracer.shown, std::vector<std::string>{"buffer 200"});
  rig.end_all();
  EXPECT_EQ(tracer.shown, (std::vector<std::string>{"buffer 200", "after buffer 200"}));
  rig.expect_conserved();
}

TEST(Waits, OnlyTheStatesOfItsRowMayFollowAState) {
  using enum ReceiveState;
  EXPECT_TRUE(kReceiveTransitions.allow(kArrived, kBufferWait));
  EXPECT_TRUE(kReceiveTransitions.allow(kBufferWait, kResumed));
  EXPECT_FALSE(kReceiveTransitions.allow(kBufferWait, kPayload)) << "its LND is notified first";
  EXPECT_FALSE(kReceiveTransitions.allow(kFree, kPayload));
  EXPECT_FALSE(kSendTransitions.allow(SendState::kHopCreditWait, SendState::kWithLnd));
  EXPECT_FALSE(kSendTransitions.allow(SendState::kQuarantine, SendState::kFree));
}

}  // namespace
}  // namespace plnet::lnet::waits_test
