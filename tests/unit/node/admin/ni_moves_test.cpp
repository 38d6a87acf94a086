// SPDX-License-Identifier: BSD-3-Clause
#include "node/admin/ni_moves.hpp"

#include <map>

#include <gtest/gtest.h>

#include "node/net/kfi/room.hpp"

namespace plnet::node::ni_moves_test {
namespace {

using lnet::Nid;
using lnet::NodeConfig;

Nid on_kfi(std::uint32_t address, std::uint16_t number = 0) {
  return Nid::of(lnet::NetType::kKfi, number, address);
}
Nid on_tcp(std::uint32_t address) {
  return Nid::of(lnet::NetType::kTcp, 0, address);
}

Outcome<void> shared_by_eight(const NodeConfig& config) {
  return check_kfi_sharing(config, [](const std::string&) { return 8U; });
}

// kfi on cxi0 and cxi1, tcp, and a route and peers through each.
NodeConfig config_of(bool second) {
  NodeConfig config;
  config.nets.push_back({.net = on_kfi(1).net()});
  config.nets[0].nis.push_back({.nid = on_kfi(1), .interfaces = {"cxi0"}});
  if (second) config.nets[0].nis.push_back({.nid = on_kfi(2), .interfaces = {"cxi1"}});
  config.nets.push_back({.net = on_tcp(1).net()});
  config.nets[1].nis.push_back({.nid = on_tcp(1), .interfaces = {"eth0"}});
  config.routes.push_back({.net = 0x60000, .gateway = on_kfi(7)});
  config.routes.push_back({.net = 0x70000, .gateway = on_tcp(7)});
  config.peers.push_back({.primary = on_kfi(8), .nids = {on_kfi(8), on_tcp(8)}});
  config.peers.push_back({.primary = on_tcp(9), .nids = {on_tcp(9), on_kfi(9)}});
  return config;
}

TEST(NiMoves, FollowChangedNicAddresses) {
  const std::map<std::string, std::uint32_t> now{{"cxi0", 5}, {"cxi1", 2}, {"eth0", 3}};
  const auto nid_now = [&now](const lnet::NetConfig& net,
                              const lnet::NiConfig& ni) -> std::optional<Nid> {
    const auto found = now.find(ni.interfaces.front());
    if (found == now.end() || net.net != on_kfi(1).net()) return std::nullopt;
    return on_kfi(found->second);
  };
  const NodeConfig config = config_of(true);
  const std::vector<MovedNi> expected{
      {.net = on_kfi(1).net(), .interface = "cxi0", .was = on_kfi(1), .now = on_kfi(5)}};
  EXPECT_EQ(moved_nis(config, nid_now), expected);
  EXPECT_TRUE(moved_nis(config, [](const auto&, const auto&) { return std::nullopt; }).empty());
}

TEST(NiMoves, AreAllNisOnOneInterface) {
  NodeConfig config = config_of(false);
  config.nets.push_back({.net = on_kfi(1, 3).net()});
  config.nets.back().nis.push_back({.nid = on_kfi(1, 3), .interfaces = {"cxi0"}});
  const auto moved = moved_nis(
      config, [](const lnet::NetConfig& net, const lnet::NiConfig& ni) -> std::optional<Nid> {
        if (ni.interfaces.front() != "cxi0") return std::nullopt;
        return on_kfi(5, lnet::number_of_net(net.net));
      });
  ASSERT_EQ(moved.size(), 2U);
  EXPECT_EQ(moved[0].now, on_kfi(5));
  EXPECT_EQ(moved[1].now, on_kfi(5, 3));

  const NodeConfig before = config;
  const TakenOut first = take_out(config, on_kfi(1));
  const TakenOut second = take_out(config, on_kfi(1, 3));
  ASSERT_TRUE(bring_back(config, second, shared_by_eight));
  ASSERT_TRUE(bring_back(config, first, shared_by_eight)) << "the other one has another process";
  EXPECT_EQ(config.nets.size(), before.nets.size());
}

TEST(NiMoves, TakeRoutesAndPeersOfANetworkAlongAndBack) {
  const NodeConfig before = config_of(false);
  NodeConfig config = before;
  TakenOut out = take_out(config, on_kfi(1));
  EXPECT_EQ(config.net(on_kfi(1).net()), nullptr);
  ASSERT_EQ(config.routes.size(), 1U);
  EXPECT_EQ(config.routes[0].gateway, on_tcp(7));
  ASSERT_EQ(config.peers.size(), 1U);
  EXPECT_EQ(config.peers[0].nids, std::vector{on_tcp(9)});
  EXPECT_FALSE(out.ni.nid) << "according to the interface";

  ASSERT_TRUE(bring_back(config, out, shared_by_eight));
  ASSERT_NE(config.net(on_kfi(1).net()), nullptr);
  EXPECT_EQ(config.net(on_kfi(1).net())->nis.front().interfaces, before.nets[0].nis[0].interfaces);
  EXPECT_NE(config.route(0x60000, on_kfi(7)), nullptr);
  ASSERT_EQ(config.peers.size(), 2U);
  EXPECT_EQ(config.peers[0].nids, (std::vector{on_tcp(9), on_kfi(9)}));
  EXPECT_EQ(config.peers[1].nids, (std::vector{on_kfi(8), on_tcp(8)}));
}

TEST(NiMoves, LeaveTheRestOfANetworkAlone) {
  NodeConfig config = config_of(true);
  const TakenOut out = take_out(config, on_kfi(1));
  EXPECT_EQ(config.routes.size(), 2U);
  EXPECT_EQ(config.peers.size(), 2U);
  ASSERT_EQ(config.net(on_kfi(1).net())->nis.size(), 1U);
  ASSERT_TRUE(bring_back(config, out, shared_by_eight));
  EXPECT_EQ(config.net(on_kfi(1).net())->nis.size(), 2U);
}

TEST(NiMoves, DoNotTakeUsedNids) {
  NodeConfig config = config_of(false);
  const TakenOut out = take_out(config, on_kfi(1));
  config.nets.push_back({.net = on_kfi(1, 3).net()});
  config.nets.back().nis.push_back({.nid = on_kfi(5, 3), .interfaces = {"cxi0"}});
  EXPECT_TRUE(bring_back(config, out, shared_by_eight)) << "another process";

  config = config_of(false);
  (void)take_out(config, on_kfi(1));
  config.nets.push_back({.net = on_kfi(1, 256).net()});
  config.nets.back().nis.push_back({.nid = on_kfi(5, 256), .interfaces = {"cxi0"}});
  const NodeConfig other = config;
  const auto back = bring_back(config, out, shared_by_eight);
  ASSERT_FALSE(back);
  EXPECT_EQ(back.error().what,
            "network kfi: on interface cxi0 it would be process 0, which network kfi256 is; "
            "expected numbers that differ modulo 256");
  EXPECT_EQ(config, other);
}

TEST(NiMoves, AnAbsentNiDoesNotDelayOthers) {
  NiMoves moves;
  for (const std::uint32_t address : {1U, 2U, 3U})
    moves.out.push_back({.was = on_kfi(address), .what = {}});
  moves.put_last(on_kfi(1));
  EXPECT_EQ(moves.out[0].was, on_kfi(2));
  EXPECT_EQ(moves.out[2].was, on_kfi(1));
  moves.put_last(on_kfi(9));
  EXPECT_EQ(moves.out.size(), 3U) << "it was deleted";

  EXPECT_TRUE(moves.is_turn_to_bring_back(true, true));
  EXPECT_FALSE(moves.is_turn_to_bring_back(true, true)) << "now one that has moved";
  EXPECT_TRUE(moves.is_turn_to_bring_back(true, true));
  EXPECT_FALSE(moves.is_turn_to_bring_back(false, true));
  EXPECT_TRUE(moves.is_turn_to_bring_back(true, false));
  EXPECT_TRUE(moves.is_turn_to_bring_back(true, false));
  EXPECT_FALSE(moves.is_turn_to_bring_back(false, false));
}

}  // namespace
}  // namespace plnet::node::ni_moves_test
