// SPDX-License-Identifier: BSD-3-Clause
#include "lib/o2iblnd/request_home.hpp"

namespace plnet::o2iblnd {

std::optional<lnet::ShardId> home_of_request(lnet::Node& node, const lnet::Nid& interface,
                                             const Ipv4Endpoint& from) {
  const lnet::Ni* const ni = node.coordinator().local().ni(interface);
  if (ni == nullptr || !ni->plugged.get()) return std::nullopt;
  const lnet::WantedPeer wanted{
      .nid =
          lnet::Nid::of(lnet::NetType::kO2ib, lnet::number_of_net(interface.net()), from.address),
      .demand = lnet::PeerDemand::kStranger,
      .received_on = ni};
  const auto peer =
      node.coordinator().directory().create_by_traffic(wanted, node.shard(0).core().now);
  if (!peer) return std::nullopt;
  return lnet::lane_shard(ni->shards, (*peer)->home, (*peer)->number, node.shards());
}

}  // namespace plnet::o2iblnd
