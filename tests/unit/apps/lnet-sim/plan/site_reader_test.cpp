// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-sim/plan/site_reader.hpp"

#include <array>
#include <string>

#include <gtest/gtest.h>

namespace plnet::sim::site_reader_test {
namespace {

TEST(SiteReader, MissingKeysHaveDefaults) {
  const auto site = read_site("nodes: 3\n", "site.yaml");
  ASSERT_TRUE(site.has_value());
  EXPECT_EQ(site->nodes, 3U);
  EXPECT_EQ(site->traffic.operations, TrafficPlan{}.operations);
  ASSERT_EQ(site->nets.size(), 1U);
}

TEST(SiteReader, ReadsAllKindsOfValues) {
  const auto site = read_site(
      "name: x\nseed: 7\nshards: [1, 4]\nweather: hostile\ntime: 20ms\nlazy_memory: false\n"
      "nets:\n  - kind: o2ib\n    interfaces: 2\n  - kind: tcp\n"
      "traffic: {window: 8, pause: 5us}\nfaults:\n  kills: 2\n",
      "site.yaml");
  ASSERT_TRUE(site.has_value()) << site.error().text();
  EXPECT_EQ(site->seed, 7U);
  EXPECT_EQ(site->shards, (std::vector<unsigned>{1, 4}));
  EXPECT_EQ(site->weather, Weather::kHostile);
  EXPECT_EQ(site->time, std::chrono::milliseconds(20));
  EXPECT_FALSE(site->lazy_memory);
  ASSERT_EQ(site->nets.size(), 2U);
  EXPECT_EQ(site->nets[0].kind, NetKind::kO2ib);
  EXPECT_EQ(site->nets[0].interfaces, 2U);
  EXPECT_EQ(site->traffic.window, 8U);
  EXPECT_EQ(site->traffic.pause, std::chrono::microseconds(5));
  EXPECT_EQ(site->faults.kills, 2U);
}

TEST(SiteReader, NamesTheKindsOfNets) {
  const auto refused = read_site("nets: [{kind: stream}]\n", "s");
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().text().find("expected one of tcp, o2ib, kfi"), std::string::npos);
}

TEST(SiteReader, ReadsCombinedSettings) {
  const auto site = read_site(
      "nets: [{name: a}, {name: b}]\ngroups: [{name: r, nets: [a, b], router: true}]\n"
      "faults:\n  outage: 1s\n  outage_max: 16s\n  episodes:\n"
      "    - {of: [drain, flap], count: 3}\n    - {of: [crash]}\n",
      "site.yaml");
  ASSERT_TRUE(site.has_value()) << site.error().text();
  EXPECT_EQ(site->faults.outage_max, std::chrono::seconds(16));
  ASSERT_EQ(site->faults.episodes.size(), 2U);
  EXPECT_EQ(site->faults.episodes[0],
            (EpisodePlan{.mishaps = {Mishap::kDrain, Mishap::kFlap}, .count = 3}));
  EXPECT_EQ(site->faults.episodes[1], (EpisodePlan{.mishaps = {Mishap::kCrash}}));
  const auto refused = read_site("faults:\n  episodes:\n    - {of: [exhaustion]}\n", "s");
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().text().find("a matter of buffers"), std::string::npos);
}

TEST(SiteReader, ReadsTheFaultsOfANet) {
  const auto site = read_site(
      "nets:\n  - kind: tcp\n    faults:\n"
      "      - {fault: delay, direction: rx, percent: 25, delay: 2ms}\n"
      "      - {fault: reset, direction: tx, every: 100}\n"
      "  - kind: o2ib\n    faults:\n      - {fault: fail, direction: rx, at: 7}\n",
      "site.yaml");
  ASSERT_TRUE(site.has_value()) << site.error().text();
  const auto& delay = site->nets[0].faults.rules[0];
  EXPECT_EQ(site->nets[0].faults.count, 2U);
  EXPECT_EQ(delay.fault, drivers::Fault::kDelay);
  EXPECT_EQ(delay.direction, drivers::Direction::kRx);
  EXPECT_EQ(delay.trigger, drivers::Trigger::kChance);
  EXPECT_DOUBLE_EQ(delay.probability, 0.25);
  EXPECT_EQ(delay.delay, std::chrono::milliseconds(2));
  EXPECT_EQ(site->nets[0].faults.rules[1].trigger, drivers::Trigger::kEveryNth);
  EXPECT_EQ(site->nets[0].faults.rules[1].nth, 100U);
  EXPECT_EQ(site->nets[1].faults.rules[0].trigger, drivers::Trigger::kAtNth);
  EXPECT_EQ(site->nets[1].faults.rules[0].nth, 7U);
}

TEST(SiteReader, AFaultThatTheWireCannotShowIsRefused) {
  const auto refused = [](const char* kind, const char* fault, const char* direction) {
    const std::string text = std::string("nets:\n  - kind: ") + kind + "\n    faults:\n" +
                             "      - {fault: " + fault + ", direction: " + direction + "}\n";
    const auto site = read_site(text, "s");
    return site ? std::string() : site.error().text();
  };
  EXPECT_NE(refused("stream", "drop", "tx").find("means nothing"), std::string::npos);
  EXPECT_NE(refused("stream", "reorder", "rx").find("means nothing"), std::string::npos);
  EXPECT_NE(refused("stream", "corrupt", "tx").find("checksum"), std::string::npos);
  EXPECT_NE(refused("stream", "truncate", "rx").find("expected tx"), std::string::npos);
  EXPECT_NE(refused("o2ib", "duplicate", "rx").find("means nothing"), std::string::npos);
  EXPECT_NE(refused("o2ib", "corrupt", "rx").find("means nothing"), std::string::npos);
  EXPECT_NE(refused("o2ib", "rot", "rx").find("expected one of drop"), std::string::npos);
  EXPECT_EQ(refused("o2ib", "reset", "rx"), "");
  EXPECT_NE(refused("kfi", "corrupt", "rx").find("CRC"), std::string::npos);
  EXPECT_NE(refused("kfi", "truncate", "rx").find("CRC"), std::string::npos);
  EXPECT_NE(refused("kfi", "reset", "tx").find("means nothing"), std::string::npos);
  EXPECT_NE(refused("kfi", "reorder", "tx").find("expected rx"), std::string::npos);
  EXPECT_EQ(refused("kfi", "drop", "tx"), "");
}

TEST(SiteReader, ReadsSettingsOfKfiNets) {
  const auto site = read_site(
      "nets:\n  - kind: kfi\n    kfi: {receive_buffers: 3, receive_buffer_bytes: 8192, copies: 0, "
      "source_connections: 5, target_connections: 6, message_states: 7, answers: 8}\n"
      "    faults: [{fault: duplicate, direction: rx}, {fault: stall, direction: rx}]\n"
      "faults: {moves: 2, nack_storms: 3}\n",
      "site.yaml");
  ASSERT_TRUE(site.has_value()) << site.error().text();
  ASSERT_EQ(site->nets[0].kind, NetKind::kKfi);
  const KfiPlan& kfi = site->nets[0].kfi;
  EXPECT_EQ(kfi.receive_buffers, 3U);
  EXPECT_EQ(kfi.receive_buffer_bytes, 8192U);
  EXPECT_EQ(kfi.copies, 0U);
  EXPECT_EQ(kfi.source_connections, 5U);
  EXPECT_EQ(kfi.target_connections, 6U);
  EXPECT_EQ(kfi.message_states, 7U);
  EXPECT_EQ(kfi.answers, 8U);
  EXPECT_EQ(site->faults.moves, 2U);
  EXPECT_EQ(site->faults.nack_storms, 3U);
  EXPECT_FALSE(site->is_lazy());
}

TEST(SiteReader, ReadsSettingsOfO2ibNets) {
  const auto site = read_site("nets: [{kind: o2ib, o2ib: {answers: 5, receives: 7}}]\n", "s");
  ASSERT_TRUE(site.has_value()) << site.error().text();
  EXPECT_EQ(site->nets[0].o2ib.answers, 5U);
  EXPECT_EQ(site->nets[0].o2ib.receives, 7U);
  EXPECT_TRUE(site->is_lazy());
  for (const char* const wrong : {"nets: [{kind: tcp, o2ib: {answers: 1}}]\n",
                                  "nets: [{kind: o2ib, o2ib: {answers: 0}}]\n"}) {
    EXPECT_FALSE(read_site(wrong, "s").has_value()) << wrong;
  }
}

TEST(SiteReader, KfiSettingsAreRefusedOnOtherNets) {
  const auto refused = [](const std::string& text) {
    const auto site = read_site(text, "s");
    return site ? std::string() : site.error().text();
  };
  EXPECT_NE(refused("nets: [{kind: tcp, kfi: {copies: 1}}]\n").find("only of a net"),
            std::string::npos);
  EXPECT_NE(refused("faults: {moves: 1}\n").find("need a net"), std::string::npos);
  EXPECT_NE(refused("faults: {nack_storms: 1}\n").find("need a net"), std::string::npos);
  EXPECT_NE(refused("nets: [{kind: kfi, kfi: {receive_buffers: 1}}]\n").find("receive_buffers"),
            std::string::npos);
}

TEST(SiteReader, ReadsGroupsThatNameNetworksAndEachOther) {
  const auto site = read_site(
      "nets: [{name: edge}, {name: core, kind: o2ib}]\n"
      "gateways: {check_interval_s: 4}\n"
      "groups:\n"
      "  - {name: c, nodes: 3, nets: [edge], talks_to: [s], routes: [{net: core, via: r, hops: "
      "1}]}\n"
      "  - {name: r, nodes: 2, nets: [edge, core], shards: [2, 4], router: true,\n"
      "     buffers: {large: 3}, peer_buffer_credits: 5}\n"
      "  - {name: s, nets: [core], routes: [{net: edge, via: r, priority: 2}]}\n",
      "site.yaml");
  ASSERT_TRUE(site.has_value()) << site.error().text();
  EXPECT_EQ(site->nodes, 6U);
  EXPECT_EQ(site->gateways.check_interval_s, 4U);
  ASSERT_EQ(site->groups.size(), 3U);
  const GroupPlan& clients = site->groups[0];
  EXPECT_EQ(clients.nets, std::vector<unsigned>{0});
  EXPECT_EQ(clients.talks_to, std::vector<unsigned>{2});
  ASSERT_EQ(clients.routes.size(), 1U);
  EXPECT_EQ(clients.routes[0].net, 1U);
  EXPECT_EQ(clients.routes[0].via, 1U);
  EXPECT_EQ(clients.routes[0].hops, 1U);
  const GroupPlan& routers = site->groups[1];
  EXPECT_TRUE(routers.router);
  EXPECT_EQ(routers.shards, (std::vector<unsigned>{2, 4}));
  EXPECT_EQ(routers.buffers, (lnet::BufferCounts{{64, 64, 3}}));
  EXPECT_EQ(routers.peer_buffer_credits, 5U);
  EXPECT_EQ(site->groups[2].routes[0].priority, 2U);
}

TEST(SiteReader, GroupsThatDoNotFitTogetherAreRefused) {
  const auto refused = [](const std::string& groups) {
    const auto site = read_site("nets: [{name: a}, {name: b}]\ngroups:\n" + groups, "s");
    return site ? std::string() : site.error().text();
  };
  const auto says = [&](const std::string& groups, std::string_view what) {
    EXPECT_NE(refused(groups).find(what), std::string::npos) << refused(groups);
  };
  const std::string router = "  - {name: r, nets: [a, b], router: true}\n";
  says("  - {name: x, nets: [c]}\n", "'c', expected one of a, b");
  says("  - {name: x}\n", "some `nets`");
  says(router + "  - {nets: [a], routes: [{net: b}]}\n", "`via`");
  says(router + "  - {nets: [a], routes: [{net: a, via: r}]}\n", "that the group is on");
  says("  - {name: x, nets: [a, b]}\n  - {nets: [a], routes: [{net: b, via: x}]}\n",
       "'x' does not route");
  says("  - {name: r, nets: [b], router: true}\n  - {nets: [a], routes: [{net: b, via: r}]}\n",
       "no network in common");
  says(router + "  - {name: x, nets: [a], talks_to: [y]}\n  - {name: y, nets: [b]}\n",
       "neither a network nor a route");
  says(router +
           "  - {name: x, nets: [a], talks_to: [y], routes: [{net: b, via: r}]}\n"
           "  - {name: y, nets: [b]}\n",
       "back to here");
}

TEST(SiteReader, PingsOfGatewaysOutlastAMessageThatCannotBeSent) {
  const auto error = [](const std::string& times) {
    const auto site =
        read_site("nets: [{name: a}, {name: b}]\n" + times +
                      "groups:\n"
                      "  - {name: r, nets: [a, b], router: true}\n"
                      "  - {name: x, nets: [a], talks_to: [y], routes: [{net: b, via: r}]}\n"
                      "  - {name: y, nets: [b], routes: [{net: a, via: r}]}\n",
                  "s");
    return site ? std::string() : site.error().text();
  };
  EXPECT_EQ(error(""), "");
  EXPECT_EQ(error("gateways: {ping_timeout_s: 6}\n"), "");
  const std::string text = error("gateways: {ping_timeout_s: 5}\n");
  EXPECT_NE(text.find("ping_timeout_s is 5, expected more than lnd_timeout_s (5)"),
            std::string::npos)
      << text;
  EXPECT_NE(error("lnd_timeout_s: 10\n"), "");
}

TEST(SiteReader, ReportsErrorsWithTheirPlace) {
  const auto site = read_site("nodes: many\nweather: sunny\ntraffic:\n  windw: 3\ntime: 5\n", "s");
  ASSERT_FALSE(site.has_value());
  const std::string text = site.error().text();
  for (const char* const part :
       {"s:1:8: nodes: 'many', expected a number", "s:2:10: weather: 'sunny'",
        "s:4:3: unknown key 'windw'", "s:5:7: time: '5', expected a time"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
}

// A setting without effect is refused, so that its author notices.
TEST(SiteReader, SettingsWithoutEffectAreRefused) {
  const auto refused = [](const std::string& text) {
    const auto site = read_site(text, "s");
    return site ? std::string() : site.error().text();
  };
  const auto routed = [](unsigned routers, const std::string& more) {
    return "nets: [{name: a}, {name: b}]\ngroups:\n"
           "  - {name: c, nets: [a], talks_to: [s], routes: [{net: b, via: r}]}\n"
           "  - {name: r, nets: [a, b], router: true, nodes: " +
           std::to_string(routers) +
           "}\n"
           "  - {name: s, nets: [b], routes: [{net: a, via: r}]}\n" +
           more;
  };
  EXPECT_EQ(refused(routed(2, "faults: {router_kills: 1, flaps: 1, drains: 1}\n")), "");
  for (const char* const key : {"nodes: 5", "shards: [2]"}) {
    const std::string wrong = refused(routed(2, std::string(key) + "\n"));
    EXPECT_NE(wrong.find("s:6:1: "), std::string::npos) << wrong;
    EXPECT_NE(wrong.find("in each of them"), std::string::npos) << wrong;
  }
  EXPECT_EQ(refused(routed(2, "faults: {episodes: [{of: [drain, crash]}]}\n")), "");
  EXPECT_EQ(refused(routed(1, "faults: {episodes: [{of: [crash]}]}\n")), "");
  EXPECT_EQ(refused("faults: {kills: 1, outage_max: 4s}\n"), "");
  for (const char* const of_routers :
       {"router_kills: 1", "flaps: 1", "drains: 1", "episodes: [{of: [crash]}]"}) {
    const std::string wrong = refused(std::string("faults:\n  ") + of_routers + "\n");
    EXPECT_NE(wrong.find("s:2:3: "), std::string::npos) << wrong;
    EXPECT_NE(wrong.find("expected a group with `router: true`"), std::string::npos) << wrong;
  }
  EXPECT_NE(refused(routed(1, "faults: {drains: 1}\n")).find("expected a second gateway"),
            std::string::npos);
  EXPECT_NE(refused(routed(1, "faults:\n  episodes: [{of: [flap, drain]}]\n")).find("s:7:3: "),
            std::string::npos);
  EXPECT_NE(refused("faults: {kills: 1, outage: 4s, outage_max: 4s}\n").find("no longer than"),
            std::string::npos);
  EXPECT_NE(refused(routed(2, "faults: {drains: 1, drains_in_trouble: 2}\n"))
                .find("expected no more than the drains (1)"),
            std::string::npos);
  for (const char* const key : {"buffers: {tiny: 3}", "peer_buffer_credits: 3"}) {
    const std::string wrong = refused(std::string("groups:\n  - {nets: [0], ") + key + "}\n");
    EXPECT_NE(wrong.find("expected `router: true`"), std::string::npos) << wrong;
  }
  for (const char* const keys : {"percent: 5, every: 7", "percent: 5, at: 7", "every: 5, at: 7"}) {
    const std::string wrong =
        refused(std::string("nets: [{faults: [{fault: delay, ") + keys + "}]}]\n");
    EXPECT_NE(wrong.find("expected one of percent, every and at"), std::string::npos) << wrong;
  }
}

}  // namespace
}  // namespace plnet::sim::site_reader_test
