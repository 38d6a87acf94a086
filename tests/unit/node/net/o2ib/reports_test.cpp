// SPDX-License-Identifier: BSD-3-Clause
#include "node/net/o2ib/reports.hpp"

#include <gtest/gtest.h>

#include "lib/lnet/names/nid_text.hpp"
#include "lib/runtime/lnet/connection_json.hpp"
#include "node/net/o2ib/complaints.hpp"

namespace plnet::node::o2ib_reports_test {
namespace {

const lnet::Nid kPeer = lnet::parse_nid("10.0.0.2@o2ib").value();

o2iblnd::ConnectionFacts facts() {
  return {.nid = kPeer,
          .state = o2iblnd::Connection::State::kEstablished,
          .by_us = true,
          .version = 0x12,
          .incarnation = 77,
          .queue_depth = 8,
          .max_frags = 257,
          .credits = 5,
          .owed = 2,
          .reserved = 7,
          .sends_posted = 1,
          .held = 3,
          .age = std::chrono::seconds(4),
          .since_sent = std::chrono::milliseconds(20)};
}

TEST(O2ibReports, AConnectionHasItsQueuePairAndNoSocket) {
  const lnet::ConnectionReport report = connection_report(facts());
  EXPECT_EQ(report.state, "open");
  EXPECT_FALSE(report.transport);
  const auto json = runtime::connections_to_json({&report, 1}, 1)["conn"][0];
  EXPECT_EQ(json["nid"], "10.0.0.2@o2ib");
  EXPECT_EQ(json["initiator"], "us");
  EXPECT_EQ(json["queue pair"]["depth"], 8);
  EXPECT_EQ(json["queue pair"]["credits"], 5);
  EXPECT_EQ(json["queue pair"]["outstanding_credits"], 2);
  EXPECT_EQ(json["queue pair"]["incarnation"], 77);
  for (const char* const of_socket : {"nagle", "tx_buffer_size", "tcp info", "statistics"})
    EXPECT_FALSE(json.contains(of_socket)) << of_socket;
  EXPECT_FALSE(runtime::connections_to_json({&report, 1}, 0)["conn"][0].contains("queue pair"));
}

TEST(O2ibReports, APeerShowsItsConnections) {
  o2iblnd::PeerFacts peer{.nid = kPeer, .version = 0x12, .incarnation = 77};
  EXPECT_EQ(peer_report(peer).state, "idle");
  peer.reconnecting = 1;
  EXPECT_EQ(peer_report(peer).state, "backing off");
  peer.connecting = 1;
  EXPECT_EQ(peer_report(peer).state, "connecting");
  peer.connections = 2;
  const auto report = peer_report(peer);
  EXPECT_EQ(report.state, "open");
  EXPECT_EQ(report.connections(), 2U);
  EXPECT_TRUE(report.attempt);
}

TEST(O2ibReports, ComplaintsNameThePeerOrTheAddressOfAStranger) {
  EXPECT_EQ(culprit_of(o2iblnd::Complaint{.nid = kPeer, .address = 1, .cause = "x"}),
            "10.0.0.2@o2ib");
  EXPECT_EQ(culprit_of(o2iblnd::Complaint{.address = 0x0a000007, .cause = "x"}), "10.0.0.7");
}

}  // namespace
}  // namespace plnet::node::o2ib_reports_test
