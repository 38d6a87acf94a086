// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/control/selection_policies.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "lib/base/random.hpp"
#include "tests/unit/lib/lnet/control/test_node.hpp"

namespace plnet::lnet::selection_policies_test {
namespace {

const Nid kOurs = nid("10.0.0.1@tcp");
const Nid kOursToo = nid("10.0.0.2@tcp");
const Nid kOther = nid("10.1.0.1@tcp1");
const Nid kPeer = nid("10.0.0.7@tcp");
const Nid kGateway = nid("10.0.0.9@tcp");
const Nid kGatewayToo = nid("10.1.0.9@tcp1");
const NetId kTcp = make_net(NetType::kTcp, 0);
const NetId kFar = make_net(NetType::kKfi, 7);

struct Words {
  const char* src = "";
  const char* dst = "";
  const char* rte = "";
  std::optional<std::uint32_t> priority{};
};

Udsp udsp(const Words& words) {
  const auto range = [](const char* text) -> std::optional<UdspRange> {
    if (*text == '\0') return std::nullopt;
    auto parsed = UdspRange::parse(text);
    EXPECT_TRUE(parsed) << text;
    return *parsed;
  };
  auto completed = complete_udsp({.source = range(words.src),
                                  .destination = range(words.dst),
                                  .router = range(words.rte),
                                  .priority = words.priority});
  EXPECT_TRUE(completed) << completed.error().what;
  return completed.value_or(Udsp{});
}

class SelectionPoliciesTest : public ::testing::Test {
 protected:
  void set(const std::vector<Words>& words) {
    std::vector<Udsp> policies;
    for (const Words& each : words)
      policies.push_back(udsp(each));
    node_.coordinator.set_policies(policies);
    settle();
  }
  void settle() {
    run(network_, {&node_}, std::chrono::seconds(1));
    EXPECT_FALSE(node_.coordinator.policies().sweeping());
    EXPECT_FALSE(node_.coordinator.policies().waiting());
  }
  void add_route(const Nid& gateway) {
    ASSERT_TRUE(node_.coordinator.add_route({.net = kFar, .gateway = gateway}));
  }
  std::uint32_t priority(const Nid& of) { return node_.coordinator.local().ni(of)->priority.get(); }
  std::uint32_t net_priority(NetId of) {
    return node_.coordinator.local().net(of)->priority->get();
  }
  PeerNi& peer_ni(const Nid& of) { return *node_.coordinator.peers().find(of); }
  std::uint32_t peer_net_priority(const Nid& peer, NetId net) {
    return node_.peer(peer)->seen().net(net)->priority;
  }
  std::vector<Nid> sources(const Nid& of) {
    const Preferences* const rules = peer_ni(of).preferences.load();
    return rules == nullptr ? std::vector<Nid>{} : rules->local_nids();
  }
  std::vector<Nid> routers(const Nid& of) {
    const Preferences* const rules = peer_ni(of).preferences.load();
    return rules == nullptr ? std::vector<Nid>{} : rules->routers();
  }

  FakeNetwork network_;
  TestNode node_{network_, {kOurs, kOursToo, kOther}};
};

TEST_F(SelectionPoliciesTest, OurNetworksAndInterfacesFollowAtOnce) {
  node_.coordinator.set_policies(std::vector{udsp({.src = "tcp1", .priority = 3}),
                                             udsp({.src = "10.0.0.[2-5]@tcp", .priority = 1})});
  EXPECT_EQ(net_priority(kOther.net()), 3U);
  EXPECT_EQ(net_priority(kTcp), kPriorityLowest);
  EXPECT_EQ(priority(kOurs), kPriorityLowest);
  EXPECT_EQ(priority(kOursToo), 1U);
  EXPECT_EQ(priority(kOther), kPriorityLowest) << "its network has one, it has none";
  node_.add(nid("10.0.0.3@tcp"));
  EXPECT_EQ(priority(nid("10.0.0.3@tcp")), 1U) << "that comes later";
  node_.coordinator.set_policies({});
  EXPECT_EQ(net_priority(kOther.net()), kPriorityLowest);
  EXPECT_EQ(priority(kOursToo), kPriorityLowest);
}

TEST_F(SelectionPoliciesTest, ANetworkThatComesBackHasNothingOfItsFormerLife) {
  set({{.src = "tcp1", .priority = 3}});
  node_.remove(kOther);
  settle();
  set({});
  node_.add(kOther);
  EXPECT_EQ(net_priority(kOther.net()), kPriorityLowest);
}

TEST_F(SelectionPoliciesTest, PeersFollowWhetherTheyAreThereOrCome) {
  node_.make_peer(kPeer);
  set({{.dst = "tcp", .priority = 4}, {.dst = "10.0.0.*@tcp", .priority = 2}});
  node_.make_peer(nid("10.0.0.8@tcp"));
  for (const Nid& peer : {kPeer, nid("10.0.0.8@tcp")}) {
    EXPECT_EQ(peer_net_priority(peer, kTcp), 4U);
    EXPECT_EQ(peer_ni(peer).priority.get(), 2U);
    EXPECT_EQ(peer_ni(peer).preferences.load(), nullptr);
  }
  set({});
  EXPECT_EQ(peer_net_priority(kPeer, kTcp), kPriorityLowest);
  EXPECT_EQ(peer_ni(kPeer).priority.get(), kPriorityLowest);
}

// Each change publishes a view, and only few retired views may exist.
TEST(SelectionPolicies, ASweepPublishesNoMoreThanTheDirectoryTakesBack) {
  constexpr std::uint32_t kPeers = 1000;
  CoordinatorLimits limits = small_limits();
  limits.peers.peers = limits.peers.peer_nis = kPeers + limits.peers.kept_for_own;
  FakeNetwork network;
  TestNode node(network, {kOurs}, limits);
  const auto peer = [](std::uint32_t n) { return Nid::of(NetType::kTcp, 0, 0x0a000100 + n); };
  for (std::uint32_t n = 0; n < kPeers; ++n)
    node.make_peer(peer(n));
  const std::vector policies{udsp({.dst = "tcp", .priority = 4})};
  node.coordinator.set_policies(policies);
  run(network, {&node}, std::chrono::seconds(1));
  EXPECT_FALSE(node.coordinator.policies().sweeping());
  EXPECT_EQ(node.coordinator.directory().counters().get(PeerTable::Id::kViewsLate), 0U);
  for (std::uint32_t n = 0; n < kPeers; ++n)
    EXPECT_EQ(node.peer(peer(n))->seen().net(kTcp)->priority, 4U);
}

// `route explain` for a NID that is no peer yet.
TEST_F(SelectionPoliciesTest, TheReportPredictsThePolicyOfAPeerNi) {
  add_route(kGateway);
  const Nid far = Nid::of(NetType::kKfi, 7, 5);
  const auto welcome = [&](const Nid& nid) { return node_.coordinator.policies().welcome(nid); };
  EXPECT_FALSE(welcome(kPeer).preferences);
  EXPECT_EQ(welcome(kPeer).priority, kPriorityLowest);
  EXPECT_EQ(welcome(kPeer).net_priority, kPriorityLowest);
  set({{.dst = "tcp", .priority = 4},
       {.dst = "10.0.0.*@tcp", .priority = 2},
       {.src = "10.0.0.2@tcp", .dst = "10.0.0.*@tcp"},
       {.dst = "*@kfi7", .rte = "10.0.0.9@tcp"}});
  for (const Nid& nid : {kPeer, far, kOther}) {
    const PeerWelcome told = welcome(nid);
    node_.make_peer(nid);
    EXPECT_EQ(told.net_priority, peer_net_priority(nid, nid.net()));
    EXPECT_EQ(told.priority, peer_ni(nid).priority.get());
    EXPECT_EQ(told.preferences.has_value(), peer_ni(nid).preferences.load() != nullptr);
    if (!told.preferences) continue;
    EXPECT_EQ(told.preferences->local_nids(), sources(nid));
    EXPECT_EQ(told.preferences->routers(), routers(nid));
  }
  EXPECT_EQ(welcome(kPeer).preferences->local_nids(), std::vector{kOursToo});
  EXPECT_EQ(welcome(far).preferences->routers(), std::vector{kGateway});
}

TEST_F(SelectionPoliciesTest, ThePolicyWithTheLowerIndexDecides) {
  node_.make_peer(kPeer);
  set({{.dst = "10.0.0.7@tcp", .priority = 9}, {.dst = "10.0.0.*@tcp"}, {.src = "10.0.0.*@tcp"}});
  EXPECT_EQ(peer_ni(kPeer).priority.get(), 9U);
  EXPECT_EQ(priority(kOurs), 0U) << "none given is the highest";
  set({{.dst = "10.0.0.*@tcp"}, {.dst = "10.0.0.7@tcp", .priority = 9}});
  EXPECT_EQ(peer_ni(kPeer).priority.get(), 0U);
}

TEST_F(SelectionPoliciesTest, InterfacesThatAPeerPrefersAreThoseThatThereAre) {
  node_.make_peer(kPeer);
  set({{.src = "10.0.0.[2-3]@tcp", .dst = "10.0.0.*@tcp"}, {.src = "tcp", .dst = "tcp"}});
  EXPECT_EQ(sources(kPeer), std::vector{kOursToo});
  node_.add(nid("10.0.0.3@tcp"));
  settle();
  EXPECT_EQ(sources(kPeer), (std::vector{kOursToo, nid("10.0.0.3@tcp")}));
  node_.remove(nid("10.0.0.3@tcp"));
  node_.remove(kOursToo);
  settle();
  EXPECT_EQ(sources(kPeer), std::vector{kOurs}) << "the first comes to nothing, so the next";
  set({});
  EXPECT_EQ(peer_ni(kPeer).preferences.load(), nullptr);
}

TEST_F(SelectionPoliciesTest, APolicyReplacesTheRecordedNi) {
  node_.make_peer(kPeer);
  const Ni* const first = node_.coordinator.local().ni(kOurs);
  peer_ni(kPeer).preferred_ni.set(first);
  set({{.dst = "10.0.0.*@tcp"}});
  EXPECT_EQ(peer_ni(kPeer).preferred_ni.get(), first) << "a priority says nothing of that";
  set({{.src = "10.0.0.2@tcp", .dst = "10.0.0.*@tcp"}});
  EXPECT_EQ(peer_ni(kPeer).preferred_ni.get(), nullptr);
  peer_ni(kPeer).preferred_ni.set(node_.coordinator.local().ni(kOursToo));
  add_route(kGateway);
  set({{.src = "10.0.0.2@tcp", .dst = "10.0.0.*@tcp"}, {.dst = "tcp", .rte = "tcp"}});
  EXPECT_NE(peer_ni(kPeer).preferred_ni.get(), nullptr) << "the NIs are the same as before";
  set({});
  EXPECT_EQ(peer_ni(kPeer).preferred_ni.get(), nullptr);
}

TEST_F(SelectionPoliciesTest, RoutersArePreferredByWhicheverOfTheirNids) {
  const Nid far = nid("5@kfi7");
  node_.make_peer(far);
  set({{.dst = "kfi7", .rte = "10.1.0.9@tcp1"}});
  EXPECT_TRUE(routers(far).empty()) << "no node has that NID";
  RawPeer gateway(network_, {kGateway, kGatewayToo});
  gateway.say({kGateway, kGatewayToo});
  add_route(kGateway);
  settle();
  EXPECT_EQ(node_.nids_of(kGateway), (std::vector{kGateway, kGatewayToo}));
  EXPECT_EQ(routers(far), std::vector{kGateway}) << "discovered to have it";
  ASSERT_TRUE(node_.coordinator.delete_route(kFar, kGateway));
  settle();
  EXPECT_TRUE(routers(far).empty());
  EXPECT_TRUE(sources(far).empty());
}

TEST_F(SelectionPoliciesTest, ARemovedInterfaceIsNoLongerPreferred) {
  node_.make_peer(kPeer);
  set({{.src = "10.0.0.2@tcp", .dst = "10.0.0.*@tcp"}});
  PeerNi& gone = peer_ni(kPeer);
  node_.homes_answer = false;
  ASSERT_TRUE(node_.coordinator.delete_peer(kPeer, Nid::any()));
  EXPECT_EQ(gone.preferences.load(), nullptr) << "the named object may be removed first";
  set({});
  node_.release_held();
  node_.homes_answer = true;
  settle();
  node_.make_peer(kPeer);
  EXPECT_EQ(peer_ni(kPeer).preferences.load(), nullptr);
}

// The kernel's method: each policy is applied to everything, the last one first, and replaces
// earlier results. In contrast to the kernel, a gateway is matched by any of its NIDs, and a
// network without addresses means all NIDs on it.
class Model {
 public:
  Model(const std::vector<Udsp>& policies, Coordinator& coordinator)
      : policies_(policies), coordinator_(coordinator) {}

  void expect_all() {
    for (const Net& net : coordinator_.local().nets) {
      std::uint32_t expected = kPriorityLowest;
      backwards([&](const Udsp& policy) {
        if (!policy.destination && policy.source->is_net_only() &&
            policy.source->matches_net(net.id))
          expected = *policy.priority;
      });
      EXPECT_EQ(net.priority->get(), expected);
    }
    for (const Ni* const ni : coordinator_.local().nis) {
      std::uint32_t expected = kPriorityLowest;
      backwards([&](const Udsp& policy) {
        if (!policy.destination && policy.source->matches(ni->nid)) expected = *policy.priority;
      });
      EXPECT_EQ(ni->priority.get(), expected);
    }
    coordinator_.directory().for_each([this](PeerRecord& peer) {
      for (const PeerNetView& net : peer.seen().nets) {
        expect_net(net);
        for (const PeerNi* const ni : peer.seen().on(net))
          expect(*ni);
      }
    });
  }

 private:
  template <class Visit>
  void backwards(Visit&& visit) const {
    for (std::size_t i = policies_.size(); i-- > 0;)
      visit(policies_[i]);
  }
  void expect_net(const PeerNetView& net) const {
    std::uint32_t expected = kPriorityLowest;
    backwards([&](const Udsp& policy) {
      if (!policy.source && !policy.router && policy.destination->is_net_only() &&
          policy.destination->matches_net(net.net))
        expected = *policy.priority;
    });
    EXPECT_EQ(net.priority, expected);
  }
  void expect(const PeerNi& ni) const {
    std::uint32_t priority = kPriorityLowest;
    std::vector<Nid> sources;
    std::vector<Nid> routers;
    backwards([&](const Udsp& policy) {
      if (!policy.destination || !covers(*policy.destination, ni.nid)) return;
      if (policy.priority && policy.destination->matches(ni.nid)) priority = *policy.priority;
      std::vector<Nid> list;
      if (policy.source) {
        for (const Ni* const ours : coordinator_.local().nis) {
          if (covers(*policy.source, ours->nid)) list.push_back(ours->nid);
        }
        if (!list.empty()) sources = list;
      }
      if (policy.router) {
        for (const auto& route : coordinator_.routes().routes()) {
          const PeerView& gateway = route->gateway.load()->seen();
          const bool known = std::ranges::find(list, gateway.primary) != list.end();
          const bool meant = std::ranges::any_of(
              gateway.nis, [&policy](const PeerNi* of) { return covers(*policy.router, of->nid); });
          if (!known && meant) list.push_back(gateway.primary);
        }
        if (!list.empty()) routers = list;
      }
    });
    EXPECT_EQ(ni.priority.get(), priority) << text_of(ni.nid);
    const Preferences* const rules = ni.preferences.load();
    EXPECT_EQ(rules == nullptr ? std::vector<Nid>{} : rules->local_nids(), sources);
    EXPECT_EQ(rules == nullptr ? std::vector<Nid>{} : rules->routers(), routers);
  }

  const std::vector<Udsp>& policies_;
  Coordinator& coordinator_;
};

Udsp random_udsp(Random& random) {
  constexpr std::array kRanges{"tcp",          "tcp1",         "kfi7",       "tcp[0-1]",
                               "10.0.0.*@tcp", "10.0.0.3@tcp", "*@tcp[0-1]", "10.1.0.[1-4]@tcp1",
                               "*@kfi7",       "10.0.0.9@tcp", "[1-9]@kfi7", "10.0.0.[1-4]@tcp"};
  const auto range = [&] { return kRanges[random.below(kRanges.size())]; };
  Words words;
  switch (random.below(4)) {
    case 0: words.src = range(); break;
    case 1: words.dst = range(); break;
    case 2:
      words.src = range();
      words.dst = range();
      break;
    default:
      words.dst = range();
      words.rte = range();
      break;
  }
  const bool about_priority = *words.rte == '\0' && (*words.src == '\0' || *words.dst == '\0');
  if (about_priority) words.priority = static_cast<std::uint32_t>(random.below(5));
  return udsp(words);
}

TEST_F(SelectionPoliciesTest, MatchTheKernelUnderAllChanges) {
  Random random(17);
  std::vector<Udsp> policies;
  const auto address = [&](const std::string& before, const std::string& behind) {
    return nid(before + std::to_string(1 + random.below(9)) + behind);
  };
  for (int round = 0; round < 400; ++round) {
    switch (random.below(8)) {
      case 0:
      case 1:
        policies.insert(
            policies.begin() + static_cast<std::ptrdiff_t>(random.below(policies.size() + 1)),
            random_udsp(random));
        if (policies.size() > 12) policies.erase(policies.begin() + 3);
        node_.coordinator.set_policies(policies);
        break;
      case 2:
        if (!policies.empty()) policies.erase(policies.begin());
        node_.coordinator.set_policies(policies);
        break;
      case 3: {
        const Nid ours = nid("10.0.0.3@tcp");
        node_.coordinator.local().ni(ours) == nullptr ? node_.add(ours) : node_.remove(ours);
        break;
      }
      case 7:  // a whole network
        node_.coordinator.local().ni(kOther) == nullptr ? node_.add(kOther) : node_.remove(kOther);
        break;
      case 4: {
        const Nid gateway = random.below(2) == 0 ? kGateway : address("10.1.0.", "@tcp1");
        if (!node_.coordinator.delete_route(kFar, gateway))
          (void)node_.coordinator.add_route({.net = kFar, .gateway = gateway});
        break;
      }
      case 5:
        node_.make_peer(random.below(2) == 0 ? address("10.0.0.", "@tcp") : address("", "@kfi7"));
        break;
      default: (void)node_.coordinator.delete_peer(address("10.0.0.", "@tcp"), Nid::any()); break;
    }
    // Some changes meet a sweep in progress.
    if (random.below(3) == 0) continue;
    settle();
    Model(policies, node_.coordinator).expect_all();
    if (HasFailure()) FAIL() << "in round " << round;
  }
}

TEST(Udsp, ImpossiblePoliciesAreRefused) {
  const auto code = [](bool src, bool dst, bool rte, std::optional<std::uint32_t> priority) {
    const auto range = [](bool there) { return there ? std::optional(UdspRange{}) : std::nullopt; };
    const auto completed = complete_udsp({.source = range(src),
                                          .destination = range(dst),
                                          .router = range(rte),
                                          .priority = priority});
    return completed ? Errc::kExists : completed.error().code;
  };
  EXPECT_EQ(code(false, false, false, 1), Errc::kMissing);
  EXPECT_EQ(code(true, true, true, {}), Errc::kInvalid);
  EXPECT_EQ(code(true, false, true, {}), Errc::kInvalid);
  EXPECT_EQ(code(false, false, true, {}), Errc::kInvalid);
  EXPECT_EQ(code(true, true, false, 0), Errc::kInvalid);
  EXPECT_EQ(code(false, true, true, 0), Errc::kInvalid);
  EXPECT_EQ(code(false, true, true, {}), Errc::kExists);
  EXPECT_EQ(code(true, true, false, {}), Errc::kExists);
  EXPECT_EQ(code(true, false, false, {}), Errc::kExists);
}

}  // namespace
}  // namespace plnet::lnet::selection_policies_test
