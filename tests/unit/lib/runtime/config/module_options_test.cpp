// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/config/module_options.hpp"

#include <gtest/gtest.h>

#include "lib/lnet/names/nid_text.hpp"
#include "lib/runtime/control/yaml_printer.hpp"
#include "tests/mocks/whole_schema.hpp"

namespace plnet::runtime::module_options_test {
namespace {

ModuleOptions good(std::string_view text, const lnet::NodeConfig& base = {}) {
  auto read = read_module_options(text, "lnet.conf", base);
  EXPECT_TRUE(read.has_value()) << read.error().text();
  return read.value_or(ModuleOptions{});
}

std::string bad(std::string_view text) {
  const auto read = read_module_options(text, "lnet.conf");
  return read ? "accepted" : read.error().list()[0].summary();
}

lnet::NetId net(std::string_view text) {
  return lnet::parse_net(text).value();
}

TEST(ModuleOptions, OptionsOfASiteBecomeItsConfiguration) {
  const ModuleOptions options = good(
      "# the site's routers\n"
      "\n"
      "options lnet networks=\"tcp0(eth0,eth1[0]),o2ib(ib0)[0,1]\" forwarding=enabled \\\n"
      "    routes=\"kfi 2 10.0.0.[1-2]@tcp:1; o2ib7 10.1.0.1@o2ib\"\n"
      "options lnet lnet_peer_discovery_disabled=1 lnet_transaction_timeout=0x40\n"
      "options lnet small_router_buffers=16384 accept=all\n"
      "options ksocklnd credits=512 nagle=0\n"
      "options ko2iblnd peer_credits=32\n");
  EXPECT_TRUE(options.notes.empty()) << options.notes[0];
  const lnet::NodeConfig& config = options.config;
  ASSERT_EQ(config.nets.size(), 2U);
  ASSERT_EQ(config.nets[0].nis.size(), 2U) << "an NI for each interface";
  EXPECT_EQ(config.nets[0].nis[1].interfaces, std::vector<std::string>{"eth1"});
  EXPECT_EQ(config.nets[0].nis[1].cpts, std::vector<std::uint16_t>{0});
  EXPECT_EQ(config.nets[1].net, net("o2ib"));
  ASSERT_EQ(config.routes.size(), 3U);
  EXPECT_EQ(config.routes[1].hops, 2);
  EXPECT_EQ(config.routes[1].priority, 1U);
  EXPECT_TRUE(config.routing);
  EXPECT_EQ(config.parameters.discovery, 0);
  EXPECT_EQ(config.parameters.transaction_timeout_s, 64);
  EXPECT_EQ(config.buffers.small, 16384);
  EXPECT_EQ(config.module_option("lnet", "accept"), "all");
  EXPECT_EQ(config.module_option("ksocklnd", "credits"), "512");
  EXPECT_EQ(config.module_option("ko2iblnd", "peer_credits"), "32");
  EXPECT_EQ(config.module_option("ko2iblnd", "credits"), "");
}

TEST(ModuleOptions, SurviveAnExport) {
  Settings settings;
  settings.lnet =
      good(
          "options lnet ip2nets='tcp(eth0) 10.*.*.*; o2ib 10.1.*.*'\noptions ksocklnd tos=3\n"
          "options lnet routes=\"kfi 10.0.0.1@tcp\"")
          .config;
  for (auto& route : settings.lnet.routes)
    route.of_site = false;               // the node found it useful
  settings.lnet.routes_if_ours.clear();  // the gateway is another node
  const std::string text = print_yaml(export_settings(settings, ExportForm::kBackup));
  EXPECT_EQ(read_settings(text, "f").value_or(Settings{}), settings) << text;
  settings.lnet = good("options lnet networks=tcp(eth0)[2,1]").config;
  const std::string placed = print_yaml(export_settings(settings, ExportForm::kBackup));
  EXPECT_EQ(read_settings(placed, "f").value_or(Settings{}), settings) << placed;
  settings.lnet = good("options lnet networks=tcp").config;
  ASSERT_EQ(settings.lnet.nets.size(), 1U) << "the first interface that fits";
  const std::string plain = print_yaml(export_settings(settings, ExportForm::kBackup));
  EXPECT_EQ(read_settings(plain, "f").value_or(Settings{}), settings) << plain;
}

TEST(ModuleOptions, AreQuotedAsPeopleQuoteThem) {
  for (const char* text :
       {"options lnet networks=tcp(eth0),o2ib(ib0)",
        "options lnet networks=\"tcp(eth0), o2ib(ib0)\"",
        "options lnet 'networks=\"tcp(eth0),o2ib(ib0)\"'\r\n",
        "\toptions  lnet\tnetworks='tcp(eth0) , o2ib(ib0)'  ",
        "options lnet networks=\"tcp(eth0),\\\no2ib(ib0)\"",
        "options lnet networks=tcp(eth9)\noptions lnet networks=tcp(eth0),o2ib(ib0)"}) {
    const auto options = good(text);
    ASSERT_EQ(options.config.nets.size(), 2U) << text;
    EXPECT_EQ(options.config.nets[0].nis[0].interfaces[0], "eth0") << text;
  }
  EXPECT_EQ(good("options lnet routes=\"kfi 1.1.1.1@tcp\n o2ib 1.1.1.2@tcp\"").config.routes.size(),
            2U)
      << "an end of line within quotes ends an entry";
}

TEST(ModuleOptions, OfLibcfsPlanTheCptsAsTheKernelDoes) {
  const auto cpts = [](std::string_view text) {
    Settings settings;
    settings.cpts.by = CptPlanRequest::By::kNumaNode;
    apply(good(text), settings);
    return settings.cpts;
  };
  EXPECT_EQ(cpts("options lnet networks=tcp").by, CptPlanRequest::By::kNumaNode);
  const CptPlanRequest some = cpts("options libcfs cpu_npartitions=4");
  EXPECT_EQ(some.by, CptPlanRequest::By::kPartitions);
  EXPECT_EQ(some.partitions, 4U);
  const CptPlanRequest pattern =
      cpts("options libcfs cpu_npartitions=2 cpu_pattern=\"0[0-3] 1[4-7]\"");
  EXPECT_EQ(pattern.by, CptPlanRequest::By::kPattern);
  EXPECT_EQ(pattern.pattern, "0[0-3] 1[4-7]");
  EXPECT_EQ(cpts("options lnet cpu_pattern=N").pattern, "N") << "the module of 2.17";
  EXPECT_EQ(bad("options libcfs cpu_npartitions=many"),
            "lnet.conf:1:16: cpu_npartitions: 'many', expected a number from 0 to 256");
}

TEST(ModuleOptions, ReportOptionsWithoutEffect) {
  const ModuleOptions options = good(
      "alias lnet foo\n"
      "options ptlrpc x=1\n"
      "options libcfs cpu_npart=4 config_on_load=1\n"
      "options lnet config_on_load=1 portal_rotor=3 lock_prim_nid=0\n"
      "options ksocklnd frobnicate=1 protocol=2 backoff_init=1 backoff_max=9\n"
      "options lnet_selftest brw_srv_workitems=16 ping_srv_workitems=16\n"
      "options lnet networks=tcp routes=\"tcp 10.0.0.1@o2ib; o2ib 10.1.0.1@tcp 10.1.0.1@tcp\"\n");
  EXPECT_EQ(options.notes,
            (std::vector<std::string>{
                "lnet.conf:1:1: 'alias' is ignored",
                "lnet.conf:2:9: options of module 'ptlrpc' are ignored",
                "lnet.conf:3:16: option 'cpu_npart' of libcfs is not supported",
                "lnet.conf:3:28: option 'config_on_load' of libcfs is not supported",
                "lnet.conf:4:14: option 'config_on_load' has no effect here: a node brings LNet up "
                "when it starts",
                "lnet.conf:4:31: option 'portal_rotor' has no effect here: a PUT goes to the shard "
                "whose buffer matches it",
                "lnet.conf:4:46: option 'lock_prim_nid' has no effect here: no Lustre client or "
                "server here names primary NIDs",
                "lnet.conf:5:18: option 'frobnicate' of ksocklnd is not supported",
                "lnet.conf:5:31: option 'protocol' has no effect here: each connection agrees on "
                "its version with the peer",
                "lnet.conf:5:42: option 'backoff_init' has no effect here: Linux has no such TCP "
                "option; see sock_timeout",
                "lnet.conf:5:57: option 'backoff_max' has no effect here: Linux has no such TCP "
                "option; see sock_timeout",
                "lnet.conf:6:23: option 'brw_srv_workitems' has no effect here: a shard serves 256 "
                "RPCs at a time; see plnet.selftest.server_mib",
                "lnet.conf:6:44: option 'ping_srv_workitems' has no effect here: a shard serves "
                "256 RPCs at a time",
                "lnet.conf:7:27: route to tcp by 10.0.0.1@o2ib is left out: a network of this "
                "node"}));
  EXPECT_EQ(options.config.routes.size(), 1U) << "the same twice is once";
}

TEST(ModuleOptions, SelftestOptionsSetItsTimeouts) {
  Settings settings;
  settings.selftest.client_mib = 7;
  apply(good("options lnet_selftest rpc_timeout=0 session_timeout=30"), settings);
  EXPECT_EQ(settings.selftest,
            (SelftestSettings{.session_timeout_sec = 30, .rpc_timeout_sec = 0, .client_mib = 7}));
  apply(good("options lnet_selftest rpc_timeout=5"), settings);
  EXPECT_EQ(settings.selftest.rpc_timeout_sec, 5U);
  EXPECT_EQ(settings.selftest.session_timeout_sec, 30U) << "as it was";
  EXPECT_EQ(bad("options lnet_selftest rpc_timeout=-1"),
            "lnet.conf:1:23: rpc_timeout: '-1', expected a number from 0 to 86400");
  EXPECT_EQ(good("options lnet_selftest rpc_timeot=1").notes,
            (std::vector<std::string>{
                "lnet.conf:1:23: option 'rpc_timeot' of lnet_selftest is not supported"}));
}

TEST(ModuleOptions, RouterCheckOptionsAreNumbersAndOldOnesHaveNoEffect) {
  const ModuleOptions options =
      good("options lnet dead_router_check_interval=60 alive_router_check_interval=-1\n");
  EXPECT_EQ(options.config.module_option("lnet", "alive_router_check_interval"), "-1");
  EXPECT_EQ(options.notes, (std::vector<std::string>{"lnet.conf:1:14: option "
                                                     "'dead_router_check_interval' has no effect: "
                                                     "alive_router_check_interval has"}));
  EXPECT_EQ(bad("options lnet peer_buffer_credits=abc"),
            "lnet.conf:1:14: peer_buffer_credits: 'abc', expected a number from 0 to 2147483647");
  EXPECT_EQ(bad("options lnet router_ping_timeout=soon"),
            "lnet.conf:1:14: router_ping_timeout: 'soon', expected a number from 1 to 86400");
  EXPECT_EQ(bad("options lnet auto_down=2"),
            "lnet.conf:1:14: auto_down: '2', expected a number from 0 to 1");
}

TEST(ModuleOptions, ReportErrorsWithTheirPlace) {
  EXPECT_EQ(bad("options lnet netwrks=tcp"), "lnet.conf:1:14: module lnet has no option 'netwrks'");
  EXPECT_EQ(bad("# x\noptions lnet \\\n  lnet_retry_count=x"),
            "lnet.conf:3:3: lnet_retry_count: 'x', expected a number from 0 to 2147483647");
  EXPECT_EQ(bad("options lnet networks=tcp( routes=x"),
            "lnet.conf:1:14: networks: column 5 of \"tcp(\": expected the name of a network "
            "interface: 1 to 15 letters, no blank and no '/'");
  EXPECT_EQ(bad("options lnet networks=tcp ip2nets=\"tcp 10.*.*.*\""),
            "lnet.conf:1:27: both networks and ip2nets, expected one of them");
  EXPECT_EQ(bad("options lnet lnet_retry_count=150").substr(0, 47),
            "lnet.conf:1:14: lnet_retry_count: retry_count: ");
  EXPECT_EQ(bad("options lnet forwarding=yes"),
            "lnet.conf:1:14: forwarding: 'yes', expected enabled, disabled or nothing");
  EXPECT_EQ(bad("options lnet tcp"), "lnet.conf:1:14: 'tcp', expected name=value");
  EXPECT_EQ(bad("options lnet networks=tcp(e\xebth0)"),
            "lnet.conf:1:28: byte 0xeb is not UTF-8, expected text in UTF-8");
  EXPECT_EQ(bad("options"), "lnet.conf:1:1: 'options' without a module");
}

TEST(ModuleOptions, AGatewayOfItsOwnRoutesEnablesRouting) {
  const std::string routes =
      "options lnet networks=tcp(eth0),o2ib(ib0) routes=\"o2ib 10.0.0.[1-2]@tcp; tcp "
      "10.1.0.3@o2ib\"";
  EXPECT_EQ(good(routes).config.routes_if_ours.size(), 3U) << "its NIDs are not known yet";
  EXPECT_FALSE(good(routes).config.routing);
  EXPECT_EQ(good(routes + " forwarding=\"\"").config.routes_if_ours.size(), 3U);
  EXPECT_TRUE(good(routes + " forwarding=disabled").config.routes_if_ours.empty());
  EXPECT_TRUE(good(routes + " forwarding=enabled").config.routes_if_ours.empty());
}

TEST(ModuleOptions, LeaveOtherSettingsUnchanged) {
  const auto base = good(
                        "options lnet networks=tcp(a) lnet_retry_count=1\n"
                        "options ksocklnd tos=1")
                        .config;
  const auto changed = good("options lnet networks=o2ib(b)\noptions ksocklnd tos=2", base).config;
  ASSERT_EQ(changed.nets.size(), 1U);
  EXPECT_EQ(changed.nets[0].net, net("o2ib"));
  EXPECT_EQ(changed.parameters.retry_count, 1);
  EXPECT_EQ(changed.module_options.size(), 1U);
  EXPECT_EQ(good("", base).config, base);
}

}  // namespace
}  // namespace plnet::runtime::module_options_test
