// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/node/node_config.hpp"

#include <array>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "lib/lnet/api/parameters.hpp"
#include "lib/lnet/names/nid_text.hpp"
#include "lib/lnet/node/lnet_control.hpp"
#include "tests/unit/lib/lnet/nid.hpp"

namespace plnet::lnet::node_config_test {
namespace {

NiConfig ni_on(std::string interface) {
  NiConfig ni;
  ni.interfaces = {std::move(interface)};
  return ni;
}

NodeConfig sound_config() {
  NodeConfig config;
  config.nets = {{parse_net("tcp").value(), {ni_on("eth0"), ni_on("eth1")}},
                 {parse_net("o2ib").value(), {ni_on("ib0")}}};
  config.routes = {{parse_net("kfi").value(), parse_nid("10.0.0.9@tcp").value()}};
  const Nid peer = parse_nid("10.0.0.7@tcp").value();
  config.peers = {{.primary = peer, .nids = {peer, parse_nid("10.1.0.7@o2ib").value()}}};
  return config;
}

std::string first_issue(const NodeConfig& config) {
  const auto issues = check_node_config(config);
  return issues.empty() ? "" : issues[0].path + ": " + issues[0].what;
}

TEST(NodeConfig, WithoutContradictionsIsSound) {
  EXPECT_EQ(first_issue({}), "");
  EXPECT_EQ(first_issue(sound_config()), "");
}

TEST(NodeConfig, ReportsContradictions) {
  NodeConfig config = sound_config();
  config.nets[0].nis[1].interfaces = {"eth0"};
  EXPECT_EQ(first_issue(config),
            "net[0].local NI(s)[1]: the same interface or NID as NI 0 of network tcp");
  config = sound_config();
  config.nets.push_back(config.nets[0]);
  EXPECT_EQ(first_issue(config), "net[2]: network tcp is there twice");
  config = sound_config();
  config.nets[1].nis[0].nid = parse_nid("10.0.0.1@tcp").value();
  EXPECT_EQ(first_issue(config), "net[1].local NI(s)[0]: NID 10.0.0.1@tcp is not on network o2ib");
  config = sound_config();
  config.routes[0].hops = 256;
  EXPECT_EQ(first_issue(config), "route[0]: invalid hop count 256, must be between 1 and 255");
  config = sound_config();
  config.routes[0].net = parse_net("tcp").value();
  EXPECT_NE(first_issue(config).find("on the network that it shall lead to"), std::string::npos);
  config = sound_config();
  config.peers[0].multi_rail = false;
  EXPECT_NE(first_issue(config).find("not Multi-Rail"), std::string::npos);
  config = sound_config();
  config.nets[0].nis[0].lnd_tunables = {{"ntx", 512}};
  EXPECT_NE(first_issue(config).find("network tcp has no lnd tunable 'ntx', expected conns_per_pe"),
            std::string::npos);
  config.nets[0].nis[0].lnd_tunables = {{"conns_per_peer", 128}};
  EXPECT_NE(first_issue(config).find("valid range 0-127"), std::string::npos);
}

TEST(GlobalVariables, HaveTheDefaultsOfTheRunningOnes) {
  const ParameterValues values;
  const Parameters running;
  EXPECT_EQ(values.numa_range, running.numa_range.get());
  EXPECT_EQ(values.max_interfaces, running.max_interfaces.get());
  EXPECT_EQ(values.discovery, running.discovery.get());
  EXPECT_EQ(values.drop_asym_route, running.drop_asym_route.get());
  EXPECT_EQ(values.retry_count, running.retry_count.get());
  EXPECT_EQ(values.transaction_timeout_s, running.transaction_timeout_s.get());
  EXPECT_EQ(values.health_sensitivity, running.health_sensitivity.get());
  EXPECT_EQ(values.recovery_interval_s, running.recovery_interval_s.get());
  EXPECT_EQ(values.router_sensitivity, running.router_sensitivity.get());
  EXPECT_EQ(values.response_tracking, running.response_tracking.get());
  EXPECT_EQ(values.recovery_limit_s, running.recovery_limit_s.get());
  EXPECT_EQ(values.max_recovery_ping_interval_s, running.max_recovery_ping_interval_s.get());
  EXPECT_EQ(values.lnd_timeout_s(), running.lnd_timeout_s());
  EXPECT_EQ(values.lnd_timeout_s(), 49);
}

TEST(GlobalVariables, AreSetWithTheKernelsConditions) {
  ParameterValues values;
  const auto set = [&](std::string_view name, std::int64_t value) {
    return set_global_variable(values, *find_global_variable(name), value).has_value();
  };
  EXPECT_TRUE(set("max_interfaces", 5));
  EXPECT_EQ(values.max_interfaces, 200) << "below 16 means the default";
  EXPECT_FALSE(set("transaction_timeout", 2)) << "must exceed the retries";
  EXPECT_FALSE(set("retry_count", 150));
  EXPECT_EQ(values.retry_count, 2) << "left alone";
  EXPECT_TRUE(set("health_sensitivity", 0));
  EXPECT_EQ(values.retry_count, 0) << "no health, no retries";
  EXPECT_FALSE(set("retry_count", 1));
  EXPECT_FALSE(set("health_sensitivity", 1001));
  EXPECT_FALSE(set("response_tracking", 4));
  EXPECT_FALSE(set("max_recovery_ping_interval", 0));
  EXPECT_EQ(find_global_variable("lnd_timeout"), nullptr) << "derived";
}

TEST(NiChange, AppliesToNamedNis) {
  const Nid first = nid("1.1.1.1@tcp");
  const Nid second = nid("1.1.1.2@tcp");
  EXPECT_TRUE(NiChange{.all = true}.is_for(first.net(), first));
  EXPECT_TRUE(NiChange{.net = first.net()}.is_for(first.net(), first));
  EXPECT_FALSE(NiChange{.net = nid("1.1.1.1@tcp1").net()}.is_for(first.net(), first));
  EXPECT_TRUE(NiChange{.nid = first}.is_for(first.net(), first));
  EXPECT_FALSE(NiChange{.nid = first}.is_for(second.net(), second));
  const NiChange both{.nid = first, .net = first.net()};
  EXPECT_TRUE(both.is_for(first.net(), first));
  EXPECT_FALSE(both.is_for(second.net(), second)) << "not all of its network";
}

TEST(NodeConfig, RemovingANetworkRemovesItsRoutesAndPeers) {
  const auto tcp = make_net(NetType::kTcp);
  NodeConfig config;
  config.peers = {
      {.primary = nid("1.1.1.1@tcp"), .nids = {nid("1.1.1.1@tcp"), nid("1.1.1.1@o2ib")}},
      {.primary = nid("2.2.2.2@o2ib"), .nids = {nid("2.2.2.2@o2ib"), nid("2.2.2.2@tcp")}}};
  config.routes = {{.net = make_net(NetType::kO2ib), .gateway = nid("1.1.1.1@tcp")},
                   {.net = make_net(NetType::kO2ib), .gateway = nid("1.1.1.1@tcp1")}};
  drop_what_was_on(config, std::span(&tcp, 1));
  ASSERT_EQ(config.peers.size(), 1U);
  EXPECT_EQ(config.peers[0].nids, std::vector{nid("2.2.2.2@o2ib")});
  ASSERT_EQ(config.routes.size(), 1U);
  EXPECT_EQ(config.routes[0].gateway, nid("1.1.1.1@tcp1"));
}

}  // namespace
}  // namespace plnet::lnet::node_config_test
