// SPDX-License-Identifier: BSD-3-Clause
#include "lib/socklnd/arrival_home.hpp"

namespace plnet::socklnd {

std::optional<LocalInterface> interface_of(const lnet::Node& node, const lnet::Nid& nid) {
  const lnet::Ni* const ni = node.coordinator().local().ni(nid);
  if (ni == nullptr || !ni->plugged.get()) return std::nullopt;
  return LocalInterface{.incarnation = ni->incarnation};
}

Result<lnet::ShardId> home_of(lnet::Node& node, const Arrival& arrival) {
  const lnet::Ni* const ni = node.coordinator().local().ni(arrival.local);
  if (ni == nullptr) return std::unexpected(Errc::kShutdown);
  const lnet::WantedPeer wanted{
      .nid = arrival.peer.nid, .demand = lnet::PeerDemand::kStranger, .received_on = ni};
  const auto peer =
      node.coordinator().directory().create_by_traffic(wanted, node.shard(0).core().now);
  if (!peer) return std::unexpected(peer.error());
  return lnet::lane_shard(ni->shards, (*peer)->home, (*peer)->number, node.shards());
}

}  // namespace plnet::socklnd
