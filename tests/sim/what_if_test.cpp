// SPDX-License-Identifier: BSD-3-Clause
// An administrator's question about a small site, and its answer in sentences.
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "apps/lnet-sim/plan/event_words.hpp"
#include "apps/lnet-sim/whatif/answer.hpp"
#include "tests/sim/site_file.hpp"

namespace plnet::sim::what_if_test {
namespace {

SiteConfig site_with(PlannedKind kind, const std::vector<std::string>& words) {
  SiteConfig site = site_in(std::string(PLNET_SOURCE_ROOT) + "/config/sim/two-routers.yaml");
  const auto events = parse_events(site, kind, words);
  EXPECT_TRUE(events.has_value()) << events.error().what;
  if (events) site.faults.events = *events;
  return site;
}

Answer answered(const SiteConfig& site) {
  auto answer = answer_to(site);
  EXPECT_TRUE(answer.has_value()) << answer.error().what;
  return std::move(*answer);
}

TEST(WhatIf, ALostRouterIsAnOutageOfItsUsers) {
  const SiteConfig site =
      site_with(PlannedKind::kLose, {"10.0.0.2@tcp", "at", "20s", "for", "30s"});
  const Answer answer = answered(site);
  const std::string text = text_of(answer);
  const auto has = [&](const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\nis not in\n" << text;
  };
  has("Router routers.2 (10.0.0.2@tcp, 10.1.0.2@o2ib) is lost at 20 s, and is back at 50 s.\n");
  has("Workload: each of 12 clients begins up to 1 read at a time");
  has("Outage: waits of more than 1 s for an answer were seen by ");
  has(" of 12 clients, ");
  has(" in all: median ");
  has("Routes: 14 nodes have a route through routers.2; 14 saw it down after the event's begin "
      "(median ");
  has("and 14 saw it up again after its end (median ");
  has("Nodes check a router every 2 s (alive_router_check_interval)");
  has("Load: routers.1 carried most during the event, 100 % of the messages, ");
  has("Lustre: ");
  has(" had no answer and ");
  has("'no answer in time')");
  has("A client gives an RPC 16 s (at_min 5), then connects again: at once for 10 s, and every 25 "
      "s "
      "(obd_timeout 100).\n");
  has("Seed 1, ");
  const OutageFigures outage = figures_of(answer.with.rpcs.outages());
  EXPECT_GT(outage.clients, 0U);
  EXPECT_LE(outage.clients, 12U);
  EXPECT_EQ(outage.lasting, 0U);
  // The client's own timeout ends a wait, not LNet's transaction_timeout, which is 20 s here.
  EXPECT_LT(outage.longest, std::chrono::seconds(17)) << text;
  EXPECT_EQ(answer.with.rpcs.failures(), answer.with.rpcs.slow()) << "each is answered in the end";
  EXPECT_EQ(figures_of(answer.without.rpcs.outages()).clients, 0U);
  EXPECT_EQ(answer.seen_down(site.faults.events[0]).count, 14U);
  EXPECT_TRUE(answer.with.times.is_restored);
  EXPECT_EQ(text, text_of(answered(site))) << "the same seed, the same answer";
}

TEST(WhatIf, ADrainedRestartIsNoOutage) {
  const Answer answer = answered(site_with(PlannedKind::kRestart, {"routers.1", "at", "20s"}));
  const std::string text = text_of(answer);
  EXPECT_EQ(answer.with.rpcs.failures(), 0U) << text;
  EXPECT_NE(text.find("seen by none of 12 clients"), std::string::npos) << text;
  EXPECT_NE(text.find("no read was sent again"), std::string::npos) << text;
  EXPECT_TRUE(answer.losses().empty()) << text;
}

TEST(WhatIf, BothLinksCutLeaveClientsWithoutAnAnswer) {
  const Answer answer =
      answered(site_with(PlannedKind::kCut, {"routers.1", "o2ib", "at", "20s", "for", "60s",
                                             "routers.2", "o2ib", "at", "20s", "for", "60s"}));
  const std::string text = text_of(answer);
  EXPECT_GT(answer.with.rpcs.failures(), 0U) << text;
  EXPECT_NE(text.find("Load: no router forwarded a message in the measured part of the event.\n"),
            std::string::npos)
      << text;
  const OutageFigures outage = figures_of(answer.with.rpcs.outages());
  EXPECT_EQ(outage.clients, 12U) << text;
  EXPECT_GT(outage.longest, std::chrono::seconds(20)) << text;
  const auto json = nlohmann::json::parse(json_of(answer));
  EXPECT_EQ(json["events"].size(), 2U);
  EXPECT_EQ(json["with"]["outage"]["clients"], 12U);
  EXPECT_EQ(json["without"]["sent_again"], 0U);
}

}  // namespace
}  // namespace plnet::sim::what_if_test
