// SPDX-License-Identifier: BSD-3-Clause
#include "node/host/ni_resolver.hpp"

#include <gtest/gtest.h>

#include "lib/lnet/names/nid_text.hpp"
#include "node/net/families.hpp"

namespace plnet::node::ni_resolver_test {
namespace {

using lnet::NiConfig;

lnet::NetId net(const char* text) {
  return lnet::parse_net(text).value();
}

// Resolves before a node starts, with these module options.
Outcome<ResolvedNi> resolve_ni(lnet::NetId net, const NiConfig& ni, std::size_t cpts,
                               std::vector<lnet::ModuleOption> options = {}) {
  const lnet::NodeConfig config{.module_options = std::move(options)};
  return NiResolver(network_families(), config, nullptr, nullptr)
      .resolve(net, ni, cpts, std::chrono::seconds(11));
}

NiConfig null_ni(const char* nid) {
  NiConfig ni;
  ni.nid = lnet::parse_nid(nid).value();
  ni.lnd_tunables = {{"driver", "null"}};
  return ni;
}

TEST(NiResolver, WithoutAFamilyThoseThatAreThereAreNamed) {
  NiConfig ni;
  ni.interfaces = {"eth0"};
  const auto resolved = resolve_ni(net("gni"), ni, 1);
  ASSERT_FALSE(resolved);
  EXPECT_EQ(resolved.error().code, Errc::kNotSupported);
  EXPECT_NE(resolved.error().what.find("there are tcp, kfi, o2ib and lo"), std::string::npos)
      << resolved.error().what;
}

TEST(NiResolver, NullServesEveryKindOfNetworkThatGivesANid) {
  const auto resolved = resolve_ni(net("o2ib3"), null_ni("10.0.0.1@o2ib3"), 2);
  ASSERT_TRUE(resolved) << resolved.error().what;
  EXPECT_EQ(resolved->family->name(), "null");
  EXPECT_EQ(resolved->setup.tunables, lnet::NiTunables{});
  NiConfig nameless = null_ni("10.0.0.1@tcp");
  nameless.nid.reset();
  EXPECT_EQ(resolve_ni(net("tcp"), nameless, 2).error().code, Errc::kInvalid);
}

TEST(NiResolver, ADriverThatDoesNotExistIsRefusedWithThoseThatDo) {
  NiConfig ni = null_ni("10.0.0.1@tcp");
  ni.lnd_tunables = {{"driver", "magic"}};
  const auto resolved = resolve_ni(net("tcp"), ni, 1);
  ASSERT_FALSE(resolved);
  EXPECT_EQ(resolved.error().what, "driver 'magic' does not exist, expected null, tcp, kfi, o2ib");
}

TEST(NiResolver, TcpServesNoOtherKindOfNetwork) {
  NiConfig ni = null_ni("10.0.0.1@o2ib");
  ni.lnd_tunables = {{"driver", "tcp"}};
  const auto resolved = resolve_ni(net("o2ib"), ni, 1);
  ASSERT_FALSE(resolved);
  EXPECT_EQ(resolved.error().what, "driver 'tcp' does not serve network o2ib");
}

TEST(NiResolver, TcpReportsTheTunablesInForce) {
  NiConfig ni;
  ni.nid = lnet::parse_nid("192.0.2.1@tcp").value();
  ni.lnd_tunables = {{"conns_per_peer", std::int64_t{3}}};
  const auto resolved = resolve_ni(
      net("tcp"), ni, 1, {{"ksocklnd", "credits", "64"}, {"ksocklnd", "sock_timeout", "0"}});
  ASSERT_TRUE(resolved) << resolved.error().what;
  EXPECT_EQ(resolved->setup.tunables.credits, 64);
  EXPECT_EQ(resolved->setup.lnd_timeout, Duration{}) << "LNet's may change";
  const std::vector<lnet::LndTunable> expected{{"conns_per_peer", std::int64_t{3}},
                                               {"timeout", std::int64_t{11}},
                                               {"tos", std::int64_t{-1}}};
  EXPECT_EQ(resolved->setup.lnd_tunables, expected);
}

TEST(NiResolver, KfiNeedsANicOfTheConfiguration) {
  NiConfig ni;
  ni.nid = lnet::parse_nid("418@kfi").value();
  ni.interfaces = {"cxi0"};
  const auto family = family_of(network_families(), net("kfi"), ni);
  ASSERT_TRUE(family) << family.error().what;
  const NiResolver resolver(network_families(), {}, nullptr, nullptr);
  const FamilyRules& rules = resolver.rules_of(**family);
  ASSERT_FALSE(rules.is_opened());
  const auto able = rules.check_unopened({}, net("kfi"), ni, 1);
  ASSERT_FALSE(able);
  EXPECT_EQ(able.error().code, Errc::kNotFound);
  EXPECT_NE(able.error().what.find("`plnet: kfi: interfaces`"), std::string::npos);
}

TEST(NiResolver, CptsOfTheNiExist) {
  NiConfig ni = null_ni("10.0.0.1@tcp");
  ni.cpts = {1};
  EXPECT_EQ(resolve_ni(net("tcp"), ni, 2)->setup.device_cpt, 1);
  EXPECT_EQ(resolve_ni(net("tcp"), ni, 1).error().code, Errc::kInvalid);
}

TEST(NiResolver, APeerGetsNoMoreCreditsThanThereAre) {
  NiConfig ni = null_ni("10.0.0.1@tcp");
  ni.tunables = {.peer_credits = 64, .credits = 32};
  const auto resolved = resolve_ni(net("tcp"), ni, 1);
  EXPECT_EQ(resolved->setup.tunables.credits, 32);
  EXPECT_EQ(resolved->setup.tunables.peer_credits, 32);
}

TEST(NiResolver, TcpLendsCreditsUnlessTheirNumberIsSet) {
  NiConfig ni;
  ni.nid = lnet::parse_nid("192.0.2.1@tcp").value();
  std::vector<lnet::ModuleOption> options;
  const auto lends = [&] {
    const auto resolved = resolve_ni(net("tcp"), ni, 1, options);
    return resolved && resolved->setup.tunables.lends_credits;
  };
  EXPECT_TRUE(lends());
  ni.tunables.peer_credits = 8;
  EXPECT_TRUE(lends()) << "as in an export without explicit settings";
  ni.tunables.peer_credits = 4;
  EXPECT_FALSE(lends());
  ni.tunables.peer_credits = lnet::kDriverDefault;
  options = {{"ksocklnd", "peer_credits", "32"}};
  EXPECT_FALSE(lends()) << "set as an option of ksocklnd";
  const auto null = resolve_ni(net("tcp"), null_ni("10.0.0.1@tcp"), 1);
  ASSERT_TRUE(null);
  EXPECT_FALSE(null->setup.tunables.lends_credits);
}

}  // namespace
}  // namespace plnet::node::ni_resolver_test
