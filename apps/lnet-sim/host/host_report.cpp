// SPDX-License-Identifier: BSD-3-Clause
// The counters of a node over all its incarnations, and the objects that it still holds.
#include <algorithm>

#include <fmt/format.h>

#include "apps/lnet-sim/host/host.hpp"
#include "apps/lnet-sim/node/home_check.hpp"
#include "lib/lnet/names/nid_text.hpp"

namespace plnet::sim {

using namespace lnet;

void Host::keep_counters() {
  connections_lost_ = connections_lost();
  wire_faults_ = wire_faults();
  routes_changed_ = routes_changed();
  count_into(world_.counts);
  for (unsigned shard = 0; shard < shards_count_; ++shard) {
    const ShardCore& core = node_->shard(shard).core();
    for (std::size_t i = 0; i < LnetCauses::kInfo.size(); ++i) {
      const auto id = static_cast<Cause>(i);
      causes_.add(id, core.causes.get(id));
    }
    for (std::size_t i = 0; i < LnetStatistics::kInfo.size(); ++i) {
      const auto id = static_cast<Statistic>(i);
      statistics_.add(id, core.statistics.get(id));
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

std::uint64_t Host::counted(Statistic statistic) const {
  std::uint64_t sum = statistics_.get(statistic);
  if (node_ == nullptr) return sum;
  for (unsigned shard = 0; shard < shards_count_; ++shard)
    sum += node_->shard(shard).core().statistics.get(statistic);
  return sum;
}

Host::Relayed Host::relayed() const {
  return {.messages = relayed_.messages + life_.relayed,
          .bytes = relayed_.bytes + life_.relayed_bytes};
}

std::uint64_t Host::matched_by_other_nid() const {
  std::uint64_t sum = other_nid_;
  if (node_ == nullptr) return sum;
  for (unsigned shard = 0; shard < shards_count_; ++shard)
    sum += node_->shard(shard).core().match.counters().get(MatchCounters::Id::kSamePeer);
  return sum;
}

std::uint64_t Host::protocol_errors() const {
  std::uint64_t sum = protocol_errors_;
  if (state_ != State::kUp) return sum;  // the LNDs may be destroyed
  for (const auto& net : nets_)
    sum += net ? net->protocol_errors() : 0;
  return sum;
}

std::string Host::what_is_unbalanced() const {
  if (node_ == nullptr) return {};
  RelayTally::Counted counted;
  for (unsigned shard = 0; shard < shards_count_; ++shard) {
    const auto& causes = node_->shard(shard).core().causes;
    for (std::size_t i = 0; i < LnetCauses::kInfo.size(); ++i) {
      const std::string_view name = LnetCauses::kInfo[i].name;
      const std::uint64_t count = causes.get(static_cast<Cause>(i));
      if (name.starts_with("dropped")) counted.dropped += count;
      if (name.starts_with("rejected")) counted.rejected += count;
    }
    counted.acks += causes.get(Cause::kDroppedAckNoMd);
    counted.receive_failed += causes.get(Cause::kReceiveFailed);
    counted.forward_failed += causes.get(Cause::kForwardFailed);
  }
  const std::string wrong = life_.wrong(counted);
  return wrong.empty() ? wrong : fmt::format("node {} {}", number_, wrong);
}

std::uint64_t Host::vain_turns_max() const {
  std::uint64_t most = 0;
  for (const auto& lcore : lcores_)
    most = std::max(most, lcore->vain_turns_max());
  return most;
}

// Losses caused by a loss of power are not counted.
std::uint64_t Host::connections_lost() const {
  std::uint64_t sum = connections_lost_;
  for (const auto& net : nets_)
    sum += net && state_ == State::kUp ? net->connections_lost() : 0;
  return sum;
}

std::uint64_t Host::wire_faults() const {
  std::uint64_t sum = wire_faults_;
  for (const auto& net : nets_)
    sum += net ? net->faults() : 0;
  return sum;
}

void Host::count_into(NetCounts& counts) const {
  for (const auto& net : nets_) {
    if (net) net->count_into(counts);
  }
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
  if (const std::string missing = sim::what_is_missing(*node_); !missing.empty())
    return fmt::format("node {} {}", number_, missing);
  if (slots_->free_count() != slots_->capacity()) {
    return fmt::format("node {}: memory home: {} of {}", number_, slots_->free_count(),
                       slots_->capacity());
  }
  return {};
}

std::string Host::unhealthy_interface() const {
  if (node_ == nullptr) return {};
  const auto says = [this](const char* whose, const Nid& nid, std::int32_t health) {
    return fmt::format("node {}: {} {} has health {}", number_, whose, text_of(nid), health);
  };
  for (const Ni* const ni : node_->coordinator().local().nis) {
    if (ni->health.get() < kHealthMax) return says("its", ni->nid, ni->health.get());
  }
  std::string ill;
  node_->coordinator().directory().for_each([&](const PeerRecord& peer) {
    for (const PeerNi* const ni : peer.seen().nis) {
      if (ill.empty() && node_->coordinator().recovery().lacks_health(*ni))
        ill = says("peer's", ni->nid, ni->health.get());
    }
  });
  return ill;
}

}  // namespace plnet::sim
