// SPDX-License-Identifier: BSD-3-Clause
// Several nodes whose interfaces come and go while their messages are late, lost or fail.
// Afterwards, when each node has sent to each once more, the knowledge of each must be correct.
#include <algorithm>
#include <cstdlib>

#include <gtest/gtest.h>

#include "lib/lnet/control/discovery.hpp"
#include "lib/lnet/peers/settable_state.hpp"
#include "tests/unit/lib/lnet/control/test_node.hpp"

namespace plnet::lnet::discovery_random_test {
namespace {

constexpr std::uint32_t kNodes = 4;

// The n-th interface of a node. The first two remain: a node that loses the last NI of a network
// forgets the peers on it until it discovers them again, as in the kernel.
Nid nid_of(std::uint32_t node, std::uint32_t n) {
  if (n == 3) {
    Nid large = nid("fd00::1@tcp");
    large.address_be[15] = static_cast<std::uint8_t>(node + 1);
    return large;
  }
  return Nid::of(NetType::kTcp, static_cast<std::uint16_t>(n % 2), 0x0a000000 + n * 256 + node + 1);
}

class Site {
 public:
  explicit Site(std::uint64_t seed, bool states = false) : network_(seed), states_(states) {
    network_.loss = 0.1;
    network_.send_failure = 0.05;
    network_.delay_max = std::chrono::milliseconds(20);
    network_.response_timeout = std::chrono::seconds(2);
    for (std::uint32_t i = 0; i < kNodes; ++i)
      nodes_.push_back(
          std::make_unique<TestNode>(network_, std::vector{nid_of(i, 0), nid_of(i, 1)}));
    for (const auto& node : nodes_) {
      node->homes_answer = false;
      node->operations.know_sender = [&node = *node](const Nid& sender) {
        return node.coordinator.directory()
            .create_by_traffic({sender, PeerDemand::kStranger, node.coordinator.local().nis[0]},
                               node.now())
            .has_value();
      };
    }
  }

  void disturb(int steps) {
    Random& random = network_.random();
    for (int step = 0; step < steps; ++step) {
      const auto which = static_cast<std::uint32_t>(random.below(kNodes));
      TestNode& node = *nodes_[which];
      if (random.chance(0.5)) node.release_held();
      const Nid other = nid_of(which, static_cast<std::uint32_t>(random.between(2, 7)));
      const bool there = std::ranges::count(node.operations.nids, other) > 0;
      if (random.chance(0.2)) {
        there ? node.remove(other) : node.add(other);
      } else if (random.chance(0.05)) {
        node.coordinator.set_ni_status(*node.coordinator.local().nis[0],
                                       random.chance(0.5) ? kNiUp : kNiDown, true);
      } else if (random.chance(0.03)) {
        const auto of = static_cast<std::uint32_t>(random.below(kNodes));
        (void)node.coordinator.delete_peer(nid_of(of, 0), Nid::any());
      } else if (states_ && random.chance(0.3)) {
        set_states(node);
      } else {
        const auto to = static_cast<std::uint32_t>(random.below(kNodes));
        const auto n = static_cast<std::uint32_t>(random.below(8));
        if (to != which) send(node, nid_of(to, n));
      }
      turn(std::chrono::milliseconds(random.below(30)));
    }
  }

  // States of `lnetctl peer set --state`: random bits or a single one.
  void set_states(TestNode& node) {
    Random& random = network_.random();
    const auto bits = static_cast<std::uint32_t>(
        random.chance(0.5) ? random.below(UINT32_MAX) : std::uint64_t{1} << random.below(32));
    node.coordinator.directory().for_each([&](PeerRecord& peer) {
      if (random.chance(0.5)) peer.set_state(settable_state(peer.state.get(), bits));
    });
  }
  // Nodes forget facts about each other.
  void forget() {
    for (const auto& node : nodes_)
      node->coordinator.directory().for_each([&](PeerRecord& peer) {
        peer.set_state(settable_state(peer.state.get(), kPeerMultiRail | kPeerForcePush));
      });
  }

  void calm() {
    network_.loss = network_.send_failure = 0;
    for (const auto& node : nodes_) {
      node->homes_answer = true;
      node->release_held();
    }
    turn(std::chrono::seconds(20));
    // The next message triggers a lost push again.
    for (int round = 0; round < 3; ++round) {
      for (std::uint32_t from = 0; from < kNodes; ++from) {
        for (std::uint32_t to = 0; to < kNodes; ++to) {
          if (from != to) send(*nodes_[from], nid_of(to, 0));
        }
      }
      turn(std::chrono::seconds(20));
    }
    for (std::uint32_t from = 0; from < kNodes; ++from) {
      requests_.push_back(std::make_unique<TestDiscover>());
      requests_.back()->nid = nid_of((from + 1) % kNodes, 0);
      nodes_[from]->coordinator.discover(*requests_.back(), true);
    }
    turn(std::chrono::seconds(20));
  }

  void check() {
    for (std::uint32_t from = 0; from < kNodes; ++from) {
      for (std::uint32_t to = 0; to < kNodes; ++to) {
        if (from == to) continue;
        auto known = nodes_[from]->nids_of(nid_of(to, 0));
        std::vector<Nid> truth;
        for (const Ni* ni : nodes_[to]->coordinator.local().nis)
          truth.push_back(ni->nid);
        const Peer* peer = nodes_[from]->peer(nid_of(to, 0));
        ASSERT_NE(peer, nullptr);
        EXPECT_TRUE(is_up_to_date(peer->state.get())) << std::hex << peer->state.get();
        EXPECT_EQ(peer->seen().primary, nid_of(to, 0));
        EXPECT_EQ(known.front(), nid_of(to, 0));
        const auto less = [](const Nid& a, const Nid& b) {
          return std::memcmp(&a, &b, sizeof a) < 0;
        };
        std::ranges::sort(known, less);
        std::ranges::sort(truth, less);
        EXPECT_EQ(known, truth) << "what node " << from << " knows of node " << to;
      }
      EXPECT_EQ(nodes_[from]->operations.mds(), 2U) << "no descriptor is left over";
      EXPECT_EQ(nodes_[from]->count(DiscoveryTable::Id::kQueued), 0U);
    }
    for (const auto& parcel : parcels_)
      EXPECT_TRUE(parcel->over);
    for (const auto& request : requests_)
      EXPECT_TRUE(request->times == 1 && request->result);
  }

 private:
  void send(TestNode& node, const Nid& to) {
    parcels_.push_back(std::make_unique<TestParcel>());
    node.send(*parcels_.back(), to);
  }
  void turn(Duration until) {
    run(network_, {nodes_[0].get(), nodes_[1].get(), nodes_[2].get(), nodes_[3].get()}, until);
  }

  FakeNetwork network_;
  const bool states_;
  std::vector<std::unique_ptr<TestParcel>> parcels_;
  std::vector<std::unique_ptr<TestDiscover>> requests_;
  std::vector<std::unique_ptr<TestNode>> nodes_;
};

class DiscoveryRandom : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(DiscoveryRandom, AllNodesAreUpToDateWhenLossesStop) {
  Site site(GetParam());
  site.disturb(300);
  site.calm();
  site.check();
}

// States set by users are wrong, but they do no harm and are corrected.
TEST_P(DiscoveryRandom, StatesThatPeopleSetDoNoHarm) {
  Site site(GetParam(), true);
  site.disturb(300);
  site.forget();
  site.calm();
  site.check();
}

INSTANTIATE_TEST_SUITE_P(Seeds, DiscoveryRandom, ::testing::Range<std::uint64_t>(1, 101));

}  // namespace
}  // namespace plnet::lnet::discovery_random_test
