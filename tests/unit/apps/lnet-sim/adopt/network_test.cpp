// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-sim/adopt/network.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "apps/lnet-sim/adopt/site_text.hpp"
#include "apps/lnet-sim/plan/site_reader.hpp"
#include "lib/lnet/names/nid_text.hpp"

namespace plnet::sim::adopt_test {
namespace {

constexpr const char* kClient =
    "net:\n  - net type: tcp\n    local NI(s):\n      - interfaces:\n          0: eth0\n"
    "route:\n  - net: o2ib\n    gateway: 10.0.0.[1-2]@tcp\n    hop: 1\n"
    "global:\n  retry_count: 1\n  transaction_timeout: 31\n";
constexpr const char* kServer =
    "net:\n  - net type: o2ib\n    local NI(s):\n      - interfaces:\n          0: ib0\n"
    "route:\n  - net: tcp\n    gateway: 10.1.0.[1-2]@o2ib\n";
constexpr const char* kRouter =
    "options lnet networks=\"tcp(eth0),o2ib(ib0)\" forwarding=enabled\n"
    "options lnet alive_router_check_interval=10 router_ping_timeout=17\n"
    "options lnet large_router_buffers=64 lnet_transaction_timeout=31 lnet_retry_count=1\n";

ConfigFile file_of(const std::string& name, const std::string& text, unsigned nodes = 1,
                   bool server = false) {
  ConfigFile file{.title = name, .name = name.substr(0, name.find('.')), .nodes = nodes};
  file.is_server = server;
  const auto read = add_config_text(file, text, name);
  EXPECT_TRUE(read.has_value()) << read.error();
  return file;
}

std::vector<ConfigFile> network(unsigned clients = 20) {
  return {file_of("client.yaml", kClient, clients), file_of("router.conf", kRouter, 2),
          file_of("server.yaml", kServer, 4, true)};
}

bool has_note(const AdoptedSite& adopted, const std::string& part) {
  return std::ranges::any_of(
      adopted.notes, [&](const std::string& note) { return note.find(part) != std::string::npos; });
}

TEST(Adopt, MakesGroupsRoutesAndParametersOfThreeFiles) {
  const auto adopted = adopt(network());
  ASSERT_TRUE(adopted.has_value()) << adopted.error();
  const SiteConfig& site = adopted->site;
  ASSERT_EQ(site.nets.size(), 2U);
  EXPECT_EQ(site.nets[0].name, "tcp");
  EXPECT_EQ(site.nets[0].credits, 256U);
  EXPECT_EQ(site.nets[1].kind, NetKind::kO2ib);
  ASSERT_EQ(site.groups.size(), 3U);
  EXPECT_EQ(site.nodes, 26U);
  EXPECT_EQ(site.groups[0].talks_to, std::vector<unsigned>{2});
  ASSERT_EQ(site.groups[0].routes.size(), 1U) << "two routes by the two nodes of one group";
  EXPECT_EQ(site.groups[0].routes[0].via, 1U);
  EXPECT_EQ(site.groups[0].routes[0].hops, 1U);
  EXPECT_TRUE(site.groups[1].router);
  EXPECT_EQ(site.groups[1].buffers[lnet::BufferClass::kLarge], 64U);
  EXPECT_EQ(site.gateways.check_interval_s, 10U);
  EXPECT_EQ(site.gateways.ping_timeout_s, 17U);
  EXPECT_EQ(site.health.retry_count, 1U);
  EXPECT_EQ(site.transaction_timeout_s, 31U);
  EXPECT_EQ(site.lnd_timeout_s, 15U) << "as LNet derives it";
}

TEST(Adopt, TakesTheNidsOfRoutersFromTheRoutesIfNoFileHasThem) {
  const auto adopted = adopt(network());
  ASSERT_TRUE(adopted.has_value()) << adopted.error();
  EXPECT_EQ(
      adopted->site.groups[1].nids,
      (std::vector<std::string>{"10.0.0.1@tcp", "10.1.0.1@o2ib", "10.0.0.2@tcp", "10.1.0.2@o2ib"}));
  EXPECT_TRUE(has_note(*adopted, "router.conf: assumed to be 10.0.0.1@tcp, 10.0.0.2@tcp"));
}

TEST(Adopt, KnowsRoutersByGivenNids) {
  ConfigFile first = file_of("r1.conf", kRouter);
  ConfigFile second = file_of("r2.conf", kRouter);
  first.nids = {*lnet::parse_nid("10.0.0.1@tcp"), *lnet::parse_nid("10.1.0.1@o2ib")};
  second.nids = {*lnet::parse_nid("10.0.0.2@tcp"), *lnet::parse_nid("10.1.0.2@o2ib")};
  const auto adopted =
      adopt(std::vector<ConfigFile>{file_of("client.yaml", kClient, 20), second, first,
                                    file_of("server.yaml", kServer, 4, true)});
  ASSERT_TRUE(adopted.has_value()) << adopted.error();
  ASSERT_EQ(adopted->site.groups[0].routes.size(), 2U);
  EXPECT_EQ(adopted->site.groups[0].routes[0].via, 2U) << "10.0.0.1 is the third file";
  EXPECT_EQ(adopted->site.groups[0].routes[1].via, 1U);
}

TEST(Adopt, PrintsASiteFileThatReadsBack) {
  const auto adopted = adopt(network());
  ASSERT_TRUE(adopted.has_value()) << adopted.error();
  const std::string text = site_text(*adopted, "lnet-sim from-config …");
  const auto site = read_site(text, "site");
  ASSERT_TRUE(site.has_value()) << site.error().text() << text;
  EXPECT_EQ(site->nodes, 26U);
  EXPECT_EQ(site->groups[1].nids, adopted->site.groups[1].nids);
  EXPECT_EQ(site->groups[0].routes.size(), 1U);
  EXPECT_EQ(site->health.retry_count, 1U);
  EXPECT_EQ(site->lnd_timeout_s, 15U);
  EXPECT_NE(text.find("# Not carried over, or assumed:\n#   router.conf"), std::string::npos)
      << text;
}

TEST(Adopt, ReadsTheExportOfAKernelNode) {
  std::ifstream file(std::string(PLNET_TEST_DATA) + "/lnetctl/2.15-export.yaml");
  std::stringstream text;
  text << file.rdbuf();
  ConfigFile node{.title = "export.yaml", .name = "export"};
  const auto read = add_config_text(node, text.str(), "export.yaml");
  ASSERT_TRUE(read.has_value()) << read.error();
  EXPECT_FALSE(node.settings.lnet.nets.empty());
}

TEST(Adopt, NamesWhatASiteDoesNotHave) {
  auto files = network();
  const auto read = add_config_text(
      files[0],
      "peer:\n  - primary nid: 10.0.0.9@tcp\n    peer ni:\n      - nid: 10.0.0.9@tcp\n"
      "global:\n  numa_range: 7\n",
      "client.yaml");
  ASSERT_TRUE(read.has_value()) << read.error();
  const auto adopted = adopt(files);
  ASSERT_TRUE(adopted.has_value()) << adopted.error();
  EXPECT_TRUE(has_note(*adopted, "client.yaml: 1 peer: "));
  EXPECT_TRUE(has_note(*adopted, "client.yaml: numa_range 7"));
  EXPECT_TRUE(has_note(*adopted, "server.yaml: transaction_timeout 150: 31 in the site"));
}

TEST(Adopt, ComplainsWithFileLineAndExpectation) {
  ConfigFile file{.title = "bad.yaml", .name = "bad"};
  const auto key = add_config_text(file, "net:\n  - net type: tcp\n    nis: 3\n", "bad.yaml");
  ASSERT_FALSE(key.has_value());
  EXPECT_TRUE(key.error().starts_with("bad.yaml:3:")) << key.error();
  const auto garbage = add_config_text(file, "\x01\x02{{{", "bad.yaml");
  ASSERT_FALSE(garbage.has_value());
  EXPECT_TRUE(garbage.error().starts_with("bad.yaml:1:")) << garbage.error();
  const auto option = add_config_text(file, "# x\noptions lnet netwroks=tcp\n", "bad.conf");
  ASSERT_FALSE(option.has_value());
  EXPECT_TRUE(option.error().starts_with("bad.conf:2:")) << option.error();
}

TEST(Adopt, RefusesWhatMakesNoNetwork) {
  const auto complaint = [](std::vector<ConfigFile> files) {
    const auto adopted = adopt(files);
    return adopted ? std::string("adopted") : adopted.error();
  };
  EXPECT_NE(complaint({}).find("expected configuration files"), std::string::npos);
  EXPECT_NE(complaint({file_of("empty.yaml", "")}).find("empty.yaml: no network in it, expected"),
            std::string::npos);
  EXPECT_NE(complaint({file_of("client.yaml", kClient)}).find("expected --servers"),
            std::string::npos);
  EXPECT_NE(complaint({file_of("client.yaml", kClient), file_of("server.yaml", kServer, 1, true)})
                .find("no client can exchange messages with a server"),
            std::string::npos);
  EXPECT_NE(complaint({file_of("ip.conf", "options lnet ip2nets=\"tcp 10.0.0.*\"\n")})
                .find("ip.conf=NID"),
            std::string::npos);
}

TEST(ConfigFile, ComplainsAboutCountsNidsAndMissingFiles) {
  const auto complaint = [](const std::string& word) {
    const auto file = read_config_file(word);
    return file ? std::string("read") : file.error();
  };
  EXPECT_NE(complaint("client.yaml:many").find("expected FILE:COUNT"), std::string::npos);
  EXPECT_NE(complaint("client.yaml:0").find("from 1 to"), std::string::npos);
  EXPECT_NE(complaint("client.yaml=").find("expected FILE=NID"), std::string::npos);
  EXPECT_NE(complaint("client.yaml=10.0.0.1@tpc").find("client.yaml: "), std::string::npos);
  EXPECT_NE(complaint("/nowhere/client.yaml:3").find("/nowhere/client.yaml"), std::string::npos);
}

}  // namespace
}  // namespace plnet::sim::adopt_test
