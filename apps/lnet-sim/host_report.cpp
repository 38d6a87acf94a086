// SPDX-License-Identifier: BSD-3-Clause
// What a node has counted, over all its incarnations, and what it still owes.
#include <fmt/format.h>

#include "apps/lnet-sim/host.hpp"

namespace plnet::sim {

using namespace lnet;

void Host::keep_counters() {
  connections_lost_ = connections_lost();
  wire_faults_ = wire_faults();
  routes_changed_ = routes_changed();
  for (unsigned shard = 0; shard < shards_count_; ++shard) {
    const ShardCore& core = node_->shard(shard).core();
    for (std::size_t i = 0; i < LnetCauses::kInfo.size(); ++i) {
      const auto id = static_cast<Cause>(i);
      causes_.add(id, core.causes.get(id));
    }
    other_nid_ += core.match.counters().get(MatchCounters::Id::kSamePeer);
  }
}

std::uint64_t Host::counted(Cause cause) const {
  std::uint64_t sum = causes_.get(cause);
  if (node_ == nullptr) return sum;
  for (unsigned shard = 0; shard < shards_count_; ++shard)
    sum += node_->shard(shard).core().causes.get(cause);
  return sum;
}

std::uint64_t Host::matched_by_other_nid() const {
  std::uint64_t sum = other_nid_;
  if (node_ == nullptr) return sum;
  for (unsigned shard = 0; shard < shards_count_; ++shard)
    sum += node_->shard(shard).core().match.counters().get(MatchCounters::Id::kSamePeer);
  return sum;
}

// What follows from the loss of power is not counted.
std::uint64_t Host::connections_lost() const {
  std::uint64_t sum = connections_lost_;
  for (const auto& device : devices_)
    sum += state_ == State::kUp ? device->connections_lost() : 0;
  if (tcp_ && state_ == State::kUp) sum += tcp_->connections_lost();
  return sum;
}

std::uint64_t Host::wire_faults() const {
  std::uint64_t sum = wire_faults_;
  for (const auto& device : devices_)
    sum += device->faults();
  return sum + (tcp_ ? tcp_->faults() : 0);
}

std::uint64_t Host::routes_changed() const {
  if (node_ == nullptr) return routes_changed_;
  const GatewayCounters& counters = node_->coordinator().gateway_checks().counters();
  return routes_changed_ + counters.get(GatewayTable::Id::kRoutesUp) +
         counters.get(GatewayTable::Id::kRoutesDown);
}

std::string Host::what_is_missing() const {
  if (node_ == nullptr) return {};
  if (std::string held = what_routing_holds(); !held.empty()) return held;
  const auto missing = [this](unsigned shard, std::string_view what, auto is, auto should) {
    return fmt::format("node {} shard {}: {}: {} of {}", number_, shard, what, is, should);
  };
  for (unsigned i = 0; i < shards_count_; ++i) {
    ShardCore& core = const_cast<ShardCore&>(node_->shard(i).core());
    if (core.messages.free_count() != core.messages.capacity()) {
      return missing(i, "messages home", core.messages.free_count(), core.messages.capacity());
    }
    if (core.ack_notes.free_count() != core.ack_notes.capacity()) {
      return missing(i, "ACK notes home", core.ack_notes.free_count(), core.ack_notes.capacity());
    }
    if (core.receives.free_count() != core.receives.capacity()) {
      return missing(i, "receives home", core.receives.free_count(), core.receives.capacity());
    }
    const auto& match = core.match.counters();
    for (const auto id : {MatchCounters::Id::kMdsInUse, MatchCounters::Id::kMesInUse,
                          MatchCounters::Id::kQuarantined}) {
      if (match.get(id) != 0) {
        return missing(i, MatchCounters::kInfo[static_cast<std::size_t>(id)].name, match.get(id),
                       0);
      }
    }
    if (core.statistics.get(Statistic::kMessagesAlloc) != 0) {
      return missing(i, "msgs_alloc", core.statistics.get(Statistic::kMessagesAlloc), 0);
    }
    for (const auto& port : node_->shard(i).ports()) {
      if (port->tx_credits() != port->tx_credits_max()) {
        return missing(i, "NI credits home", port->tx_credits(), port->tx_credits_max());
      }
    }
    std::string wrong;
    core.peers.for_each([&](PeerPort& peer) {
      if (!wrong.empty()) return;
      if (peer.tx_credits != peer.tx_credits_max) {
        wrong = missing(i, "peer credits home", peer.tx_credits, peer.tx_credits_max);
      } else if (peer.outstanding != 0 || peer.waiting_count != 0 || peer.queued_bytes != 0) {
        wrong = missing(i, "queued for a peer", peer.outstanding + peer.waiting_count, 0);
      }
    });
    if (!wrong.empty()) return wrong;
  }
  if (slots_->free_count() != slots_->capacity()) {
    return missing(0, "memory home", slots_->free_count(), slots_->capacity());
  }
  return {};
}

}  // namespace plnet::sim
