// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/move/receive_shares.hpp"

#include "lib/base/check.hpp"

namespace plnet::lnet {

ReceiveShares::Verdict ReceiveShares::hold_or_drop(Receive& receive) {
  PLNET_CHECK(receive.charged == nullptr, "a request that waits holds no share");
  ReceiveShare& share = receive.peer->share;
  if (share.stalled) return Verdict::kDrop;
  if (share.waiting.empty()) share.moved = room_.now;
  room_.causes.add(Cause::kHeldPeerShare);
  room_.waits.begin(receive, ReceiveState::kShareWait);
  share.waiting.push_back(receive);
  room_.sweep_wanted = true;
  return Verdict::kWait;
}

void ReceiveShares::on_record_returned(PeerPort& peer) {
  peer.share.moved = room_.now;
  peer.share.stalled = false;
  if (!is_over(peer.share)) resume_waiting(peer);
}

// Resumes all of them, one of each connection; a message that finds no record waits again.
void ReceiveShares::resume_waiting(PeerPort& peer) {
  while (Receive* const receive = peer.share.waiting.pop_front()) {
    PLNET_DEBUG_CHECK(receive->is(ReceiveState::kShareWait),
                      "messages of the queue wait for a share");
    room_.waits.end(*receive);
    receive->step = ParcelStep::kWaitOver;
    room_.inbox.push_back(*receive);
  }
}

bool ReceiveShares::leave(Receive& receive) {
  if (!receive.is(ReceiveState::kShareWait)) return false;
  room_.waits.end(receive);
  receive.unlink();
  return true;
}

void ReceiveShares::forget(const PeerPort& peer) {
  PLNET_CHECK(peer.share.waiting.empty(),
              "no message of a port that is about to be free waits for a share");
  if (peer.share.used == 0) return;
  room_.receives.for_each_lent([&](Receive& receive) {
    if (receive.charged == &peer) receive.charged = nullptr;
  });
}

void ReceiveShares::sweep() {
  if (room_.waits.waiting(Wait::kShare) == 0) return;
  room_.sweep_wanted = true;
  room_.receives.for_each_lent([&](Receive& receive) {
    if (!receive.is(ReceiveState::kShareWait)) return;
    PLNET_CHECK(receive.peer != nullptr, "a message that waits for its share has a sender");
    PeerPort& peer = *receive.peer;
    if (room_.now - peer.share.moved < kShareStall) return;
    peer.share.stalled = true;
    resume_waiting(peer);
  });
}

}  // namespace plnet::lnet
