// SPDX-License-Identifier: BSD-3-Clause
// Gateways that several interfaces lead to, some of which are lost.
#include <algorithm>
#include <vector>

#include "tests/unit/lib/lnet/control/gateway_fixture.hpp"

namespace plnet::lnet::gateway_rails_test {
namespace {

const Nid kSecond = nid("10.0.0.10@tcp");

class GatewaysOfSeveralRails : public GatewayChecksTest {
 protected:
  [[nodiscard]] bool asked_since(std::size_t at, const Nid& target) const {
    return std::ranges::any_of(network_.log.begin() + static_cast<std::ptrdiff_t>(at),
                               network_.log.end(), [&](const FakeMessage& message) {
                                 return message.type == MessageType::kGet &&
                                        message.target == target;
                               });
  }
};

TEST_F(GatewaysOfSeveralRails, AnInterfaceThatIsLostIsNotAskedForEver) {
  RawPeer gateway(network_, {kGateway, kSecond, kFarSide}, kRoutes);
  add(kFarther);
  pass(2);
  ASSERT_TRUE(up(kFarther));
  network_.disown(kGateway);
  pass(10 + 3 + 2);
  EXPECT_FALSE(up(kFarther)) << "as with the kernel, until the next check";
  const std::size_t at = network_.log.size();
  pass(10 + 2);
  EXPECT_TRUE(asked_since(at, kSecond));
  EXPECT_TRUE(up(kFarther));
  const std::uint64_t changes = route(kFarther).history.count();
  pass(200);
  EXPECT_EQ(route(kFarther).history.count(), changes) << "whoever answers is asked again";
  network_.own(kGateway, &gateway);
  network_.disown(kSecond);
  pass(10 + 3 + 10 + 4);
  EXPECT_TRUE(up(kFarther)) << "the other way round";
}

TEST_F(GatewaysOfSeveralRails, AnInterfaceThatIsSaidToBeDownIsNotAsked) {
  RawPeer gateway(network_, {kGateway, kSecond, kFarSide}, kRoutes);
  add(kFarther);
  pass(2);
  gateway.say({kSecond, kFarSide, kGateway}, kRoutes, 2);
  gateway.push(kSecond, kOurs);
  network_.disown(kGateway);
  const std::uint64_t changes = route(kFarther).history.count();
  pass(100);
  EXPECT_EQ(route(kFarther).history.count(), changes);
  EXPECT_TRUE(up(kFarther));
}

}  // namespace
}  // namespace plnet::lnet::gateway_rails_test
