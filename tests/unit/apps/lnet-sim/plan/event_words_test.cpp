// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-sim/plan/event_words.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "apps/lnet-sim/plan/node_names.hpp"
#include "apps/lnet-sim/plan/site_reader.hpp"

namespace plnet::sim::event_words_test {
namespace {

constexpr const char* kSite =
    "nets: [{name: tcp}, {name: o2ib, kind: o2ib}]\n"
    "groups:\n"
    "  - {name: clients, nodes: 3, nets: [tcp], talks_to: [server],\n"
    "     routes: [{net: o2ib, via: routers}]}\n"
    "  - {name: routers, nodes: 2, nets: [tcp, o2ib], router: true,\n"
    "     nids: [10.0.0.1@tcp, 10.1.0.1@o2ib, 10.0.0.2@tcp, 10.1.0.2@o2ib]}\n"
    "  - {name: server, nets: [o2ib], routes: [{net: tcp, via: routers}]}\n";

SiteConfig site_with(const std::string& more) {
  const auto site = read_site(kSite + more, "site.yaml");
  EXPECT_TRUE(site.has_value()) << site.error().text();
  return site.value_or(SiteConfig{});
}

std::string complaint(PlannedKind kind, const std::vector<std::string>& words) {
  const auto events = parse_events(site_with(""), kind, words);
  return events ? std::string("parsed") : events.error().what;
}

TEST(EventWords, NameNodesByGroupPlaceOrNid) {
  const SiteConfig site = site_with("");
  EXPECT_EQ(find_node(site, "routers.2").value_or(99), 4U);
  EXPECT_EQ(find_node(site, "10.1.0.2@o2ib").value_or(99), 4U);
  EXPECT_EQ(find_node(site, "server").value_or(99), 5U);
  EXPECT_FALSE(find_node(site, "routers").has_value()) << "which of them?";
  EXPECT_FALSE(find_node(site, "routers.3").has_value());
  EXPECT_EQ(node_title(site, 4), "routers.2 (10.0.0.2@tcp, 10.1.0.2@o2ib)");
  EXPECT_EQ(node_name(site, 5), "server");
}

TEST(EventWords, SeveralEventsFollowOneAnother) {
  const std::vector<std::string> words{"routers.1", "at", "10s", "for", "500ms", "server"};
  const auto events = parse_events(site_with(""), PlannedKind::kLose, words);
  ASSERT_TRUE(events.has_value()) << events.error().what;
  ASSERT_EQ(events->size(), 2U);
  EXPECT_EQ((*events)[0].at, std::chrono::seconds(10));
  EXPECT_EQ((*events)[0].lasting, std::chrono::milliseconds(500));
  EXPECT_EQ((*events)[1].node, 5U);
  EXPECT_EQ((*events)[1].at, std::chrono::seconds(60)) << "the usual time";
}

TEST(EventWords, ComplaintsNameTheExpectation) {
  EXPECT_NE(complaint(PlannedKind::kLose, {"r9"}).find("expected a NID of a node, or one of"),
            std::string::npos);
  EXPECT_NE(complaint(PlannedKind::kLose, {"server", "at", "soon"}).find("expected a time like"),
            std::string::npos);
  EXPECT_NE(complaint(PlannedKind::kLose, {"server", "for"}).find("expected a time like"),
            std::string::npos);
  EXPECT_NE(complaint(PlannedKind::kDrain, {"server"}).find("no router"), std::string::npos);
  EXPECT_NE(complaint(PlannedKind::kCut, {"server"}).find("expected NODE NETWORK"),
            std::string::npos);
  EXPECT_NE(complaint(PlannedKind::kCut, {"server", "tcp"}).find("is not on network"),
            std::string::npos);
}

TEST(EventReader, ReadsEventsOfASiteFile) {
  const SiteConfig site = site_with(
      "faults:\n  events:\n    - {cut: routers.1, net: tcp, at: 5s, for: 7s}\n"
      "    - {restart: routers.2}\n");
  ASSERT_EQ(site.faults.events.size(), 2U);
  EXPECT_EQ(site.faults.events[0], (PlannedEvent{.kind = PlannedKind::kCut,
                                                 .node = 3,
                                                 .net = 0,
                                                 .at = std::chrono::seconds(5),
                                                 .lasting = std::chrono::seconds(7)}));
  EXPECT_EQ(site.faults.events[1].lasting, std::chrono::seconds(5));
  EXPECT_EQ(site.faults.longest_outage(), std::chrono::seconds(7));
}

TEST(EventReader, ComplainsWithThePlace) {
  for (const char* const event :
       {"{lose: r9}", "{at: 5s}", "{lose: server, net: tcp}", "{cut: server}", "{drain: server}",
        "{lose: server, drain: server}"}) {
    const auto site =
        read_site(std::string(kSite) + "faults:\n  events:\n    - " + event + "\n", "site.yaml");
    ASSERT_FALSE(site.has_value()) << event;
    EXPECT_NE(site.error().text().find("site.yaml:10:"), std::string::npos) << site.error().text();
  }
}

}  // namespace
}  // namespace plnet::sim::event_words_test
