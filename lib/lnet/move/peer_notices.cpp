// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/move/peer_notices.hpp"

#include <algorithm>
#include <utility>

#include "lib/base/check.hpp"
#include "lib/lnet/move/header_rules.hpp"
#include "lib/lnet/paths/route_aliveness.hpp"

namespace plnet::lnet {

namespace {
constexpr std::int64_t kPingedStepNs = 1'000'000'000;  // Ni::pinged_ns is written once a second
}

// lustre-release lnet/lnet/lib-move.c: lnet_parse(); with the precision of a second, as there.
void PeerNotices::on_header(NiPort& port, const RxOffer& offer) {
  if (!is_ping_of_another(offer.header, core_.local())) return;
  Ni& ni = port.ni();
  const std::int64_t now_ns = core_.now.time_since_epoch().count();
  if (ni.pinged_ns.get() <= now_ns - kPingedStepNs) ni.pinged_ns.set(now_ns);
  if (ni.status.get() == kNiUp || ni.revived.exchange(true)) return;
  core_.notify_ni_changed();
}

void PeerNotices::on_interface(Ni& ni, InterfaceState state) {
  ni.fatal.set(state == InterfaceState::kFatal);
  ni.lnd_down.set(state == InterfaceState::kDown);
  core_.notify_ni_changed();
}

// Without discovery the NIDs of the gateway that work are not known: the fault may be that of our
// NI, and nearly all messages leave by a better one. lustre-release, after 2.17,
// lnet/lnet/router.c: lnet_local_ni_superseded()
bool PeerNotices::has_better_ni(const Peer& gateway, const Ni& ni) const {
  const bool discovery = core_.shared.parameters.discovery.get() != 0;
  const Net* const net = core_.local().net(ni.net);
  if ((discovery && !gateway.is(kPeerNoDiscovery)) || net == nullptr) return false;
  const auto worth = [](const Ni& each) { return std::pair(!each.fatal.get(), each.health.get()); };
  return std::ranges::any_of(net->nis, [&](const Ni* other) { return worth(*other) > worth(ni); });
}

// lustre-release lnet/lnet/router.c: lnet_notify()
void PeerNotices::note_connection(const NiPort& port, PeerNi& peer_ni, PeerNotice notice) {
  if (notice == PeerNotice::kDown || !port.lnd().traits().connects) return;
  const std::uint16_t bit = connection_bit(port.ni());
  const auto others = static_cast<std::uint16_t>(peer_ni.connected_by.get() & ~bit);
  const auto with_it = static_cast<std::uint16_t>(others | bit);
  peer_ni.connected_by.set(notice == PeerNotice::kLost ? others : with_it);
}

void PeerNotices::note_reach(const NiPort& port, PeerNi& peer_ni, std::optional<Errc> trouble) {
  core_.reach->note(peer_ni.reach, {.nid = peer_ni.nid,
                                    .ni = port.ni().nid,
                                    .trouble = trouble,
                                    .silent = peer_ni.since_heard(core_.now)});
}

// The peer NI is reachable while another NI of ours has a connection to it.
void PeerNotices::on_unreachable(const NiPort& port, const Nid& nid, Errc cause) {
  PeerNi* const peer_ni = core_.shared.directory->find(nid);
  if (peer_ni == nullptr || peer_ni->net != port.ni().net) return;
  if (port.lnd().traits().connects && peer_ni->connected_by.get() != 0) return;
  note_reach(port, *peer_ni, cause);
}

void PeerNotices::on_peer(NiPort& port, const Nid& nid, PeerNotice notice, Instant when) {
  PeerNi* const peer_ni = core_.shared.directory->find(nid);
  if (peer_ni == nullptr || peer_ni->net != port.ni().net || when > core_.now) return;
  note_connection(port, *peer_ni, notice);
  if (notice == PeerNotice::kLost)
    return peer_ni->losses.set(static_cast<std::uint16_t>(peer_ni->losses.get() + 1));
  if (notice == PeerNotice::kDown) return on_down(port, *peer_ni);
  on_alive(port, *peer_ni, notice, when);
}

void PeerNotices::on_down(NiPort& port, PeerNi& peer_ni) {
  if (core_.shared.parameters.auto_down.get() == 0) return;
  const Peer* const peer = peer_ni.peer.load(std::memory_order_acquire);
  const bool is_gateway = peer != nullptr && core_.routes().is_gateway(*peer);
  if (is_gateway && has_better_ni(*peer, port.ni())) return;
  peer_ni.status.set(kNiDown);
  // Messages that wait for a gateway find another path after the coordinator has judged its routes.
  if (!is_gateway) return core_.shared.notify_hop_lost();
  mark_gateway_down(*peer, core_.routes());
  core_.notify_gateway(kGatewayTold);
}

void PeerNotices::on_alive(const NiPort& port, PeerNi& peer_ni, PeerNotice notice, Instant when) {
  PLNET_CHECK(peer_ni.net == port.ni().net, "an LND reports peer NIs of its network");
  note_reach(port, peer_ni, std::nullopt);
  if (when.time_since_epoch().count() < peer_ni.last_alive_ns.get()) return;
  peer_ni.last_alive_ns.set(when.time_since_epoch().count());
  if (peer_ni.status.exchange(kNiUp) != kNiUp) core_.notify_if_gateway(peer_ni, kGatewayTold);
  if (notice == PeerNotice::kAliveAfterRestart) peer_ni.health.set(kHealthMax);
}

}  // namespace plnet::lnet
