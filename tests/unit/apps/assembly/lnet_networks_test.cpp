// SPDX-License-Identifier: BSD-3-Clause
#include "apps/assembly/lnet_networks.hpp"

#include <gtest/gtest.h>

#include "lib/lnet/names/nid_text.hpp"

namespace plnet::apps {
namespace {

using lnet::NiConfig;

lnet::NetId net(const char* text) {
  return lnet::parse_net(text).value();
}

NiConfig null_ni(const char* nid) {
  NiConfig ni;
  ni.nid = lnet::parse_nid(nid).value();
  ni.lnd_tunables = {{"driver", "null"}};
  return ni;
}

TEST(LnetNetworks, WithoutADriverTheMissingProtocolIsNamed) {
  NiConfig ni;
  ni.interfaces = {"eth0"};
  const auto resolved = resolve_ni(net("tcp"), ni, 1);
  ASSERT_FALSE(resolved);
  EXPECT_EQ(resolved.error().code, Errc::kNotSupported);
  EXPECT_NE(resolved.error().what.find("socklnd"), std::string::npos) << resolved.error().what;
  EXPECT_EQ(resolve_ni(net("gni"), ni, 1).error().code, Errc::kNotSupported);
}

TEST(LnetNetworks, NullServesEveryKindOfNetworkThatGivesANid) {
  const auto resolved = resolve_ni(net("o2ib3"), null_ni("10.0.0.1@o2ib3"), 2);
  ASSERT_TRUE(resolved) << resolved.error().what;
  EXPECT_EQ(resolved->driver->name(), "null");
  EXPECT_EQ(resolved->setup.tunables, lnet::NiTunables{});
  NiConfig nameless = null_ni("10.0.0.1@tcp");
  nameless.nid.reset();
  EXPECT_EQ(resolve_ni(net("tcp"), nameless, 2).error().code, Errc::kInvalid);
}

TEST(LnetNetworks, ADriverThatDoesNotExistIsRefusedWithThoseThatDo) {
  NiConfig ni = null_ni("10.0.0.1@tcp");
  ni.lnd_tunables = {{"driver", "magic"}};
  const auto resolved = resolve_ni(net("tcp"), ni, 1);
  ASSERT_FALSE(resolved);
  EXPECT_EQ(resolved.error().what, "driver 'magic' does not exist, expected null");
}

TEST(LnetNetworks, CptsOfTheNiExist) {
  NiConfig ni = null_ni("10.0.0.1@tcp");
  ni.cpts = {1};
  EXPECT_EQ(resolve_ni(net("tcp"), ni, 2)->setup.device_cpt, 1);
  EXPECT_EQ(resolve_ni(net("tcp"), ni, 1).error().code, Errc::kInvalid);
}

TEST(LnetNetworks, APeerGetsNoMoreCreditsThanThereAre) {
  NiConfig ni = null_ni("10.0.0.1@tcp");
  ni.tunables = {.peer_credits = 64, .credits = 32};
  const auto resolved = resolve_ni(net("tcp"), ni, 1);
  EXPECT_EQ(resolved->setup.tunables.credits, 32);
  EXPECT_EQ(resolved->setup.tunables.peer_credits, 32);
}

}  // namespace
}  // namespace plnet::apps
