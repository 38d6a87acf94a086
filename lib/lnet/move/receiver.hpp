// SPDX-License-Identifier: BSD-3-Clause
// A message on its way in, on the shard on which it arrived: its header is judged, its sender and
// source are checked, its descriptor is found or it is forwarded, its payload is received, its user
// gets the event, its answer leaves, and its record is free.
#pragma once

#include <span>

#include "lib/base/check.hpp"
#include "lib/lnet/move/header_lookahead.hpp"
#include "lib/lnet/move/lazy_portals.hpp"
#include "lib/lnet/move/match_search.hpp"
#include "lib/lnet/move/peer_notices.hpp"
#include "lib/lnet/move/receive.hpp"
#include "lib/lnet/move/shard_core.hpp"
#include "lib/lnet/move/source_rules.hpp"

namespace plnet::lnet {

struct HeaderRuling;
class Sender;

class Receiver {
 public:
  Receiver(ShardCore& core, Sender& sender)
      : search(core),
        lazy(core, *this, search),
        notices(core),
        core_(core),
        sender_(sender),
        sources_(core) {}
  Receiver(const Receiver&) = delete;
  Receiver& operator=(const Receiver&) = delete;

  // Upcalls of the LNDs.
  void on_headers_ahead(std::span<const HeaderAhead> next) { look_ahead(core_, next); }
  [[nodiscard]] RxDecision on_header(NiPort& port, const RxOffer& offer);
  void on_received(NiPort& port, RxHandle rx, Result<void> status, Health health);
  // Cold.
  void on_kept_lost(const NiPort& port, RxHandle rx);
  void on_parked_gone(NiPort& port, RxHandle rx, Errc cause);

  // Does the step of a receive from a mailbox, or from this shard's own inbox.
  void deliver(Receive& receive);
  // Other shards have searched for the match of a parked message.
  void on_match_answer(Receive& receive);
  // A delay rule no longer holds the message. `dropped`: its NI is being removed.
  void delay_over(Receive& receive, bool dropped);
  // The ACK or REPLY to the message, or the message itself if it was forwarded, has ended.
  void on_answered(Receive& receive, Result<void> status);

  // Gives decisions about parked messages to their LNDs. Not from within an upcall. Returns how
  // many.
  unsigned resume_decided();

  MatchSearch search;
  LazyPortals lazy;
  PeerNotices notices;

 private:
  [[nodiscard]] RxDecision refuse(NiPort& port, const RxOffer& offer, const HeaderRuling& ruling);
  Receive* make(NiPort& port, const RxOffer& offer);
  // These return the decision about the message; kPark: it waits. A decision is built where the LND
  // expects it and not copied. `header` is the record's own or the offered one: the record was just
  // written, and reading it back at once would stall.
  [[nodiscard]] RxDecision begin_receive(NiPort& port, const RxOffer& offer, Receive& receive);
  [[nodiscard]] RxDecision find_sender(Receive& receive, const MessageHeader& header);
  [[nodiscard]] RxDecision begin(Receive& receive, const MessageHeader& header);
  [[nodiscard]] RxDecision take_share(Receive& receive, const MessageHeader& header);

  void wait_over(Receive& receive);
  template <class Decide>
  void settle(Receive& receive, Decide&& decide);
  void resume(Receive& receive);
  void end_gone(Receive& receive);

  void show(MessageTap& tap, const Receive& receive) const;
  void count(Receive& receive, Health health);
  void end_grant(Receive& receive);
  void on_grant_ended(Receive& receive);
  void give_back(Receive& receive) {
    if (receive.forwarded) core_.forwarder.give_back(receive);
    PLNET_DEBUG_CHECK(receive.port != nullptr && receive.origin == core_.id,
                      "a record goes home to its shard");
    receive.enter(ReceiveState::kFree);
    receive.port->release();
    core_.shares.give_back(receive);
    core_.message_ends();
    core_.receives.give(&receive);
    core_.forwarder.hops.on_record_free();
  }

  ShardCore& core_;
  Sender& sender_;
  SourceRules sources_;
};

}  // namespace plnet::lnet
