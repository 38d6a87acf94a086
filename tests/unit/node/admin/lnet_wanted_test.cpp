// SPDX-License-Identifier: BSD-3-Clause
#include "node/admin/lnet_wanted.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "lib/lnet/names/nid_text.hpp"
#include "lib/runtime/host/local_addresses.hpp"
#include "node/host/settled_config.hpp"
#include "node/net/families.hpp"
#include "tests/unit/node/net/tcp/only_tcp.hpp"

namespace plnet::node::lnet_wanted_test {
namespace {

lnet::Nid nid(const char* text) {
  return lnet::parse_nid(text).value();
}

lnet::NodeConfig with(const lnet::NiConfig& ni) {
  return {.nets = {{.net = lnet::make_net(lnet::NetType::kTcp), .nis = {ni}}}};
}

// No machine has this address.
lnet::NiConfig tcp_ni() {
  return {.nid = nid("192.0.2.1@tcp")};
}

// An NI as an export of the running node shows it: the values in force.
lnet::NiConfig exported(const lnet::NodeConfig& running, std::size_t cpts) {
  lnet::NiConfig ni = running.nets[0].nis[0];
  const NiResolver resolver(only_tcp(), running, nullptr, nullptr);
  const auto in_force = resolver.resolve(running.nets[0].net, ni, cpts,
                                         std::chrono::seconds(running.parameters.lnd_timeout_s()));
  EXPECT_TRUE(in_force.has_value()) << in_force.error().what;
  const lnet::NiTunables& tunables = in_force->setup.tunables;
  ni.tunables = {.peer_timeout_s = tunables.peer_timeout_s,
                 .peer_credits = tunables.peer_credits,
                 .peer_buffer_credits = tunables.peer_buffer_credits,
                 .credits = tunables.credits};
  ni.lnd_tunables = in_force->setup.lnd_tunables;
  for (std::uint16_t cpt = 0; cpt < cpts; ++cpt)
    ni.cpts.push_back(cpt);
  return ni;
}

Outcome<ResolvedNi> resolved(const lnet::NodeConfig& config, const lnet::NiConfig& ni) {
  return NiResolver(network_families(), config, nullptr, nullptr)
      .resolve(config.nets[0].net, ni, 1, std::chrono::seconds(50));
}

TEST(LnetWanted, AnEquivalentNiStaysAsConfigured) {
  const lnet::NodeConfig now = with(tcp_ni());
  const lnet::NodeConfig wanted = with(exported(now, 2));
  ASSERT_NE(wanted, now);
  const auto judged = judge(wanted, now, {.cpts = 2, .families = network_families()});
  ASSERT_TRUE(judged.has_value()) << judged.error().error.what;
  EXPECT_EQ(judged->config, now);
}

TEST(LnetWanted, AnNiThatComesToSomethingElseIsAnother) {
  const lnet::NodeConfig now = with(tcp_ni());
  const auto differs = [&now](auto change) {
    lnet::NodeConfig wanted = with(exported(now, 2));
    change(wanted);
    const auto judged = judge(wanted, now, {.cpts = 2, .families = network_families()});
    EXPECT_TRUE(judged.has_value());
    return judged.has_value() && judged->config.nets != now.nets;
  };
  EXPECT_TRUE(differs([](auto& wanted) { ++wanted.nets[0].nis[0].tunables.credits; }));
  EXPECT_TRUE(differs([](auto& wanted) { wanted.nets[0].nis[0].cpts = {0}; }));
  EXPECT_TRUE(differs([](auto& wanted) {
    wanted.nets[0].nis[0].lnd_tunables = {{"conns_per_peer", std::int64_t{7}}};
  }));
  EXPECT_TRUE(differs([](auto& wanted) {
    wanted.nets[0].nis[0].lnd_tunables.emplace_back("driver", std::string("null"));
  }));
  EXPECT_TRUE(differs([](auto& wanted) {
    wanted.module_options = {{"ksocklnd", "sock_timeout", "20"}};
  })) << "its timeout is that of before, while the NI's own follows the option";
}

// The link was faster when the NI was made: today the automatic number is one.
class LnetWantedOfLinks : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::vector<lnet::LndTunable> in_force{{"conns_per_peer", std::int64_t{4}}};
    open_.hosts()[0]->note_in_force(now_.nets[0].nis[0], in_force);
  }
  // Its NI as in an export, with this many connections.
  [[nodiscard]] bool stays_with(std::int64_t connections) const {
    lnet::NodeConfig wanted = with(exported(now_, 1));
    auto& tunables = wanted.nets[0].nis[0].lnd_tunables;
    std::ranges::find(tunables, "conns_per_peer", &lnet::LndTunable::name)->value = connections;
    return stays(wanted);
  }
  [[nodiscard]] bool stays(const lnet::NodeConfig& wanted) const {
    const auto judged = judge(wanted, now_, {.cpts = 1, .families = only_tcp(), .open = &open_});
    EXPECT_TRUE(judged.has_value()) << judged.error().error.what;
    return judged.has_value() && judged->config.nets == now_.nets;
  }

  lnet::NodeConfig now_ = with(tcp_ni());
  OpenFamilies open_ = opened(std::move(TcpHost::create({.shards = 1})).value());
};

TEST_F(LnetWantedOfLinks, AnExportDisturbsNothingAtAnyLinkSpeed) {
  EXPECT_TRUE(stays_with(4)) << "as the export says";
  EXPECT_FALSE(stays_with(1)) << "according to the present link only";
  EXPECT_FALSE(stays_with(7));
}

TEST_F(LnetWantedOfLinks, NisThatFollowTheLinkStay) {
  EXPECT_TRUE(stays_with(0));
  lnet::NodeConfig wanted = now_;
  wanted.nets[0].nis[0].cpts = {0};
  EXPECT_TRUE(stays(wanted));
  wanted.module_options = {{"ksocklnd", "conns_per_peer", "2"}};
  EXPECT_TRUE(stays(wanted)) << "an option changes live";
}

// Existing NIs do not go down for a configuration that would be undone.
TEST(LnetWanted, ARouteByANetworkThatIsNotThereIsRefusedBeforehand) {
  lnet::NodeConfig wanted = with(tcp_ni());
  const lnet::NetId far = lnet::make_net(lnet::NetType::kO2ib);
  wanted.routes = {{.net = far, .gateway = nid("192.0.2.9@tcp")}};
  EXPECT_TRUE(judge(wanted, {}, {.cpts = 1, .families = network_families()}).has_value());
  wanted.routes.push_back({.net = far, .gateway = nid("192.0.2.9@tcp7")});
  const auto refused = judge(wanted, {}, {.cpts = 1, .families = network_families()});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().error.code, Errc::kNoRoute);
  EXPECT_EQ(refused.error().key, "route");
  EXPECT_EQ(refused.error().error.what, "route to o2ib by 192.0.2.9@tcp7: not on network tcp7");
}

TEST(LnetWanted, AGatewayOfItsOwnRoutesForwards) {
  lnet::NodeConfig config;
  config.nets = {
      {.net = lnet::make_net(lnet::NetType::kTcp), .nis = {{.nid = nid("1.1.1.1@tcp")}}}};
  config.routes_if_ours = {nid("1.1.1.2@tcp")};
  settle_forwarding(config);
  EXPECT_FALSE(config.routing);
  EXPECT_TRUE(config.routes_if_ours.empty());
  config.routes_if_ours = {nid("1.1.1.2@tcp"), nid("1.1.1.1@tcp")};
  settle_forwarding(config);
  EXPECT_TRUE(config.routing);
}

TEST(LnetWanted, RulesBecomeTheNetworksOfThisMachine) {
  const auto addresses = runtime::local_addresses();
  ASSERT_TRUE(addresses.has_value());
  lnet::NodeConfig config;
  config.ip2nets.push_back({.net = lnet::make_net(lnet::NetType::kTcp),
                            .ranges = {{.kind = lnet::AddressPattern::Kind::kAll}},
                            .lnd_tunables = {{"driver", "null"}}});
  ASSERT_TRUE(settle_on_machine(config, {}).has_value());
  EXPECT_TRUE(config.ip2nets.empty());
  ASSERT_EQ(config.nets.empty(), addresses->empty());
  if (addresses->empty()) GTEST_SKIP() << "this machine has no addresses";
  const lnet::NiConfig& ni = config.nets[0].nis[0];
  EXPECT_EQ(ni.interfaces, std::vector{addresses->front().interface});
  ASSERT_TRUE(ni.nid.has_value());
  EXPECT_TRUE(resolved(config, ni).has_value());
}

TEST(LnetWanted, ARuleForANicThatIsNotThereIsRefusedAsTheNetworkIs) {
  lnet::NodeConfig config;
  config.ip2nets.push_back({.net = lnet::make_net(lnet::NetType::kKfi), .interfaces = {"cxi0"}});
  ASSERT_TRUE(settle_on_machine(config, {}).has_value());
  ASSERT_EQ(config.nets.size(), 1U);
  const auto refused = resolved(config, config.nets[0].nis[0]);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Errc::kInvalid);
  EXPECT_NE(refused.error().what.find("there is no interface cxi0"), std::string::npos)
      << refused.error().what;
}

}  // namespace
}  // namespace plnet::node::lnet_wanted_test
