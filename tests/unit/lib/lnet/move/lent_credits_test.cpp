// SPDX-License-Identifier: BSD-3-Clause
// Credits of the interface that a peer borrows beyond its own, and peers that may not borrow.
#include <cstdint>

#include "tests/unit/lib/lnet/move/held_lnd.hpp"

namespace plnet::lnet::lent_credits_test {
namespace {

struct Lender : HeldNode {
  explicit Lender(const NiTunables& tunables) : HeldNode({.tunables = tunables}) {}

  // It takes one at once, as a borrower must.
  void meet(std::uint32_t peer) {
    put_some(1, peer);
    ASSERT_FALSE(lnds[0]->held.empty());
    lnds[0]->end(held() - 1);
    settle();
  }
  void put_some(unsigned count, std::uint32_t to, std::uint32_t length = 100) {
    const MdHandle md = bind(user, length);
    for (unsigned i = 0; i < count; ++i)
      ASSERT_TRUE(put(md, to, next_bits_++));
    settle();
  }
  void end_all() {
    while (!lnds[0]->held.empty()) {
      lnds[0]->end(0);
      settle();
    }
  }
  [[nodiscard]] std::size_t held() const { return lnds[0]->held.size(); }

  Recorder user;

 private:
  std::uint64_t next_bits_ = 0;
};

TEST(LentCredits, AFastPeerBorrows) {
  Lender rig({.peer_credits = 2, .credits = 64, .lends_credits = true});
  rig.meet(9);
  rig.put_some(5, 9);
  EXPECT_EQ(rig.held(), 5U);
  const PeerPort& peer = rig.peer_port(9);
  EXPECT_EQ(peer.waiting_count, 0U);
  EXPECT_EQ(peer.tx_credits(), -3) << "as if they waited: another path has more";
  EXPECT_EQ(peer.peer_ni->tx_credits.get(), -3);
  EXPECT_EQ(rig.port().tx_credits(), 64 - 5);
  rig.end_all();
  EXPECT_EQ(rig.user.count(EventKind::kSend), 6U);
  EXPECT_EQ(peer.tx_credits(), 2);
  rig.expect_conserved();
}

TEST(LentCredits, ANewPeerDoesNotBorrow) {
  Lender rig({.peer_credits = 2, .credits = 64, .lends_credits = true});
  rig.put_some(5, 9);
  EXPECT_EQ(rig.held(), 2U);
  rig.lnds[0]->end(0);
  rig.settle();
  EXPECT_EQ(rig.held(), 4U) << "it accepts at once: waiting messages leave";
  rig.end_all();
  rig.expect_conserved();
}

TEST(LentCredits, ASlowOrFailingPeerStopsBorrowing) {
  for (const bool fails : {false, true}) {
    Lender rig({.peer_credits = 2, .credits = 64, .lends_credits = true});
    rig.meet(9);
    rig.put_some(1, 9);
    if (!fails) rig.pass(std::chrono::seconds(1));
    if (fails) {
      rig.lnds[0]->end(
          0, {.status = std::unexpected(Errc::kTimedOut), .health = Health::kNetworkTimeout});
    } else {
      rig.lnds[0]->end(0);
    }
    rig.settle();
    rig.put_some(5, 9);
    EXPECT_EQ(rig.held(), 2U);
    EXPECT_EQ(rig.peer_port(9).waiting_count, 3U);
    rig.end_all();
    rig.expect_conserved();
  }
}

constexpr std::uint32_t kLarge = (1U << 14) + 1;

TEST(LentCredits, OnlySmallMessagesBorrow) {
  Lender rig({.peer_credits = 1, .credits = 64, .lends_credits = true});
  rig.meet(9);
  rig.put_some(3, 9, kLarge - 1);
  EXPECT_EQ(rig.held(), 3U);
  rig.end_all();
  rig.put_some(3, 9, kLarge);
  EXPECT_EQ(rig.held(), 1U);
  rig.end_all();
  rig.expect_conserved();
}

TEST(LentCredits, WaitingMessagesAreNotOvertaken) {
  Lender rig({.peer_credits = 1, .credits = 64, .lends_credits = true});
  rig.meet(9);
  rig.put_some(2, 9, kLarge);
  rig.put_some(2, 9);
  ASSERT_EQ(rig.held(), 1U) << "large messages do not borrow, and small ones are behind them";
  for (std::uint64_t bits = 1; bits < 5; ++bits) {
    ASSERT_FALSE(rig.lnds[0]->held.empty());
    EXPECT_EQ(rig.lnds[0]->bits(0), bits);
    rig.lnds[0]->end(0);
    rig.settle();
  }
  EXPECT_EQ(rig.user.count(EventKind::kSend), 5U);
  rig.expect_conserved();
}

TEST(LentCredits, APeerBorrowsAPartOfTheFreeCredits) {
  Lender rig({.peer_credits = 1, .credits = 16, .lends_credits = true});
  for (const std::uint32_t peer : {9U, 10U, 11U})
    rig.meet(peer);
  rig.put_some(16, 9);
  EXPECT_EQ(rig.held(), 3U) << "a fourth would be more than a quarter of the 13 that are left";
  rig.put_some(16, 10);
  EXPECT_EQ(rig.held(), 3U + 2U);
  rig.put_some(16, 11);
  EXPECT_EQ(rig.held(), 3U + 2U + 2U);
  rig.put_some(1, 12);
  EXPECT_EQ(rig.held(), 3U + 2U + 2U + 1U) << "its own credit is not lent away";
  rig.end_all();
  rig.expect_conserved();
}

TEST(LentCredits, PeersWithAConfiguredNumberDoNotBorrow) {
  Lender rig({.peer_credits = 2, .credits = 64});
  rig.meet(9);
  rig.put_some(5, 9);
  EXPECT_EQ(rig.held(), 2U);
  rig.end_all();
  rig.expect_conserved();
}

}  // namespace
}  // namespace plnet::lnet::lent_credits_test
