// SPDX-License-Identifier: BSD-3-Clause
// Peers beyond gateways that do not answer: warnings of `status`.
#include "node/watch/silence_watch.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "lib/lnet/names/nid_text.hpp"

namespace plnet::node::silence_watch_test {
namespace {

using lnet::Nid;
using Kind = lnet::SilenceNote::Kind;
using std::chrono::seconds;

Nid nid_of(std::string_view text) {
  return lnet::parse_nid(text).value();
}

const Nid kServer = nid_of("10.2.0.2@tcp1");
const Nid kOther = nid_of("10.2.0.3@tcp1");

class Silence : public testing::Test {
 protected:
  Silence() {
    nets.push_back({.net = nid_of("10.1.0.1@tcp").net(), .nis = {{.nid = nid_of("10.1.0.1@tcp")}}});
    routes.push_back(
        {.route = {.net = kServer.net(), .gateway = nid_of("10.1.0.10@tcp")}, .up = true});
  }
  void unanswered(const Nid& nid, std::uint32_t requests = 1) {
    watch.hear({nid, Kind::kUnanswered, requests}, now);
  }
  [[nodiscard]] runtime::Json warnings() const {
    return warnings_of_silence(watch.list(now), routes, nets);
  }

  SilenceWatch watch;
  Instant now{std::chrono::hours(1)};
  std::vector<lnet::RouteReport> routes;
  std::vector<lnet::NetReport> nets;
};

TEST_F(Silence, AWarningNamesTheGatewayThePossibleCausesAndWhereToLook) {
  EXPECT_TRUE(warnings().empty());
  unanswered(kServer, 3);
  const auto all = warnings();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0]["what"],
            "10.2.0.2@tcp1 does not answer: 3 requests without an answer in the last minute");
  EXPECT_EQ(all[0]["why"],
            "the gateway (10.1.0.10@tcp) answers, and no node of tcp1 has since. Possible causes: "
            "the peer is down, it has no route back to this node, or the gateway drops the "
            "messages (access rules, its NI on tcp1)");
  EXPECT_EQ(all[0]["fix"],
            "on 10.1.0.10@tcp: lnetctl ping 10.2.0.2@tcp1; lnetctl status; lnetctl route explain "
            "10.1.0.1@tcp 10.2.0.2@tcp1; if it answers the ping, on the peer: lnetctl status");
  EXPECT_EQ(watch.requests_to(kServer, now), 3U);
  EXPECT_EQ(watch.requests_to(kOther, now), 0U);
}

TEST_F(Silence, ANeighbourThatAnswersExcludesCausesOfTheNetwork) {
  unanswered(kServer);
  watch.hear({kServer, Kind::kNeighbourHeard, 0}, now);
  EXPECT_EQ(warnings()[0]["why"],
            "the gateway (10.1.0.10@tcp) answers, and so do other nodes of tcp1. Possible causes: "
            "the peer is down, or has no route back to this node");
}

TEST_F(Silence, AnAnswerEndsTheWarningAndSoDoesAMinute) {
  unanswered(kServer);
  now += seconds(30);
  unanswered(kServer);
  EXPECT_EQ(watch.requests_to(kServer, now), 2U);
  now += seconds(40);
  EXPECT_EQ(watch.requests_to(kServer, now), 1U);
  now += seconds(30);
  EXPECT_TRUE(warnings().empty());
  unanswered(kServer);
  EXPECT_EQ(watch.requests_to(kServer, now), 1U);
  watch.hear({kServer, Kind::kHeard, 0}, now);
  EXPECT_TRUE(warnings().empty());
}

TEST_F(Silence, WithoutARouteThatIsUpTheRouteIsTheCause) {
  unanswered(kServer);
  routes[0].up = false;
  EXPECT_EQ(warnings()[0]["why"], "no route to tcp1 is up now");
  EXPECT_EQ(
      warnings()[0]["fix"],
      "lnetctl route show -v 1; on 10.1.0.10@tcp: lnetctl ping 10.2.0.2@tcp1; lnetctl status; "
      "lnetctl route explain 10.1.0.1@tcp 10.2.0.2@tcp1");
  routes.clear();
  EXPECT_EQ(warnings()[0]["why"], "the route to it was deleted");
}

TEST_F(Silence, ThePeersWithMostRequestsAreNamed) {
  for (std::uint32_t host = 0; host < 300; ++host)
    unanswered(Nid::of(lnet::NetType::kTcp, 1, 0x0a020000 + host), host + 1);
  const auto all = warnings();
  ASSERT_EQ(all.size(), 4U);
  EXPECT_TRUE(all[0]["what"].get<std::string>().starts_with("10.2.0.255@tcp1 does not answer"));
  EXPECT_EQ(all[3]["what"], "253 more peers do not answer");
}

}  // namespace
}  // namespace plnet::node::silence_watch_test
