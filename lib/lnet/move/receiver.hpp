// SPDX-License-Identifier: BSD-3-Clause
// The way of a message in: its header is judged, its sender looked up, its match found (on this
// shard or, by asking in turn, on another), its payload received, its event told, its answer sent.
#pragma once

#include "lib/lnet/move/header_rules.hpp"
#include "lib/lnet/move/receive.hpp"
#include "lib/lnet/move/shard_core.hpp"

namespace plnet::lnet {

class Sender;

class Receiver {
 public:
  Receiver(ShardCore& core, Sender& sender) : core_(core), sender_(sender) {}

  // Upcalls of the LNDs.
  void fetch_ahead(std::span<const HeaderAhead> next);
  [[nodiscard]] RxDecision on_header(NiPort& port, const RxOffer& offer);
  void on_received(NiPort& port, RxHandle rx, Result<void> status, Health health);
  void on_parked_gone(NiPort& port, RxHandle rx, Errc cause);
  void on_peer(NiPort& port, const Nid& nid, PeerNotice notice, Instant when);
  void on_unreachable(const NiPort& port, const Nid& nid, Errc cause);
  // That the state of some NI is not what it was.
  void tell_coordinator();

  // The ACK or REPLY to it, or itself if it was forwarded, has been sent, or failed.
  void on_answered(Receive& receive, Result<void> status);

  // A rule held it back for long enough; `dropped`: what it came through goes.
  void delay_over(Receive& receive, bool dropped);

  // A note that came out of a mailbox: of another shard, or one of ours that is home again.
  void take(AckNote& note);
  // A receive that came out of a mailbox, or out of this shard's own inbox.
  void take(Receive& receive);

  // Tells the LNDs what was decided about parked messages. Outside of their upcalls. Returns how
  // many.
  unsigned resume_decided();

  // The home of lazy portals asks again for what waits here: a match entry was attached, somewhere,
  // or a portal is no longer lazy.
  void retry_delayed();
  // Lets go of what waits here and whose connection has gone. Now and then.
  void sweep_delayed();

 private:
  [[nodiscard]] RxDecision refuse(NiPort& port, const RxOffer& offer, const HeaderRuling& ruling);
  void hear_ping(NiPort& port, const RxOffer& offer);
  void note_reach(const NiPort& port, PeerNi& peer_ni, std::optional<Errc> trouble);
  static void note_connection(const NiPort& port, PeerNi& peer_ni, PeerNotice notice);
  [[nodiscard]] bool is_said_by_the_worse(const Peer& gateway, const Ni& ni) const;
  Receive* make(NiPort& port, const RxOffer& offer);
  void give_back(Receive& receive) {
    if (receive.forwarded) core_.forwarder.give_back(receive);
    receive.enter(ReceiveState::kFree);
    receive.port->let_go();
    core_.shares.give_back(receive);
    core_.message_ends();
    core_.receives.give(&receive);
    core_.forwarder.record_came_home();
  }

  // Where it arrived. Each returns the decision; kPark if it has to be waited for. It is made where
  // the LND wants it and handed through without a copy.
  using Decision = RxDecision;
  Decision begin_receive(NiPort& port, const RxOffer& offer, Receive& receive);
  // `header` is the record's own, or what was offered as long as that is there: what was just
  // copied into the record cannot be read back at once.
  Decision meet_sender(Receive& receive, const MessageHeader& header);
  [[nodiscard]] bool may_come_so(Receive& receive, const Nid& source);
  [[nodiscard]] bool came_by_a_good_way(const Receive& receive) const;
  Decision begin(Receive& receive, const MessageHeader& header);
  Decision take_share(Receive& receive, const MessageHeader& header);
  Decision find_match(Receive& receive, const MessageHeader& header);
  Decision ask_owner(Receive& receive, const MessageHeader& header);
  [[nodiscard]] bool pass_on(Receive& receive, const MessageHeader& header);
  Decision ask_here_first(Receive& receive);
  Decision decide(Receive& receive);
  [[nodiscard]] static RxDecision accept(const Receive& receive);
  [[nodiscard]] RxDecision drop(Receive& receive);
  [[nodiscard]] RxDecision park(Receive& receive, ReceiveState wait, ShardId asked,
                                ParcelStep step);
  void wait_over(Receive& receive);
  void answer_came(Receive& receive);
  template <class Decide>
  void settle(Receive& receive, Decide&& decide);
  void resume(Receive& receive);
  void end_gone(Receive& receive);

  // On whichever shard is asked.
  void asked(Receive& receive);
  void match_here(Receive& receive);
  void respond_here(Receive& receive, const MdHandle& md);
  void acknowledge_here(Receive& receive);
  [[nodiscard]] std::optional<ShardId> next_to_ask(const Receive& receive) const;
  [[nodiscard]] bool ask_next(Receive& receive);
  void finish_here(Receive& receive);

  // At the home of a lazy portal.
  void delay(Receive& receive);
  void ask_all(Receive& receive);
  void turn_over(Receive& receive);
  void leave_delayed(Receive& receive);

  // The payload is there, or has failed.
  void show(MessageTap& tap, const Receive& receive) const;
  void count(Receive& receive, Health health);
  void conclude(Receive& receive);
  void concluded(Receive& receive);

  ShardCore& core_;
  Sender& sender_;
  WaitQueue<Receive> delayed_;  // PUTs that wait on lazy portals whose home is this shard
  std::uint32_t attach_epoch_ = 0;
};

}  // namespace plnet::lnet
