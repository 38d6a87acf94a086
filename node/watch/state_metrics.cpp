// SPDX-License-Identifier: BSD-3-Clause
#include "node/watch/state_metrics.hpp"

#include <array>
#include <span>

#include "lib/lnet/control/routing_state.hpp"
#include "lib/lnet/names/nid_text.hpp"

namespace plnet::node {
namespace {

constexpr CounterInfo kLnetUpInfo{"", "", CounterKind::kGauge, "1 while LNet runs"};
constexpr CounterInfo kNiUpInfo{"up", "", CounterKind::kGauge, "1 while this NI of the node is up"};
constexpr CounterInfo kRouteUpInfo{"up", "", CounterKind::kGauge, "1 while the route can be used"};
constexpr CounterInfo kRoutingInfo{"", "", CounterKind::kGauge,
                                   "1 for the state that routing is in, 0 for the others"};
constexpr CounterInfo kDrainingInfo{"draining", "", CounterKind::kGauge,
                                    "1 while routing is drained, and after that"};
constexpr CounterInfo kPeersInfo{"", "", CounterKind::kGauge,
                                 "peer NIs by state; unknown: this node does not ask them"};

constexpr CounterInfo kCreditsInfo{"tx", "credits", CounterKind::kGauge,
                                   "messages that can be on their way at a time"};
constexpr CounterInfo kFreeCreditsInfo{"tx_free", "credits", CounterKind::kGauge,
                                       "tx credits that are free now"};
constexpr CounterInfo kWaitingInfo{"tx_waiting", "messages", CounterKind::kGauge,
                                   "messages that wait for a tx credit now"};
constexpr CounterInfo kWithoutCreditInfo{"without_credit", "interfaces", CounterKind::kGauge,
                                         "peer NIs whose tx credits are all in use"};

constexpr std::array kRoutingStates{lnet::RoutingState::kDisabled, lnet::RoutingState::kStarting,
                                    lnet::RoutingState::kEnabled, lnet::RoutingState::kStopping};

std::string key_of(std::string_view object, std::span<const runtime::MetricLabel> labels) {
  std::string key(object);
  for (const runtime::MetricLabel& label : labels)
    key += '\n' + label.value;
  return key;
}

}  // namespace

StateMetrics::~StateMetrics() {
  for (const auto& [key, row] : rows_)
    metrics_.remove(row->id);
}

void StateMetrics::set(const CounterInfo& info, std::string_view object, const Labels& labels,
                       std::uint64_t value) {
  auto& row = rows_[key_of(object, labels) + '\n' + std::string(info.name)];
  const bool is_new = row == nullptr;
  if (is_new) row = std::make_unique<Row>();
  row->value.store(value, std::memory_order_relaxed);
  row->shown = true;
  if (is_new) {
    row->id = metrics_.add(std::string(object), labels,
                           {.info = std::span(&info, 1), .values = std::span(&row->value, 1)});
  }
}

void StateMetrics::set_credits(std::string_view object, const Labels& labels,
                               const CreditStates& credits) {
  set(kCreditsInfo, object, labels, credits.all);
  set(kFreeCreditsInfo, object, labels, credits.free);
  set(kWaitingInfo, object, labels, credits.waiting);
}

void StateMetrics::show(const NodeStates& states) {
  for (const auto& [key, row] : rows_)
    row->shown = false;
  set(kLnetUpInfo, "lnet_up", {}, states.lnet_up ? 1 : 0);
  for (const NodeStates::OfNi& ni : states.nis) {
    const Labels labels{{"net", lnet::text_of_net(ni.nid.net())},
                        {"nid", text_of(ni.nid)},
                        {"interface", ni.interface}};
    set(kNiUpInfo, "ni", labels, ni.up ? 1 : 0);
    set_credits("ni", labels, ni.credits);
  }
  for (const NodeStates::OfNet& net : states.nets) {
    const Labels labels{{"net", lnet::text_of_net(net.net)}};
    set_credits("peer_nis", labels, net.credits);
    set(kWithoutCreditInfo, "peer_nis", labels, net.without_credit);
  }
  for (const NodeStates::OfRoute& route : states.routes) {
    set(kRouteUpInfo, "route",
        {{"net", lnet::text_of_net(route.net)}, {"gateway", text_of(route.gateway)}},
        route.up ? 1 : 0);
  }
  for (const lnet::RoutingState state : kRoutingStates) {
    set(kRoutingInfo, "routing_state", {{"state", std::string(text_of(state))}},
        state == states.routing ? 1 : 0);
  }
  set(kDrainingInfo, "routing", {}, states.draining ? 1 : 0);
  set(kPeersInfo, "peers", {{"state", "up"}}, states.peers.up);
  set(kPeersInfo, "peers", {{"state", "down"}}, states.peers.down);
  set(kPeersInfo, "peers", {{"state", "unknown"}}, states.peers.unknown);
  for (auto at = rows_.begin(); at != rows_.end();) {
    if (at->second->shown) {
      ++at;
      continue;
    }
    metrics_.remove(at->second->id);
    at = rows_.erase(at);
  }
}

}  // namespace plnet::node
