// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/move/match_search.hpp"

#include "lib/base/check.hpp"

namespace plnet::lnet {

namespace {

MatchRequest request_of(const Receive& receive) {
  const MessageHeader& header = receive.header;
  MatchRequest request{.type = header.type,
                       .sender = {receive.initiator, header.source_pid},
                       .source = header.source};
  if (header.type == MessageType::kPut) {
    const auto put = header.area<PutArea>();
    request.portal = put.portal;
    request.match_bits = put.match_bits;
    request.requested_length = header.payload_length;
    request.offset = put.offset;
  } else {
    const auto get = header.area<GetArea>();
    request.portal = get.portal;
    request.match_bits = get.match_bits;
    request.requested_length = get.sink_length;
    request.offset = get.source_offset;
  }
  return request;
}

Cause cause_of(MatchCause cause, bool is_put) {
  switch (cause) {
    case MatchCause::kTooLong:
      return is_put ? Cause::kDroppedPutTooLong : Cause::kDroppedGetTooLong;
    case MatchCause::kBadPortal: return Cause::kDroppedPortal;
    default: return is_put ? Cause::kDroppedPutNoMatch : Cause::kDroppedGetNoMatch;
  }
}

bool is_request(MessageType type) {
  return type == MessageType::kPut || type == MessageType::kGet;
}

}  // namespace

RxDecision MatchSearch::find(Receive& receive, const MessageHeader& header) {
  PLNET_DEBUG_CHECK(!receive.forwarded, "only messages for this node have a descriptor here");
  PLNET_DEBUG_CHECK(receive.origin == core_.id,
                    "the shard on which a message arrived begins the search");
  return is_request(header.type) ? ask_here_first(receive) : ask_owner(receive, header);
}

inline RxDecision MatchSearch::ask_owner(Receive& receive, const MessageHeader& header) {
  const bool is_ack = header.type == MessageType::kAck;
  receive.cause = is_ack ? Cause::kDroppedAckNoMd : Cause::kDroppedReplyNoMd;
  const auto md = decode_handle(handle_of(header), core_.shared.interface_cookie);
  if (!md || md->shard >= core_.shared.shards) return core_.drop(receive, receive.cause);
  receive.owner = md->shard;
  if (receive.owner == core_.id) {
    respond_here(receive, *md);
    return decide(receive);
  }
  core_.causes.add(Cause::kCrossedMatch);
  if (is_ack && pass_on(receive, header)) return accept(receive);
  return core_.park(receive, ReceiveState::kMatchWait, receive.owner, ParcelStep::kMatch);
}

// False: the owner must be asked, since the note has no room for what the ACK needs.
inline bool MatchSearch::pass_on(Receive& receive, const MessageHeader& header) {
  PLNET_CHECK(receive.owner != core_.id, "a note goes to another shard");
  PLNET_DEBUG_CHECK(header.type == MessageType::kAck, "only an ACK is complete with its header");
  const bool plain = receive.initiator == header.source && receive.from == header.source &&
                     header.payload_length == 0;
  AckNote* const note = plain ? core_.ack_notes.take() : nullptr;
  if (note == nullptr) return false;
  note->origin = core_.id;
  note->header = header;
  core_.outbox.add(*note, receive.owner);
  receive.match = Match::kPassedOn;
  return true;
}

inline RxDecision MatchSearch::ask_here_first(Receive& receive) {
  match_here(receive);
  if (const auto next = next_to_ask(receive)) {
    core_.causes.add(Cause::kCrossedMatch);
    return core_.park(receive, ReceiveState::kMatchWait, *next, ParcelStep::kMatch);
  }
  return decide(receive);
}

RxDecision MatchSearch::decide(Receive& receive) {
  PLNET_DEBUG_CHECK(receive.origin == core_.id, "the shard on which a message arrived decides");
  if (receive.matched()) return accept(receive);
  const bool no_entry = receive.cause == Cause::kDroppedPutNoMatch;
  const PortalId portal = no_entry ? receive.header.area<PutArea>().portal : 0;
  if (no_entry && core_.shared.portals->lazy(portal)) {
    return core_.park(receive, ReceiveState::kLazyWait, core_.shared.portals->home(portal),
                      ParcelStep::kDelay);
  }
  return core_.drop(receive, receive.cause);
}

inline RxDecision MatchSearch::accept(const Receive& receive) {
  RxDecision decision{.verdict = RxVerdict::kReceive, .link = receive.link};
  if (receive.ended_by_owner()) return decision;
  const Payload& window = receive.grant.window;
  const bool is_get = receive.header.type == MessageType::kGet;
  PLNET_CHECK(is_get || window.length <= receive.header.payload_length,
              "a grant has no more bytes than the message");
  if (!window.empty() && (!is_get || receive.reply_by_lnd)) {
    decision.target = window;
    decision.length = window.length;
  }
  return decision;
}

void MatchSearch::match_here(Receive& receive) {
  PLNET_DEBUG_CHECK(is_request(receive.header.type), "only PUT and GET search for a match entry");
  const MatchAnswer result = core_.match.match(request_of(receive), receive.grant);
  receive.owner = core_.id;
  receive.match = result.matched() ? Match::kGranted : Match::kNone;
  receive.cause = cause_of(result.cause, receive.header.type == MessageType::kPut);
}

void MatchSearch::respond_here(Receive& receive, const MdHandle& md) {
  PLNET_CHECK(md.shard == core_.id, "the owner of a descriptor answers for it");
  PLNET_DEBUG_CHECK(!is_request(receive.header.type), "only ACK and REPLY name their descriptor");
  core_.silence->heard(receive.header.source);
  const MatchAnswer result =
      core_.match.respond(receive.header.type, md, receive.header.payload_length, receive.grant);
  receive.match = result.matched() ? Match::kGranted : Match::kNone;
  if (result.cause == MatchCause::kTooLong) receive.cause = Cause::kDroppedReplyTooLong;
}

// An ACK is complete with its header, so its grant ends in the same visit and does not cross.
void MatchSearch::acknowledge_here(Receive& receive) {
  core_.silence->heard(receive.header.source);
  Grant grant;
  const MatchAnswer result =
      core_.match.respond({.type = MessageType::kAck,
                           .handle = receive.header.area<AckArea>().destination,
                           .payload_length = receive.header.payload_length},
                          grant);
  receive.match = result.matched() ? Match::kEnded : Match::kNone;
  if (!result.matched()) return;
  receive.status = core_.match.finish(
      grant, ReceivedMessage{receive.header, receive.initiator, receive.from}, {});
}

// Only the owner knows the result, so it counts the message as received or dropped. The NI has
// counted it as received.
void MatchSearch::deliver(AckNote& note) {
  if (core_.ack_notes.owns(&note)) return core_.ack_notes.give(&note);
  PLNET_DEBUG_CHECK(note.origin != core_.id && note.header.type == MessageType::kAck,
                    "a note of another shard is an ACK");
  const MessageHeader& header = note.header;
  Grant grant;
  const auto md = decode_handle(handle_of(header), core_.shared.interface_cookie);
  PLNET_CHECK(md && md->shard == core_.id, "a note goes to the owner of its descriptor");
  const MatchAnswer answer = core_.match.respond(MessageType::kAck, *md, 0, grant);
  if (answer.matched()) {
    core_.statistics.add(Statistic::kReceiveCount);
    (void)core_.match.finish(grant, ReceivedMessage{header, header.source, header.source}, {});
  } else {
    core_.tap_drop(header, Cause::kDroppedAckNoMd, header.destination, header.source);
    core_.drop(Cause::kDroppedAckNoMd, 0);
  }
  core_.outbox.add(note, note.origin);
}

void MatchSearch::on_question(Receive& receive) {
  PLNET_DEBUG_CHECK(receive.is(ReceiveState::kMatchWait) || receive.is(ReceiveState::kLazyWait),
                    "a message that another shard searches for is parked");
  const MessageType type = receive.header.type;
  if (type == MessageType::kAck) {
    acknowledge_here(receive);
  } else if (type == MessageType::kReply) {
    const auto md = decode_handle(handle_of(receive.header), core_.shared.interface_cookie);
    PLNET_CHECK(md.has_value(), "the asker has decoded the handle");
    respond_here(receive, *md);
  } else {
    match_here(receive);
    if (ask_next(receive)) return;
  }
  core_.post(receive, receive.asker, ParcelStep::kMatched);
}

bool MatchSearch::found_none(const Receive& receive) {
  return !receive.matched() &&
         (receive.cause == Cause::kDroppedPutNoMatch || receive.cause == Cause::kDroppedGetNoMatch);
}

// The next shard in turn that has match entries on the portal.
std::optional<ShardId> MatchSearch::next_to_ask(const Receive& receive) const {
  const unsigned shards = core_.shared.shards;
  if (shards == 1 || !found_none(receive)) return std::nullopt;
  PLNET_CHECK(receive.first_asked < shards, "the turn began on a shard of this node");
  const ShardSet candidates = core_.shared.portals->shards_with_entries(portal_of(receive.header));
  for (unsigned shard = (core_.id + 1U) % shards; shard != receive.first_asked;
       shard = (shard + 1U) % shards) {
    if (candidates[shard]) return static_cast<ShardId>(shard);
  }
  return std::nullopt;
}

bool MatchSearch::ask_next(Receive& receive) {
  const auto next = next_to_ask(receive);
  if (next) core_.post(receive, *next, ParcelStep::kMatch);
  return next.has_value();
}

void MatchSearch::end_grant_here(Receive& receive) {
  PLNET_CHECK(receive.owner == core_.id && receive.match == Match::kGranted,
              "the owner ends the grant that it gave");
  receive.status = core_.match.finish(
      receive.grant, ReceivedMessage{receive.header, receive.initiator, receive.from},
      receive.status);
}

}  // namespace plnet::lnet
