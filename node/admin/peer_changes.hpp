// SPDX-License-Identifier: BSD-3-Clause
// Steps for peers of a configuration.
#pragma once

#include <vector>

#include "lib/lnet/node/lnet_control.hpp"
#include "node/admin/lnet_changes.hpp"

namespace plnet::lnet {
class Coordinator;
}

namespace plnet::node {

// A peer that has this primary NID already, and fits, is kept with its connections.
[[nodiscard]] LnetStep add_peer_step(const lnet::PeerConfig& peer);
[[nodiscard]] LnetStep delete_peer_step(const lnet::PeerConfig& peer);
// For any peer, configured or discovered. Cannot be undone.
[[nodiscard]] LnetStep forget_peer_step(const lnet::Nid& primary, const lnet::Nid& nid, bool force);
// Comes before those steps: fails unless the peer, if there is one, has all the NIDs.
[[nodiscard]] LnetStep has_nids_step(const lnet::Nid& primary, std::vector<lnet::Nid> nids);
// All of the change, or nothing of it.
[[nodiscard]] Outcome<void> change_peer_nis(lnet::Coordinator& coordinator,
                                            const lnet::PeerNiChange& change);
// For a peer that stays.
[[nodiscard]] LnetStep add_nid_step(const lnet::PeerConfig& peer, const lnet::Nid& nid);
[[nodiscard]] LnetStep delete_nid_step(const lnet::PeerConfig& peer, const lnet::Nid& nid);

}  // namespace plnet::node
