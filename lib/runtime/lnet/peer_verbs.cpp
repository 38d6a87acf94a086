// SPDX-License-Identifier: BSD-3-Clause
#include <optional>
#include <utility>
#include <vector>

#include "lib/runtime/lnet/verb_answers.hpp"
#include "lib/runtime/lnet/verb_groups.hpp"
#include "lib/runtime/verbs/lnet_rows.hpp"

namespace plnet::runtime {
namespace {

using Peers = std::vector<lnet::PeerReport>;

void list_peers(lnet::LnetControl& control, VerbToken token) {
  control.peers(std::nullopt, 0, printed<Peers>(std::move(token), peer_list_to_json));
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
  verbs.add(kLnetVerbs["peer set"],
            judged(peer_ni_change, [&control](lnet::PeerNiChange change, VerbToken token) {
              control.set_peer_ni(change, silent(std::move(token)));
            }));
}

}  // namespace plnet::runtime
