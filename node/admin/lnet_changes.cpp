// SPDX-License-Identifier: BSD-3-Clause
#include "node/admin/lnet_changes.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "node/admin/access_changes.hpp"
#include "node/admin/lnet_wanted.hpp"
#include "node/admin/peer_changes.hpp"
#include "node/host/lnet_host.hpp"

namespace plnet::node {
namespace {

using lnet::NetConfig;
using lnet::NetId;
using lnet::NiConfig;
using lnet::Nid;
using lnet::NodeConfig;
using lnet::PeerConfig;
using lnet::RouteConfig;
using Progress = LnetDesk::Progress;

// In one order to a shard, so that a long list does not make a long turn.
constexpr std::size_t kStepsAtOnce = 16;

// Listening begins before the NI is added: connections are accepted once all shards know the NI.
Outcome<Progress> add_ni(lnet::Node& node, const ResolvedNi& ni, NetworkMaker& maker) {
  if (auto open = maker.open(ni.setup); !open) {
    if (open.error().code == Errc::kAgain) return Progress::kAgain;
    return std::unexpected(open.error());
  }
  if (auto added = node.add_ni(ni.setup, maker); !added) {
    maker.not_added(ni.setup);
    return std::unexpected(added.error());
  }
  return Progress::kDone;
}

Outcome<Progress> remove_ni(lnet::Node& node, const ResolvedNi& ni, NetworkMaker& maker) {
  maker.close(ni.setup);
  auto removed = node.remove_ni(ni.setup.nid);
  // An earlier change that failed may have left this NI in the configuration alone. Deleting it
  // succeeds then.
  if (!removed && removed.error().code != Errc::kNotFound) return std::unexpected(removed.error());
  return Progress::kDone;
}

Outcome<LnetStep> add_ni_step(NetId net, const NiConfig& ni, LnetHost& host) {
  auto resolved = host.resolve(net, ni);
  if (!resolved) return std::unexpected(resolved.error());
  auto& maker = host.maker(static_cast<lnet::NetType>(lnet::type_of_net(net)), *resolved->family);
  return LnetStep{
      .act = [ni = *resolved, &maker](lnet::Node& node) { return add_ni(node, ni, maker); },
      .undo = [ni = *resolved, &maker](lnet::Node& node) { return remove_ni(node, ni, maker); }};
}

Outcome<LnetStep> remove_ni_step(NetId net, const NiConfig& ni, LnetHost& host) {
  auto step = add_ni_step(net, ni, host);
  if (step) std::swap(step->act, step->undo);
  return step;
}

// A change ends when its NIs answer peers.
LnetStep await_ni_step(const Nid& nid) {
  return {.act = [nid](lnet::Node& node) -> Outcome<Progress> {
            const lnet::Ni* const there = node.coordinator().local().ni(nid);
            return there == nullptr || there->plugged.get() ? Progress::kDone : Progress::kAgain;
          },
          .undo = [](lnet::Node&) -> Outcome<Progress> { return Progress::kDone; }};
}

Outcome<Progress> add_route(lnet::Node& node, const RouteConfig& route) {
  const std::uint32_t hops = route.hops == lnet::kHopsUndefined
                                 ? lnet::kRouteHopsUndefined
                                 : static_cast<std::uint32_t>(route.hops);
  auto added = node.coordinator().add_route(
      {.net = route.net, .gateway = route.gateway, .hops = hops, .priority = route.priority});
  if (added) return Progress::kDone;
  if (added.error().code == Errc::kAgain) return Progress::kAgain;
  return std::unexpected(added.error());
}

// The route may have gone already: it is merged into another one when two gateways turn out to be
// one node.
Outcome<Progress> delete_route(lnet::Node& node, const RouteConfig& route) {
  (void)node.coordinator().delete_route(route.net, route.gateway);
  return Progress::kDone;
}

LnetStep add_route_step(const RouteConfig& route) {
  return {.act = [route](lnet::Node& node) { return add_route(node, route); },
          .undo = [route](lnet::Node& node) { return delete_route(node, route); }};
}

LnetStep delete_route_step(const RouteConfig& route) {
  LnetStep step = add_route_step(route);
  std::swap(step.act, step.undo);
  return step;
}

// Networks that lose all their present NIs, even if others replace them: the core releases all
// peers on such a network.
std::vector<NetId> nets_lost(const NodeConfig& now, const NodeConfig& wanted) {
  std::vector<NetId> lost;
  for (const NetConfig& net : now.nets) {
    const bool stays = std::ranges::any_of(
        net.nis, [&](const NiConfig& ni) { return has_ni(wanted, net.net, ni); });
    if (!stays) lost.push_back(net.net);
  }
  return lost;
}

bool has_nid(const PeerConfig& peer, const Nid& nid) {
  return std::ranges::find(peer.nids, nid) != peer.nids.end();
}

bool is_on(const PeerConfig& peer, const std::vector<NetId>& nets) {
  return std::ranges::any_of(peer.nids, [&nets](const Nid& nid) {
    return std::ranges::find(nets, nid.net()) != nets.end();
  });
}

// Whether the route is the same in `config`, by a gateway whose network stays.
bool keeps_route(const NodeConfig& config, const RouteConfig& route,
                 const std::vector<NetId>& lost) {
  const RouteConfig* const there = config.route(route.net, route.gateway);
  return there != nullptr && *there == route &&
         std::ranges::find(lost, route.gateway.net()) == lost.end();
}

// An index: a site may have thousands of peers, and every change compares them all.
class PeersByPrimary {
 public:
  PeersByPrimary(const std::vector<PeerConfig>& peers, const std::vector<NetId>& lost)
      : lost_(lost) {
    for (const PeerConfig& peer : peers)
      by_primary_.emplace(peer.primary, &peer);
  }
  // The peer in the other configuration, perhaps with other NIDs; null if it has to be made anew.
  [[nodiscard]] const PeerConfig* same_as(const PeerConfig& peer) const {
    const auto found = by_primary_.find(peer.primary);
    if (found == by_primary_.end()) return nullptr;
    const PeerConfig& other = *found->second;
    const bool same = other.multi_rail == peer.multi_rail &&
                      other.lock_primary == peer.lock_primary && !is_on(other, lost_) &&
                      !is_on(peer, lost_);
    return same ? &other : nullptr;
  }

 private:
  const std::vector<NetId>& lost_;
  std::unordered_map<Nid, const PeerConfig*, lnet::NidHash> by_primary_;
};

// NIDs of peers that are deleted or made anew. Their routes have to go first.
std::vector<Nid> nids_unsettled(const std::vector<PeerConfig>& peers,
                                const PeersByPrimary& others) {
  std::vector<Nid> nids;
  for (const PeerConfig& peer : peers) {
    if (others.same_as(peer) != nullptr) continue;
    nids.push_back(peer.primary);
    nids.insert(nids.end(), peer.nids.begin(), peer.nids.end());
  }
  return nids;
}

// The order of steps: peers go before their networks, NIs go before others come, peers come last.
Outcome<void> plan_nis(const NodeConfig& now, const NodeConfig& wanted, LnetHost& host,
                       std::vector<LnetStep>& steps) {
  for (const NetConfig& net : now.nets) {
    for (const NiConfig& ni : net.nis) {
      if (has_ni(wanted, net.net, ni)) continue;
      auto step = remove_ni_step(net.net, ni, host);
      if (!step) return std::unexpected(step.error());
      steps.push_back(std::move(*step));
    }
  }
  for (const NetConfig& net : wanted.nets) {
    for (const NiConfig& ni : net.nis) {
      if (has_ni(now, net.net, ni)) continue;
      auto step = add_ni_step(net.net, ni, host);
      if (!step) return std::unexpected(step.error());
      steps.push_back(std::move(*step));
      if (ni.nid) steps.push_back(await_ni_step(*ni.nid));
    }
  }
  return {};
}

// Policies take effect on existing peers some turns later.
LnetStep::Act set_policies(const std::vector<lnet::Udsp>& udsps) {
  return [udsps](lnet::Node& node) -> Outcome<Progress> {
    node.coordinator().set_policies(udsps);
    return Progress::kDone;
  };
}

}  // namespace

Outcome<std::vector<LnetStep>> steps_between(const NodeConfig& now, const NodeConfig& wanted,
                                             LnetHost& host) {
  const auto lost = nets_lost(now, wanted);
  std::vector<LnetStep> steps;
  // Access rules come first: no network comes up without them.
  plan_access(now, wanted, steps);
  if (now.udsps != wanted.udsps)
    steps.push_back({.act = set_policies(wanted.udsps), .undo = set_policies(now.udsps)});
  const PeersByPrimary before_all(now.peers, lost);
  const PeersByPrimary after_all(wanted.peers, lost);
  const std::vector<Nid> unsettled = nids_unsettled(now.peers, after_all);
  const auto is_kept = [&](const NodeConfig& config, const RouteConfig& route) {
    return keeps_route(config, route, lost) &&
           std::ranges::find(unsettled, route.gateway) == unsettled.end();
  };
  // A gateway cannot be deleted while routes use it, so routes go first and come last.
  for (const RouteConfig& route : now.routes) {
    if (!is_kept(wanted, route)) steps.push_back(delete_route_step(route));
  }
  for (const PeerConfig& peer : now.peers) {
    const PeerConfig* const after = after_all.same_as(peer);
    if (after == nullptr) {
      steps.push_back(delete_peer_step(peer));
      continue;
    }
    for (const Nid& nid : peer.nids) {
      if (!has_nid(*after, nid)) steps.push_back(delete_nid_step(peer, nid));
    }
  }
  if (auto planned = plan_nis(now, wanted, host, steps); !planned) {
    return std::unexpected(planned.error());
  }
  for (const PeerConfig& peer : wanted.peers) {
    const PeerConfig* const before = before_all.same_as(peer);
    if (before == nullptr) {
      steps.push_back(add_peer_step(peer));
      continue;
    }
    for (const Nid& nid : peer.nids) {
      if (!has_nid(*before, nid)) steps.push_back(add_nid_step(peer, nid));
    }
  }
  for (const RouteConfig& route : wanted.routes) {
    if (!is_kept(now, route)) steps.push_back(add_route_step(route));
  }
  if (now.parameters != wanted.parameters) {
    const auto set = [](const lnet::ParameterValues& values) {
      return [values](lnet::Node& node) -> Outcome<Progress> {
        set_parameters(node, values);
        return Progress::kDone;
      };
    };
    steps.push_back({.act = set(wanted.parameters), .undo = set(now.parameters)});
  }
  return steps;
}

LnetDesk::Attempt carry_out(std::vector<LnetStep> steps, const Clock& clock, Duration bound) {
  return [steps = std::move(steps), next = std::size_t{0}, back = false, why = Error{}, &clock,
          deadline = clock.now() + bound](lnet::Node& node) mutable -> Outcome<Progress> {
    for (std::size_t count = 0; count < kStepsAtOnce; ++count) {
      if (back && next == 0) return std::unexpected(why);
      if (!back && next == steps.size()) return Progress::kDone;
      auto done = back ? steps[next - 1].undo(node) : steps[next].act(node);
      if (done && *done == Progress::kAgain) {
        if (back || clock.now() < deadline) return Progress::kAgain;
        if (steps[next].in_parts) ++next;
        done = failure(Errc::kTimedOut,
                       "LNet did not complete the change in time: earlier interfaces or messages "
                       "still hold what it needs; try again");
      }
      if (!back && !done) {
        back = true;
        why = done.error();
        continue;
      }
      if (!done) why.what += fmt::format("; and undoing the change failed: {}", done.error().what);
      next = back ? next - 1 : next + 1;
    }
    return Progress::kAgain;
  };
}

// Also applies what depends on a parameter. The stores are relaxed: they order nothing.
void set_parameters(lnet::Node& node, const lnet::ParameterValues& values) {
  lnet::Parameters& live = node.parameters();
  live.numa_range.set(values.numa_range);
  live.max_interfaces.set(values.max_interfaces);
  live.drop_asym_route.set(values.drop_asym_route);
  live.retry_count.set(values.retry_count);
  live.transaction_timeout_s.set(values.transaction_timeout_s);
  live.health_sensitivity.set(values.health_sensitivity);
  live.recovery_interval_s.set(values.recovery_interval_s);
  live.router_sensitivity.set(values.router_sensitivity);
  live.response_tracking.set(values.response_tracking);
  live.recovery_limit_s.set(values.recovery_limit_s);
  live.max_recovery_ping_interval_s.set(values.max_recovery_ping_interval_s);
  node.coordinator().set_discovery(values.discovery != 0);
}

}  // namespace plnet::node
