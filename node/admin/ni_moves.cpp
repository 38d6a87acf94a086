// SPDX-License-Identifier: BSD-3-Clause
#include "node/admin/ni_moves.hpp"

#include <algorithm>
#include <span>

#include <fmt/format.h>

#include "lib/base/check.hpp"
#include "lib/lnet/names/nid_text.hpp"

namespace plnet::node {
namespace {

using lnet::NetConfig;
using lnet::NiConfig;
using lnet::Nid;
using lnet::NodeConfig;
using lnet::PeerConfig;
using lnet::RouteConfig;

bool is_on(const PeerConfig& peer, lnet::NetId net) {
  return std::ranges::any_of(peer.nids, [net](const Nid& nid) { return nid.net() == net; });
}

void add_missing(PeerConfig& peer, const std::vector<Nid>& nids) {
  for (const Nid& nid : nids) {
    if (std::ranges::find(peer.nids, nid) == peer.nids.end()) peer.nids.push_back(nid);
  }
}

}  // namespace

std::vector<MovedNi> moved_nis(const NodeConfig& config, const NidNow& nid_now) {
  std::vector<MovedNi> moved;
  for (const NetConfig& net : config.nets) {
    for (const NiConfig& ni : net.nis) {
      const auto now = ni.nid ? nid_now(net, ni) : std::nullopt;
      if (now && *now != *ni.nid) moved.push_back({net.net, ni.interfaces.front(), *ni.nid, *now});
    }
  }
  return moved;
}

TakenOut take_out(NodeConfig& config, const Nid& nid) {
  const auto net = std::ranges::find_if(
      config.nets, [&nid](const NetConfig& each) { return each.net == nid.net(); });
  PLNET_CHECK(net != config.nets.end(), "the network is there");
  const auto ni =
      std::ranges::find_if(net->nis, [&nid](const NiConfig& each) { return each.nid == nid; });
  PLNET_CHECK(ni != net->nis.end(), "the NI is there");
  TakenOut out{.net = net->net, .ni = *ni};
  out.ni.nid.reset();
  net->nis.erase(ni);
  if (!net->nis.empty()) return out;
  config.nets.erase(net);
  std::ranges::copy_if(config.routes, std::back_inserter(out.routes),
                       [&out](const auto& route) { return route.gateway.net() == out.net; });
  std::ranges::copy_if(config.peers, std::back_inserter(out.peers),
                       [&out](const PeerConfig& peer) { return is_on(peer, out.net); });
  lnet::drop_what_was_on(config, std::span(&out.net, 1));
  return out;
}

Outcome<void> bring_back(NodeConfig& into, const TakenOut& out, const Fits& fits) {
  NodeConfig config = into;
  auto net = std::ranges::find(config.nets, out.net, &NetConfig::net);
  if (net == config.nets.end()) {
    config.nets.push_back({.net = out.net});
    net = config.nets.end() - 1;
  }
  net->nis.push_back(out.ni);
  for (const RouteConfig& route : out.routes) {
    if (config.route(route.net, route.gateway) == nullptr) config.routes.push_back(route);
  }
  for (const PeerConfig& peer : out.peers) {
    const auto there = std::ranges::find(config.peers, peer.primary, &PeerConfig::primary);
    if (there == config.peers.end()) {
      config.peers.push_back(peer);
    } else {
      add_missing(*there, peer.nids);
    }
  }
  if (auto able = fits(config); !able) return able;
  into = std::move(config);
  return {};
}

void NiMoves::put_last(const Nid& was) {
  const auto there = std::ranges::find(out, was, &Out::was);
  if (there != out.end()) std::rotate(there, there + 1, out.end());
}

bool NiMoves::is_turn_to_bring_back(bool some_ready, bool some_moved) {
  if (!some_ready && !some_moved) return false;
  brought_back_last = some_ready && !(some_moved && brought_back_last);
  return brought_back_last;
}

}  // namespace plnet::node
