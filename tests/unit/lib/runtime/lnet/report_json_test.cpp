// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/lnet/report_json.hpp"

#include <gtest/gtest.h>

#include "lib/lnet/names/nid_text.hpp"
#include "lib/runtime/control/yaml_printer.hpp"

namespace plnet::runtime {
namespace {

lnet::Nid nid(std::string_view text) {
  return lnet::parse_nid(text).value();
}

std::vector<lnet::NetReport> two_nets() {
  lnet::NiReport loopback;
  loopback.nid = nid("0@lo");
  loopback.tunables = {0, 0, 0, 0};
  loopback.cpts = {0};
  lnet::NiReport eth;
  eth.nid = nid("192.168.1.10@tcp");
  eth.interfaces = {"eth0"};
  eth.up = false;
  eth.traffic = {1, 2, 3};
  eth.messages.sent.put = 7;
  eth.health.health_value = 900;
  eth.policy.preferred_gateways = {nid("10.0.0.1@o2ib")};
  eth.lnd_tunables = {{"conns_per_peer", 1}, {"timeout", 5}, {"tos", -1}};
  eth.driver = "ksocklnd";
  eth.parameters = {{"sock_timeout", 5}, {"nagle", 0}};
  eth.device_cpt = 1;
  eth.cpts = {0, 1};
  return {{lnet::make_net(lnet::NetType::kLoopback), {loopback}},
          {lnet::make_net(lnet::NetType::kTcp), {eth}}};
}

TEST(NetReport, AtLevel0NamesInterfacesOnly) {
  EXPECT_EQ(print_yaml(nets_to_json(two_nets(), 0)),
            "net:\n"
            "    - net type: lo\n"
            "      local NI(s):\n"
            "        - nid: 0@lo\n"
            "          status: up\n"
            "    - net type: tcp\n"
            "      local NI(s):\n"
            "        - nid: 192.168.1.10@tcp\n"
            "          status: down\n"
            "          interfaces:\n"
            "              0: eth0\n");
}

TEST(NetReport, AtLevel1HasTunablesAndTraffic) {
  const Json net = nets_to_json(two_nets(), 1)["net"][1]["local NI(s)"][0];
  EXPECT_EQ(net.dump(),
            R"({"nid":"192.168.1.10@tcp","status":"down","interfaces":{"0":"eth0"},)"
            R"("statistics":{"send_count":1,"recv_count":2,"drop_count":3},)"
            R"("tunables":{"peer_timeout":180,"peer_credits":8,"peer_buffer_credits":0,)"
            R"("credits":256},"lnd tunables":{"conns_per_peer":1,"timeout":5,"tos":-1},)"
            R"("dev cpt":1,"CPT":"[0,1]"})");
  const Json loopback = nets_to_json(two_nets(), 4)["net"][0]["local NI(s)"][0];
  EXPECT_FALSE(loopback.contains("lnd tunables"));
}

std::string keys_of(const Json& map) {
  std::string keys;
  for (const auto& [key, value] : map.items())
    keys += (keys.empty() ? "" : "|") + key;
  return keys;
}

TEST(NetReport, HasTheKeysOfEachLevelInOrder) {
  const auto keys = [](int level) {
    return keys_of(nets_to_json(two_nets(), level)["net"][1]["local NI(s)"][0]);
  };
  EXPECT_EQ(keys(2),
            "nid|status|interfaces|statistics|sent_stats|received_stats|dropped_stats|health stats|"
            "tunables|lnd tunables|dev cpt|CPT");
  EXPECT_EQ(keys(3),
            "nid|status|interfaces|statistics|sent_stats|received_stats|dropped_stats|health stats|"
            "tunables|lnd tunables|ksocklnd parameters|dev cpt|CPT");
  EXPECT_EQ(keys(4),
            "nid|status|interfaces|statistics|udsp info|sent_stats|received_stats|dropped_stats|"
            "health stats|tunables|lnd tunables|ksocklnd parameters|dev cpt|CPT");
  EXPECT_EQ(keys(9), keys(4));
  const Json ni = nets_to_json(two_nets(), 4)["net"][1]["local NI(s)"][0];
  EXPECT_EQ(ni["udsp info"].dump(), R"({"net priority":-1,"nid priority":-1,)"
                                    R"("Preferred gateway NIDs":{"NID-0":"10.0.0.1@o2ib"}})");
  EXPECT_EQ(keys_of(ni["health stats"]),
            "fatal_error|health value|interrupts|dropped|aborted|no route|timeouts|error|"
            "ping_count|next_ping");
  EXPECT_EQ(keys_of(ni["sent_stats"]), "put|get|reply|ack|hello");
}

TEST(PeerReport, HasTheKeysOfEachLevelInOrder) {
  lnet::PeerNiReport first;
  first.nid = nid("192.168.1.20@tcp");
  first.state = lnet::Aliveness::kUp;
  const std::vector<lnet::PeerReport> peers{
      {.primary = first.nid, .multi_rail = true, .state = 273, .nis = {first}}};
  EXPECT_EQ(print_yaml(peers_to_json(peers, 0)),
            "peer:\n"
            "    - primary nid: 192.168.1.20@tcp\n"
            "      Multi-Rail: True\n"
            "      peer ni:\n"
            "        - nid: 192.168.1.20@tcp\n"
            "          state: up\n");
  const auto keys = [&](int level) {
    return keys_of(peers_to_json(peers, level)["peer"][0]["peer ni"][0]);
  };
  EXPECT_EQ(keys(1),
            "nid|state|max_ni_tx_credits|available_tx_credits|min_tx_credits|tx_q_num_of_buf|"
            "available_rtr_credits|min_rtr_credits|refcount|statistics");
  EXPECT_EQ(keys(3), keys(1) + "|sent_stats|received_stats|dropped_stats|health stats");
  EXPECT_TRUE(keys(4).starts_with("nid|udsp info|state|"));
  EXPECT_EQ(keys_of(peers_to_json(peers, 2)["peer"][0]), "primary nid|Multi-Rail|peer ni");
  EXPECT_EQ(peers_to_json(peers, 3)["peer"][0]["peer state"], 273);
  EXPECT_EQ(keys_of(peers_to_json(peers, 2)["peer"][0]["peer ni"][0]["health stats"]),
            "health value|dropped|timeout|error|network timeout|ping_count|next_ping");
  EXPECT_EQ(print_yaml(peer_list_to_json(peers)), "peer list:\n    - nid: 192.168.1.20@tcp\n");
}

TEST(Reports, WithNothingToListAreEmptyDocuments) {
  EXPECT_EQ(print_yaml(peers_to_json({}, 2)), "");
  EXPECT_EQ(print_yaml(routes_to_json({}, 1)), "");
  EXPECT_EQ(print_yaml(pings_to_json({}, "ping")), "");
}

TEST(Reports, RoutesAndRoutingMatchLnetctl) {
  const std::vector<lnet::RouteReport> routes{
      {.route = {lnet::parse_net("o2ib1").value(), nid("192.168.1.1@tcp")},
       .up = true,
       .single_hop = false}};
  EXPECT_EQ(print_yaml(routes_to_json(routes, 0)),
            "route:\n    - net: o2ib1\n      gateway: 192.168.1.1@tcp\n");
  EXPECT_EQ(print_yaml(routes_to_json(routes, 1)),
            "route:\n    - net: o2ib1\n      gateway: 192.168.1.1@tcp\n      hop: -1\n"
            "      priority: 0\n      state: up\n      type: multi-hop\n");
  auto down = routes;
  down[0].up = false;
  down[0].last_changes = {{.ago = {}, .up = false, .cause = "ping timed out"}};
  EXPECT_TRUE(print_yaml(routes_to_json(down, 1))
                  .ends_with("      state: down\n      state cause: ping timed out\n"
                             "      type: multi-hop\n"))
      << print_yaml(routes_to_json(down, 1));
  auto told = routes;
  told[0].changes = 5;
  told[0].last_changes = {
      {.ago = std::chrono::seconds(7), .up = true, .cause = "the gateway answered"}};
  EXPECT_TRUE(print_yaml(routes_to_json(told, 3))
                  .ends_with("      type: multi-hop\n"
                             "      changes:\n"
                             "          count: 5\n"
                             "          checks to answer: 0\n"
                             "          last:\n"
                             "            - seconds ago: 7\n"
                             "              state: up\n"
                             "              cause: the gateway answered\n"))
      << print_yaml(routes_to_json(told, 3));
  lnet::RoutingReport routing;
  routing.cpts.resize(1);
  routing.cpts[0].large = {256, 256, 256, 250, 6, 3};
  routing.state = lnet::RoutingState::kEnabled;
  routing.buffers = {512, 4096, 256};
  EXPECT_TRUE(print_yaml(routing_to_json(routing))
                  .starts_with("routing:\n"
                               "    - cpt[0]:\n"
                               "          tiny:\n"
                               "              npages: 0\n"
                               "              nbuffers: 0\n"
                               "              credits: 0\n"
                               "              mincredits: 0\n"
                               "              maxused: 0\n"));
  EXPECT_TRUE(print_yaml(routing_to_json(routing))
                  .ends_with("              mincredits: 250\n"
                             "              maxused: 6\n"
                             "              waited: 3\n"
                             "    - enable: 1\n"
                             "buffers:\n"
                             "    tiny: 512\n"
                             "    small: 4096\n"
                             "    large: 256\n"));
}

TEST(Reports, StatisticsAndVariablesKeepTheOrder) {
  lnet::StatisticsReport statistics;
  statistics.drop_length = 18'446'744'073'709'551'615U;
  const std::string text = print_yaml(statistics_to_json(statistics));
  EXPECT_TRUE(text.starts_with("statistics:\n    msgs_alloc: 0\n    msgs_max: 0\n"));
  EXPECT_TRUE(text.ends_with("    drop_length: 18446744073709551615\n"));
  EXPECT_EQ(keys_of(globals_to_json({})["global"]),
            "numa_range|max_interfaces|discovery|drop_asym_route|retry_count|transaction_timeout|"
            "health_sensitivity|recovery_interval|router_sensitivity|lnd_timeout|"
            "response_tracking|recovery_limit|max_recovery_ping_interval");
}

TEST(PingReport, ABurstHasItsFigures) {
  const std::vector<lnet::PingReport> reports{
      {nid("192.168.1.10@tcp"), lnet::RemoteNode{nid("192.168.1.10@tcp"), true, {}},
       lnet::PingBurst{.sent = 10,
                       .answered = 9,
                       .failed = 1,
                       .least = std::chrono::microseconds(20),
                       .average = std::chrono::microseconds(30),
                       .most = std::chrono::microseconds(40)}}};
  EXPECT_EQ(print_yaml(pings_to_json(reports, "ping")["ping"][0]["burst"]),
            "sent: 10\nanswered: 9\nfailed: 1\n"
            "round trip usec:\n    min: 20\n    average: 30\n    max: 40\n");
}

TEST(PingReport, ListsAnsweringNodes) {
  const std::vector<lnet::PingReport> reports{
      {nid("192.168.1.10@tcp"),
       lnet::RemoteNode{nid("192.168.1.10@tcp"), true, {nid("192.168.1.10@tcp"), nid("5@kfi")}}},
      {nid("192.168.1.11@tcp"), failure(Errc::kTimedOut, "no answer")},
      {nid("192.168.1.12@tcp"), lnet::RemoteNode{std::nullopt, false, {nid("192.168.1.12@tcp")}}}};
  EXPECT_EQ(print_yaml(pings_to_json(reports, "ping")),
            "ping:\n"
            "    - primary nid: 192.168.1.10@tcp\n"
            "      Multi-Rail: True\n"
            "      peer_ni:\n"
            "        - nid: 192.168.1.10@tcp\n"
            "        - nid: 5@kfi\n"
            "    - primary nid: <?>\n"
            "      Multi-Rail: False\n"
            "      peer_ni:\n"
            "        - nid: 192.168.1.12@tcp\n");
}

TEST(RoutingReport, ContainsStarvingPools) {
  lnet::RoutingReport routing;
  EXPECT_EQ(routing_to_json(routing)["routing"].size(), 1U);
  routing.starving = {{.of = "ni_credits", .shard = 2, .waited = 7, .most = "", .more = "more"}};
  EXPECT_EQ(print_yaml({{"starving", routing_to_json(routing)["routing"][1]["starving"]}}),
            "starving:\n    of: ni_credits\n    cpt: 0\n    shard: 2\n"
            "    messages waited: 7\n    more: more\n");
  routing.starving[0].most = "10.0.0.1@tcp (3 wait, 8 credits)";
  EXPECT_EQ(routing_to_json(routing)["routing"][1]["starving"]["most"], routing.starving[0].most);
}

}  // namespace
}  // namespace plnet::runtime
