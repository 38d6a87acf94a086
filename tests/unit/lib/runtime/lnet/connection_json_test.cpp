// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/lnet/connection_json.hpp"

#include <gtest/gtest.h>

#include "lib/lnet/names/nid_text.hpp"
#include "lib/runtime/control/yaml_printer.hpp"

namespace plnet::runtime {
namespace {

using namespace std::chrono_literals;

lnet::ConnectionReport control_connection() {
  lnet::ConnectionReport report;
  report.local = lnet::parse_nid("10.0.0.1@tcp").value();
  report.peer.nid = lnet::parse_nid("10.0.0.2@tcp").value();
  report.shard = 1;
  report.type = "C";
  report.state = "open";
  report.local_address = "10.0.0.1:1023";
  report.remote_address = "10.0.0.2:988";
  report.transport.emplace().send_buffer_bytes = 87040;
  report.transport->receive_buffer_bytes = 131072;
  return report;
}

TEST(ConnectionReport, MatchesConnListAtLevel0) {
  EXPECT_EQ(print_yaml(connections_to_json(std::array{control_connection()}, 0)),
            "conn:\n"
            "    - nid: 10.0.0.2@tcp\n"
            "      pid: 12345\n"
            "      local nid: 10.0.0.1@tcp\n"
            "      shard: 1\n"
            "      type: C\n"
            "      state: open\n"
            "      local: 10.0.0.1:1023\n"
            "      remote: 10.0.0.2:988\n"
            "      tx_buffer_size: 87040\n"
            "      rx_buffer_size: 131072\n"
            "      nagle: False\n");
}

TEST(ConnectionReport, ContainsOurAndTcpCountersAtLevel1) {
  auto report = control_connection();
  report.by_us = true;
  report.protocol = 3;
  report.age = 61s;
  report.since_sent = 250ms;
  report.send_count = 7;
  report.recv_length = 4096;
  report.queued_count = 2;
  report.transport->unacknowledged_bytes = 96;
  report.transport->retransmits = 5;
  report.transport->congestion_window = 10;
  const Json item = connections_to_json(std::array{report}, 1)["conn"][0];
  EXPECT_EQ(item["initiator"], "us");
  EXPECT_EQ(item["protocol"], 3);
  EXPECT_EQ(item["reading"], true);
  EXPECT_EQ(item["age_msec"], 61000);
  EXPECT_EQ(item["last_send_msec"], 250);
  EXPECT_FALSE(item.contains("last_recv_msec")) << "nothing has come yet";
  EXPECT_EQ(item["statistics"]["send_count"], 7);
  EXPECT_EQ(item["statistics"]["recv_length"], 4096);
  EXPECT_EQ(item["statistics"]["queued_count"], 2);
  EXPECT_EQ(item["tcp info"]["unacked_bytes"], 96);
  EXPECT_EQ(item["tcp info"]["retransmits"], 5);
  EXPECT_EQ(item["tcp info"]["cwnd"], 10);
}

TEST(ConnectionReport, IsNoDocumentWithoutConnections) {
  EXPECT_TRUE(connections_to_json({}, 1).is_null());
  EXPECT_TRUE(connection_peers_to_json({}, 1).is_null());
}

lnet::ConnectionPeerReport peer() {
  lnet::ConnectionPeerReport report;
  report.local = lnet::parse_nid("10.0.0.1@tcp").value();
  report.peer.nid = lnet::parse_nid("10.0.0.2@tcp").value();
  report.state = "backing off";
  report.remote_address = "10.0.0.2:988";
  report.references = 4;
  report.control = 1;
  report.bulk_in = 2;
  report.wanted = 5;
  report.backoff = 4s;
  report.retry_in = 1500ms;
  report.tx_credits = -3;
  report.tx_credits_max = 8;
  return report;
}

TEST(ConnectionPeerReport, MatchesPeerListAtLevel0) {
  EXPECT_EQ(print_yaml(connection_peers_to_json(std::array{peer()}, 0)),
            "conn peer:\n"
            "    - nid: 10.0.0.2@tcp\n"
            "      pid: 12345\n"
            "      local nid: 10.0.0.1@tcp\n"
            "      shard: 0\n"
            "      state: backing off\n"
            "      refcount: 4\n"
            "      remote: 10.0.0.2:988\n"
            "      connections: 3\n");
}

TEST(ConnectionPeerReport, ContainsItsWaitsAtLevel1) {
  auto report = peer();
  const Json item = connection_peers_to_json(std::array{report}, 1)["conn peer"][0];
  EXPECT_EQ(item["by type"].dump(), R"({"C":1,"I":2,"O":0})");
  EXPECT_EQ(item["wanted"], 5);
  EXPECT_EQ(item["backoff_msec"], 4000);
  EXPECT_EQ(item["retry_in_msec"], 1500);
  EXPECT_EQ(item["available_tx_credits"], -3);
  EXPECT_FALSE(item.contains("incarnation")) << "it has not identified itself yet";
  report.incarnation = 0xfedcba9876543210;
  report.other = 1;
  const Json known = connection_peers_to_json(std::array{report}, 1)["conn peer"][0];
  EXPECT_EQ(known["incarnation"], 0xfedcba9876543210);
  EXPECT_EQ(known["by type"]["A"], 1);
  EXPECT_EQ(known["connections"], 4);
}

}  // namespace
}  // namespace plnet::runtime
