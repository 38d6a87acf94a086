// SPDX-License-Identifier: BSD-3-Clause
// Events at given times, of given nodes.
#include <algorithm>

#include "apps/lnet-sim/site/site.hpp"

namespace plnet::sim {

using namespace lnet;

void Site::schedule_events() {
  for (std::uint32_t i = 0; i < config_.faults.events.size(); ++i) {
    const PlannedEvent& event = config_.faults.events[i];
    outages_end_ = std::max(outages_end_, loop_.now() + event.at + event.lasting);
    schedule(loop_.now() + event.at, Fault::kPlanned, i, 0);
  }
}

void Site::begin_planned(const PlannedEvent& event) {
  if (world_->stopping) return;
  Host& host = *world_->hosts[event.node];
  look_at_routes();
  switch (event.kind) {
    case PlannedKind::kLose:
      if (host.state() != Host::State::kUp) return;
      planned_[event.node] = event.lasting;
      power(Fault::kKill, event.node, 0);
      break;
    case PlannedKind::kRestart:
    case PlannedKind::kDrain:
      planned_[event.node] = event.lasting;
      begin_drain(host, static_cast<std::uint32_t>(event.kind == PlannedKind::kRestart
                                                       ? DrainEnd::kRestart
                                                       : DrainEnd::kUndrain));
      break;
    case PlannedKind::kCut: {
      const auto nids = host.nids();
      for (std::uint32_t i = 0; i < nids.size(); ++i) {
        if (nids[i].net() != layout_.net_id(event.net)) continue;
        disturb(Fault::kLinkDown, host, i);
        schedule(loop_.now() + event.lasting, Fault::kLinkUp, event.node, i);
      }
      break;
    }
  }
  if (mishaps_) mishaps_->look(loop_.now());
  look_at_routes();
}

// The end of the outage of this node that begins now.
Instant Site::end_of_planned(std::uint32_t node) {
  const auto planned = planned_.find(node);
  if (planned == planned_.end()) return end_of_outage(loop_.now());
  const Instant end = loop_.now() + planned->second;
  planned_.erase(planned);
  outages_end_ = std::max(outages_end_, end);
  return end;
}

}  // namespace plnet::sim
