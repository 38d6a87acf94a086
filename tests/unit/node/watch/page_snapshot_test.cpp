// SPDX-License-Identifier: BSD-3-Clause
#include "node/watch/page_snapshot.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "lib/lnet/names/nid_text.hpp"
#include "lib/runtime/lnet/report_json.hpp"

namespace plnet::node::page_snapshot_test {
namespace {

using runtime::Json;

lnet::Nid nid_of(const std::string& text) {
  return lnet::parse_nid(text).value();
}

lnet::Nid numbered_nid(unsigned number, const char* net = "tcp") {
  return nid_of(fmt::format("10.{}.{}.7@{}", number / 250, number % 250, net));
}

Json small_status() {
  return {{"verdict", "forwarding; nothing is wrong"},
          {"networks", Json::array()},
          {"shards", Json::array()},
          {"warnings", Json::array()}};
}

TEST(PageSnapshot, HasTheDocumentsOfTheCommands) {
  PageFacts facts{.status = small_status()};
  facts.nets.push_back({.net = nid_of("0@lo").net(), .nis = {{.nid = nid_of("0@lo")}}});
  facts.nets.push_back(
      {.net = nid_of("10.0.0.1@tcp").net(),
       .nis = {{.nid = nid_of("10.0.0.1@tcp"),
                .interfaces = {"eth0"},
                .tx_queues = {{.credits_max = 256, .credits = 250, .credits_min = 3},
                              {.cpt = 1, .credits_max = 256, .credits = 256, .credits_min = 200}}},
               {.nid = nid_of("10.0.1.1@tcp"), .up = false, .down_cause = "no carrier"}}});
  facts.routes.push_back(
      {.route = {.net = nid_of("10.0.0.1@o2ib").net(), .gateway = nid_of("10.0.0.9@tcp")},
       .last_changes = {
           {.ago = std::chrono::seconds(35), .up = false, .cause = "ping timed out"}}});
  facts.routing = lnet::RoutingReport{.state = lnet::RoutingState::kEnabled};
  facts.routing->cpts.resize(2);
  facts.lines = {{"12:00", "warning", "ni_down", "nid=10.0.1.1@tcp"}};
  const Json event = page_snapshot(facts);
  EXPECT_EQ(event["status"]["verdict"], "forwarding; nothing is wrong");
  EXPECT_FALSE(event["status"].contains("networks")) << "NIs are there already";
  ASSERT_EQ(event["nis"].size(), 2U) << "without lo";
  EXPECT_EQ(event["nis"][0]["nid"], "10.0.1.1@tcp") << "those that are down come first";
  EXPECT_EQ(event["nis"][0]["cause"], "no carrier");
  EXPECT_EQ(event["nis"][1]["credits"], (Json{{"max", 512}, {"now", 506}, {"min", 203}}));
  EXPECT_EQ(event["routes"], runtime::routes_to_json(facts.routes, 3)["route"]);
  EXPECT_EQ(event["routing"], runtime::routing_to_json(*facts.routing)["routing"]);
  EXPECT_EQ(event["lately"][0]["event"], "ni_down");
  for (const auto& [what, number] : event["more"].items())
    EXPECT_EQ(number, 0U) << what;
}

TEST(PageSnapshot, AHugeNodeSendsNoMoreThanALargeOne) {
  PageFacts facts{.status = small_status()};
  const std::string words(5000, 'x');
  for (unsigned i = 0; i < 2000; ++i) {
    facts.status["warnings"].push_back(
        {{"severity", "warning"}, {"what", words}, {"why", words}, {"fix", words}});
    facts.status["shards"].push_back({{"shard", i}, {"duty cycle percent", 99.5}});
    facts.nets.push_back(
        {.net = numbered_nid(i, fmt::format("tcp{}", i).c_str()).net(),
         .nis = {{.nid = numbered_nid(i), .up = i != 1999, .interfaces = {words}}}});
    facts.routes.push_back(
        {.route = {.net = nid_of("10.0.0.1@o2ib").net(), .gateway = numbered_nid(i)},
         .up = i != 1998,
         .last_changes = {3, {.cause = words}}});
    facts.lines.resize(RecentLines::kLinesMax,
                       {"12:00", "info", "ni_up", std::string(RecentLines::kTextMax, 'x')});
  }
  facts.routing = lnet::RoutingReport{.state = lnet::RoutingState::kEnabled};
  facts.routing->cpts.resize(300);
  lnet::LoadSnapshot load{.covered = std::chrono::seconds(20)};
  for (unsigned i = 0; i < 4000; ++i)
    load.nids.push_back({.key = numbered_nid(i), .messages = i + 1, .bytes = i});
  facts.load = page_load(load);
  EXPECT_EQ(facts.load["talkers"]["load"].size(), PageLimits{}.talkers);
  EXPECT_EQ(facts.load["more talkers"], 4000 - PageLimits{}.talkers);
  EXPECT_EQ(facts.load["talkers"]["load"][0]["nid"], text_of(numbered_nid(3999)));
  const Json event = page_snapshot(facts);
  EXPECT_LT(event.dump().size(), std::size_t{128} << 10) << "all texts of the greatest length";
  EXPECT_EQ(event["nis"][0]["nid"], text_of(numbered_nid(1999)));
  EXPECT_EQ(event["routes"][0]["gateway"], text_of(numbered_nid(1998)));
  EXPECT_EQ(event["more"]["nis"], 2000 - PageLimits{}.nis);
  EXPECT_EQ(event["more"]["routes"], 2000 - PageLimits{}.routes);
  EXPECT_EQ(event["more"]["warnings"], 2000 - PageLimits{}.warnings);
  EXPECT_EQ(event["more"]["cpts"], 300 - PageLimits{}.cpts);
}

TEST(PageSnapshot, CutsTextsBetweenCharacters) {
  PageFacts facts{.status = small_status()};
  facts.status["warnings"].push_back({{"what", "aä"}});
  EXPECT_EQ(page_snapshot(facts, {.text = 2})["status"]["warnings"][0]["what"], "a…");
}

}  // namespace
}  // namespace plnet::node::page_snapshot_test
