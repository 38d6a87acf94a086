// SPDX-License-Identifier: BSD-3-Clause
// Failed messages are sent again where another attempt may succeed.
#include <vector>

#include <gtest/gtest.h>

#include "lib/lnet/peers/peer_records.hpp"
#include "tests/unit/lib/lnet/move/held_lnd.hpp"

namespace plnet::lnet::resend_test {
namespace {

constexpr std::uint32_t kPeer = 9;
constexpr std::uint32_t kPeerToo = 10;

class Rig : public HeldNode {
 public:
  explicit Rig(std::vector<Nid> ours, unsigned shards = 1)
      : HeldNode({.shards = shards, .nids = std::move(ours)}) {}

  static std::vector<Nid> two() { return {nid(1), nid(2)}; }

  void make_peer(std::initializer_list<std::uint32_t> addresses) {
    PeerRecord& peer = **node.directory().create(nid(*addresses.begin()), now);
    peer.add_state(kPeerMultiRail);
    for (const std::uint32_t address : addresses)
      ASSERT_TRUE(node.directory().attach(peer, nid(address)));
    node.directory().commit();
  }
  // The one message in flight: our NI and the peer NI.
  struct Held {
    HeldLnd* lnd = nullptr;
    unsigned ni = 0;
    Nid to;
  };
  Held held() {
    Held found;
    for (unsigned ni = 1; ni <= 2; ++ni) {
      for (HeldLnd* const lnd : ni == 1 ? lnds : others) {
        if (lnd == nullptr || lnd->held.empty()) continue;
        EXPECT_EQ(found.lnd, nullptr) << "one at a time";
        found = {lnd, ni, lnd->held[0]->next_hop->nid};
      }
    }
    return found;
  }
  void fail(Health health, Errc code = Errc::kIo) {
    held().lnd->end(0, {.status = std::unexpected(code), .health = health});
    settle();
  }
  void succeed() {
    held().lnd->end(0);
    settle();
  }
};

class Resend : public testing::TestWithParam<unsigned> {};

TEST_P(Resend, LocalFailuresUseTheOtherInterface) {
  for (unsigned origin = 0; origin < GetParam(); ++origin) {
    Rig rig(Rig::two(), GetParam());
    rig.make_peer({kPeer});
    Recorder user;
    ASSERT_TRUE(rig.put(rig.bind(user, 100, origin), kPeer, 1));
    rig.settle();
    const unsigned first = rig.held().ni;
    rig.fail(Health::kLocalDropped);
    ASSERT_NE(rig.held().lnd, nullptr);
    EXPECT_NE(rig.held().ni, first);
    EXPECT_TRUE(user.events.empty());
    rig.succeed();
    EXPECT_TRUE(user.only(EventKind::kSend).status);
    EXPECT_EQ(rig.statistic(Statistic::kResendCount, origin), 1U);
    EXPECT_EQ(rig.statistic(Statistic::kSuccessfulResends, origin), 1U);
    EXPECT_EQ(rig.statistic(Statistic::kLocalDropped, origin), 1U);
    EXPECT_EQ(rig.statistic(Statistic::kSendCount, origin), 1U);
    rig.expect_conserved();
  }
}
INSTANTIATE_TEST_SUITE_P(Shards, Resend, testing::Values(1U, 3U));

TEST(Resending, RemoteDropsUseAnotherPeerInterface) {
  Rig rig({HeldNode::nid(1)});
  rig.make_peer({kPeer, kPeerToo});
  Recorder user;
  ASSERT_TRUE(rig.put(rig.bind(user), kPeer, 1));
  rig.settle();
  const Nid first = rig.held().to;
  rig.fail(Health::kRemoteDropped, Errc::kRefused);
  EXPECT_NE(rig.held().to, first);
  rig.succeed();
  EXPECT_TRUE(user.only(EventKind::kSend).status);
  EXPECT_EQ(rig.node.directory().find(first)->health.get(), kHealthMax - 100);
  rig.expect_conserved();
}

TEST(Resending, EndsAfterSoManyRetries) {
  Rig rig(Rig::two());
  rig.make_peer({kPeer});
  Recorder user;
  ASSERT_TRUE(rig.put(rig.bind(user), kPeer, 1));
  rig.settle();
  for (int attempt = 0; attempt < 3; ++attempt) {
    EXPECT_TRUE(user.events.empty());
    rig.fail(Health::kLocalTimeout);
  }
  EXPECT_EQ(user.only(EventKind::kSend).status.error(), Errc::kIo);
  EXPECT_EQ(rig.statistic(Statistic::kResendCount), 2U);
  EXPECT_EQ(rig.statistic(Statistic::kFailedResends), 1U);
  EXPECT_EQ(rig.statistic(Statistic::kSuccessfulResends), 0U);
  EXPECT_EQ(rig.statistic(Statistic::kLocalTimeout), 3U);
  rig.expect_conserved();
}

TEST(Resending, AnAnswerGoesAgainFromWhereItMust) {
  Rig rig(Rig::two());
  rig.make_peer({kPeer});
  Recorder user;
  (void)rig.attach(user);
  ASSERT_EQ(rig.offer_put(kPeer, {1, 1}, 10, true).verdict, RxVerdict::kReceive);
  rig.port().on_received({1, 1}, {}, Health::kOk);
  rig.settle();
  ASSERT_EQ(rig.held().ni, 1U);
  rig.fail(Health::kLocalDropped);
  EXPECT_EQ(rig.held().ni, 1U);
  EXPECT_EQ(rig.held().lnd->held[0]->header.type, MessageType::kAck);
  rig.succeed();
  rig.expect_conserved();
}

TEST(Resending, ExcludesUnlinkedMessages) {
  Rig rig(Rig::two());
  rig.make_peer({kPeer});
  Recorder user;
  const MdHandle md = rig.bind(user);
  ASSERT_TRUE(rig.put(md, kPeer, 1));
  rig.settle();
  ASSERT_TRUE(rig.node.shard(0).unlink(md));
  rig.fail(Health::kLocalDropped);
  EXPECT_EQ(rig.held().lnd, nullptr);
  EXPECT_EQ(rig.statistic(Statistic::kResendCount), 0U);
  EXPECT_FALSE(user.events.empty());
  rig.expect_conserved();
}

TEST(Resending, HasAFixedLimit) {
  Rig rig(Rig::two());
  rig.node.shared().parameters.retry_count.set(1000);
  rig.make_peer({kPeer});
  Recorder user;
  ASSERT_TRUE(rig.put(rig.bind(user), kPeer, 1));
  rig.settle();
  for (std::uint32_t attempt = 0; attempt <= kRetriesMax; ++attempt) {
    ASSERT_TRUE(user.events.empty());
    rig.fail(Health::kLocalTimeout);
  }
  EXPECT_EQ(user.only(EventKind::kSend).status.error(), Errc::kIo);
  rig.expect_conserved();
}

TEST(Resending, IsForFailuresThatAnotherAttemptMayEscape) {
  const auto goes_again = [](std::vector<Nid> ours, Health health, Errc code, Duration after = {}) {
    Rig rig(std::move(ours));
    rig.make_peer({kPeer});
    Recorder user;
    EXPECT_TRUE(rig.put(rig.bind(user), kPeer, 1));
    rig.settle();
    if (after > Duration{}) rig.pass(after);
    rig.fail(health, code);
    const bool again = rig.held().lnd != nullptr;
    EXPECT_EQ(user.events.empty(), again);
    if (again) rig.succeed();
    rig.expect_conserved();
    return again;
  };
  EXPECT_TRUE(goes_again(Rig::two(), Health::kLocalDropped, Errc::kIo));
  EXPECT_FALSE(goes_again({HeldNode::nid(1)}, Health::kLocalDropped, Errc::kIo)) << "the only path";
  EXPECT_FALSE(goes_again(Rig::two(), Health::kRemoteDropped, Errc::kRefused)) << "the peer's";
  EXPECT_FALSE(goes_again(Rig::two(), Health::kLocalError, Errc::kIo));
  EXPECT_FALSE(goes_again(Rig::two(), Health::kNetworkTimeout, Errc::kTimedOut));
  EXPECT_FALSE(goes_again(Rig::two(), Health::kLocalAborted, Errc::kShutdown)) << "taken away";
  EXPECT_FALSE(goes_again(Rig::two(), Health::kLocalDropped, Errc::kIo, std::chrono::seconds(152)))
      << "past its deadline";
}

}  // namespace
}  // namespace plnet::lnet::resend_test
