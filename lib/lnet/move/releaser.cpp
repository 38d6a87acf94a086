// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/move/releaser.hpp"

#include "lib/base/check.hpp"
#include "lib/lnet/move/sender.hpp"

namespace plnet::lnet {

using Phase = Errand::Phase;

void Releaser::begin(Errand& errand, PeerNi& peer_ni) {
  PLNET_CHECK(peer_ni.leaving.get() && done_ != nullptr,
              "a peer NI that has left the directory is released");
  PLNET_CHECK(!errand.linked() && peer_ni.home < core_.shared.shards,
              "an errand is for one peer NI at a time");
  errand.origin = core_.id;
  errand.peer_ni = &peer_ni;
  errand.phase = Phase::kFlush;
  errand.visiting = 0;
  core_.post(errand, 0, ParcelStep::kErrand);
}

void Releaser::deliver(Errand& errand) {
  PLNET_CHECK(errand.peer_ni != nullptr, "an errand under way is for a peer NI");
  const ShardId home = errand.peer_ni->home;
  if (errand.step == ParcelStep::kErrandDone) return done_->released(errand);
  switch (errand.phase) {
    case Phase::kFlush:
      core_.faults.release(*errand.peer_ni);
      errand.phase = Phase::kAtHome;
      return core_.post(errand, home, ParcelStep::kErrand);
    case Phase::kAtHome:
      if (++errand.visiting < core_.shared.shards) {
        errand.phase = Phase::kFlush;
        return core_.post(errand, errand.visiting, ParcelStep::kErrand);
      }
      return at_home(errand);
    case Phase::kRelease: return release_here(errand);
  }
}

// The errand has visited every shard: no more messages for the peer NI will arrive here.
void Releaser::at_home(Errand& errand) {
  PLNET_CHECK(errand.peer_ni->home == core_.id, "the home gives up a peer NI");
  PLNET_CHECK(errand.phase == Phase::kAtHome && errand.visiting == core_.shared.shards,
              "every shard has been visited before the home gives up");
  core_.reach->forget(errand.peer_ni->nid, errand.peer_ni->reach);
  if (PeerPort* const peer = core_.peers.find(*errand.peer_ni)) {
    peer->releasing = true;
    sender_.hops.fail_waiting(*peer, Errc::kShutdown);
  }
  waiting_.push_back(errand);
}

void Releaser::release_here(Errand& errand) {
  PLNET_CHECK(errand.phase == Phase::kRelease && errand.visiting == core_.id,
              "an errand releases links on the shard that it visits");
  if (PeerPort* const peer = core_.peers.find(*errand.peer_ni)) {
    peer->releasing = true;
    for (LndLink* link = peer->links; link != nullptr;) {
      LndLink* const next = link->next;  // the call may free the link
      release(*link);
      link = next;
    }
  }
  waiting_.push_back(errand);
}

// The peer NI and the NI may be removed at the same time; the second call does nothing.
void Releaser::release(LndLink& link) {
  PLNET_CHECK(link.port != nullptr && core_.ports[link.ni] != nullptr,
              "the LND of a link is there");
  if (link.releasing) return;
  link.releasing = true;
  core_.ports[link.ni]->lnd().release_peer(link);
}

void Releaser::release_links(const NiPort& port) {
  core_.peers.for_each([&](PeerPort& peer) {
    for (LndLink* link = peer.links; link != nullptr;) {
      LndLink* const next = link->next;
      if (link->ni == port.ni().number) release(*link);
      link = next;
    }
  });
}

unsigned Releaser::step() {
  unsigned moved = 0;
  waiting_.for_each([&](Parcel& parcel) {
    auto& errand = static_cast<Errand&>(parcel);
    if (!can_move_on(errand)) return;
    move_on(errand);
    ++moved;
  });
  return moved;
}

bool Releaser::has_work() const {
  return waiting_.any_of(
      [&](const Parcel& parcel) { return can_move_on(static_cast<const Errand&>(parcel)); });
}

bool Releaser::can_move_on(const Errand& errand) const {
  const PeerPort* const peer = core_.peers.find(*errand.peer_ni);
  if (peer == nullptr) return true;
  return errand.phase == Phase::kAtHome ? peer->outstanding == 0 : peer->links == nullptr;
}

void Releaser::move_on(Errand& errand) {
  PLNET_CHECK(can_move_on(errand), "an errand moves on when its wait is over");
  errand.unlink();
  if (errand.phase == Phase::kAtHome) {
    errand.phase = Phase::kRelease;
    errand.visiting = 0;
    return core_.post(errand, 0, ParcelStep::kErrand);
  }
  PLNET_CHECK(errand.visiting == core_.id, "an errand moves on from the shard that it visits");
  if (PeerPort* const peer = core_.peers.find(*errand.peer_ni)) {
    core_.shares.forget(*peer);
    core_.forwarder.forget(*peer);
    core_.peers.give_back(*peer);
  }
  if (++errand.visiting < core_.shared.shards) {
    core_.post(errand, errand.visiting, ParcelStep::kErrand);
  } else {
    core_.post(errand, errand.origin, ParcelStep::kErrandDone);
  }
}

// On the shard whose LND reports connections.
void Releaser::note_connections_gone(const LndLink& link) {
  const NiPort* const port = core_.ports[link.ni];
  if (port == nullptr || link.port == nullptr) return;
  const Ni& ni = port->ni();
  PeerNi& peer_ni = *link.port->peer_ni;
  if (lane_shard(ni.shards, peer_ni.home, peer_ni.number, core_.shared.shards) != core_.id) return;
  peer_ni.connected_by.set(
      static_cast<std::uint16_t>(peer_ni.connected_by.get() & ~connection_bit(ni)));
}

void Releaser::on_link_released(PeerLink& link) {
  if (&link == &core_.loopback) return;
  LndLink& gone = core_.peers.of(link);
  PLNET_CHECK(gone.releasing, "an LND gives up a link when it is asked");
  note_connections_gone(gone);
  // A parked message whose LND does not have the link yet does not end with it.
  core_.receives.for_each_lent([&](Receive& receive) {
    // The LND gets this decision after the release.
    if (receive.decision.link == &gone) receive.decision.link = nullptr;
    if (receive.link != &gone) return;
    // The message looks up its sender again.
    if (core_.shares.leave(receive) || core_.forwarder.leave_client(receive)) {
      core_.post(receive, core_.id, ParcelStep::kWaitOver);
    }
    receive.link = nullptr;
    receive.peer = nullptr;
  });
  core_.peers.give_back(gone);
}

}  // namespace plnet::lnet
