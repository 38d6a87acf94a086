// SPDX-License-Identifier: BSD-3-Clause
#include <vector>

#include <gtest/gtest.h>

#include "lib/lnet/names/ip2nets_text.hpp"
#include "lib/lnet/names/networks_text.hpp"
#include "lib/lnet/names/nid_text.hpp"
#include "lib/lnet/names/routes_text.hpp"

namespace plnet::lnet::names_networks_test {
namespace {

using Cpts = std::vector<std::uint16_t>;
using Networks = std::vector<NetworkSpec>;

const NetId kTcp0 = make_net(NetType::kTcp);
const NetId kO2ib0 = make_net(NetType::kO2ib);

Networks networks(std::string_view text, unsigned cpts = 8) {
  const auto parsed = parse_networks(text, cpts);
  EXPECT_TRUE(parsed.has_value()) << (parsed ? "" : parsed.error().what);
  return parsed.value_or(Networks{});
}

TEST(NumberLists, ExpandInTheOrderWrittenEachNumberOnce) {
  const auto expanded = [](std::string_view text) {
    return parse_number_list(TextPart(text), 20, "a CPT").value_or(NumberList{}).expand();
  };
  EXPECT_EQ(expanded("7"), (Cpts{7}));
  EXPECT_EQ(expanded("[4,0-6/3,3,1]"), (Cpts{4, 0, 3, 6, 1}));
  EXPECT_EQ(expanded("*").size(), 21U);
}

TEST(Networks, TheKernelsNotation) {
  EXPECT_EQ(networks("tcp0(eth0,eth1[0]),o2ib(ib0)[0,1]"),
            (Networks{{kTcp0, {{"eth0", {}}, {"eth1", {0}}}}, {kO2ib0, {{"ib0", {0, 1}}}}}));
  EXPECT_EQ(networks("tcp"), (Networks{{kTcp0, {{"", {}}}}}));
  EXPECT_EQ(networks(" tcp ( eth0 [ 1 - 3 / 2 ] , eth0:1 ) [5] , o2ib "),
            (Networks{{kTcp0, {{"eth0", {1, 3}}, {"eth0:1", {5}}}}, {kO2ib0, {{"", {}}}}}));
  EXPECT_EQ(networks("tcp[3,1](eth0)"), (Networks{{kTcp0, {{"eth0", {3, 1}}}}}));
  EXPECT_EQ(networks("tcp(eth0[*])[1]"), (Networks{{kTcp0, {{"eth0", {}}}}}));
  EXPECT_EQ(networks("tcp[0-7]"), (Networks{{kTcp0, {{"", {}}}}}));
  EXPECT_EQ(networks("lo,tcp,"), (Networks{{kTcp0, {{"", {}}}}}));
  EXPECT_EQ(networks("tcp(eth0),o2ib,tcp(eth1)"),
            (Networks{{kTcp0, {{"eth0", {}}, {"eth1", {}}}}, {kO2ib0, {{"", {}}}}}));
  EXPECT_EQ(networks("tcp[1,1-2]")[0].interfaces[0].cpts, (Cpts{1, 2}));
  EXPECT_TRUE(networks("").empty());
  EXPECT_TRUE(networks("  ").empty());
}

TEST(Networks, PrintsWhatItRead) {
  for (const std::string_view text :
       {"tcp(eth0,eth1[0]),o2ib(ib0[0,1])", "tcp,o2ib3(ib0)", "kfi[2]", ""}) {
    EXPECT_EQ(text_of(networks(text)), text);
  }
}

TEST(Networks, MistakesSayTheColumn) {
  const auto column = [](std::string_view text, std::string_view where) {
    const auto parsed = parse_networks(text, 4);
    ASSERT_FALSE(parsed.has_value()) << text;
    EXPECT_TRUE(parsed.error().what.starts_with(where)) << parsed.error().what;
  };
  column("foo", "column 1 ");
  column("tcp,,o2ib", "column 5 ");
  column("tcp(eth0", "column 4 ");
  column("tcp()", "column 5 ");
  column("tcp(eth0,)", "column 10 ");
  column("tcp(eth0 eth1)", "column 10 ");
  column("tcp(eth0))", "column 10 ");
  column("tcp(eth0[4])", "column 10 ");
  column("tcp(eth0[0)", "column 9 ");
  column("tcp[0](eth0)[1]", "column 13 ");
  column("tcp eth0", "column 5 ");
  column("tcp(eth0),tcp(eth0)", "column 11 ");
  column("tcp(eth0,eth0)", "column 14 ");
  column("tcp(abcdefghijklmnop)", "column 5 ");
  column("tcp:1", "column 4 ");
  EXPECT_FALSE(parse_networks(std::string(kNamesTextMax + 1, ' ')).has_value());
}

std::vector<RouteSpec> routes(std::string_view text) {
  const auto parsed = parse_routes(text);
  EXPECT_TRUE(parsed.has_value()) << (parsed ? "" : parsed.error().what);
  return parsed.value_or(std::vector<RouteSpec>{});
}

std::string text_of_routes(std::string_view text) {
  std::string all;
  for (const RouteSpec& route : routes(text)) {
    all += text_of_net(route.net) + '>' + text_of(route.gateway) + '/' +
           std::to_string(route.hops) + '/' + std::to_string(route.priority) + ' ';
  }
  return all;
}

TEST(Routes, TheKernelsNotation) {
  EXPECT_EQ(text_of_routes("tcp1 10.0.0.1@o2ib"), "tcp1>10.0.0.1@o2ib/-1/0 ");
  EXPECT_EQ(text_of_routes("tcp1 2 10.0.0.1@o2ib:3"), "tcp1>10.0.0.1@o2ib/2/3 ");
  EXPECT_EQ(text_of_routes("tcp[1-3/2,7] 10.0.0.1"),
            "tcp1>10.0.0.1@tcp/-1/0 tcp3>10.0.0.1@tcp/-1/0 tcp7>10.0.0.1@tcp/-1/0 ");
  EXPECT_EQ(text_of_routes("kfi 10.0.[0-1].[8-9]@tcp:1 9@gni"),
            "kfi>10.0.0.8@tcp/-1/1 kfi>10.0.0.9@tcp/-1/1 kfi>10.0.1.8@tcp/-1/1 "
            "kfi>10.0.1.9@tcp/-1/1 kfi>9@gni/-1/0 ");
  EXPECT_EQ(text_of_routes("# all\ntcp1 1@kfi # one; tcp2 2@kfi\r\n;;\t tcp3\t3@kfi;"),
            "tcp1>1@kfi/-1/0 tcp2>2@kfi/-1/0 tcp3>3@kfi/-1/0 ");
  EXPECT_EQ(text_of_routes("o2ib 2001:db8::1@tcp:4 2001:db8::2"),
            "o2ib>2001:db8::1@tcp/-1/4 o2ib>2001:db8::2@tcp/-1/0 ");
  EXPECT_EQ(text_of_routes("[tcp,o2ib]1 1@kfi"), "tcp1>1@kfi/-1/0 o2ib1>1@kfi/-1/0 ");
  EXPECT_TRUE(routes("").empty());
  EXPECT_TRUE(routes("# nothing").empty());
}

TEST(Routes, Mistakes) {
  for (const std::string_view text : {"tcp1",
                                      "tcp1 2",
                                      "tcp1 0 1@kfi",
                                      "tcp1 256 1@kfi",
                                      "foo 1@kfi",
                                      "lo 1@kfi",
                                      "tcp1 0@lo",
                                      "tcp1 1@kfi:",
                                      "tcp1 1@kfi:x",
                                      "tcp1 1@kfi:-1",
                                      "tcp[1-2 1@kfi",
                                      "tcp[] 1@kfi",
                                      "tcp[1-4/2] 1@kfi",
                                      "tcp[3-1] 1@kfi",
                                      "tcp[1-3/0] 1@kfi",
                                      "tcp1 *@tcp",
                                      "tcp1 10.0.0.[1-@tcp",
                                      "tcp[0-65535] 10.0.0.1@tcp",
                                      "tcp[1-100] 10.0.0.[1-100]@tcp",
                                      "tcp1 [1-9][1-9][1-9][1-9]@kfi"}) {
    const auto parsed = parse_routes(text);
    ASSERT_FALSE(parsed.has_value()) << text;
    EXPECT_TRUE(parsed.error().what.starts_with("column ")) << parsed.error().what;
  }
  EXPECT_EQ(parse_routes("tcp1 1@kfi\ntcp2 1@kfj\n").error().what,
            "line 2, column 6 of \"tcp2 1@kfj\": column 3 of \"1@kfj\": expected a network such as "
            "tcp or o2ib1; types are lo, tcp, o2ib, gni, gip, ptlf, kfi, efa, bxi3f");
}

Networks matched(std::string_view rules, const std::vector<std::string_view>& addresses) {
  const auto parsed = parse_ip2nets(rules, 8);
  EXPECT_TRUE(parsed.has_value()) << (parsed ? "" : parsed.error().what);
  if (!parsed) return {};
  std::vector<IpAddress> local;
  local.reserve(addresses.size());
  for (const auto address : addresses)
    local.push_back(parse_ip(address).value_or(IpAddress{}));
  return match_ip2nets(*parsed, local).value_or(Networks{});
}

constexpr std::string_view kSite =
    "tcp0(eth0) 192.168.0.[2,4]; tcp0 192.168.0.*  # everybody\no2ib0 132.6.[1-3].[2-8/2]";

TEST(Ip2Nets, AllRulesThatMatchContribute) {
  EXPECT_EQ(matched(kSite, {"192.168.0.3"}), (Networks{{kTcp0, {{"", {}}}}}));
  EXPECT_EQ(matched(kSite, {"192.168.0.4"}), (Networks{{kTcp0, {{"eth0", {}}, {"", {}}}}}));
  EXPECT_EQ(matched(kSite, {"10.0.0.1", "132.6.2.8", "192.168.0.9"}),
            (Networks{{kTcp0, {{"", {}}}}, {kO2ib0, {{"", {}}}}}));
  EXPECT_TRUE(matched(kSite, {"132.6.2.9"}).empty());
  EXPECT_EQ(matched("tcp(eth0[0,1],eth1),o2ib[2] 10.*.*.* 11.0.0.1", {"11.0.0.1"}),
            (Networks{{kTcp0, {{"eth0", {0, 1}}, {"eth1", {}}}}, {kO2ib0, {{"", {2}}}}}));
  EXPECT_EQ(matched("tcp 2001:db8::/32", {"2001:db8::7"}), (Networks{{kTcp0, {{"", {}}}}}));
}

TEST(Ip2Nets, NoMatchIsAnErrorThatNamesTheAddresses) {
  const auto rules = parse_ip2nets(kSite).value();
  const std::vector<IpAddress> local{IpAddress::v4(0x0a000001)};
  const auto result = match_ip2nets(rules, local);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, Errc::kNotFound);
  EXPECT_NE(result.error().what.find("10.0.0.1"), std::string::npos);
}

TEST(Ip2Nets, Mistakes) {
  for (const std::string_view text :
       {"tcp", "foo 10.*.*.*", "tcp 10.*.*", "tcp 10.*.*.256", "tcp,tcp(eth0) 10.*.*.*",
        "tcp(eth0, eth1) 10.*.*.*", "tcp eth0", "tcp 10.0.0.[1-]"}) {
    const auto parsed = parse_ip2nets(text);
    ASSERT_FALSE(parsed.has_value()) << text;
    EXPECT_TRUE(parsed.error().what.starts_with("column ")) << parsed.error().what;
  }
}

}  // namespace
}  // namespace plnet::lnet::names_networks_test
