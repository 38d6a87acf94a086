// SPDX-License-Identifier: BSD-3-Clause
#include "node/watch/standing_warnings.hpp"

#include <string>

#include <gtest/gtest.h>

#include "lib/lnet/names/nid_text.hpp"
#include "tests/mocks/fake_lnet_control.hpp"

namespace plnet::node::standing_warnings_test {
namespace {

lnet::Nid nid_of(std::string_view text) {
  return lnet::parse_nid(text).value();
}

TEST(StandingWarnings, ADownInterfaceHasItsCause) {
  std::vector<lnet::NetReport> nets(1);
  EXPECT_TRUE(warnings_of_nis(nets).empty());
  nets[0].nis.push_back({.nid = nid_of("10.0.0.1@tcp")});
  EXPECT_TRUE(warnings_of_nis(nets).empty());
  nets[0].nis.push_back({.nid = nid_of("10.0.0.2@tcp"), .up = false, .down_cause = "no carrier"});
  const auto all = warnings_of_nis(nets);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0]["what"], "10.0.0.2@tcp is down");
  EXPECT_EQ(all[0]["why"], "no carrier");
  nets[0].nis.resize(20, nets[0].nis.back());
  EXPECT_EQ(warnings_of_nis(nets).size(), 9U) << "a screen has an end";
}

TEST(StandingWarnings, RoutesThatAreDownAreCounted) {
  std::vector<lnet::RouteReport> routes(3);
  for (lnet::RouteReport& each : routes) {
    each.route = {.net = lnet::make_net(lnet::NetType::kO2ib), .gateway = nid_of("10.0.0.9@tcp")};
    each.up = true;
  }
  EXPECT_TRUE(warnings_of_routes(routes).empty());
  routes[1].up = false;
  routes[1].last_changes = {{.up = false, .cause = "it does not answer"}};
  const auto all = warnings_of_routes(routes);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0]["what"], "1 of 3 routes is down");
  EXPECT_EQ(all[0]["why"], "to o2ib by 10.0.0.9@tcp: it does not answer");
}

TEST(StandingWarnings, RoutingThatIsDrainedIsANote) {
  lnet::RoutingReport routing;
  EXPECT_TRUE(warnings_of_routing(routing).empty());
  routing.change = {.phase = "telling peers", .is_drain = true, .held = 7};
  const auto all = warnings_of_routing(routing);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0]["severity"], "note");
  EXPECT_EQ(all[0]["why"], "telling peers; 7 forwarded messages are held");
}

class StuckPoller final : public lnet::FakeLnetControl {
 public:
  void routes(lnet::Reply<std::vector<lnet::RouteReport>> reply) override {
    late = std::move(reply);
  }
  lnet::Reply<std::vector<lnet::RouteReport>> late;
};

TEST(StandingWarnings, AnAnswerComesThoughAPollerIsStuck) {
  ManualClock clock;
  const auto loop = runtime::EventLoop::create(clock).value();
  StuckPoller lnet;
  std::vector<runtime::Json> answers;
  ask_standing(lnet, *loop, [&](const runtime::Json& all) { answers.push_back(all); });
  (void)loop->run_once(Duration::zero());
  EXPECT_TRUE(answers.empty());
  clock.advance(std::chrono::seconds(3));
  (void)loop->run_once(Duration::zero());
  ASSERT_EQ(answers.size(), 1U);
  ASSERT_EQ(answers[0].size(), 1U);
  EXPECT_EQ(answers[0][0]["what"], "a poller does not answer");
  lnet.late(std::vector<lnet::RouteReport>(1));
  EXPECT_EQ(answers.size(), 1U) << "told once";
}

}  // namespace
}  // namespace plnet::node::standing_warnings_test
