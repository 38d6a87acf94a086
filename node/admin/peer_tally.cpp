// SPDX-License-Identifier: BSD-3-Clause
#include "node/admin/peer_tally.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "lib/lnet/flow/client_allowance.hpp"
#include "node/admin/lnet_reports.hpp"
#include "node/admin/state_tally.hpp"

namespace plnet::node {
namespace {

using lnet::PeerNiReport;

void add(const lnet::Failures& failures, lnet::PeerNiHealthReport& health) {
  using Id = lnet::LnetFailures::Id;
  const auto count = [&failures](Id id) { return static_cast<std::uint32_t>(failures.get(id)); };
  health.dropped += count(Id::kRemoteDropped);
  health.timeout += count(Id::kRemoteTimeout);
  health.error += count(Id::kRemoteError);
  health.network_timeout += count(Id::kNetworkTimeout);
}

// Seconds since the start of the machine, as in the kernel's reports.
std::int64_t seconds_of(Instant when) {
  return std::max<std::int64_t>(when.time_since_epoch() / std::chrono::seconds(1), 0);
}

}  // namespace

PeerNiReport PeerTally::report_of(const lnet::Node& node, const lnet::PeerRecord& peer,
                                  const lnet::PeerNi& ni) const {
  const lnet::Parameters& parameters = node.shared().parameters;
  const lnet::Net* const net = node.coordinator().local().net(ni.net);
  PeerNiReport report;
  report.nid = ni.nid;
  report.state = state_of(peer, ni, net, parameters);
  report.trouble = ni.reach.trouble();
  report.silent = ni.since_heard(node.shard(0).core().now);
  report.max_ni_tx_credits = ni.tx_credits_max.get();
  report.available_tx_credits = ni.tx_credits.get();
  report.min_tx_credits = ni.tx_credits_max.get();
  report.tx_q_num_of_buf = ni.queued_bytes.get();
  report.refcount = 1;
  report.policy.nid_priority = ni.priority.get();
  if (const lnet::Preferences* const rules = ni.preferences.load(std::memory_order_relaxed)) {
    report.policy.preferred_sources = rules->local_nids();
    report.policy.preferred_gateways = rules->routers();
  }
  report.health.health_value = ni.health.get();
  if (const auto pinged = pinged_.find(ni.nid); pinged != pinged_.end()) {
    report.health.ping_count = pinged->second.pings;
    report.health.next_ping = seconds_of(pinged->second.next);
  }
  if (net != nullptr) {
    const lnet::NiTunables& tunables = net->nis.front()->tunables;
    report.available_rtr_credits = lnet::allowance_of(tunables, parameters).credits;
  }
  report.min_rtr_credits = report.available_rtr_credits;
  return report;
}

void PeerTally::list(const lnet::Node& node, const lnet::PeerRecord& peer) {
  lnet::PeerReport& report = peers_.emplace_back();
  report.primary = peer.primary;
  report.multi_rail = peer.multi_rail();
  report.state = peer.state.get();
  const lnet::PeerView& seen = peer.seen();
  for (const lnet::PeerNetView& net : seen.nets) {
    for (const lnet::PeerNi* const ni : seen.on(net)) {
      report.nis.push_back(report_of(node, peer, *ni));
      report.nis.back().policy.net_priority = net.priority;
    }
  }
}

bool PeerTally::list(lnet::Node& node) {
  lnet::PeerDirectory& directory = node.coordinator().directory();
  if (next_number_ == 0) {
    for (const lnet::PeerRecovery::Effort& effort : node.coordinator().recovery().efforts())
      pinged_.emplace(effort.nid, effort);
  }
  if (only_) {
    if (const auto* const peer = directory.peer_of(*only_)) list(node, *peer);
    return false;
  }
  const std::uint32_t end = std::min(next_number_ + kPeersAtOnce, directory.numbers());
  for (; next_number_ < end; ++next_number_) {
    if (const auto* const peer = directory.by_number(next_number_)) list(node, *peer);
  }
  return next_number_ < directory.numbers();
}

void PeerTally::count(const lnet::ShardCore& core, PeerNiReport& report) {
  const lnet::PeerNi* const ni = core.shared.directory->find(report.nid);
  if (ni == nullptr) return;
  lnet::PeerPort* const port = core.peers.find(*ni);
  if (port == nullptr) return;
  add_traffic(port->traffic, report.traffic, report.messages);
  add(port->failures, report.health);
  // Each shard that forwards messages of a peer has credits for it. The sum of the lowest values is
  // a bound: the shards may have had them at different times.
  if (port->client.credits_max != 0) {
    if (clients_.insert(report.nid).second)
      report.available_rtr_credits = report.min_rtr_credits = 0;
    report.available_rtr_credits += port->client.available();
    report.min_rtr_credits += port->client.credits_min;
  }
  if (ni->home != core.id) return;
  port->follow_credits();  // the network's tunables may have changed since the last message
  report.max_ni_tx_credits = port->tx_credits_max;
  report.available_tx_credits = port->tx_credits();
  report.min_tx_credits = port->tx_credits_min;
  report.refcount += static_cast<std::int32_t>(port->outstanding);
}

bool PeerTally::count(lnet::Node& node, unsigned shard) {
  if (std::exchange(counting_, shard) != shard) next_peer_ = 0;
  const std::size_t end = std::min<std::size_t>(next_peer_ + kPeersAtOnce, peers_.size());
  for (; next_peer_ < end; ++next_peer_) {
    for (PeerNiReport& ni : peers_[next_peer_].nis)
      count(node.shard(shard).core(), ni);
  }
  return next_peer_ < peers_.size();
}

}  // namespace plnet::node
