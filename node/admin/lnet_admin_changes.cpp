// SPDX-License-Identifier: BSD-3-Clause
// Changes by lnetctl: each edits a copy of the configuration and carries out the difference.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "lib/lnet/names/nid_text.hpp"
#include "node/admin/fault_changes.hpp"
#include "node/admin/lnet_admin.hpp"
#include "node/admin/lnet_routing.hpp"
#include "node/admin/peer_changes.hpp"
#include "node/admin/retuning.hpp"
#include "node/admin/route_reports.hpp"
#include "node/admin/router_options.hpp"
#include "node/host/lnet_host.hpp"
#include "node/host/open_families.hpp"
#include "node/host/shard_question.hpp"

namespace plnet::node {
namespace {

using lnet::NetConfig;
using lnet::NiConfig;
using lnet::Nid;
using lnet::NodeConfig;
using lnet::PeerConfig;
using lnet::Reply;
using Progress = LnetDesk::Progress;

constexpr runtime::LogSite kNidNotThere{runtime::LogLevel::kWarning, "nid_not_there", {"what"}};

Outcome<void> add_to(NodeConfig& config, const NetConfig& net) {
  auto there = std::ranges::find(config.nets, net.net, &NetConfig::net);
  if (there == config.nets.end()) {
    config.nets.push_back({.net = net.net});
    there = config.nets.end() - 1;
  }
  for (const NiConfig& ni : net.nis) {
    for (const NiConfig& other : there->nis) {
      if (!is_same_ni(ni, other)) continue;
      return failure(Errc::kExists, fmt::format("the NI {} is there already",
                                                ni.nid                  ? text_of(*ni.nid)
                                                : ni.interfaces.empty() ? lnet::text_of_net(net.net)
                                                                        : ni.interfaces.front()));
    }
    there->nis.push_back(ni);
  }
  return {};
}

bool is_selected(const NiConfig& ni, const lnet::NetSelection& selection) {
  if (selection.interfaces.empty() && selection.nids.empty()) return true;
  if (ni.nid && std::ranges::find(selection.nids, *ni.nid) != selection.nids.end()) return true;
  return std::ranges::any_of(ni.interfaces, [&](const std::string& name) {
    return std::ranges::find(selection.interfaces, name) != selection.interfaces.end();
  });
}

bool has_selected(const NodeConfig& config, const lnet::NetSelection& selection) {
  return std::ranges::any_of(config.nets, [&selection](const NetConfig& net) {
    if (selection.net != lnet::kNetAny && net.net != selection.net) return false;
    return std::ranges::any_of(
        net.nis, [&selection](const NiConfig& ni) { return is_selected(ni, selection); });
  });
}

// Fails if any selected network, interface or NID is missing, so that a deletion is whole or none.
Outcome<void> check_named(const NodeConfig& config, const lnet::NetSelection& selection) {
  const lnet::NetId id = selection.net;
  if (id != lnet::kNetAny && config.net(id) == nullptr) {
    return failure(Errc::kNetworkDown,
                   fmt::format("network {} is not there", lnet::text_of_net(id)));
  }
  for (const std::string& name : selection.interfaces) {
    if (!has_selected(config, {.net = id, .interfaces = {name}, .nids = {}}))
      return failure(Errc::kNotFound, fmt::format("no NI on interface {}", name));
  }
  for (const Nid& nid : selection.nids) {
    if (!has_selected(config, {.net = id, .interfaces = {}, .nids = {nid}}))
      return failure(Errc::kNotFound, fmt::format("no NI {}", text_of(nid)));
  }
  return {};
}

Outcome<void> remove_from(NodeConfig& config, const lnet::NetSelection& selection) {
  std::size_t removed = 0;
  std::vector<lnet::NetId> gone;
  for (NetConfig& net : config.nets) {
    if (selection.net != lnet::kNetAny && net.net != selection.net) continue;
    if (selection.net == lnet::kNetAny && selection.nids.empty()) continue;
    removed +=
        std::erase_if(net.nis, [&](const NiConfig& ni) { return is_selected(ni, selection); });
    if (net.nis.empty()) gone.push_back(net.net);
  }
  if (removed == 0) return failure(Errc::kNotFound, "no such NI");
  std::erase_if(config.nets, [](const NetConfig& net) { return net.nis.empty(); });
  lnet::drop_what_was_on(config, gone);
  return {};
}

Outcome<void> add_to(NodeConfig& config, const PeerConfig& peer) {
  const auto there = std::ranges::find(config.peers, peer.primary, &PeerConfig::primary);
  if (there == config.peers.end()) {
    config.peers.push_back(peer);
    return {};
  }
  if (there->multi_rail != peer.multi_rail) {
    return failure(Errc::kNotPermitted,
                   fmt::format("peer {} was configured otherwise (non_mr)", text_of(peer.primary)));
  }
  there->lock_primary = there->lock_primary || peer.lock_primary;
  for (const Nid& nid : peer.nids) {
    if (std::ranges::find(there->nids, nid) == there->nids.end()) there->nids.push_back(nid);
  }
  return {};
}

// As the core does: a locked primary NID stays when the rest of its peer is deleted.
void remove_from(NodeConfig& config, const lnet::PeerSelection& selection, bool whole) {
  const auto there = std::ranges::find(config.peers, selection.primary, &PeerConfig::primary);
  if (there == config.peers.end()) return;
  if (!whole) {
    std::erase_if(there->nids, [&](const Nid& nid) {
      return std::ranges::find(selection.nids, nid) != selection.nids.end();
    });
  } else if (there->lock_primary && !selection.force) {
    there->nids = {there->primary};
  } else {
    config.peers.erase(there);
  }
}

}  // namespace

void LnetAdmin::run_steps(std::vector<LnetStep> steps, NodeConfig after, Reply<void> done) {
  const bool other_nis = config_.nets != after.nets;
  if (other_nis) lnd_metrics_->let_go();
  desk_->attempt(0, carry_out(std::move(steps), host_->clock(), kChangeMax),
                 kChangeMax + kGoBackMax,
                 [this, other_nis, after = std::move(after),
                  done = std::move(done)](Outcome<void> out) mutable {
                   if (out) config_ = std::move(after);
                   if (!other_nis) return done(std::move(out));
                   lnd_metrics_->gather([out = std::move(out), done = std::move(done)]() mutable {
                     done(std::move(out));
                   });
                 });
}

std::expected<Judged, Misfit> LnetAdmin::judge_change(NodeConfig wanted) const {
  return judge(std::move(wanted), config_,
               {.cpts = host_->cpts(),
                .families = host_->families().families(),
                .open = &host_->families()});
}

void LnetAdmin::change_to(NodeConfig wanted, Reply<void> done) {
  if (wanted.routing && !config_.routing) {
    if (auto stays = check_stays(); !stays) return done(std::move(stays));
  }
  auto judged = judge_change(std::move(wanted));
  if (!judged) return done(std::unexpected(std::move(judged.error().error)));
  wanted = std::move(judged->config);
  for (const std::string& note : judged->notes)
    log_.write(kNidNotThere, {note});
  if (!differ_live_only(config_, wanted, host_->families().families())) {
    return done(failure(Errc::kBusy, "other options of kernel modules: needs a restart"));
  }
  const bool needs_node = !wanted.nets.empty() || !wanted.peers.empty() || !wanted.routes.empty() ||
                          !wanted.faults.empty() || !wanted.access.empty() || !wanted.udsps.empty();
  if (state_ != State::kUp && !needs_node) {
    take_options(wanted);
    config_ = std::move(wanted);
    return done({});
  }
  if (auto up = check_up(); !up) return done(std::move(up));
  auto steps = steps_between(config_, wanted, *host_);
  if (!steps) return done(std::unexpected(steps.error()));
  if (auto live = add_router_option_steps(config_, wanted, *steps); !live) {
    return done(std::move(live));
  }
  add_routing_steps(config_, wanted, !running_, *steps);
  plan_faults(config_, wanted, *steps);
  // LNet's timeout is the default for NIs without a timeout of their own.
  const bool tunes = config_.parameters != wanted.parameters ||
                     std::ranges::any_of(host_->families().hosts(), [&wanted](const auto& host) {
                       return !host->has_options_of(wanted);
                     });
  run_steps(std::move(*steps), std::move(wanted),
            [this, tunes, done = std::move(done)](Outcome<void> out) mutable {
              look_at_links();
              if (!out || !tunes) return done(std::move(out));
              take_options(config_);
              retune(*desk_, *host_, config_, std::move(done));
            });
}

// Puts the live options of modules into force.
void LnetAdmin::take_options(const NodeConfig& config) {
  for (const auto& host : host_->families().hosts())
    host->take_options(config);
}

void LnetAdmin::bring_about(NodeConfig wanted, Reply<void> done) {
  const bool no_nets = wanted.nets.empty() && wanted.ip2nets.empty() && wanted.ip2nets_text.empty();
  if (no_nets || state_ == State::kUp) return change_to(std::move(wanted), std::move(done));
  go_up_with(std::move(wanted), std::move(done));
}

void LnetAdmin::edit(lnet::ConfigEdit edit, Reply<void> done) {
  enqueue(
      [this, edit = std::move(edit)](Reply<void> ended) mutable {
        NodeConfig wanted = config_;
        if (auto edited = edit(wanted); !edited) return ended(std::move(edited));
        if (wanted == config_ && state_ != State::kGoing) return ended({});
        bring_about(std::move(wanted), std::move(ended));
      },
      std::move(done));
}

void LnetAdmin::add_net(NetConfig net, Reply<void> done) {
  enqueue(
      [this, net = std::move(net)](Reply<void> ended) {
        NodeConfig wanted = config_;
        if (auto added = add_to(wanted, net); !added) return ended(std::move(added));
        change_to(std::move(wanted), std::move(ended));
      },
      std::move(done));
}

void LnetAdmin::del_net(lnet::NetSelection selection, Reply<void> done) {
  enqueue(
      [this, selection = std::move(selection)](Reply<void> ended) {
        NodeConfig wanted = config_;
        const bool was_moving = forget_moved(selection);
        if (auto there = check_named(wanted, selection); !there && !was_moving)
          return ended(std::move(there));
        if (auto gone = remove_from(wanted, selection); !gone)
          return ended(was_moving ? Outcome<void>{} : std::move(gone));
        change_to(std::move(wanted), std::move(ended));
      },
      std::move(done));
}

void LnetAdmin::set_ni(lnet::NiChange change, Reply<void> done) {
  enqueue(
      [this, change](Reply<void> ended) {
        if (auto up = check_up(); !up) return ended(std::move(up));
        NodeConfig wanted = config_;
        const bool tunes = change.connections_per_peer || change.lnd_timeout_s;
        if (tunes) {
          if (auto tuned = tune(wanted, change, host_->families()); !tuned)
            return ended(std::move(tuned));
        }
        if (!change.health) return tune_to(std::move(wanted), std::move(ended));
        set_health(change, [this, tunes, wanted = std::move(wanted),
                            ended = std::move(ended)](Outcome<void> out) mutable {
          if (!out || !tunes) return ended(std::move(out));
          tune_to(std::move(wanted), std::move(ended));
        });
      },
      std::move(done));
}

// For a change of live tunables only.
void LnetAdmin::tune_to(NodeConfig wanted, Reply<void> done) {
  config_ = std::move(wanted);
  retune(*desk_, *host_, config_, std::move(done));
}

void LnetAdmin::set_health(lnet::NiChange change, Reply<void> done) {
  desk_->attempt(
      0,
      [change](lnet::Node& node) -> Outcome<Progress> {
        bool found = change.all;
        for (lnet::Ni* ni : node.coordinator().local().nis) {
          if (!change.is_for(ni->net, ni->nid)) continue;
          found = true;
          ni->health.set(*change.health);
        }
        node.coordinator().tell_of_changed();  // 0 is down, the maximum is up
        if (found) return Progress::kDone;
        return failure(Errc::kNotFound, "no such NI");
      },
      kChangeMax, std::move(done));
}

void LnetAdmin::add_peer(PeerConfig peer, Reply<void> done) {
  enqueue(
      [this, peer = std::move(peer)](Reply<void> ended) {
        NodeConfig wanted = config_;
        if (auto added = add_to(wanted, peer); !added) return ended(std::move(added));
        change_to(std::move(wanted), std::move(ended));
      },
      std::move(done));
}

// Discovered peers can be deleted, too, so this is not a difference of the configuration alone.
void LnetAdmin::del_peer(lnet::PeerSelection selection, Reply<void> done) {
  enqueue(
      [this, selection = std::move(selection)](Reply<void> ended) {
        if (auto up = check_up(); !up) return ended(std::move(up));
        const bool whole =
            selection.nids.empty() ||
            std::ranges::find(selection.nids, selection.primary) != selection.nids.end();
        std::vector<LnetStep> steps;
        if (whole) {
          steps.push_back(forget_peer_step(selection.primary, Nid::any(), selection.force));
        } else {
          std::vector<Nid> nids;
          for (const Nid& nid : selection.nids) {
            if (std::ranges::find(nids, nid) == nids.end()) nids.push_back(nid);
          }
          steps.push_back(has_nids_step(selection.primary, nids));
          for (const Nid& nid : nids)
            steps.push_back(forget_peer_step(selection.primary, nid, selection.force));
        }
        NodeConfig after = config_;
        remove_from(after, selection, whole);
        run_steps(std::move(steps), std::move(after), std::move(ended));
      },
      std::move(done));
}

void LnetAdmin::set_peer_ni(lnet::PeerNiChange change, Reply<void> done) {
  enqueue(
      [this, change](Reply<void> ended) {
        if (auto up = check_up(); !up) return ended(std::move(up));
        desk_->attempt(
            0,
            [change](lnet::Node& node) -> Outcome<Progress> {
              if (auto changed = change_peer_nis(node.coordinator(), change); !changed)
                return std::unexpected(std::move(changed.error()));
              return Progress::kDone;
            },
            kChangeMax, std::move(ended));
      },
      std::move(done));
}

void LnetAdmin::add_route(lnet::RouteConfig route, Reply<void> done) {
  enqueue(
      [this, route](Reply<void> ended) {
        if (config_.route(route.net, route.gateway) != nullptr) {
          return ended(failure(Errc::kExists,
                               fmt::format("there is a route to {} by {}",
                                           lnet::text_of_net(route.net), text_of(route.gateway))));
        }
        if (config_.net(route.net) != nullptr && route.gateway.net() != route.net) {
          return ended(failure(Errc::kExists, fmt::format("{} is a network of this node",
                                                          lnet::text_of_net(route.net))));
        }
        NodeConfig wanted = config_;
        wanted.routes.push_back(route);
        change_to(std::move(wanted), std::move(ended));
      },
      std::move(done));
}

// The gateway may be named by a NID that the route was not configured with (lustre-release
// lnet/lnet/router.c: lnet_del_route()). The coordinator knows all its NIDs.
void LnetAdmin::del_route(lnet::NetId net, Nid gateway, Reply<void> done) {
  auto delete_those = [this, net, gateway](const std::vector<Nid>& named, Reply<void> ended) {
    NodeConfig wanted = config_;
    const auto gone = std::erase_if(wanted.routes, [&](const lnet::RouteConfig& route) {
      return route.net == net && std::ranges::find(named, route.gateway) != named.end();
    });
    if (gone > 0) return change_to(std::move(wanted), std::move(ended));
    ended(failure(Errc::kNotFound,
                  fmt::format("no route to {} by {}", lnet::text_of_net(net), text_of(gateway))));
  };
  enqueue(
      [this, net, gateway, delete_those](Reply<void> ended) {
        if (config_.route(net, gateway) != nullptr || state_ != State::kUp)
          return delete_those({gateway}, std::move(ended));
        ask_coordinator(
            *desk_,
            [gateway](lnet::Coordinator& coordinator) {
              return nids_of_node(coordinator.directory(), gateway);
            },
            [delete_those, ended = std::move(ended)](Outcome<std::vector<Nid>>&& named) mutable {
              if (!named) return ended(std::unexpected(named.error()));
              delete_those(*named, std::move(ended));
            });
      },
      std::move(done));
}

}  // namespace plnet::node
