// SPDX-License-Identifier: BSD-3-Clause
#include "node/admin/peer_changes.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "lib/lnet/names/nid_text.hpp"
#include "lib/lnet/node/node.hpp"
#include "lib/lnet/peers/peer_directory.hpp"
#include "lib/lnet/peers/peer_error.hpp"
#include "lib/lnet/peers/peer_records.hpp"
#include "lib/lnet/peers/settable_state.hpp"

namespace plnet::node {
namespace {

using lnet::Nid;
using lnet::PeerConfig;
using Progress = LnetDesk::Progress;

Outcome<Progress> judged(const lnet::PeerResult<void>& result, const Nid& nid) {
  if (result) return Progress::kDone;
  if (result.error() == lnet::PeerError::kAgain) return Progress::kAgain;
  const auto info = lnet::info_of(result.error());
  return failure(info.code, fmt::format("{}: {}", text_of(nid), info.text));
}

// As judged(), and names the primary NID if the change was given another one.
Outcome<Progress> judged_by_primary(lnet::Node& node, const lnet::PeerResult<void>& result,
                                    const Nid& given, const Nid& nid) {
  const lnet::PeerRecord* const peer = node.coordinator().directory().peer_of(given);
  const bool is_other = !result && result.error() == lnet::PeerError::kNotPrimary;
  if (!is_other || peer == nullptr) return judged(result, nid);
  return failure(lnet::info_of(lnet::PeerError::kNotPrimary).code,
                 fmt::format("{} is not the primary NID of its peer: use --prim_nid {}",
                             text_of(given), text_of(peer->primary)));
}

Outcome<Progress> add_nid(lnet::Node& node, const PeerConfig& peer, const Nid& nid) {
  const auto added =
      node.coordinator().add_peer(peer.primary, nid == peer.primary ? Nid::any() : nid,
                                  peer.multi_rail, nid == peer.primary && peer.lock_primary);
  return judged_by_primary(node, added, peer.primary, nid);
}

// The peer or NID may be gone already: discovery may have merged it into another peer.
Outcome<Progress> judged_gone(const lnet::PeerResult<void>& gone, const Nid& nid) {
  if (!gone && gone.error() == lnet::PeerError::kNoSuchPeer) return Progress::kDone;
  if (!gone && gone.error() == lnet::PeerError::kNoSuchNid) return Progress::kDone;
  return judged(gone, nid);
}

Outcome<Progress> delete_nid(lnet::Node& node, const Nid& primary, const Nid& nid) {
  return judged_gone(node.coordinator().delete_peer(primary, nid, true),
                     nid.is_any() ? primary : nid);
}

// The peer before the first attempt of a step that may wait.
using Before = std::shared_ptr<std::optional<lnet::PeerFound>>;

Outcome<Progress> put_back(lnet::Node& node, const Nid& primary, const Before& before) {
  const std::optional<lnet::PeerFound>& found = *before;
  if (!found) return Progress::kDone;
  return judged_gone(node.coordinator().put_back_peer(primary, *found), primary);
}

// The step adopts a discovered peer as it is, without asking for its ping buffer again. A gateway
// keeps its other NIDs, since messages go there.
Outcome<Progress> remove_unlisted(lnet::Node& node, const PeerConfig& peer) {
  const lnet::PeerRecord* const there = node.coordinator().directory().peer_of(peer.primary);
  if (there == nullptr || there->gateway_refs > 0) return Progress::kDone;
  for (const Nid& nid : node.coordinator().found_peer(peer.primary).nids) {
    if (std::ranges::find(peer.nids, nid) != peer.nids.end()) continue;
    if (auto gone = delete_nid(node, peer.primary, nid); !gone) return gone;
  }
  return Progress::kDone;
}

// A repetition after kAgain meets NIDs that are there already, which is no error.
Outcome<Progress> add_peer(lnet::Node& node, const PeerConfig& peer, const Before& before) {
  if (!*before) *before = node.coordinator().found_peer(peer.primary);
  for (const Nid& nid : peer.nids) {
    auto made = add_nid(node, peer, nid);
    if (!made && nid != peer.primary) (void)put_back(node, peer.primary, before);
    if (!made || *made == Progress::kAgain) return made;
  }
  auto removed = remove_unlisted(node, peer);
  if (!removed) (void)put_back(node, peer.primary, before);
  return removed;
}

// Calls `visit` with each peer NI that the change is for, and its peer.
template <class Visit>
void for_each_meant(lnet::Coordinator& coordinator, const lnet::PeerNiChange& change,
                    const Visit& visit) {
  coordinator.directory().for_each([&](lnet::PeerRecord& peer) {
    for (lnet::PeerNi* const ni : peer.seen().nis) {
      if (change.all || (change.nid && *change.nid == ni->nid)) visit(peer, *ni);
    }
  });
}

}  // namespace

// For a peer that stays.
LnetStep add_nid_step(const PeerConfig& peer, const Nid& nid) {
  return {.act = [peer, nid](lnet::Node& node) { return add_nid(node, peer, nid); },
          .undo =
              [primary = peer.primary, nid](lnet::Node& node) {
                return judged_gone(node.coordinator().withdraw_nid(primary, nid), nid);
              }};
}

LnetStep delete_nid_step(const PeerConfig& peer, const Nid& nid) {
  return {.act = [primary = peer.primary,
                  nid](lnet::Node& node) { return delete_nid(node, primary, nid); },
          .undo = add_nid_step(peer, nid).act};
}

LnetStep add_peer_step(const PeerConfig& peer) {
  const auto before = std::make_shared<std::optional<lnet::PeerFound>>();
  return {.act = [peer, before](lnet::Node& node) { return add_peer(node, peer, before); },
          .undo = [primary = peer.primary,
                   before](lnet::Node& node) { return put_back(node, primary, before); },
          .in_parts = true};
}

LnetStep delete_peer_step(const PeerConfig& peer) {
  return {.act = [primary = peer.primary](
                     lnet::Node& node) { return delete_nid(node, primary, Nid::any()); },
          .undo = add_peer_step(peer).act};
}

LnetStep forget_peer_step(const Nid& primary, const Nid& nid, bool force) {
  return {.act =
              [primary, nid, force](lnet::Node& node) {
                const auto deleted = node.coordinator().delete_peer(primary, nid, force);
                return judged_by_primary(node, deleted, primary, nid.is_any() ? primary : nid);
              },
          .undo = [](lnet::Node&) -> Outcome<Progress> { return Progress::kDone; }};
}

LnetStep has_nids_step(const Nid& primary, std::vector<Nid> nids) {
  return {.act = [primary, nids = std::move(nids)](lnet::Node& node) -> Outcome<Progress> {
            const lnet::PeerDirectory& directory = node.coordinator().directory();
            const lnet::PeerRecord* const peer = directory.peer_of(primary);
            for (const Nid& nid : nids) {
              if (peer == nullptr || directory.peer_of(nid) == peer) continue;
              return judged(std::unexpected(lnet::PeerError::kNoSuchNid), nid);
            }
            return Progress::kDone;
          },
          .undo = [](lnet::Node&) -> Outcome<Progress> { return Progress::kDone; }};
}

Outcome<void> change_peer_nis(lnet::Coordinator& coordinator, const lnet::PeerNiChange& change) {
  bool found = change.all;
  std::uint32_t unfit = 0;
  for_each_meant(coordinator, change, [&](const lnet::PeerRecord& peer, const lnet::PeerNi&) {
    found = true;
    if (change.state) unfit |= lnet::unfit_state(peer.state.get(), *change.state);
  });
  if (!found) return failure(Errc::kNotFound, "no peer has this NID");
  if (unfit != 0) {
    return failure(Errc::kInvalid,
                   fmt::format("state {:#x}: bits {:#x} follow from what the node does with the "
                               "peer and cannot be set, expected bits of {:#x}",
                               *change.state, unfit, lnet::kPeerStateSettable));
  }
  for_each_meant(coordinator, change, [&](lnet::PeerRecord& peer, lnet::PeerNi& ni) {
    if (change.health) ni.health.set(*change.health);
    if (change.state) peer.set_state(lnet::settable_state(peer.state.get(), *change.state));
    coordinator.request_recovery_if_needed(ni);
  });
  return {};
}

}  // namespace plnet::node
