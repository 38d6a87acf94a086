// SPDX-License-Identifier: BSD-3-Clause
#include "node/admin/state_tally.hpp"

#include <algorithm>

#include "lib/lnet/control/coordinator.hpp"
#include "lib/lnet/peers/peer_directory.hpp"

namespace plnet::node {

// Unknown unless something depends on the peer, or it cannot be connected: lustre-release
// include/linux/lnet/lib-lnet.h: lnet_isrouter(), lib-types.h: lnet_peer_aliveness_enabled().
lnet::Aliveness state_of(const lnet::PeerRecord& peer, const lnet::PeerNi& ni, const lnet::Net* net,
                         const lnet::Parameters& parameters) {
  const bool is_next_hop =
      parameters.routes() && net != nullptr && net->nis.front()->tunables.peer_timeout_s > 0;
  if (ni.reach.trouble()) return lnet::Aliveness::kDown;
  if (peer.gateway_refs == 0 && !is_next_hop) return lnet::Aliveness::kUnknown;
  return ni.status.get() == lnet::kNiUp ? lnet::Aliveness::kUp : lnet::Aliveness::kDown;
}

namespace {

CreditStates credits_of(const lnet::Ni& ni) {
  CreditStates credits;
  const std::int32_t most = lnet::Node::credits_of(ni);
  for (std::size_t shard = 0; shard < ni.shards.size(); ++shard) {
    if (ni.shards[shard]) credits.add(most, ni.tx_credits[shard].tx_credits.get());
  }
  return credits;
}

}  // namespace

void StateTally::count_few(lnet::Node& node) {
  const lnet::Coordinator& coordinator = node.coordinator();
  for (const lnet::Ni* const ni : coordinator.local().nis) {
    states_.nis.push_back({.nid = ni->nid,
                           .interface = ni->interfaces.empty() ? "" : ni->interfaces.front(),
                           .up = ni->status.get() == lnet::kNiUp,
                           .credits = credits_of(*ni)});
  }
  for (const lnet::Net& net : coordinator.local().nets)
    states_.nets.push_back({.net = net.id});
  for (const lnet::RemoteNet& net : coordinator.routes().view().nets()) {
    for (const lnet::Route* const route : net.routes) {
      states_.routes.push_back(
          {.net = route->spec.net, .gateway = route->spec.gateway, .up = route->alive.get()});
    }
  }
  const lnet::StandingReport standing =
      node.coordinator().standing().report(node.shard(0).core().now);
  states_.routing = standing.state;
  states_.draining = standing.is_drain();
}

void StateTally::add_credits(const lnet::PeerNi& ni) {
  const auto net = std::ranges::find(states_.nets, ni.net, &NodeStates::OfNet::net);
  if (net == states_.nets.end() || ni.tx_credits_max.get() == 0) return;
  net->credits.add(ni.tx_credits_max.get(), ni.tx_credits.get());
  if (ni.tx_credits.get() <= 0) ++net->without_credit;
}

bool StateTally::count(lnet::Node& node) {
  if (next_number_ == 0) count_few(node);
  lnet::PeerDirectory& directory = node.coordinator().directory();
  const lnet::LocalView& local = node.coordinator().local();
  const std::uint32_t end = std::min(next_number_ + kPeersAtOnce, directory.numbers());
  for (; next_number_ < end; ++next_number_) {
    const lnet::PeerRecord* const peer = directory.by_number(next_number_);
    if (peer == nullptr) continue;
    ++states_.peers.peers;
    const lnet::PeerView& seen = peer->seen();
    for (const lnet::PeerNi* const ni : seen.nis) {
      states_.peers.add(state_of(*peer, *ni, local.net(ni->net), node.shared().parameters));
      add_credits(*ni);
    }
  }
  return next_number_ < directory.numbers();
}

}  // namespace plnet::node
