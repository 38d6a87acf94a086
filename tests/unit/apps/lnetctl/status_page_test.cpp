// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnetctl/status_page.hpp"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

namespace plnet::apps::status_page_test {
namespace {

Json healthy() {
  Json status{
      {"verdict", "forwarding; nothing is wrong"},
      {"routing",
       {{"state", "enabled"},
        {"free buffers",
         {{"tiny", "512 of 512"}, {"small", "4096 of 4096"}, {"large", "250 of 256"}}}}},
      {"networks",
       Json::array(
           {{{"net", "tcp"},
             {"up", 1},
             {"down", 0},
             {"nis", Json::array(
                         {{{"nid", "10.0.0.1@tcp"}, {"status", "up"}, {"interface", "eth0"}}})}}})},
      {"routes", {{"up", 2}, {"down", 0}, {"those down", Json::array()}}},
      {"peers", {{"peers", 12}, {"up", 10}, {"down", 0}, {"unknown", 3}, {"cannot be reached", 0}}},
      {"rates",
       {{"seconds", 5.0},
        {"forwarded", 1200},
        {"sent", 3},
        {"received", 4},
        {"dropped", 0},
        {"bytes", 1234000000}}},
      {"drops", Json::array()},
      {"rules",
       {{"access", 0}, {"decided", 0}, {"drop", 0}, {"dropped", 0}, {"delay", 0}, {"delayed", 0}}},
      {"instance", "control"},
      {"version", "1.0"},
      {"pid", 4711},
      {"uptime sec", 11520},
      {"idle", "busy"},
      {"metrics", "off"},
      {"shards", Json::array({{{"shard", 0}, {"cpu", 2}, {"duty cycle percent", 7.5}}})},
      {"warnings", Json::array()}};
  return {{"status", std::move(status)}};
}

bool has(const std::string& text, std::string_view piece) {
  return text.find(piece) != std::string::npos;
}

TEST(StatusPage, AHealthyRouterIsToldOnOnePage) {
  EXPECT_EQ(print_status(healthy()),
            "verdict   forwarding; nothing is wrong\n"
            "node      control: plnet 1.0, process 4711, up 3 h 12 min; metrics off\n"
            "routing   enabled; free buffers: tiny 512 of 512, small 4096 of 4096, large 250 of "
            "256\n"
            "networks  tcp: 1 of 1 NI up: 10.0.0.1@tcp (eth0)\n"
            "routes    2 of 2 up\n"
            "peers     12 peers; NIs: 10 up, 0 down, 3 not asked\n"
            "rates     forwarded 1200/s, sent 3/s, received 4/s, dropped 0/s; 1.2 GB/s (last 5 s)\n"
            "drops     none in the last minute\n"
            "rules     no access rule, no drop rule, no delay rule\n"
            "pollers   shard 0 on CPU 2: 7.5 % of its time at work, idle policy busy\n");
}

TEST(StatusPage, TheAddressesOfListenersAreTold) {
  Json page = healthy();
  page["status"]["metrics"] = "127.0.0.1:9988";
  page["status"]["status page"] = "off";
  EXPECT_TRUE(has(print_status(page), "up 3 h 12 min; metrics at 127.0.0.1:9988\n"));
  page["status"]["status page"] = "127.0.0.1:9989";
  EXPECT_TRUE(has(print_status(page), "; page at http://127.0.0.1:9989/\n"));
}

TEST(StatusPage, ANodeOnSeveralNetworksThatDoesNotRouteSaysSo) {
  Json page = healthy();
  Json& status = page["status"];
  status["routing"] = {{"state", "disabled"}};
  EXPECT_TRUE(has(print_status(page), "routing   disabled\n")) << "of a client";
  status["networks"].push_back(status["networks"][0]);
  EXPECT_TRUE(has(print_status(page),
                  "routing   disabled: messages for other nodes are dropped; lnetctl set routing 1 "
                  "makes this node forward\n"));
}

TEST(StatusPage, ALargeHealthyNodeHas24LinesAtMost) {
  Json large = healthy();
  Json& status = large["status"];
  const Json net = status["networks"][0];
  const Json shard = status["shards"][0];
  for (int i = 0; i < 30; ++i) {
    status["networks"].push_back(net);
    status["shards"].push_back(shard);
  }
  status["shards"][7]["duty cycle percent"] = 93.25;
  status["shards"][7]["shard"] = 7;
  const std::string page = print_status(large);
  EXPECT_LE(std::ranges::count(page, '\n'), 24) << page;
  EXPECT_TRUE(has(page, "25 more networks")) << page;
  EXPECT_TRUE(
      has(page, "31 shards, 7.5 % to 93.2 % of their time at work (most: shard 7 on CPU 2)"))
      << page;
}

TEST(StatusPage, TroubleIsToldWithItsCauseAndTheCommandThatLooksCloser) {
  Json ill = healthy();
  Json& status = ill["status"];
  status["verdict"] = "forwarding; 1 of 3 routes down";
  status["routes"] = {{"up", 2},
                      {"down", 1},
                      {"those down", Json::array({{{"net", "tcp1"},
                                                   {"gateway", "10.0.0.9@tcp"},
                                                   {"cause", "ping timed out"},
                                                   {"seconds", 95}}})}};
  status["drops"] = Json::array({{{"cause", "dropped_hop_down"},
                                  {"in the last minute", 37},
                                  {"since the start", 99},
                                  {"meaning", "to be forwarded, and its next hop is down"}}});
  status["rules"] = {{"access", 2},  {"decided", 7}, {"drop", 1},
                     {"dropped", 5}, {"delay", 0},   {"delayed", 0}};
  status["drain"] = {{"phase", "emptying"},
                     {"seconds left", 12},
                     {"peers told", 3},
                     {"peers acknowledged", 2},
                     {"messages held", 9}};
  status["warnings"] = Json::array({{{"severity", "warning"},
                                     {"what", "1 of 3 routes is down"},
                                     {"why", "to tcp1 by 10.0.0.9@tcp: ping timed out"},
                                     {"fix", "lnetctl route show -v 1"}}});
  const std::string page = print_status(ill);
  EXPECT_TRUE(page.starts_with("verdict   forwarding; 1 of 3 routes down\n")) << page;
  EXPECT_TRUE(has(page,
                  "routes    2 of 3 up\n"
                  "          tcp1 by 10.0.0.9@tcp is down for 1 min 35 s: ping timed out\n"))
      << page;
  EXPECT_TRUE(has(page,
                  "drops     37 in the last minute (99 in all): to be forwarded, and its next hop "
                  "is down (dropped_hop_down)\n"))
      << page;
  EXPECT_TRUE(has(page,
                  "rules     2 access rules (decided 7 times; lnetctl access show), 1 drop rule (5 "
                  "messages; lnetctl fault drop show), no delay rule\n"))
      << page;
  EXPECT_TRUE(has(page,
                  "drain     emptying: 2 of 3 peers have acknowledged, 9 messages held, 12 s left "
                  "at most\n"))
      << page;
  EXPECT_TRUE(
      page.ends_with("\n"
                     "warning   1 of 3 routes is down\n"
                     "          to tcp1 by 10.0.0.9@tcp: ping timed out\n"
                     "          → lnetctl route show -v 1\n"))
      << page;
}

TEST(StatusPage, FiguresAreShort) {
  EXPECT_EQ(text_of_bytes(0), "0 B");
  EXPECT_EQ(text_of_bytes(999), "999 B");
  EXPECT_EQ(text_of_bytes(1500), "1.5 kB");
  EXPECT_EQ(text_of_bytes(12'345'000'000'000'000), "12345.0 TB");
  EXPECT_EQ(text_of_seconds(59), "59 s");
  EXPECT_EQ(text_of_seconds(61), "1 min 1 s");
  EXPECT_EQ(text_of_seconds(90'000), "1 d 1 h");
}

TEST(StatusPage, AnAnswerWithoutPartsIsPrinted) {
  EXPECT_TRUE(has(print_status(Json::object()), "networks  none besides lo\n"));
}

}  // namespace
}  // namespace plnet::apps::status_page_test
