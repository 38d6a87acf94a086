// SPDX-License-Identifier: BSD-3-Clause
#include "node/watch/state_metrics.hpp"

#include <gtest/gtest.h>

#include "lib/lnet/names/nid_text.hpp"

namespace plnet::node::state_metrics_test {
namespace {

lnet::Nid nid_of(std::string_view text) {
  return lnet::parse_nid(text).value();
}

TEST(StateMetrics, StatesAreGaugesThatAnAlertCanCompareWithZero) {
  runtime::Metrics metrics;
  const auto has = [&metrics](std::string_view line) {
    return metrics.prometheus_text().contains(std::string(line) + '\n');
  };
  StateMetrics shown(metrics);
  NodeStates states{.nis = {{.nid = nid_of("10.0.0.1@tcp"),
                             .interface = "eth0",
                             .up = true,
                             .credits = {.all = 256, .free = 250, .waiting = 3}}},
                    .nets = {{.net = nid_of("10.0.0.1@tcp").net(),
                              .credits = {.all = 24, .free = 15, .waiting = 1},
                              .without_credit = 2}},
                    .routes = {{.net = nid_of("1.1.1.1@o2ib").net(),
                                .gateway = nid_of("10.0.0.9@tcp"),
                                .up = false}},
                    .routing = lnet::RoutingState::kEnabled,
                    .peers = {.peers = 3, .up = 2, .down = 1}};
  shown.show(states);
  EXPECT_TRUE(has(R"(plnet_lnet_up 1)")) << metrics.prometheus_text();
  EXPECT_TRUE(has(R"(plnet_ni_up{net="tcp",nid="10.0.0.1@tcp",interface="eth0"} 1)"));
  EXPECT_TRUE(has(R"(plnet_route_up{net="o2ib",gateway="10.0.0.9@tcp"} 0)"));
  EXPECT_TRUE(has(R"(plnet_routing_state{state="enabled"} 1)"));
  EXPECT_TRUE(has(R"(plnet_routing_state{state="disabled"} 0)"));
  EXPECT_TRUE(has(R"(plnet_routing_draining 0)"));
  EXPECT_TRUE(has(R"(plnet_peers{state="down"} 1)"));
  EXPECT_TRUE(has(R"(plnet_ni_tx_credits{net="tcp",nid="10.0.0.1@tcp",interface="eth0"} 256)"));
  EXPECT_TRUE(
      has(R"(plnet_ni_tx_free_credits{net="tcp",nid="10.0.0.1@tcp",interface="eth0"} 250)"));
  EXPECT_TRUE(
      has(R"(plnet_ni_tx_waiting_messages{net="tcp",nid="10.0.0.1@tcp",interface="eth0"} 3)"));
  EXPECT_TRUE(has(R"(plnet_peer_nis_tx_credits{net="tcp"} 24)"));
  EXPECT_TRUE(has(R"(plnet_peer_nis_tx_free_credits{net="tcp"} 15)"));
  EXPECT_TRUE(has(R"(plnet_peer_nis_tx_waiting_messages{net="tcp"} 1)"));
  EXPECT_TRUE(has(R"(plnet_peer_nis_without_credit_interfaces{net="tcp"} 2)"));
  states.nis[0].up = false;
  states.routes.clear();
  shown.show(states);
  EXPECT_TRUE(has(R"(plnet_ni_up{net="tcp",nid="10.0.0.1@tcp",interface="eth0"} 0)"));
  EXPECT_FALSE(metrics.prometheus_text().contains("plnet_route_up")) << "its series has ended";
  shown.show({.lnet_up = false});
  EXPECT_TRUE(has(R"(plnet_lnet_up 0)"));
  EXPECT_FALSE(metrics.prometheus_text().contains("plnet_ni_up"));
}

}  // namespace
}  // namespace plnet::node::state_metrics_test
