// SPDX-License-Identifier: BSD-3-Clause
// The meaning of LNet's own keys of a document: net, route, peer, ….
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "lib/lnet/names/nid_text.hpp"
#include "lib/runtime/config/schema.hpp"
#include "lib/runtime/control/yaml_printer.hpp"
#include "tests/mocks/whole_schema.hpp"

namespace plnet::runtime::lnet_settings_test {
namespace {

Settings add(std::string_view text, const Settings& base = {}) {
  const auto read = read_settings(text, "f", base);
  EXPECT_TRUE(read.has_value()) << read.error().text();
  return read.value_or(base);
}

std::string refused(const ParseResult& read) {
  std::string out;
  if (read) return "accepted";
  for (const ConfigError& error : read.error().list()) {
    if (!out.empty()) out += '\n';
    out += error.summary();
  }
  return out;
}

std::string bad(std::string_view text, const Settings& base = {}) {
  return refused(read_settings(text, "f", base));
}

lnet::NodeConfig del(std::string_view text, const Settings& base) {
  const auto read = reset_settings(text, "f", base);
  EXPECT_TRUE(read.has_value()) << read.error().text();
  return read.value_or(base).lnet;
}

constexpr std::string_view kSite =
    "net:\n"
    "    - net type: tcp\n"
    "      local NI(s):\n"
    "        - interfaces:\n"
    "              0: eth0\n"
    "          tunables:\n"
    "              peer_timeout: 180\n"
    "              peer_credits: 8\n"
    "              peer_buffer_credits: 0\n"
    "              credits: 256\n"
    "          lnd tunables:\n"
    "              conns_per_peer: 1\n"
    "          CPT: \"[0,1]\"\n"
    "        - interfaces:\n"
    "              0: eth1\n"
    "    - net type: kfi\n"
    "      local NI(s):\n"
    "        - nid: 77@kfi\n"
    "          lnd tunables:\n"
    "              traffic_class: LOW_LATENCY\n"
    "route:\n"
    "    - net: o2ib1\n"
    "      gateway: 192.168.1.1@tcp\n"
    "      hop: -1\n"
    "      priority: 0\n"
    "routing:\n"
    "    enable: 1\n"
    "buffers:\n"
    "    tiny: 0\n"
    "    small: 8192\n"
    "    large: 0\n"
    "peer:\n"
    "    - primary nid: 192.168.1.20@tcp\n"
    "      Multi-Rail: True\n"
    "      peer ni:\n"
    "        - nid: 192.168.1.20@tcp\n"
    "        - nid: 10.0.0.20@kfi\n"
    "    - primary nid: 192.168.1.21@tcp\n"
    "      Multi-Rail: False\n"
    "      peer ni:\n"
    "        - nid: 192.168.1.21@tcp\n"
    "global:\n"
    "    numa_range: 0\n"
    "    max_interfaces: 200\n"
    "    discovery: 1\n"
    "    drop_asym_route: 0\n"
    "    retry_count: 3\n"
    "    transaction_timeout: 150\n"
    "    health_sensitivity: 100\n"
    "    recovery_interval: 1\n"
    "    router_sensitivity: 100\n"
    "    lnd_timeout: 37\n"
    "    response_tracking: 3\n"
    "    recovery_limit: 0\n"
    "    max_recovery_ping_interval: 900\n"
    "udsp:\n"
    "    - idx: 0\n"
    "      dst: 192.168.1.20@tcp\n"
    "      action:\n"
    "          priority: 0\n";

std::string site_text() {
  std::string text(kSite);
  text.replace(text.find("10.0.0.20@kfi"), 13, "20@kfi");
  return text;
}

std::string backup(const Settings& settings) {
  const std::string text = print_yaml(export_settings(settings, ExportForm::kBackup));
  return text.substr(0, text.find("plnet:"));
}

TEST(LnetSettings, HoldABackupOfLnetctl) {
  const Settings settings = add(site_text());
  const lnet::NodeConfig& config = settings.lnet;
  ASSERT_EQ(config.nets.size(), 2U);
  const lnet::NiConfig& eth0 = config.nets[0].nis[0];
  EXPECT_EQ(eth0.interfaces, std::vector<std::string>{"eth0"});
  EXPECT_EQ(eth0.tunables, (lnet::RequestedTunables{180, 8, 0, 256}));
  EXPECT_EQ(eth0.cpts, (std::vector<std::uint16_t>{0, 1}));
  EXPECT_EQ(config.nets[0].nis[1].tunables, lnet::RequestedTunables{});
  EXPECT_EQ(config.nets[1].nis[0].nid, lnet::parse_nid("77@kfi").value());
  EXPECT_TRUE(config.routing);
  EXPECT_EQ(config.buffers, (lnet::BuffersConfig{0, 8192, 0}));
  EXPECT_EQ(config.routes[0].hops, lnet::kHopsUndefined);
  EXPECT_EQ(config.peers[0].nids.size(), 2U);
  EXPECT_FALSE(config.peers[1].multi_rail);
  EXPECT_EQ(config.parameters.retry_count, 3);
  EXPECT_EQ(config.udsps[0].priority, 0U);
}

TEST(LnetSettings, AreExportedAsLnetctlDoesAndTheSameAgain) {
  const Settings settings = add(site_text());
  EXPECT_EQ(backup(settings), site_text());
  EXPECT_EQ(add(backup(settings)), settings);
  EXPECT_EQ(add(backup(settings), settings), settings) << "again on itself";
  EXPECT_EQ(backup(Settings{}), "") << "a node without LNet has nothing to say of it";
  const std::string json = export_settings(settings, ExportForm::kBackup).dump();
  EXPECT_EQ(add(json), settings);
}

TEST(LnetSettings, AddToExistingSettings) {
  const Settings site = add(site_text());
  const Settings more =
      add("net: [{net type: tcp, local NI(s): [{interfaces: {0: eth1}, tunables: {credits: 1}}]}]\n"
          "route: [{net: o2ib1, gateway: '192.168.1.[1-3]@tcp', hop: 2}]\n"
          "peer: [{primary nid: 192.168.1.20@tcp, peer ni: [{nid: '192.168.2.[20-21]@tcp'}]}]\n"
          "buffers: {tiny: 100, small: -1}\n",
          site);
  EXPECT_EQ(more.lnet.nets[0].nis.size(), 2U) << "replaced";
  EXPECT_EQ(more.lnet.nets[0].nis[1].tunables.credits, 1);
  ASSERT_EQ(more.lnet.routes.size(), 3U);
  EXPECT_EQ(more.lnet.routes[0].hops, 2);
  EXPECT_EQ(more.lnet.peers[0].nids.size(), 4U);
  EXPECT_EQ(more.lnet.buffers, (lnet::BuffersConfig{100, 8192, 0}));
  EXPECT_EQ(more.lnet.parameters, site.lnet.parameters);
  const auto changes = diff_settings(site, more);
  ASSERT_EQ(changes.size(), 9U) << render_changes(changes);
  EXPECT_EQ(render_changes(std::span(changes).subspan(2, 1)),
            "route: {\"net\":\"o2ib1\",\"gateway\":\"192.168.1.1@tcp\",\"hop\":-1,\"priority\":0} "
            "-> none (live)\n");
}

TEST(LnetSettings, RemoveNamedSettings) {
  const Settings site = add(site_text());
  const auto without = del("net: [{net type: tcp}]", site);
  EXPECT_EQ(without.nets.size(), 1U);
  EXPECT_TRUE(without.routes.empty()) << "by a gateway there";
  const auto one = del("net: [{net type: tcp, local NI(s): [{interfaces: {0: eth0}}]}]", site);
  EXPECT_EQ(one.nets[0].nis.size(), 1U);
  EXPECT_TRUE(del("route: [{net: o2ib1, gateway: 192.168.1.1@tcp}]", site).routes.empty());
  EXPECT_EQ(del("peer: [{primary nid: 192.168.1.20@tcp}]", site).peers.size(), 1U);
  const auto fewer = del("peer: [{primary nid: 192.168.1.20@tcp, peer ni: [{nid: 20@kfi}]}]", site);
  EXPECT_EQ(fewer.peers[0].nids.size(), 1U);
  EXPECT_EQ(del("global: {retry_count: 9}", site).parameters.retry_count, 2);
  EXPECT_FALSE(del("routing: {enable: 1}", site).routing);
  EXPECT_TRUE(del("udsp: [{idx: 0}]", site).udsps.empty());
  EXPECT_EQ(del(site_text(), site), lnet::NodeConfig{});
  EXPECT_EQ(refused(reset_settings("route: [{net: o2ib1, gateway: 1.1.1.1@tcp}]", "f", site)),
            "f:1:9: route[0]: no route to o2ib1 by 1.1.1.1@tcp");
  EXPECT_EQ(refused(reset_settings("net:\n  - net type: o2ib\n", "f", site)),
            "f:2:5: net[0]: network o2ib is not configured");
}

TEST(LnetSettings, KnowNisOfExportsByTheirNids) {
  constexpr std::string_view kExported =
      "net:\n"
      "    - net type: tcp\n"
      "      local NI(s):\n"
      "        - nid: 10.0.0.1@tcp\n"
      "          interfaces:\n"
      "              0: eth0\n"
      "        - nid: 10.0.0.2@tcp\n"
      "          interfaces:\n"
      "              0: eth0\n";
  const Settings by_nid =
      add("net: [{net type: tcp, local NI(s): [{nid: 10.0.0.1@tcp}, {nid: 10.0.0.2@tcp}]}]");
  EXPECT_EQ(add(kExported, by_nid), by_nid) << "an interface that was not configured is not now";
  EXPECT_EQ(del(kExported, by_nid), lnet::NodeConfig{});
  const Settings fresh = add(kExported);
  ASSERT_EQ(fresh.lnet.nets[0].nis.size(), 2U);
  EXPECT_EQ(fresh.lnet.nets[0].nis[1].nid, lnet::parse_nid("10.0.0.2@tcp").value());
  EXPECT_EQ(fresh.lnet.nets[0].nis[1].interfaces, std::vector<std::string>{"eth0"});
  EXPECT_EQ(add(backup(fresh)), fresh);
  const Settings kfi =
      add("net: [{net type: kfi, local NI(s): [{nid: 77@kfi, interfaces: {0: cxi0}}]}]");
  EXPECT_FALSE(kfi.lnet.nets[0].nis[0].nid.has_value()) << "its NIC reports it";
}

TEST(LnetSettings, KeepTheNidThatAnInterfaceHasGot) {
  Settings node = add("net: [{net type: tcp, local NI(s): [{interfaces: {0: eth0}}]}]");
  node.lnet.nets[0].nis[0].nid = lnet::parse_nid("10.0.0.1@tcp").value();
  constexpr std::string_view kOther =
      "net: [{net type: tcp, local NI(s): [{nid: 10.0.0.2@tcp, interfaces: {0: eth0}}]}]";
  EXPECT_EQ(add(kOther, node), node) << "a file of another node, or of another day";
  EXPECT_EQ(del(kOther, node), lnet::NodeConfig{});
  const Settings both =
      add("net: [{net type: tcp, local NI(s): [{nid: 10.0.0.2@tcp, interfaces: {0: eth0}}, "
          "{nid: 10.0.0.1@tcp, interfaces: {0: eth0}}]}]",
          node);
  EXPECT_EQ(both.lnet.nets[0].nis.size(), 2U) << "of which the document has each";
}

// Exports of lnetctl contain it when a node has sent to itself.
TEST(LnetSettings, PassOverTheirOwnLoopback) {
  const std::string itself =
      "peer: [{primary nid: 0@lo, peer ni: [{nid: 0@lo}]}, "
      "{primary nid: 192.168.1.20@tcp}]";
  const auto peers = add(itself).lnet.peers;
  ASSERT_EQ(peers.size(), 1U);
  EXPECT_EQ(text_of(peers[0].primary), "192.168.1.20@tcp");
  EXPECT_TRUE(del(itself, add(itself)).peers.empty());
}

TEST(LnetSettings, FindDuplicates) {
  EXPECT_EQ(bad("net:\n"
                "  - net type: tcp\n"
                "    local NI(s):\n"
                "      - interfaces: {0: eth0}\n"
                "      - interfaces: {0: eth0, 1: eth1}\n"),
            "f:5:9: net[0].local NI(s)[1]: duplicate NI: network tcp has this interface or NID "
            "already");
  EXPECT_EQ(bad("net:\n"
                "  - {net type: tcp, local NI(s): [{interfaces: {0: eth0}}]}\n"
                "  - {net type: tcp0, local NI(s): [{interfaces: {0: eth0}}]}\n"),
            "f:3:36: net[1].local NI(s)[0]: duplicate NI: network tcp has this interface or NID "
            "already");
  EXPECT_EQ(bad("route:\n  - {net: o2ib, gateway: 1.1.1.1@tcp}\n"
                "  - {net: o2ib, gateway: '1.1.1.[1-2]@tcp'}\n"),
            "f:3:5: route[1]: duplicate route: to o2ib by 1.1.1.1@tcp is already in the "
            "document");
  EXPECT_EQ(bad("peer:\n  - {primary nid: 1.1.1.1@tcp}\n  - {primary nid: 1.1.1.1@tcp}\n"),
            "f:3:5: peer[1]: duplicate peer: 1.1.1.1@tcp is already in the document");
  EXPECT_EQ(bad("peer:\n  - {primary nid: 1.1.1.1@tcp}\n"
                "  - {primary nid: 1.1.1.2@tcp, peer ni: [{nid: 1.1.1.1@tcp}]}\n"),
            "f:3:5: peer[1]: 1.1.1.1@tcp belongs to peer 1.1.1.1@tcp");
  EXPECT_EQ(bad("udsp: [{dst: tcp, priority: 1}, {dst: tcp, priority: 2}]"),
            "f:1:33: udsp[1]: duplicate policy");
}

TEST(LnetSettings, ReportErrorsWithTheirPlace) {
  EXPECT_EQ(bad("net: [{net typ: tcp}]").substr(0, 62),
            "f:1:8: unknown key 'net typ' in net[0], expected net type, ip2");
  EXPECT_EQ(bad("net: [{net type: tpc}]").substr(0, 27), "f:1:18: net[0].net type: co");
  EXPECT_EQ(bad("net: [{net type: tcp}]"),
            "f:1:7: net[0]: network tcp without local NI(s): missing mandatory parameters");
  EXPECT_EQ(bad("net: [{net type: tcp, local NI(s): [{lnd tunables: {ntx: 5}}]}]"),
            "f:1:58: net[0].local NI(s)[0].lnd tunables.ntx: network tcp has no lnd tunable 'ntx', "
            "expected conns_per_peer, timeout, tos");
  for (const char* const seconds : {"-5", "2147484", "9999999999"}) {
    EXPECT_TRUE(bad("net: [{net type: tcp, local NI(s): [{lnd tunables: {timeout: " +
                    std::string(seconds) + "}}]}]")
                    .contains("expected -1 to 2147483 seconds"));
  }
  EXPECT_EQ(bad("route: [{net: o2ib, gateway: 1.1.1.1@tcp, hop: 0}]"),
            "f:1:48: route[0].hop: invalid hop count 0, must be between 1 and 255");
  EXPECT_EQ(bad("route: [{net: tcp, gateway: 1.1.1.1@tcp}]"),
            "f:1:9: route[0]: gateway 1.1.1.1@tcp is on the destination network itself");
  EXPECT_EQ(bad("peer: [{Multi-Rail: True}]"),
            "f:1:8: peer[0]: the 'primary nid' must be specified");
  EXPECT_EQ(bad("peer: [{primary nid: 1.1.1.1@tcp, Multi-Rail: maybe}]"),
            "f:1:47: peer[0].Multi-Rail: 'maybe' is neither true nor false, expected True or "
            "False");
  EXPECT_EQ(bad("global: {discovery: 2}"),
            "f:1:21: global.discovery: '2' is out of range, expected a number from 0 to 1");
  EXPECT_EQ(bad("global: {retry_count: 150}"),
            "f:1:1: global.transaction_timeout: 150, expected more than retry_count, which is 150");
  EXPECT_EQ(bad("global: {\n  transaction_timeout: 2}"),
            "f:2:24: global.transaction_timeout: 2, expected more than retry_count, which is 2");
  EXPECT_EQ(bad("peer list: []").substr(0, 47), "f:1:1: call back for 'peer list' not found: unk");
  // A document with an error is refused as a whole, and all errors are reported.
  EXPECT_EQ(bad("net: [{net type: tcp}]\nroute: [{net: o2ib}]\n"),
            "f:1:7: net[0]: network tcp without local NI(s): missing mandatory parameters\n"
            "f:2:9: route[0]: no 'gateway'");
}

TEST(LnetSettings, BoundRangesAndSayWhereTheyAre) {
  EXPECT_TRUE(
      bad("route: [{net: o2ib, gateway: '*@tcp'}]").starts_with("f:1:30: route[0].gateway: "))
      << bad("route: [{net: o2ib, gateway: '*@tcp'}]");
  EXPECT_TRUE(bad("peer: [{primary nid: 1.1.1.1@tcp, peer ni: [{nid: '1.1.[0-9].[1-99]@tcp'}]}]")
                  .starts_with("f:1:51: peer[0].peer ni[0].nid: "));
  EXPECT_EQ(bad("peer: [{primary nid: 1.1.1.1@tcp, peer ni: [{}]}]"),
            "f:1:45: peer[0].peer ni[0].nid: no NID");
  const std::string_view many =
      "peer: [{primary nid: 1.1.1.1@tcp, peer ni: [{nid: '1.1.2.[1-100]@tcp'}, "
      "{nid: '1.1.3.[1-100]@tcp'}]}, {primary nid: 1.1.2.1@tcp}]";
  EXPECT_EQ(bad(many), "f:1:8: peer[0]: 201 NIDs, expected at most 200");
  const Settings some =
      add("peer: [{primary nid: 1.1.1.1@tcp, peer ni: [{nid: '1.1.2.[1-100]@tcp'}]}]");
  EXPECT_EQ(some.lnet.peers[0].nids.size(), 101U);
  EXPECT_EQ(bad("peer: [{primary nid: 1.1.1.1@tcp, peer ni: [{nid: '1.1.3.[1-100]@tcp'}]}]", some),
            "f:1:8: peer[0]: 201 NIDs, expected at most 200");
}

TEST(LnetSettings, RefusePeersBeyondTheLimit) {
  Settings full;
  for (std::uint32_t i = 0; i < lnet::kConfiguredPeersMax; ++i) {
    const lnet::Nid nid = lnet::Nid::of(lnet::NetType::kTcp, 0, 0x0a000000 + i);
    full.lnet.peers.push_back({.primary = nid, .nids = {nid}});
  }
  EXPECT_EQ(bad("peer: [{primary nid: 1.1.1.1@tcp, peer ni: [{nid: 1.1.1.2@tcp}]}, "
                "{primary nid: 1.1.1.2@tcp}]",
                full),
            "f:1:8: peer[0]: too many peers, expected at most 65536\n"
            "f:1:67: peer[1]: too many peers, expected at most 65536");
}

TEST(LnetSettings, TakeTheWaysInWhichFilesSayThings) {
  const Settings list =
      add("net: [{net type: tcp, local NI(s): [{interfaces: {0: a}, CPT: [1, 0]}]}]");
  EXPECT_EQ(list.lnet.nets[0].nis[0].cpts, (std::vector<std::uint16_t>{1, 0}));
  const Settings defaults =
      add("net: [{net type: tcp, tunables: {credits: 9}, lnd tunables: {tos: 3}, local NI(s): "
          "[{interfaces: {0: a}}, {interfaces: {0: b}, tunables: {credits: 7}}]}]");
  EXPECT_EQ(defaults.lnet.nets[0].nis[0].tunables.credits, 9);
  EXPECT_EQ(defaults.lnet.nets[0].nis[0].lnd_tunables.size(), 1U);
  EXPECT_EQ(defaults.lnet.nets[0].nis[1].tunables.credits, 7);
  EXPECT_EQ(add("numa: {range: 5}").lnet.parameters.numa_range, 5);
  EXPECT_EQ(add("global: {max_intf: 0x20}").lnet.parameters.max_interfaces, 32);
  EXPECT_EQ(add("global: {max_interfaces: 3}").lnet.parameters.max_interfaces, 200);
  EXPECT_EQ(add("global: {health_sensitivity: 0}").lnet.parameters.retry_count, 0);
  EXPECT_TRUE(add("routing: [{'cpt[0]': {tiny: {npages: 0}}}, {enable: 1}]").lnet.routing);
  EXPECT_FALSE(add("routing: [{enable: 2}]").lnet.routing) << "it was being stopped";
  EXPECT_TRUE(add("routing: [{enable: 3}]").lnet.routing) << "it was being started";
  for (const std::string driver : {"ksocklnd", "kkfilnd"}) {
    EXPECT_EQ(add("net: [{net type: kfi, local NI(s): [{nid: 18@kfi, interfaces: {0: cxi0}, " +
                  driver + " parameters: {credits: 256}}]}]")
                  .lnet.nets.size(),
              1U)
        << "as `net show -v 3` prints it";
  }
  const Settings rules =
      add("net: [{ip2net: 'tcp(eth0) 10.*.*.*'}]\n"
          "ip2nets:\n"
          "  - net-spec: o2ib\n"
          "    interfaces: {0: ib0}\n"
          "    ip-range: {0: '10.10.[0-3].*', 1: 192.168.0.0/16}\n"
          "  - net-spec: tcp\n");
  EXPECT_EQ(rules.lnet.ip2nets_text, "tcp(eth0) 10.*.*.*");
  ASSERT_EQ(rules.lnet.ip2nets.size(), 2U);
  EXPECT_EQ(rules.lnet.ip2nets[0].ranges.size(), 2U);
  EXPECT_EQ(add(backup(rules)), rules) << backup(rules);
  EXPECT_EQ(add("net: [{net type: lo, local NI(s): [{nid: 0@lo}]}]"), Settings{});
  const Settings policy = add("udsp: [{src: NA, dst: tcp, rte: NA, action: {priority: 3}}]");
  EXPECT_EQ(policy.lnet.udsps[0].priority, 3U);
  EXPECT_FALSE(policy.lnet.udsps[0].source || policy.lnet.udsps[0].router);
}

TEST(LnetReset, PassesOverRulesThatHaveBecomeNetworks) {
  constexpr std::string_view kRules =
      "net: [{ip2net: 'tcp(eth0) 10.*.*.*'}]\nip2nets: [{net-spec: o2ib}]\n";
  EXPECT_EQ(del(kRules, add(kRules)), lnet::NodeConfig{});
  const Settings others = add("net: [{net type: tcp, local NI(s): [{interfaces: {0: eth0}}]}]");
  EXPECT_EQ(del(kRules, others), others.lnet);
}

TEST(NamedItems, SelectTheItemsOfShowAndExec) {
  const auto named = read_named(
      "ping: [{primary nid: 1.1.1.1@tcp, timeout: 500}]\n"
      "discover: [{primary nid: 1.1.1.2@tcp, force: 1}]\n"
      "net: [{net type: tcp}]\nstatistics:\n",
      "f");
  ASSERT_TRUE(named.has_value()) << named.error().text();
  EXPECT_EQ(named->sections, (std::vector<std::string>{"ping", "discover", "net", "statistics"}));
  EXPECT_EQ(named->pings[0].timeout, std::chrono::milliseconds(500));
  EXPECT_TRUE(named->discovers[0].force);
  EXPECT_EQ(named->nets.size(), 1U);
  const auto without = read_named("ping: [{timeout: 5}]", "f");
  ASSERT_FALSE(without.has_value());
  EXPECT_EQ(without.error().list()[0].summary(), "f:1:8: ping[0]: no 'primary nid'");
}

TEST(LnetSchema, HasTheRangesOfTheVariables) {
  const Key* const global = find_key(whole_schema().keys(), "global");
  for (const lnet::GlobalVariable& variable : lnet::global_variables()) {
    const Key* const key = find_key(global->children, variable.name);
    ASSERT_NE(key, nullptr) << variable.name;
    EXPECT_EQ(key->low, variable.low) << variable.name;
    EXPECT_EQ(key->high, variable.high) << variable.name;
  }
}

// tests/data/lnetctl/RELEASE-WHAT.yaml: outputs of the lnetctl of that release.
std::vector<std::string> fixtures() {
  std::vector<std::string> names;
  for (const auto& entry :
       std::filesystem::directory_iterator(PLNET_SOURCE_ROOT "/tests/data/lnetctl"))
    names.push_back(entry.path().stem().string());
  std::ranges::sort(names);
  return names;
}

class PrintedByLnetctl : public testing::TestWithParam<std::string> {};

TEST_P(PrintedByLnetctl, ImportsAndSurvivesAnExport) {
  const std::string path =
      fmt::format("{}/tests/data/lnetctl/{}.yaml", PLNET_SOURCE_ROOT, GetParam());
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "re"),
                                                             std::fclose);
  ASSERT_NE(file, nullptr) << path;
  std::string text(1U << 16U, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  const Settings read = add(text);
  const lnet::NodeConfig& config = read.lnet;
  const auto has = [&text](std::string_view key) { return text.contains(key); };
  EXPECT_EQ(config.nets.empty(), !has("net type: tcp"));
  EXPECT_EQ(config.peers.size(), has("\npeer:") || text.starts_with("peer:") ? 2U : 0U);
  EXPECT_EQ(config.routes.size(), has("gateway: ") ? 2U : 0U);
  EXPECT_EQ(config.udsps.size(), has("udsp:") ? 2U : 0U);
  EXPECT_EQ(config.routing, has("enable: 1"));
  if (!config.nets.empty()) {
    EXPECT_EQ(config.nets[0].net, lnet::parse_net("tcp").value()) << "lo is left out";
    EXPECT_EQ(config.nets[0].nis.size(), 2U);
    EXPECT_EQ(config.nets[0].nis[0].nid.has_value(), has("nid: 192.168.1.10@tcp"));
  }
  const std::string exported = backup(read);
  EXPECT_EQ(add(exported), read);
  EXPECT_EQ(backup(add(exported)), exported);
  EXPECT_TRUE(diff_settings(read, add(text, read)).empty());
}

INSTANTIATE_TEST_SUITE_P(Files, PrintedByLnetctl, testing::ValuesIn(fixtures()),
                         [](const auto& name) {
                           std::string word = name.param;
                           std::ranges::replace_if(
                               word, [](char c) { return c == '.' || c == '-'; }, '_');
                           return word;
                         });

}  // namespace
}  // namespace plnet::runtime::lnet_settings_test
