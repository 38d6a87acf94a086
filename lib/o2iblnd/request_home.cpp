// SPDX-License-Identifier: BSD-3-Clause
#include "lib/o2iblnd/request_home.hpp"

namespace plnet::o2iblnd {

std::optional<lnet::ShardId> home_of_request(lnet::Node& node, const lnet::Nid& interface,
                                             const lnet::Nid& peer) {
  const lnet::Ni* const ni = node.coordinator().local().ni(interface);
  if (ni == nullptr || !ni->plugged.get()) return std::nullopt;
  const lnet::WantedPeer wanted{
      .nid = peer, .demand = lnet::PeerDemand::kStranger, .received_on = ni};
  const auto made =
      node.coordinator().directory().create_by_traffic(wanted, node.shard(0).core().now);
  if (!made) return std::nullopt;
  return lnet::lane_shard(ni->shards, (*made)->home, (*made)->number, node.shards());
}

}  // namespace plnet::o2iblnd
