// SPDX-License-Identifier: BSD-3-Clause
#include <optional>
#include <utility>
#include <vector>

#include "lib/runtime/lnet/verb_answers.hpp"
#include "lib/runtime/lnet/verb_groups.hpp"

namespace plnet::runtime {

using enum ArgKind;

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
  verbs.add(
      {.verb = "peer add",
       .help = "add a peer, or NIDs to it",
       .args = {{"prim_nid", kText}, {"nid", kText}, {"non_mr", kFlag}, {"lock_prim", kFlag}},
       .async_handler = judged(peer_to_add, [&control](lnet::PeerConfig peer, VerbToken token) {
         control.add_peer(std::move(peer), silent(std::move(token)));
       })});
  verbs.add({.verb = "peer del",
             .help = "delete a peer, or NIDs of it",
             .args = {{"prim_nid", kText}, {"nid", kText}, {"force", kFlag}},
             .async_handler =
                 judged(peer_to_delete, [&control](lnet::PeerSelection peer, VerbToken token) {
                   control.del_peer(std::move(peer), silent(std::move(token)));
                 })});
  verbs.add({.verb = "peer show",
             .access = VerbAccess::kReads,
             .help = "peers and their NIs",
             .args = {{"nid", kText}, {"verbose", kNumber}},
             .async_handler = [&control](const VerbArgs& args, const Caller&, VerbToken token) {
               show_peers(control, args, std::move(token));
             }});
  verbs.add({.verb = "peer list",
             .access = VerbAccess::kReads,
             .help = "primary NIDs of all peers",
             .async_handler = [&control](const VerbArgs&, const Caller&, VerbToken token) {
               control.peers(
                   std::nullopt, 0,
                   printed<std::vector<lnet::PeerReport>>(std::move(token), [](const auto& peers) {
                     return peer_list_to_json(peers);
                   }));
             }});
  verbs.add({.verb = "peer set",
             .help = "change peer NIs",
             .args = {{"nid", kText}, {"health", kNumber}, {"all", kFlag}, {"state", kNumber}},
             .async_handler =
                 judged(peer_ni_change, [&control](lnet::PeerNiChange change, VerbToken token) {
                   control.set_peer_ni(change, silent(std::move(token)));
                 })});
}

}  // namespace plnet::runtime
