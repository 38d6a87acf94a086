// SPDX-License-Identifier: BSD-3-Clause
// Gateways reachable through several interfaces, some of which fail.
#include <algorithm>
#include <vector>

#include "lib/lnet/peers/settable_state.hpp"
#include "tests/unit/lib/lnet/control/gateway_fixture.hpp"

namespace plnet::lnet::gateway_rails_test {
namespace {

const Nid kSecond = nid("10.0.0.10@tcp");

class GatewaysOfSeveralRails : public GatewayChecksTest {
 protected:
  [[nodiscard]] bool is_up(const Nid& nid) {
    return node_.coordinator.peers().find(nid)->status.get() == kNiUp;
  }
  [[nodiscard]] bool asked_since(std::size_t at, const Nid& target) const {
    return std::ranges::any_of(network_.log.begin() + static_cast<std::ptrdiff_t>(at),
                               network_.log.end(), [&](const FakeMessage& message) {
                                 return message.type == MessageType::kGet &&
                                        message.target == target;
                               });
  }
};

TEST_F(GatewaysOfSeveralRails, AnInterfaceThatIsLostSpeaksForItself) {
  RawPeer gateway(network_, {kGateway, kSecond, kFarSide}, kRoutes);
  add(kFarther);
  pass(2);
  ASSERT_TRUE(up(kFarther));
  network_.disown(kGateway);
  std::size_t at = network_.log.size();
  pass(10 + 3 + 2);
  EXPECT_TRUE(asked_since(at, kSecond));
  EXPECT_FALSE(is_up(kGateway));
  at = network_.log.size();
  pass(200);
  EXPECT_TRUE(asked_since(at, kGateway)) << "until it is back";
  EXPECT_FALSE(is_up(kGateway)) << "although the gateway reports it";
  EXPECT_EQ(route(kFarther).history.count(), 1U) << "never was down";
  network_.own(kGateway, &gateway);
  pass(70);
  EXPECT_TRUE(is_up(kGateway));
  network_.disown(kSecond);
  pass(100);
  EXPECT_TRUE(up(kFarther)) << "the other way round";
  network_.disown(kGateway);
  pass(10 + 3 + 3);
  EXPECT_FALSE(up(kFarther));
  network_.own(kSecond, &gateway);
  pass(2 * (10 + 3));
  EXPECT_TRUE(up(kFarther));
}

// If the gateway is unreachable over one network, routes over the other network stay up.
TEST_F(GatewaysOfSeveralRails, ANetworkThatIsLostTakesOnlyItsOwnRoutes) {
  add(kFarther);
  ASSERT_TRUE(node_.coordinator.add_route({.net = kFar, .gateway = kGatewayToo}).has_value());
  pass(2);
  const auto by_second = [this]() -> const Route& {
    return *node_.coordinator.routes().view().net(kFar)->routes.front();
  };
  ASSERT_TRUE(by_second().alive.get());
  network_.disown(kGatewayToo);
  pass(10 + 3 + 2);
  EXPECT_FALSE(by_second().alive.get());
  EXPECT_EQ(by_second().history.back(0).cause, RouteCause::kPingTimedOut);
  pass(300);
  EXPECT_FALSE(by_second().alive.get());
  EXPECT_EQ(by_second().history.count(), 2U);
  EXPECT_EQ(route(kFarther).history.count(), 1U);
  EXPECT_TRUE(up(kFarther));
  gateway_.answers = false;
  pass(10 + 3 + 2);
  EXPECT_FALSE(up(kFarther)) << "as soon as if it had one network";
  gateway_.answers = true;
  pass(10 + 3 + 2);
  EXPECT_TRUE(up(kFarther));
  EXPECT_FALSE(by_second().alive.get());
  network_.own(kGatewayToo, &gateway_);
  pass(70);
  EXPECT_TRUE(by_second().alive.get());
}

// As TCP does without an answer to its SYN, far longer than the check interval.
TEST_F(GatewaysOfSeveralRails, AnLndThatTriesOneForLongKeepsNoOtherFromBeingAsked) {
  node_.parameters.alive_router_check_interval_s.set(2);
  network_.connect_time = std::chrono::seconds(50);
  add(kFarther);
  pass(2);
  network_.disown(kGatewayToo);
  pass(20);
  ASSERT_FALSE(is_up(kGatewayToo));
  for (int round = 0; round < 20; ++round) {
    const std::size_t at = network_.log.size();
    pass(4);
    EXPECT_TRUE(asked_since(at, kGateway)) << "round " << round;
  }
  EXPECT_EQ(route(kFarther).history.count(), 1U);
  gateway_.answers = false;
  pass(2 + 3 + 2);
  EXPECT_FALSE(up(kFarther)) << "as soon as ever";
}

// The gateway pushes by itself while another one of its interfaces is pinged.
TEST_F(GatewaysOfSeveralRails, APushIsNoAnswerOfTheInterfaceThatIsAsked) {
  add(kFarther);
  pass(2);
  network_.disown(kGatewayToo);
  pass(10 + 3 + 2);
  ASSERT_FALSE(is_up(kGatewayToo));
  for (int round = 0; round < 5; ++round) {
    std::size_t at = network_.log.size();
    for (int second = 0; second < 30 && !asked_since(at, kGatewayToo); ++second)
      pass(1);
    ASSERT_TRUE(asked_since(at, kGatewayToo));
    at = network_.log.size();
    gateway_.push(kGateway, kOurs);
    pass(1);
    EXPECT_FALSE(is_up(kGatewayToo)) << "it has sent nothing";
    pass(10 + 1);
    EXPECT_TRUE(asked_since(at, kGateway)) << "although the other one is silent";
  }
  EXPECT_TRUE(is_up(kGateway));
  EXPECT_EQ(route(kFarther).history.count(), 1U);
}

TEST_F(GatewaysOfSeveralRails, AnInterfaceReportedDownIsNotPinged) {
  RawPeer gateway(network_, {kGateway, kSecond, kFarSide}, kRoutes);
  add(kFarther);
  pass(2);
  gateway.say({kFarSide, kSecond, kGateway}, kRoutes, 2);
  gateway.push(kSecond, kOurs);
  pass(1);
  network_.disown(kGateway);
  const std::uint64_t changes = route(kFarther).history.count();
  const std::size_t at = network_.log.size();
  pass(100);
  EXPECT_FALSE(asked_since(at, kGateway));
  EXPECT_TRUE(asked_since(at, kSecond));
  EXPECT_EQ(count(Id::kTimedOut), 0U);
  EXPECT_EQ(route(kFarther).history.count(), changes);
  EXPECT_TRUE(up(kFarther));
}

// Path selection compares interfaces of a gateway by health, on every network.
TEST_F(GatewaysOfSeveralRails, MessagesThatMayChooseTakeAnotherThanASilentOne) {
  const auto health = [this](const Nid& nid) {
    return node_.coordinator.peers().find(nid)->health.get();
  };
  add(kFarther);
  pass(2);
  network_.disown(kGatewayToo);
  pass(10 + 3 + 2);
  ASSERT_FALSE(is_up(kGatewayToo));
  EXPECT_LT(health(kGatewayToo), kHealthMax);
  EXPECT_EQ(health(kGateway), kHealthMax);
}

TEST_F(GatewaysOfSeveralRails, WithoutChecksThePingStatusOfASilentNiCounts) {
  add(kFarther);
  pass(2);
  network_.disown(kGatewayToo);
  pass(10 + 3 + 2);
  gateway_.push(kGateway, kOurs);
  pass(1);
  ASSERT_FALSE(is_up(kGatewayToo)) << "it did not answer a ping";
  node_.parameters.alive_router_check_interval_s.set(0);
  network_.own(kGatewayToo, &gateway_);
  pass(30);
  gateway_.push(kGateway, kOurs);
  pass(1);
  EXPECT_TRUE(is_up(kGatewayToo));
}

// `lnetctl peer set --state` with random bits, for a gateway and for NIDs that are not part of it.
TEST_F(GatewaysOfSeveralRails, AStateThatPeopleSetPasses) {
  (void)node_.make_peer(kSecond);
  add(kFar);
  add(kFarther);
  pass(2);
  Random& random = network_.random();
  for (int i = 0; i < 300; ++i) {
    const auto bits = static_cast<std::uint32_t>(
        random.chance(0.5) ? random.below(UINT32_MAX) : std::uint64_t{1} << random.below(32));
    node_.coordinator.directory().for_each(
        [&](PeerRecord& peer) { peer.set_state(settable_state(peer.state.get(), bits)); });
    gateway_.answers = random.chance(0.8);
    pass(static_cast<int>(random.between(1, 15)));
    if (random.chance(0.1)) {
      ASSERT_TRUE(node_.coordinator.delete_route(kFar, kGateway).has_value());
      add(kFar);
    }
  }
  gateway_.answers = true;
  pass(100);
  EXPECT_TRUE(up(kFar) && up(kFarther));
}

}  // namespace
}  // namespace plnet::lnet::gateway_rails_test
