// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/node/nets_by_address.hpp"

#include <initializer_list>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "lib/lnet/names/nid_text.hpp"

namespace plnet::lnet::nets_by_address_test {
namespace {

using Addresses = std::vector<InterfaceAddress>;

Addresses machine(std::initializer_list<std::pair<const char*, const char*>> given) {
  Addresses local;
  for (const auto& [name, address] : given)
    local.push_back({.interface = name, .address = parse_ip(address).value()});
  return local;
}

const Addresses kMachine = machine(
    {{"eth0", "192.168.0.4"}, {"eth1", "2001:db8::4"}, {"eth1", "10.1.0.4"}, {"ib0", "10.2.0.4"}});

NetId net(const char* text) {
  return parse_net(text).value();
}

AddressPattern range(const char* text) {
  return parse_address_pattern(TextPart(text), AddressStyle::kIpv4Ipv6).value();
}

// "tcp: 192.168.0.4@tcp eth0 eth1; o2ib: …"
std::string drawn(const NodeConfig& config) {
  std::string text;
  for (const NetConfig& network : config.nets) {
    text += fmt::format("{}{}:", text.empty() ? "" : "; ", text_of_net(network.net));
    for (const NiConfig& ni : network.nis) {
      if (ni.nid) text += fmt::format(" {}", text_of(*ni.nid));
      for (const std::string& name : ni.interfaces)
        text += fmt::format(" {}", name);
    }
  }
  return text;
}

std::string by_text(const char* rules, const Addresses& local = kMachine) {
  NodeConfig config;
  config.ip2nets_text = rules;
  const auto applied = apply_ip2nets(config, local);
  if (!applied) return applied.error().what;
  EXPECT_TRUE(config.ip2nets_text.empty());
  assign_nids(config, {}, local);
  return drawn(config);
}

std::string by_rule(Ip2NetsConfig rule, const Addresses& local = kMachine) {
  NodeConfig config;
  config.ip2nets.push_back(std::move(rule));
  EXPECT_TRUE(apply_ip2nets(config, local).has_value());
  EXPECT_TRUE(config.ip2nets.empty());
  assign_nids(config, {}, local);
  return drawn(config);
}

TEST(Ip2NetsText, GivesTheNetworksOfEveryEntryThatMatches) {
  EXPECT_EQ(by_text("tcp(eth1) 10.1.*.*; o2ib(ib0) 10.2.*.*; tcp7(eth0) 172.*.*.*"),
            "tcp: 10.1.0.4@tcp eth1; o2ib: 10.2.0.4@o2ib ib0");
}

TEST(Ip2NetsText, WithoutAnInterfaceMeansTheFirstOneWhicheverMatched) {
  EXPECT_EQ(by_text("tcp 10.2.*.*"), "tcp: 192.168.0.4@tcp eth0");
}

TEST(Ip2NetsText, NamesAnInterfaceOnce) {
  EXPECT_EQ(by_text("tcp(eth0) 192.168.*.*; tcp(eth0,eth1) 10.*.*.*"),
            "tcp: 192.168.0.4@tcp eth0 10.1.0.4@tcp eth1");
}

TEST(Ip2NetsText, TextThatMatchesNothingIsAnError) {
  EXPECT_NE(by_text("tcp 172.16.*.*").find("matches a local address"), std::string::npos);
  EXPECT_NE(by_text("tcp *.*.*.*", {}).find("no addresses"), std::string::npos);
  EXPECT_EQ(by_text("tcp(eth7) 10.*.*.*"),
            "ip2nets: network tcp: interface eth7 is not there or not up");
}

TEST(Ip2NetsText, LeavesNetworksWithoutAddressesToTheirDriver) {
  EXPECT_EQ(by_text("kfi(cxi0) 10.*.*.*"), "kfi: cxi0");
}

TEST(Ip2NetsText, KeepsConfiguredNetworks) {
  NodeConfig config;
  config.nets = {{.net = net("tcp"), .nis = {{.interfaces = {"eth0"}, .cpts = {3}}}}};
  config.ip2nets_text = "tcp(eth0,eth1) 10.*.*.*";
  ASSERT_TRUE(apply_ip2nets(config, kMachine).has_value());
  EXPECT_EQ(drawn(config), "tcp: eth0 eth1");
  EXPECT_EQ(config.nets[0].nis[0].cpts, std::vector<std::uint16_t>{3});
}

TEST(Ip2NetsRules, TakeEachInterfaceThatFits) {
  EXPECT_EQ(by_rule({.net = net("tcp"), .ranges = {range("10.*.*.*")}}),
            "tcp: 10.1.0.4@tcp eth1 10.2.0.4@tcp ib0");
  EXPECT_EQ(by_rule({.net = net("tcp"), .ranges = {range("192.168.0.[2-8/2]")}}),
            "tcp: 192.168.0.4@tcp eth0");
  EXPECT_EQ(by_rule({.net = net("tcp"), .ranges = {range("2001:db8::/32")}}),
            "tcp: 10.1.0.4@tcp eth1");
}

TEST(Ip2NetsRules, RulesWithoutMatchGiveNothing) {
  EXPECT_EQ(by_rule({.net = net("tcp"), .ranges = {range("172.16.*.*")}}), "");
  EXPECT_EQ(by_rule({.net = net("tcp"), .interfaces = {"eth7"}}), "");
}

TEST(Ip2NetsRules, NeedAllOfTheInterfacesThatTheyName) {
  EXPECT_EQ(by_rule({.net = net("tcp"), .interfaces = {"eth0", "ib0"}}),
            "tcp: 192.168.0.4@tcp eth0 10.2.0.4@tcp ib0");
  EXPECT_EQ(by_rule({.net = net("tcp"), .interfaces = {"eth0", "eth7"}}), "");
  EXPECT_EQ(
      by_rule({.net = net("tcp"), .interfaces = {"eth0", "ib0"}, .ranges = {range("10.2.*.*")}}),
      "");
  EXPECT_EQ(by_rule({.net = net("tcp"),
                     .interfaces = {"eth0", "ib0"},
                     .ranges = {range("10.2.*.*"), range("192.168.0.4")}}),
            "tcp: 192.168.0.4@tcp eth0 10.2.0.4@tcp ib0");
}

TEST(Ip2NetsRules, WithNeitherTakeTheFirstInterface) {
  EXPECT_EQ(by_rule({.net = net("tcp")}), "tcp: 192.168.0.4@tcp eth0");
  const Addresses v6_first = machine({{"eth9", "2001:db8::9"}, {"eth0", "192.168.0.4"}});
  EXPECT_EQ(by_rule({.net = net("tcp")}, v6_first), "tcp: 192.168.0.4@tcp eth0");
  EXPECT_EQ(by_rule({.net = net("tcp")}, {}), "");
}

TEST(Ip2NetsRules, ApplyTheirSettingsToTheirNis) {
  NodeConfig config;
  config.ip2nets = {{.net = net("tcp"),
                     .ranges = {range("10.1.*.*")},
                     .cpts = {1},
                     .tunables = {.credits = 64},
                     .lnd_tunables = {{"driver", "null"}}}};
  ASSERT_TRUE(apply_ip2nets(config, kMachine).has_value());
  const NiConfig& ni = config.nets.at(0).nis.at(0);
  EXPECT_EQ(ni.cpts, std::vector<std::uint16_t>{1});
  EXPECT_EQ(ni.tunables.credits, 64);
  EXPECT_EQ(ni.lnd_tunables.size(), 1U);
}

TEST(InterfaceNids, AreOfTheInterfaceWithIpv4First) {
  NodeConfig config;
  config.nets = {{.net = net("tcp"), .nis = {{.interfaces = {"eth1"}}, {.interfaces = {"eth7"}}}},
                 {.net = net("kfi"), .nis = {{.interfaces = {"eth0"}}}}};
  assign_nids(config, {}, kMachine);
  EXPECT_EQ(drawn(config), "tcp: 10.1.0.4@tcp eth1 eth7; kfi: eth0");
  NodeConfig v6;
  v6.nets = {{.net = net("tcp"), .nis = {{.interfaces = {"eth1"}}}},
             {.net = net("o2ib"), .nis = {{.interfaces = {"eth1"}}}}};
  assign_nids(v6, {}, machine({{"eth1", "2001:db8::4"}}));
  EXPECT_EQ(drawn(v6), "tcp: 2001:db8::4@tcp eth1; o2ib: eth1");
}

TEST(InterfaceNids, StayWhenTheAddressChanges) {
  NodeConfig before;
  before.nets = {{.net = net("tcp"), .nis = {{.interfaces = {"eth0"}}}}};
  assign_nids(before, {}, kMachine);
  NodeConfig after;
  after.nets = {{.net = net("tcp"), .nis = {{.interfaces = {"eth0"}}}}};
  assign_nids(after, before, machine({{"eth0", "192.168.0.5"}}));
  EXPECT_EQ(after, before);
}

TEST(InterfaceNids, ConfiguredNidsCountIfTheInterfaceHasThem) {
  const Addresses local =
      machine({{"eth0", "192.168.0.4"}, {"eth0", "192.168.0.5"}, {"eth1", "2001:db8::4"}});
  NodeConfig config;
  config.nets = {{.net = net("tcp"),
                  .nis = {{.nid = parse_nid("192.168.0.5@tcp").value(), .interfaces = {"eth0"}},
                          {.nid = parse_nid("2001:db8::4@tcp").value(), .interfaces = {"eth1"}},
                          {.nid = parse_nid("10.0.0.1@tcp").value(), .interfaces = {"eth0"}}}}};
  EXPECT_TRUE(needs_addresses(config));
  const auto notes = assign_nids(config, {}, local);
  EXPECT_EQ(drawn(config), "tcp: 192.168.0.5@tcp eth0 2001:db8::4@tcp eth1 192.168.0.4@tcp eth0");
  EXPECT_EQ(notes, std::vector<std::string>{"interface eth0 does not have the address of NID "
                                            "10.0.0.1@tcp: the NI is 192.168.0.4@tcp"});
  const NodeConfig before = config;
  EXPECT_FALSE(needs_addresses(config, before));
  EXPECT_TRUE(assign_nids(config, before, {}).empty());
  EXPECT_EQ(config, before) << "a known address stays when it is removed";
}

TEST(InterfaceNids, MakeNoOtherNiOfIt) {
  const NiConfig named{.interfaces = {"eth0"}};
  const NiConfig told{.nid = parse_nid("1.2.3.4@tcp").value(), .interfaces = {"eth0"}};
  const NiConfig by_nid{.nid = parse_nid("1.2.3.4@tcp").value()};
  EXPECT_TRUE(is_same_ni(named, told));
  EXPECT_TRUE(is_same_ni(told, by_nid));
  EXPECT_FALSE(is_same_ni({}, by_nid)) << "the first interface, whatever its NID";
  EXPECT_FALSE(is_same_ni(named, {.interfaces = {"eth1"}}));
}

TEST(InterfaceNids, AreAskedForOnlyWhenSomethingNeedsThem) {
  NodeConfig config;
  EXPECT_FALSE(needs_addresses(config));
  config.nets = {{.net = net("tcp"), .nis = {{.nid = parse_nid("1.2.3.4@tcp").value()}}}};
  EXPECT_FALSE(needs_addresses(config));
  config.nets[0].nis.push_back({.interfaces = {"eth0"}});
  EXPECT_TRUE(needs_addresses(config));
}

TEST(SiteRoutes, those_that_are_for_other_nodes_are_left_out) {
  const auto text = parse_routes(
      "o2ib 10.0.0.9@tcp; tcp1 10.0.0.9@tcp; tcp 10.1.0.9@tcp1; o2ib 10.0.0.1@tcp; o2ib 7@kfi");
  ASSERT_TRUE(text);
  NodeConfig config{
      .nets = {{.net = make_net(NetType::kTcp),
                .nis = {{.nid = parse_nid("10.0.0.1@tcp").value()}}},
               {.net = make_net(NetType::kTcp, 1), .nis = {{.interfaces = {"eth1"}}}}},
      .routes = *text};
  for (RouteConfig& route : config.routes)
    route.of_site = true;
  const RouteConfig wrong{.net = make_net(NetType::kO2ib), .gateway = parse_nid("8@kfi").value()};
  config.routes.push_back(wrong);
  EXPECT_TRUE(settle_site_routes(config)) << "one of them is by this node";
  ASSERT_EQ(config.routes.size(), 2U);
  EXPECT_EQ(config.routes[0].gateway, parse_nid("10.0.0.9@tcp").value());
  EXPECT_FALSE(config.routes[0].of_site);
  EXPECT_EQ(config.routes[1], wrong) << "a local request is not skipped";
  EXPECT_FALSE(settle_site_routes(config));
}

}  // namespace
}  // namespace plnet::lnet::nets_by_address_test
