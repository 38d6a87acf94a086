// SPDX-License-Identifier: BSD-3-Clause
// LNet's commands: from the words of the command line to an LNet that records its calls, and back.
#include <gtest/gtest.h>

#include "tests/mocks/whole_schema.hpp"
#include "tests/unit/apps/lnetctl/lnet_commands_fixture.hpp"

namespace plnet::apps::lnet_commands_test {
namespace {

TEST_F(LnetCommands, ConfigureAndUnconfigure) {
  EXPECT_EQ(run("lnet configure --all -l"), 0);
  EXPECT_TRUE(lnet_.configured && lnet_.configure_request.networks);
  EXPECT_TRUE(lnet_.configure_request.large_nids);
  EXPECT_EQ(run("ln un"), 0);
  EXPECT_FALSE(lnet_.configured);
  lnet_.refusal = Error{Errc::kBusy, "LNet busy"};
  EXPECT_EQ(run("lnet unconfigure"), 256 - EBUSY);
  EXPECT_EQ(err,
            "unconfigure:\n    - lnet:\n          errno: -16\n          descr: \"LNet busy\"\n");
  EXPECT_EQ(out, "");
}

TEST_F(LnetCommands, NetAddTakesEveryOption) {
  EXPECT_EQ(
      run("net add --net tcp --if eth0,eth1[1] --peer-timeout 5 -c 16 --peer-buffer-credits 2 "
          "--credits 0x80 --cpt [3,0] --conns-per-peer 4 --tos -1 --skip-mr-route-setup"),
      0)
      << err;
  EXPECT_EQ(out + err, "");
  ASSERT_EQ(lnet_.node.nets.size(), 1U);
  const auto& nis = lnet_.node.nets[0].nis;
  ASSERT_EQ(nis.size(), 2U);
  EXPECT_EQ(nis[0].tunables, (lnet::RequestedTunables{5, 16, 2, 128}));
  EXPECT_EQ(nis[0].cpts, (std::vector<std::uint16_t>{3, 0})) << "in the order written";
  EXPECT_EQ(nis[1].cpts, std::vector<std::uint16_t>{1}) << "its own come first";
  EXPECT_EQ(nis[0].lnd_tunables.size(), 2U);
  EXPECT_EQ(run("net add --net kfi --if cxi0 --auth-key 255 --traffic-class LOW_LATENCY"), 0)
      << err;
  EXPECT_EQ(run("net add --nid 10.0.0.1@o2ib,10.0.0.2@o2ib"), 0) << err;
  EXPECT_EQ(lnet_.node.nets[2].nis[1].nid, nid("10.0.0.2@o2ib"));
  EXPECT_EQ(run("net add --ip2net tcp1(eth0)"), kInvalidStatus) << "no pattern";
  lnet_.node.ip2nets_text.clear();
}

TEST_F(LnetCommands, NetAddReportsErrors) {
  EXPECT_EQ(run("net add --net tcp"), kMissingStatus);
  EXPECT_TRUE(err.contains("missing mandatory parameters")) << err;
  EXPECT_TRUE(err.starts_with("add:\n    - net:\n          errno: -14\n          descr: \""))
      << err;
  EXPECT_EQ(run("net add --net foo --if eth0"), kInvalidStatus);
  EXPECT_TRUE(err.contains("cannot parse net 'foo'")) << err;
  EXPECT_EQ(run("net add --net tcp --if eth0["), kInvalidStatus);
  EXPECT_TRUE(err.contains("bad interface list")) << err;
  EXPECT_EQ(run("net add --net tcp --if eth0 --tos 256"), kInvalidStatus);
  EXPECT_TRUE(err.contains("Invalid ToS argument")) << err;
  EXPECT_EQ(run("net add --net tcp --if eth0 --conns-per-peer 128"), kInvalidStatus);
  EXPECT_TRUE(err.contains("invalid conns-per-peer value (valid range 0-127)")) << err;
  EXPECT_EQ(run("net add --net tcp --nid 1.1.1.1@tcp"), kInvalidStatus);
  EXPECT_EQ(run("net add --net tcp --if eth0"), 0);
  EXPECT_EQ(run("net add --net tcp --if eth0"), 256 - EEXIST);
  EXPECT_TRUE(err.contains("errno: -17")) << err;
}

TEST_F(LnetCommands, ConnShowAsksForANetOrAPeer) {
  EXPECT_EQ(run("conn show"), 0) << err;
  EXPECT_EQ(out, "") << "there are none";
  EXPECT_FALSE(lnet_.connection_query.net || lnet_.connection_query.nid);
  lnet_.connected.resize(1);
  lnet_.connected[0].peer.nid = nid("10.0.0.2@tcp1");
  lnet_.connected[0].type = "I";
  lnet_.connected[0].transport.emplace();
  EXPECT_EQ(run("conn show --net tcp1 --nid 10.0.0.2@tcp1 -v"), 0) << err;
  EXPECT_EQ(lnet_.connection_query.net, lnet::make_net(lnet::NetType::kTcp, 1));
  EXPECT_EQ(lnet_.connection_query.nid, nid("10.0.0.2@tcp1"));
  EXPECT_TRUE(out.starts_with("conn:\n    - nid: 10.0.0.2@tcp1\n")) << out;
  EXPECT_TRUE(out.contains("      tcp info:\n          unsent_bytes: 0\n")) << out;
  EXPECT_EQ(run("conn show"), 0);
  EXPECT_FALSE(out.contains("tcp info")) << "only with -v";
}

TEST_F(LnetCommands, ConnPeersShowsPeersOfNetworkDrivers) {
  lnet_.connected_peers.resize(1);
  lnet_.connected_peers[0].peer.nid = nid("10.0.0.2@tcp");
  lnet_.connected_peers[0].state = "open";
  EXPECT_EQ(run("conn peers --nid 10.0.0.2@tcp"), 0) << err;
  EXPECT_TRUE(out.starts_with("conn peer:\n    - nid: 10.0.0.2@tcp\n")) << out;
  EXPECT_EQ(lnet_.connection_query.nid, nid("10.0.0.2@tcp"));
}

TEST_F(LnetCommands, ConnTakesNoGarbage) {
  for (const std::string command : {"conn show", "conn peers"}) {
    EXPECT_EQ(run(command + " --net nothing"), kInvalidStatus);
    EXPECT_TRUE(err.contains("cannot parse net 'nothing'")) << err;
    EXPECT_EQ(run(command + " --nid 300.0.0.1@tcp"), kInvalidStatus);
    EXPECT_TRUE(err.contains("cannot parse NID '300.0.0.1@tcp'")) << err;
    EXPECT_EQ(run(command + " --net"), kInvalidStatus);
    EXPECT_EQ(run(command + " everything"), kInvalidStatus);
    EXPECT_EQ(out, "");
  }
}

TEST_F(LnetCommands, NetShowDelAndSet) {
  EXPECT_EQ(run("net add --net tcp --if eth0"), 0);
  EXPECT_EQ(run("net show"), 0);
  EXPECT_EQ(
      out,
      "net:\n    - net type: lo\n      local NI(s):\n        - nid: 0@lo\n          status: up\n"
      "    - net type: tcp\n      local NI(s):\n        - nid: 0.0.0.1@tcp\n"
      "          status: up\n          interfaces:\n              0: eth0\n");
  EXPECT_EQ(run("net show --net tcp -v 2"), 0);
  EXPECT_TRUE(out.contains("health stats:") && !out.contains("0@lo")) << out;
  EXPECT_EQ(run("net show -v4"), 0);
  EXPECT_TRUE(out.contains("udsp info:"));
  EXPECT_EQ(run("net show --net o2ib"), 256 - ENETDOWN);
  EXPECT_TRUE(err.contains("Network is down"));
  EXPECT_EQ(run("net set --net tcp --lnd-timeout 9 --health 500"), 0) << err;
  EXPECT_EQ(lnet_.ni_change.lnd_timeout_s, 9);
  EXPECT_EQ(lnet_.ni_change.health, 500);
  EXPECT_NE(run("net set --net tcp --lnd-timeout 5000000"), 0) << "no configuration may have it";
  EXPECT_EQ(run("net set --all --nid 10.0.0.1@tcp --health 5"), kInvalidStatus);
  EXPECT_EQ(run("net set --all --conns-per-peer 3"), 0) << err;
  EXPECT_EQ(run("net set --all --lnd-timeout 3"), kMissingStatus);
  EXPECT_TRUE(err.contains("Specified --lnd-timeout without --net option"));
  EXPECT_EQ(run("net set --health 5"), kMissingStatus);
  EXPECT_EQ(run("net del"), kMissingStatus);
  EXPECT_EQ(run("net del --net tcp --if eth0,eth1"), 0) << err;
  EXPECT_EQ(lnet_.net_selection.interfaces.size(), 2U);
  EXPECT_EQ(run("net del --net tcp"), 256 - ENOENT);
}

TEST_F(LnetCommands, Peers) {
  EXPECT_EQ(run("peer show") + run("peer list"), 0);
  EXPECT_EQ(out, "") << "no peers is no error";
  EXPECT_EQ(run("peer add --prim_nid 10.0.0.1@tcp --nid 10.0.0.[1-3]@tcp,5@kfi --lock_prim"), 0)
      << err;
  ASSERT_EQ(lnet_.node.peers.size(), 1U);
  EXPECT_EQ(lnet_.node.peers[0].nids.size(), 4U) << "the primary first, and once";
  EXPECT_TRUE(lnet_.node.peers[0].lock_primary);
  EXPECT_EQ(run("peer add --nid 1.1.1.1@tcp"), kMissingStatus);
  EXPECT_TRUE(err.contains("missing required primary NID")) << err;
  EXPECT_EQ(run("peer add --prim_nid 1.1.1.1@tcp --nid 1.1.1.[1-@tcp"), kInvalidStatus);
  EXPECT_TRUE(err.contains("cannot parse NID '1.1.1.[1-@tcp'")) << err;
  EXPECT_EQ(run("peer add --prim_nid 9.9.9.9@tcp --non_mr"), 0) << err;
  EXPECT_EQ(run("peer list"), 0);
  EXPECT_EQ(out, "peer list:\n    - nid: 10.0.0.1@tcp\n    - nid: 9.9.9.9@tcp\n");
  EXPECT_EQ(run("peer show --nid 5@kfi -v 3"), 0);
  EXPECT_TRUE(
      out.starts_with("peer:\n    - primary nid: 10.0.0.1@tcp\n      Multi-Rail: True\n"
                      "      peer state: 0\n"))
      << out;
  EXPECT_EQ(run("peer set --nid 5@kfi --health 1000"), 0) << err;
  EXPECT_EQ(run("peer set --all --health 1001"), 256 - ERANGE);
  EXPECT_EQ(run("peer del --prim_nid 10.0.0.1@tcp --nid 5@kfi --force"), 0) << err;
  EXPECT_TRUE(lnet_.peer_selection.force);
  EXPECT_EQ(lnet_.peer_selection.nids, std::vector{nid("5@kfi")});
}

TEST_F(LnetCommands, EachRowHasAHandler) {
  for (const auto& rows : {runtime::kLnetVerbs, runtime::kFaultVerbs}) {
    for (const runtime::VerbRow& row : rows)
      EXPECT_NE(verbs_.find(row.words), nullptr) << row.words;
  }
}

TEST_F(LnetCommands, PeerCountSumsUpEachNetwork) {
  EXPECT_EQ(run("peer count"), 0);
  EXPECT_EQ(out, "peer count:\n    peers: 0\n    networks: []\n");
  EXPECT_EQ(run("peer add --prim_nid 10.0.0.1@tcp --nid 10.0.0.[1-3]@tcp,5@kfi"), 0) << err;
  EXPECT_EQ(run("peer add --prim_nid 10.0.0.9@tcp"), 0) << err;
  lnet_.peer_nis = {{.nid = nid("10.0.0.1@tcp"), .state = lnet::Aliveness::kUp},
                    {.nid = nid("10.0.0.2@tcp"),
                     .state = lnet::Aliveness::kDown,
                     .tx_q_num_of_buf = 3,
                     .health = {.health_value = 900}}};
  EXPECT_EQ(run("peer count"), 0) << err;
  EXPECT_TRUE(out.starts_with("peer count:\n    peers: 2\n    networks:\n")) << out;
  EXPECT_TRUE(
      out.contains("        - net: tcp\n          peer NIs: 4\n          up: 1\n"
                   "          down: 1\n          below full health: 1\n"
                   "          with messages queued: 1\n"))
      << out;
  EXPECT_TRUE(out.contains("        - net: kfi\n          peer NIs: 1\n          up: 0\n")) << out;
}

TEST_F(LnetCommands, Routes) {
  EXPECT_EQ(run("route show"), 0);
  EXPECT_EQ(run("route add --net o2ib --gateway 10.0.0.1@tcp --hop-count 2 --priority 1"), 0)
      << err;
  EXPECT_EQ(run("route add --net o2ib --gateway 10.0.0.[2-3]@tcp"), 0) << err;
  EXPECT_EQ(lnet_.edits, 1U) << "several come all or none";
  EXPECT_EQ(run("route show --gateway 10.0.0.1@tcp -v"), 0);
  EXPECT_EQ(
      out,
      "route:\n    - net: o2ib\n      gateway: 10.0.0.1@tcp\n      hop: 2\n      priority: 1\n"
      "      state: up\n      type: single-hop\n");
  const std::string both =
      "route:\n    - net: o2ib\n      gateway: 10.0.0.1@tcp\n"
      "    - net: o2ib\n      gateway: 10.0.0.2@tcp\n";
  EXPECT_EQ(run("route show --gateway 10.0.0.[1-2]@tcp"), 0) << err;
  EXPECT_EQ(out, both);
  EXPECT_EQ(run("route show --gateway 10.0.0.1@tcp,10.0.0.2@tcp"), 0) << err;
  EXPECT_EQ(out, both);
  EXPECT_EQ(run("route show --gateway 10.1.*.*@tcp"), 0) << err;
  EXPECT_EQ(out, "");
  EXPECT_EQ(run("route show --gateway 10.0.0.[1-@tcp"), 256 - EINVAL);
  EXPECT_EQ(run("route add --net o2ib --gateway 10.0.0.9@tcp --hop 0"), 256 - ERANGE);
  EXPECT_EQ(run("route del --net o2ib --gateway 10.0.0.[1-2]@tcp"), 0) << err;
  EXPECT_EQ(lnet_.node.routes.size(), 1U);
  EXPECT_EQ(run("route del --net o2ib --gateway 10.0.0.[1-2]@tcp"), 256 - ENOENT);
  EXPECT_EQ(run("routing show"), 0);
  EXPECT_TRUE(out.contains("    - enable: 0\nbuffers:\n    tiny: 0\n")) << out;
}

TEST_F(LnetCommands, ARouterIsDrainedAndBroughtBack) {
  EXPECT_EQ(run("routing drain"), 256 - EINVAL) << "it does not route";
  EXPECT_EQ(run("routing undrain"), 256 - EINVAL);
  EXPECT_EQ(run("set routing 1"), 0) << err;
  EXPECT_EQ(err, "routing is enabled: this node forwards\n");
  EXPECT_EQ(run("routing drain"), 0) << err;
  EXPECT_EQ(out, "");
  EXPECT_TRUE(err.contains("`lnetctl routing undrain` cancels this\n")) << err;
  ASSERT_TRUE(lnet_.drain);
  EXPECT_FALSE(lnet_.drain->bound);
  EXPECT_EQ(run("routing drain --timeout 90"), 0) << err;
  EXPECT_EQ(lnet_.drain->bound, Duration(std::chrono::seconds(90)));
  EXPECT_FALSE(lnet_.drain->full_notice);
  EXPECT_EQ(run("routing drain --full-notice"), 0) << err;
  EXPECT_TRUE(lnet_.drain->full_notice);
  EXPECT_EQ(run("routing drain --timeout -1"), 256 - ERANGE);
  EXPECT_EQ(run("routing drain --timeout 86401"), 256 - ERANGE);
  EXPECT_EQ(run("routing show"), 0);
  EXPECT_TRUE(out.contains("    - change:\n          phase: emptying\n")) << out;
  EXPECT_TRUE(out.contains("          messages held: 3\n")) << out;
  EXPECT_EQ(run("set large_buffers 8"), 0) << err;
  EXPECT_TRUE(lnet_.drain) << "that is none of its business";
  EXPECT_EQ(run("routing undrain"), 0) << err;
  EXPECT_FALSE(lnet_.drain);
}

TEST_F(LnetCommands, PingListsAnsweringAndSilentNodes) {
  EXPECT_EQ(run("ping 10.0.0.1@tcp"), 0);
  EXPECT_EQ(out,
            "ping:\n    - primary nid: 10.0.0.1@tcp\n      Multi-Rail: true\n      peer_ni:\n"
            "        - nid: 10.0.0.1@tcp\n");
  EXPECT_EQ(lnet_.ping_request.timeout, std::chrono::seconds(1));
  EXPECT_EQ(run("ping --timeout 5 --source 1.1.1.1@tcp 10.0.0.1@tcp,10.0.0.2@tcp 10.0.0.3"), 0);
  EXPECT_EQ(lnet_.ping_request.nids.size(), 3U);
  EXPECT_EQ(lnet_.ping_request.source, nid("1.1.1.1@tcp"));
  EXPECT_TRUE(out.contains("10.0.0.3@tcp") && !out.contains("manage")) << out;
  EXPECT_EQ(err,
            "manage:\n    - ping:\n          errno: -5\n"
            "          descr: \"failed to ping 10.0.0.2@tcp: Input/output error\"\n");
  EXPECT_EQ(run("ping 10.0.0.2@tcp"), 256 - EIO);
  EXPECT_EQ(err,
            "manage:\n    - ping:\n          errno: -5\n"
            "          descr: \"failed to ping 10.0.0.2@tcp: Input/output error\"\n");
  EXPECT_EQ(run("discover --force 10.0.0.1@tcp"), 0);
  EXPECT_TRUE(out.starts_with("discover:\n")) << out;
  EXPECT_TRUE(lnet_.discover_request.force);
  EXPECT_EQ(run("ping"), kInvalidStatus);
  EXPECT_EQ(run("ping --timeout 0 1.1.1.1@tcp"), 256 - ERANGE);
}

TEST_F(LnetCommands, ABurstOfPingsIsAskedForByCountAndWindow) {
  EXPECT_EQ(run("ping 10.0.0.1@tcp"), 0);
  EXPECT_FALSE(lnet_.ping_request.count.has_value());
  EXPECT_EQ(run("ping --count 100 --window 8 10.0.0.1@tcp"), 0) << err;
  EXPECT_EQ(lnet_.ping_request.count, 100U);
  EXPECT_EQ(lnet_.ping_request.window, 8U);
  EXPECT_EQ(run("ping --count 100001 10.0.0.1@tcp"), 256 - ERANGE);
  EXPECT_EQ(run("ping --count 0 10.0.0.1@tcp"), 256 - ERANGE);
  EXPECT_EQ(run("ping --count 1 --window 17 10.0.0.1@tcp"), 256 - ERANGE);
}

TEST_F(LnetCommands, PingDoesNotHoldTheAdminThread) {
  lnet_.hold = true;
  std::optional<runtime::VerbReply> reply;
  runtime::Caller caller;
  caller.may_change = true;
  verbs_.run({.id = 1, .verb = "ping", .args = {{"nid", {"10.0.0.1@tcp"}}}}, caller,
             [&reply](const runtime::VerbReply& got) { reply = got; });
  EXPECT_FALSE(reply.has_value());
  lnet_.release();
  ASSERT_TRUE(reply.has_value());
  EXPECT_TRUE(reply->has_value());
}

TEST_F(LnetCommands, StatisticsVariablesAndSet) {
  lnet_.counted.send_count = 7;
  EXPECT_EQ(run("stats show"), 0);
  EXPECT_TRUE(out.contains("    send_count: 7\n"));
  EXPECT_EQ(run("stats reset"), 0);
  EXPECT_EQ(lnet_.counted.send_count, 0U);
  EXPECT_EQ(run("set retry_count 1") + run("set numa_range 0x10") + run("set routing 1") +
                run("set small_buffers 8192"),
            0)
      << err;
  EXPECT_EQ(lnet_.node.parameters.retry_count, 1);
  EXPECT_EQ(lnet_.node.parameters.numa_range, 16);
  EXPECT_TRUE(lnet_.node.routing);
  EXPECT_EQ(lnet_.node.buffers.small, 8192);
  EXPECT_EQ(run("global show"), 0);
  EXPECT_TRUE(out.contains("    lnd_timeout: 74\n")) << out;
  EXPECT_EQ(run("set retry_count x"), kInvalidStatus);
  EXPECT_EQ(run("set routing 2"), 256 - ERANGE);
  EXPECT_EQ(run("set retry_count"), kInvalidStatus) << "exactly one value";
}

TEST_F(LnetCommands, AnExportOfTheRunningNodeReadsBack) {
  EXPECT_EQ(run("net add --net tcp --if eth0 --conns-per-peer 2"), 0);
  EXPECT_EQ(run("peer add --prim_nid 10.0.0.1@tcp"), 0);
  EXPECT_EQ(run("route add --net o2ib --gateway 10.0.0.9@tcp"), 0);
  EXPECT_EQ(run("set routing 1"), 0);
  EXPECT_EQ(run("routing drain"), 0);
  std::optional<runtime::VerbReply> reply;
  runtime::export_running(
      lnet_, {{"plnet", Json::object()}},
      runtime::VerbToken([&reply](const runtime::VerbReply& got) { reply = got; }));
  ASSERT_TRUE(reply.has_value() && reply->has_value());
  std::string keys;
  for (const auto& [key, value] : (*reply)->items())
    keys += key + " ";
  EXPECT_EQ(keys, "net route routing buffers peer global plnet ");
  const auto read = runtime::read_settings((*reply)->dump(), "export");
  ASSERT_TRUE(read.has_value()) << read.error().text();
  EXPECT_TRUE(read->lnet.routing) << "a drain passes";
  EXPECT_FALSE((*reply)->dump().contains("phase"));
  EXPECT_EQ(read->lnet.peers, lnet_.node.peers);
  EXPECT_EQ(read->lnet.routes, lnet_.node.routes);
  EXPECT_EQ(read->lnet.nets[0].nis[0].interfaces, std::vector<std::string>{"eth0"});
}

TEST_F(LnetCommands, ShowAndExecUseTheItemsOfTheDocument) {
  EXPECT_EQ(run("net add --net tcp --if eth0"), 0);
  const auto named = runtime::read_named(
      "net: [{net type: tcp}]\nglobal:\nping: [{primary nid: 1.1.1.1@tcp}]\n"
      "discover: [{primary nid: 1.1.1.3@tcp}]\n",
      "f");
  ASSERT_TRUE(named.has_value());
  std::optional<runtime::VerbReply> reply;
  const auto keep = [&reply](const runtime::VerbReply& got) { reply = got; };
  runtime::show_named(lnet_, *named, runtime::VerbToken(keep));
  EXPECT_EQ((**reply)["net"].size(), 1U);
  EXPECT_TRUE((**reply).contains("global") && !(**reply).contains("peer"));
  runtime::exec_named(lnet_, *named, runtime::VerbToken(keep));
  EXPECT_EQ((**reply)["ping"].size(), 1U);
  EXPECT_EQ((**reply)["discover"].size(), 1U);
}

}  // namespace
}  // namespace plnet::apps::lnet_commands_test
