// SPDX-License-Identifier: BSD-3-Clause
#include "node/watch/status_document.hpp"

#include <gtest/gtest.h>

#include "lib/lnet/names/nid_text.hpp"

namespace plnet::node::status_document_test {
namespace {

using lnet::RoutingState;
using runtime::Json;

lnet::Nid nid_of(std::string_view text) {
  return lnet::parse_nid(text).value();
}

StatusFacts healthy_router() {
  StatusFacts facts;
  facts.standing.routing = lnet::RoutingReport{.state = RoutingState::kEnabled};
  facts.standing.nets.push_back({.net = nid_of("0@lo").net(), .nis = {{.nid = nid_of("0@lo")}}});
  facts.standing.nets.push_back({.net = nid_of("10.0.0.1@tcp").net(),
                                 .nis = {{.nid = nid_of("10.0.0.1@tcp"), .interfaces = {"eth0"}},
                                         {.nid = nid_of("10.0.1.1@tcp"), .interfaces = {"eth1"}}}});
  for (const char* const gateway : {"10.0.0.7@tcp", "10.0.0.8@tcp", "10.0.0.9@tcp"}) {
    facts.standing.routes.push_back(
        {.route = {.net = nid_of("10.0.0.1@o2ib").net(), .gateway = nid_of(gateway)}, .up = true});
  }
  return facts;
}

TEST(StatusDocument, TheVerdictSaysWhatTheNodeDoes) {
  StatusFacts facts = healthy_router();
  EXPECT_EQ(verdict_of(facts), "forwarding; nothing is wrong");
  facts.standing.routing->state = RoutingState::kDisabled;
  EXPECT_EQ(verdict_of(facts), "up, not a router; nothing is wrong");
  facts.standing.routing->change = lnet::RoutingChangeReport{.phase = "drained", .is_drain = true};
  EXPECT_EQ(verdict_of(facts), "drained: forwards no more; nothing is wrong");
  facts.standing.routing->state = RoutingState::kStopping;
  EXPECT_EQ(verdict_of(facts), "draining; nothing is wrong");
  facts.standing = {.down = Error{Errc::kNetworkDown, "not configured"}};
  EXPECT_EQ(verdict_of(facts), "LNet does not run");
  EXPECT_FALSE(is_healthy(facts));
}

TEST(StatusDocument, ProgramsNeedNotReadTheVerdict) {
  StatusFacts facts = healthy_router();
  Json status = Json::object();
  add_lnet_status(status, facts);
  EXPECT_EQ(status["healthy"], true);
  facts.standing.routes[1].up = false;
  add_lnet_status(status, facts);
  EXPECT_EQ(status["healthy"], false);
  EXPECT_FALSE(is_healthy(facts));
}

TEST(StatusDocument, TheVerdictNamesEachTrouble) {
  StatusFacts facts = healthy_router();
  facts.standing.routes[1].up = false;
  EXPECT_EQ(verdict_of(facts), "forwarding; 1 of 3 routes down");
  facts.standing.nets[1].nis[0].up = false;
  facts.unreachable = 1;
  facts.drops = {{.cause = lnet::Cause::kDroppedHopDown, .lately = 4, .ever = 9},
                 {.cause = lnet::Cause::kTxNoPath, .lately = 3, .ever = 3}};
  EXPECT_EQ(verdict_of(facts),
            "forwarding; 1 of 2 NIs down; 1 of 3 routes down; 1 peer cannot be reached; 7 messages "
            "dropped in the last minute");
  facts = healthy_router();
  facts.drops = {{.cause = lnet::Cause::kTxNoPath, .lately = 1, .ever = 3}};
  EXPECT_EQ(verdict_of(facts), "forwarding; 1 message dropped in the last minute");
  facts = healthy_router();
  facts.standing.answered = false;
  facts.starving = 2;
  EXPECT_EQ(verdict_of(facts),
            "forwarding; a poller does not answer; messages wait for scarce resources");
  facts = healthy_router();
  facts.refused = 1;
  EXPECT_EQ(verdict_of(facts), "forwarding; access rules refuse 1 peer");
  facts.silent.resize(2);
  EXPECT_EQ(verdict_of(facts), "forwarding; 2 peers do not answer; access rules refuse 1 peer");
}

TEST(StatusDocument, TheFactsAreBehindTheVerdict) {
  StatusFacts facts = healthy_router();
  facts.standing.routes[1].up = false;
  facts.standing.routes[1].last_changes = {
      {.ago = std::chrono::seconds(35), .up = false, .cause = "ping timed out"}};
  facts.standing.nets[1].nis[0].up = false;
  facts.standing.nets[1].nis[0].down_cause = "no carrier";
  facts.standing.routing->cpts.resize(2);
  for (auto& cpt : facts.standing.routing->cpts)
    cpt.large = {.buffers = 8, .credits = 3};
  facts.standing.access.resize(2);
  facts.standing.access[1].matched = 5;
  facts.standing.drop_rules.resize(1);
  facts.standing.drop_rules[0].counts.struck = 4;
  facts.peers = PeerStates{.peers = 3, .up = 2, .down = 1, .unknown = 1};
  facts.drops = {{.cause = lnet::Cause::kDroppedHopDown, .lately = 4, .ever = 9}};
  Json status = Json::object();
  add_lnet_status(status, facts);
  EXPECT_EQ(status["routing"]["free buffers"]["large"], "6 of 16");
  ASSERT_EQ(status["networks"].size(), 1U) << "lo is left out";
  EXPECT_EQ(status["networks"][0]["down"], 1);
  EXPECT_EQ(status["networks"][0]["nis"][0]["cause"], "no carrier");
  EXPECT_EQ(status["routes"]["up"], 2);
  EXPECT_EQ(status["routes"]["those down"][0].dump(),
            R"({"net":"o2ib","gateway":"10.0.0.8@tcp","cause":"ping timed out","seconds":35})");
  EXPECT_EQ(status["peers"]["up"], 2);
  EXPECT_EQ(status["drops"][0]["meaning"], "to be forwarded, and its next hop is down");
  EXPECT_EQ(status["rules"].dump(),
            R"({"access":2,"decided":5,"drop":1,"dropped":4,"delay":0,"delayed":0})");
  EXPECT_FALSE(status.contains("drain"));
}

}  // namespace
}  // namespace plnet::node::status_document_test
