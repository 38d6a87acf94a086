// SPDX-License-Identifier: BSD-3-Clause
#include "node/admin/peer_changes.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "lib/lnet/peers/settable_state.hpp"
#include "tests/unit/node/admin/small_node.hpp"

namespace plnet::node::peer_changes_test {
namespace {

using Progress = LnetDesk::Progress;

constexpr Duration kBound = std::chrono::seconds(1);

TEST(PeerChanges, APeerThatCannotBeMadeWholeIsNotMadeAtAll) {
  StillNode still;
  const lnet::PeerConfig first{.primary = nid_of("10.0.0.5@tcp"),
                               .nids = {nid_of("10.0.0.5@tcp"), nid_of("10.0.0.6@tcp")}};
  const lnet::PeerConfig second{.primary = nid_of("10.0.0.7@tcp"),
                                .nids = {nid_of("10.0.0.7@tcp"), nid_of("10.0.0.6@tcp")}};
  LnetStep add_first = delete_peer_step(first);
  LnetStep add_second = delete_peer_step(second);
  EXPECT_EQ(add_first.undo(*still.node).value(), Progress::kDone);
  EXPECT_FALSE(add_second.undo(*still.node));  // the NID belongs to the first one
  auto& directory = still.node->coordinator().directory();
  EXPECT_EQ(directory.peer_of(nid_of("10.0.0.7@tcp")), nullptr);
  ASSERT_NE(directory.peer_of(nid_of("10.0.0.6@tcp")), nullptr);
  EXPECT_EQ(directory.peer_of(nid_of("10.0.0.6@tcp"))->primary, nid_of("10.0.0.5@tcp"));
}

// Its second NID belongs to another peer, whose shards never release it here.
TEST(PeerChanges, AnIncompletePeerIsUndoneAtATimeout) {
  StillNode still;
  ManualClock clock;
  const lnet::PeerConfig former{.primary = nid_of("10.0.0.6@tcp"),
                                .nids = {nid_of("10.0.0.6@tcp")}};
  ASSERT_EQ(add_peer_step(former).act(*still.node).value(), Progress::kDone);
  ASSERT_EQ(delete_peer_step(former).act(*still.node).value(), Progress::kDone);
  const lnet::PeerConfig peer{.primary = nid_of("10.0.0.5@tcp"),
                              .nids = {nid_of("10.0.0.5@tcp"), nid_of("10.0.0.6@tcp")}};
  auto attempt = carry_out({add_peer_step(peer)}, clock, kBound);
  EXPECT_EQ(attempt(*still.node).value(), Progress::kAgain);
  auto& directory = still.node->coordinator().directory();
  ASSERT_NE(directory.peer_of(peer.primary), nullptr) << "half of it";
  clock.advance(kBound);
  const auto done = attempt(*still.node);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Errc::kTimedOut);
  EXPECT_EQ(done.error().what.find("undoing the change failed"), std::string::npos)
      << done.error().what;
  EXPECT_EQ(directory.peer_of(peer.primary), nullptr);
}

TEST(PeerChanges, AnErrorNamesThePrimaryNidIfAnotherWasGiven) {
  StillNode still;
  const std::vector nids{nid_of("10.0.0.5@tcp"), nid_of("10.0.0.6@tcp")};
  ASSERT_EQ(add_peer_step({.primary = nids[0], .nids = nids}).act(*still.node).value(),
            Progress::kDone);
  const std::string expected =
      "10.0.0.6@tcp is not the primary NID of its peer: use --prim_nid 10.0.0.5@tcp";
  for (const lnet::Nid& nid : {lnet::Nid::any(), nids[0]}) {
    const auto deleted = forget_peer_step(nids[1], nid, false).act(*still.node);
    ASSERT_FALSE(deleted);
    EXPECT_EQ(deleted.error().code, Errc::kInvalid);
    EXPECT_EQ(deleted.error().what, expected);
  }
  EXPECT_NE(still.node->coordinator().directory().peer_of(nids[1]), nullptr);
}

// NIDs found by discovery are kept beside the listed ones.
TEST(PeerChanges, AKnownPeerHasTheListedNids) {
  StillNode still;
  auto& coordinator = still.node->coordinator();
  const auto at = [&](const char* text) { return coordinator.peers().find(nid_of(text)); };
  const std::vector all{nid_of("10.0.0.5@tcp"), nid_of("10.0.0.6@tcp"), nid_of("10.0.0.7@tcp")};
  ASSERT_EQ(add_peer_step({.primary = all[0], .nids = all}).act(*still.node).value(),
            Progress::kDone);
  // Makes the peer a discovered one.
  const lnet::PeerRecord& known = *coordinator.directory().peer_of(all[0]);
  const_cast<lnet::PeerRecord&>(known).drop_state(lnet::kPeerConfigured);
  const lnet::PeerNi* const first = at("10.0.0.5@tcp");
  const lnet::PeerNi* const second = at("10.0.0.6@tcp");
  LnetStep listed = add_peer_step({.primary = all[0], .nids = {all[0], all[1]}});
  EXPECT_EQ(listed.act(*still.node).value(), Progress::kDone);
  EXPECT_TRUE(known.is(lnet::kPeerConfigured));
  EXPECT_EQ(at("10.0.0.5@tcp"), first) << "with its connections";
  EXPECT_EQ(at("10.0.0.6@tcp"), second);
  EXPECT_EQ(at("10.0.0.7@tcp"), nullptr);
  EXPECT_EQ(listed.undo(*still.node).value(), Progress::kDone);
  EXPECT_FALSE(known.is(lnet::kPeerConfigured));
  EXPECT_EQ(at("10.0.0.5@tcp"), first);
  EXPECT_EQ(at("10.0.0.6@tcp"), second);
}

// More peers than the number of replaced objects that may wait for release.
TEST(PeerChanges, AStartNeedsNoTurnsWhileThereIsRoom) {
  StillNode still;
  ManualClock clock;
  std::vector<LnetStep> steps;
  for (std::uint32_t i = 0; i < 8; ++i) {
    const auto one = lnet::Nid::of(lnet::NetType::kTcp, 0, 0x0a000000 + 2 * i + 2);
    const auto other = lnet::Nid::of(lnet::NetType::kTcp, 0, 0x0a000000 + 2 * i + 3);
    steps.push_back(add_peer_step({.primary = one, .nids = {one, other}}));
  }
  auto attempt = carry_out(std::move(steps), clock, kBound);
  auto done = attempt(*still.node);
  for (unsigned attempts = 0; done && *done == Progress::kAgain; done = attempt(*still.node)) {
    ASSERT_LT(++attempts, 100U);
    still.node->pass_unturned();
  }
  ASSERT_TRUE(done) << done.error().what;
  EXPECT_EQ(*done, Progress::kDone);
  unsigned nids = 0;
  for (std::uint32_t i = 2; i < 18; ++i) {
    const auto each = lnet::Nid::of(lnet::NetType::kTcp, 0, 0x0a000000 + i);
    nids += still.node->coordinator().peers().find(each) != nullptr ? 1U : 0U;
  }
  EXPECT_EQ(nids, 16U);
}

TEST(PeerChanges, AStateIsSetButForBitsOfWorkUnderWay) {
  StillNode still;
  lnet::Coordinator& coordinator = still.node->coordinator();
  const lnet::PeerConfig configured{.primary = nid_of("10.0.0.5@tcp"),
                                    .nids = {nid_of("10.0.0.5@tcp")}};
  ASSERT_EQ(add_peer_step(configured).act(*still.node).value(), Progress::kDone);
  const auto peer = [&]() -> lnet::PeerRecord& {
    return *coordinator.directory().peer_of(configured.primary);
  };
  const std::uint32_t before = peer().state.get();
  ASSERT_TRUE(peer().is(lnet::kPeerConfigured));
  for (unsigned bit = 0; bit < 32; ++bit) {
    const std::uint32_t wanted = std::uint32_t{1} << bit;
    peer().set_state(before);
    const auto set = change_peer_nis(coordinator, {.nid = configured.primary, .state = wanted});
    const std::uint32_t after = peer().state.get();
    if ((wanted & lnet::kPeerStateSettable) != 0) {
      EXPECT_TRUE(set) << bit;
      EXPECT_EQ(after, lnet::kPeerConfigured | wanted) << bit;
    } else if ((wanted & before) != 0) {
      EXPECT_TRUE(set) << "it has it";
    } else {
      ASSERT_FALSE(set) << bit;
      EXPECT_EQ(set.error().code, Errc::kInvalid);
      EXPECT_EQ(after, before) << "nothing of it";
    }
  }
  const auto wrong = change_peer_nis(coordinator, {.all = true, .health = 7, .state = 0x80});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().what,
            "state 0x80: bits 0x80 follow from what the node does with the peer and cannot be set, "
            "expected bits of 0x206137");
  EXPECT_NE(coordinator.peers().find(configured.primary)->health.get(), 7);
}

TEST(PeerChanges, AnInvalidNidIsNoPeer) {
  StillNode still;
  lnet::Coordinator& coordinator = still.node->coordinator();
  for (const char* const nid :
       {"10.0.0.99@tcp", "0@lo", "10.0.0.1@tcp", "10.0.0.9@o2ib", "fd00::1@tcp"}) {
    const auto set = change_peer_nis(coordinator, {.nid = nid_of(nid), .health = 1, .state = 1});
    ASSERT_FALSE(set) << nid;
    EXPECT_EQ(set.error().code, Errc::kNotFound) << nid;
  }
  EXPECT_FALSE(change_peer_nis(coordinator, {.nid = lnet::Nid::any(), .state = 1}));
  EXPECT_TRUE(change_peer_nis(coordinator, {.all = true, .state = ~lnet::kPeerStateSettable}))
      << "no peer exists";
}

}  // namespace
}  // namespace plnet::node::peer_changes_test
