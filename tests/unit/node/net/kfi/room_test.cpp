// SPDX-License-Identifier: BSD-3-Clause
#include "node/net/kfi/room.hpp"

#include <gtest/gtest.h>

#include "lib/lnet/names/nid_text.hpp"
#include "lib/lnet/node/nets_by_address.hpp"
#include "node/admin/lnet_wanted.hpp"

namespace plnet::node::kfi_room_test {
namespace {

using lnet::NodeConfig;

void add(NodeConfig& config, const char* net, const char* interface) {
  const lnet::NetId id = *lnet::parse_net(net);
  if (config.net(id) == nullptr) config.nets.push_back({.net = id});
  std::ranges::find(config.nets, id, &lnet::NetConfig::net)
      ->nis.push_back({.interfaces = {interface}});
}

unsigned three(const std::string& interface) {
  return interface == "cxi0" ? 3 : 1;
}

TEST(KfiRoom, IsForTheNetworksThatAreConfigured) {
  NodeConfig config;
  const KfiInterface cxi0{.name = "cxi0"};
  EXPECT_EQ(kfi_nis_of(cxi0, config), 2U) << "one may come, and one more";
  for (const char* const net : {"kfi", "kfi1", "kfi2"})
    add(config, net, "cxi0");
  add(config, "kfi3", "cxi1");
  add(config, "tcp", "cxi0");
  EXPECT_EQ(kfi_nis_of(cxi0, config), 3U);
  config.nets[0].nis[0].lnd_tunables.push_back(
      {std::string(lnet::kDriverTunable), std::string("null")});
  EXPECT_EQ(kfi_nis_of(cxi0, config), 2U) << "of another driver";
  EXPECT_EQ(kfi_nis_of({.name = "cxi0", .nis = 5}, config), 5U) << "it reports this itself";
  EXPECT_EQ(kfi_nis_of({.name = "cxi0", .nis = 1}, config), 1U);
  for (unsigned i = 3; i < 40; ++i)
    add(config, ("kfi" + std::to_string(i)).c_str(), "cxi0");
  EXPECT_EQ(kfi_nis_of(cxi0, config), kKfiNisMax);
}

TEST(KfiRoom, IsAlsoForThoseThatRulesAboutAddressesAdd) {
  NodeConfig config;
  config.ip2nets_text = "kfi(cxi0) 10.1.*.*; kfi1(cxi0) 10.1.2.3; kfi2(cxi0) 10.1.2.[1-9]";
  const std::vector<lnet::InterfaceAddress> local{
      {.interface = "eth0", .address = {.size = 4, .bytes_be = {10, 1, 2, 3}}}};
  const auto applied = lnet::apply_ip2nets(config, local);
  ASSERT_TRUE(applied) << applied.error().what;
  EXPECT_EQ(kfi_nis_of({.name = "cxi0"}, config), 3U);
}

TEST(KfiRoom, ASoftwareNicHasRoomForEachNi) {
  const cassini::soft::NodeOptions one;
  const auto three = with_room(one, 3);
  EXPECT_EQ(three.port.messages_max, 3 * one.port.messages_max);
  EXPECT_EQ(three.port.message_states, 3 * one.port.message_states);
  EXPECT_EQ(three.port.remembered_responses, 3 * one.port.remembered_responses);
  EXPECT_EQ(three.nic.limits.list_entries, 3 * one.nic.limits.list_entries);
  const auto most = with_room(one, kKfiNisMax);
  EXPECT_LT(most.port.messages_max, 0xffffU) << "records have numbers of 16 bits";
  EXPECT_LT(most.port.remembered_responses, 0xffffU);
  // With 16 shards each; each shard has a queue of each kind and a portal.
  const unsigned contexts = 16 * kKfiNisMax;
  EXPECT_GE(most.nic.limits.target_queues, contexts);
  EXPECT_GE(most.nic.limits.transmit_queues, contexts);
  EXPECT_GT(most.nic.limits.event_queues, 2 * contexts);
  EXPECT_GT(most.nic.limits.portals, contexts);
}

TEST(KfiRoom, EachNiHasRoomForReceiveBuffers) {
  const KfiMemory memory{.arena = 3, .bytes_each = 1U << 31U, .nis = 4};
  EXPECT_EQ(memory.of(0).at.offset, 0U);
  EXPECT_EQ(memory.of(3).at.arena, 3U);
  EXPECT_EQ(memory.of(3).at.offset, 3ULL << 31U);
  EXPECT_EQ(memory.of(3).length, 1U << 31U);
}

TEST(KfiRoom, IsSharedByNetworksOfDifferentProcesses) {
  NodeConfig config;
  add(config, "kfi", "cxi0");
  add(config, "kfi", "cxi1");
  add(config, "kfi1", "cxi0");
  add(config, "kfi511", "cxi0");
  EXPECT_TRUE(check_kfi_sharing(config, three));
  EXPECT_EQ(kfi_process_of(*lnet::parse_net("kfi511")), 255U);
  NodeConfig more = config;
  add(more, "kfi2", "cxi0");
  auto refused = check_kfi_sharing(more, three);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kNoSpace);
  EXPECT_NE(refused.error().what.find("network kfi2: interface cxi0 has room for 3 NIs, expected "
                                      "`nis: 4`"),
            std::string::npos)
      << refused.error().what;
}

TEST(KfiRoom, IsNotForTwoOfOneProcess) {
  NodeConfig config;
  add(config, "kfi1", "cxi0");
  add(config, "kfi257", "cxi1");
  EXPECT_TRUE(check_kfi_sharing(config, three)) << "on another NIC";
  add(config, "kfi257", "cxi0");
  const auto refused = check_kfi_sharing(config, three);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kExists);
  EXPECT_NE(refused.error().what.find("it would be process 1, which network kfi1 is"),
            std::string::npos)
      << refused.error().what;
  NodeConfig twice;
  add(twice, "kfi", "cxi0");
  add(twice, "kfi", "cxi0");
  EXPECT_FALSE(lnet::check_node_config(twice).empty());
}

}  // namespace
}  // namespace plnet::node::kfi_room_test
