// SPDX-License-Identifier: BSD-3-Clause
// Expected texts are the output of the kernel's format strings for these values, character by
// character.
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "lib/lnet/names/nid_text.hpp"
#include "lib/runtime/lnet/report_json.hpp"

namespace plnet::runtime {
namespace {

lnet::Nid nid(const char* text) {
  return lnet::parse_nid(text).value();
}

TEST(DebugfsText, StatsAreElevenNumbers) {
  EXPECT_EQ(debugfs_stats({.msgs_alloc = 1,
                           .msgs_max = 2,
                           .rst_alloc = 99,
                           .errors = 3,
                           .send_count = 4,
                           .resend_count = 99,
                           .recv_count = 5,
                           .route_count = 6,
                           .drop_count = 7,
                           .send_length = 8,
                           .recv_length = 9,
                           .route_length = 10,
                           .drop_length = 11}),
            "1 2 3 4 5 6 7 8 9 10 11\n");
}

TEST(DebugfsText, NisHaveARowForEachCpt) {
  lnet::NiReport loopback{.nid = nid("0@lo"), .tunables = {0, 0, 0, 0}};
  loopback.tx_queues = {{.cpt = 0, .references = 2}};
  lnet::NiReport ni{.nid = nid("10.0.0.1@tcp"), .up = false};
  ni.tx_queues = {
      {.cpt = 0, .references = 1, .credits_max = 128, .credits = 120, .credits_min = 9},
      {.cpt = 1, .references = 3, .credits_max = 128, .credits = -4, .credits_min = -4}};
  ni.since_alive_s = 7;
  EXPECT_EQ(debugfs_nis({{{loopback.nid.net(), {loopback}}, {ni.nid.net(), {ni}}}}),
            "nid                      status alive refs peer  rtr   max    tx   min\n"
            "0@lo                         up     0    2    0    0     0     0     0\n"
            "10.0.0.1@tcp               down     7    1    8    0   128   120     9\n"
            "10.0.0.1@tcp               down     7    3    8    0   128    -4    -4\n");
}

TEST(DebugfsText, PeersAreListedByNid) {
  lnet::PeerReport peer;
  peer.nis.push_back({.nid = nid("10.0.0.2@tcp"),
                      .max_ni_tx_credits = 8,
                      .available_tx_credits = 6,
                      .min_tx_credits = -2,
                      .tx_q_num_of_buf = 72,
                      .available_rtr_credits = 8,
                      .min_rtr_credits = 5,
                      .refcount = 4});
  peer.nis.push_back({.nid = nid("10.0.0.2@o2ib"), .state = lnet::Aliveness::kUp});
  EXPECT_EQ(debugfs_peers({{peer}}),
            "nid                      refs state  last   max   rtr   min    tx   min queue\n"
            "10.0.0.2@tcp                4    NA    -1     8     8     5     6    -2 72\n"
            "10.0.0.2@o2ib               0    up    -1     0     0     0     0     0 0\n");
}

TEST(DebugfsText, BuffersArePoolByPoolAndOfARouterOnly) {
  lnet::RoutingReport routing;
  routing.cpts.resize(2);
  EXPECT_EQ(debugfs_buffers(routing), "pages count credits     min\n");
  routing.state = lnet::RoutingState::kEnabled;
  routing.cpts[0].tiny = {.pages = 0, .buffers = 512, .credits = 511, .credits_min = -3};
  routing.cpts[1].large = {.pages = 256, .buffers = 16, .credits = 16, .credits_min = 0};
  EXPECT_EQ(debugfs_buffers(routing),
            "pages count credits     min\n"
            "    0   512     511      -3\n"
            "    0     0       0       0\n"
            "    0     0       0       0\n"
            "    0     0       0       0\n"
            "    0     0       0       0\n"
            "  256    16      16       0\n");
}

TEST(DebugfsText, RoutesAndRouters) {
  const lnet::RouteReport up{
      .route = {.net = lnet::parse_net("o2ib").value(), .gateway = nid("10.0.0.9@tcp"), .hops = 1},
      .up = true};
  lnet::RouteReport down = up;
  down.route.net = lnet::parse_net("o2ib12345").value();
  down.route.hops = lnet::kHopsUndefined;
  down.route.priority = 7;
  down.up = false;
  lnet::RouteReport other = up;
  other.route.gateway = nid("10.0.0.8@tcp");
  const std::vector routes{up, down, other};
  EXPECT_EQ(debugfs_routes({.state = lnet::RoutingState::kEnabled}, routes),
            "Routing enabled\n"
            "net      hops priority   state router\n"
            "o2ib        1        0      up 10.0.0.9@tcp\n"
            "o2ib12345   -1        7    down 10.0.0.9@tcp\n"
            "o2ib        1        0      up 10.0.0.8@tcp\n");
  const std::string_view columns = "net      hops priority   state router\n";
  using enum lnet::RoutingState;
  for (const auto& [state, word] : {std::pair{kDisabled, "disabled"},
                                    {kEnabled, "enabled"},
                                    {kStarting, "starting"},
                                    {kStopping, "stopping"}})
    EXPECT_EQ(debugfs_routes({.state = state}, {}), fmt::format("Routing {}\n{}", word, columns));
}

// One row for each gateway, by its primary NID. Routes that are down do not mean that the gateway
// is.
TEST(DebugfsText, RoutersAreGateways) {
  const std::vector<lnet::GatewayReport> routers{
      {.primary = nid("10.0.0.9@tcp"), .references = 3, .routes = 2, .up = true},
      {.primary = nid("10.1.0.8@o2ib"), .references = 2, .routes = 1}};
  EXPECT_EQ(debugfs_routers(routers),
            "ref  rtr_ref alive router\n"
            "3          2    up 10.0.0.9@tcp\n"
            "2          1  down 10.1.0.8@o2ib\n");
}

}  // namespace
}  // namespace plnet::runtime
