// SPDX-License-Identifier: BSD-3-Clause
// Peers of a configuration as steps.
#pragma once

#include <vector>

#include "node/admin/lnet_changes.hpp"

namespace plnet::node {

// Whoever is known by that primary NID already, and fits, stays who he is, with his connections.
[[nodiscard]] LnetStep add_peer_step(const lnet::PeerConfig& peer);
[[nodiscard]] LnetStep delete_peer_step(const lnet::PeerConfig& peer);
// Of a peer that nobody may have configured; not to be taken back.
[[nodiscard]] LnetStep forget_peer_step(const lnet::Nid& primary, const lnet::Nid& nid, bool force);
// Before those: the peer, if there is one, has them all.
[[nodiscard]] LnetStep has_nids_step(const lnet::Nid& primary, std::vector<lnet::Nid> nids);
// Of a peer that stays.
[[nodiscard]] LnetStep add_nid_step(const lnet::PeerConfig& peer, const lnet::Nid& nid);
[[nodiscard]] LnetStep delete_nid_step(const lnet::PeerConfig& peer, const lnet::Nid& nid);

}  // namespace plnet::node
