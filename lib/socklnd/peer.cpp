// SPDX-License-Identifier: BSD-3-Clause
#include "lib/socklnd/peer.hpp"

#include <bit>
#include <memory>

#include "lib/socklnd/peers.hpp"

namespace plnet::socklnd {

Peer::Peer()
    : timer(
          [](void* context, Timer&, Instant) {
            auto* const peer = static_cast<Peer*>(context);
            peer->owner->on_timer(*peer);
          },
          this) {}

std::optional<ConnectionType> Peer::next_type(const ConnectionQuota& quota) const {
  if (open[1] < quota.control) return ConnectionType::kControl;
  if (open[2] < quota.bulk && open[2] <= open[3]) return ConnectionType::kBulkIn;
  if (open[3] < quota.bulk) return ConnectionType::kBulkOut;
  if (open[2] < quota.bulk) return ConnectionType::kBulkIn;
  return std::nullopt;
}

PeerTable::PeerTable(std::size_t peers_max)
    : mask_(std::bit_ceil(peers_max * 2) - 1), buckets_(std::make_unique<Peer*[]>(mask_ + 1)) {}

Peer*& PeerTable::bucket(const lnet::Nid& nid) const {
  return buckets_[hash_(nid) & mask_];
}

Peer* PeerTable::find(const lnet::ProcessId& id) const {
  Peer* at = bucket(id.nid);
  while (at != nullptr && !(at->id == id))
    at = at->next_in_bucket;
  return at;
}

void PeerTable::insert(Peer& peer) {
  PLNET_CHECK(find(peer.id) == nullptr, "a process is in the table once");
  Peer*& first = bucket(peer.id.nid);
  peer.next_in_bucket = first;
  first = &peer;
}

void PeerTable::erase(Peer& peer) {
  Peer** at = &bucket(peer.id.nid);
  while (*at != &peer) {
    PLNET_CHECK(*at != nullptr, "a peer is in the table until it is taken out");
    at = &(*at)->next_in_bucket;
  }
  *at = peer.next_in_bucket;
}

}  // namespace plnet::socklnd
