// SPDX-License-Identifier: BSD-3-Clause
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "lib/lnet/names/nid_text.hpp"
#include "lib/runtime/lnet/verb_answers.hpp"
#include "lib/runtime/lnet/verb_groups.hpp"
#include "lib/runtime/verbs/lnet_rows.hpp"

namespace plnet::runtime {
namespace {

// Sums over the peer NIs of a network.
struct PeerNiCounts {
  std::uint64_t all = 0;
  std::uint64_t up = 0;
  std::uint64_t down = 0;
  std::uint64_t unhealthy = 0;
  std::uint64_t queueing = 0;

  void add(const lnet::PeerNiReport& ni) {
    ++all;
    if (ni.state == lnet::Aliveness::kUp) ++up;
    if (ni.state == lnet::Aliveness::kDown) ++down;
    if (ni.health.health_value < lnet::kHealthMax) ++unhealthy;
    if (ni.tx_q_num_of_buf > 0) ++queueing;
  }
};

Json peer_counts_to_json(const std::vector<lnet::PeerReport>& peers) {
  std::map<lnet::NetId, PeerNiCounts> nets;
  for (const lnet::PeerReport& peer : peers) {
    for (const lnet::PeerNiReport& ni : peer.nis)
      nets[ni.nid.net()].add(ni);
  }
  Json list = Json::array();
  for (const auto& [net, counts] : nets) {
    list.push_back({{"net", lnet::text_of_net(net)},
                    {"peer NIs", counts.all},
                    {"up", counts.up},
                    {"down", counts.down},
                    {"below full health", counts.unhealthy},
                    {"with messages queued", counts.queueing}});
  }
  return {{"peer count", {{"peers", peers.size()}, {"networks", std::move(list)}}}};
}

using Peers = std::vector<lnet::PeerReport>;

void list_peers(lnet::LnetControl& control, VerbToken token) {
  control.peers(std::nullopt, 0, printed<Peers>(std::move(token), peer_list_to_json));
}

void count_peers(lnet::LnetControl& control, VerbToken token) {
  control.peers(std::nullopt, 0, printed<Peers>(std::move(token), peer_counts_to_json));
}

}  // namespace

void show_peers(lnet::LnetControl& control, const VerbArgs& args, VerbToken token) {
  const auto nid = nid_arg(args, "nid");
  if (!nid) return fail(token, nid.error());
  const int level = level_arg(args);
  control.peers(
      *nid, level,
      printed<std::vector<lnet::PeerReport>>(
          std::move(token), [level](const auto& peers) { return peers_to_json(peers, level); }));
}

void add_peer_verbs(VerbTable& verbs, lnet::LnetControl& control) {
  verbs.add(kLnetVerbs["peer add"],
            judged(peer_to_add, [&control](lnet::PeerConfig peer, VerbToken token) {
              control.add_peer(std::move(peer), silent(std::move(token)));
            }));
  verbs.add(kLnetVerbs["peer del"],
            judged(peer_to_delete, [&control](lnet::PeerSelection peer, VerbToken token) {
              control.del_peer(std::move(peer), silent(std::move(token)));
            }));
  verbs.add(kLnetVerbs["peer show"], bound(control, show_peers));
  verbs.add(kLnetVerbs["peer list"], bound(control, list_peers));
  verbs.add(kLnetVerbs["peer count"], bound(control, count_peers));
  verbs.add(kLnetVerbs["peer set"],
            judged(peer_ni_change, [&control](lnet::PeerNiChange change, VerbToken token) {
              control.set_peer_ni(change, silent(std::move(token)));
            }));
}

}  // namespace plnet::runtime
