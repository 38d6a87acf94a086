// SPDX-License-Identifier: BSD-3-Clause
// Messages on their way in.
#include <algorithm>

#include "lib/socklnd/lnd.hpp"

namespace plnet::socklnd {

using namespace lnet;

RxHandle SockLnd::handle_of(const Connection& connection) const {
  return {connections_.index_of(&connection), connection.generation};
}

std::span<std::byte> SockLnd::destination(std::uint32_t slot) {
  const Connection& connection = connections_.at(slot);
  if (connection.state != State::kOpen) return {};
  return connection.framing.destination(*config_.arenas);
}

std::size_t SockLnd::on_bytes(std::uint32_t slot, std::size_t direct,
                              std::span<const std::byte> staged) {
  Connection& connection = connections_.at(slot);
  connection.heard_since = true;
  look_at(connection);
  std::size_t used = 0;
  if (connection.state == State::kGreeting) {
    const auto before = connection.reader.state();
    used = connection.reader.take(staged);
    if (connection.reader.state() != before)
      connection.deadline = Instant::max();  // each part has its own
    if (connection.reader.reading()) return used;
    on_reply(connection);
    if (connection.state == State::kJudged) return used;  // reading is paused
  }
  if (connection.state != State::kOpen) return staged.size();
  connection.framing.took(direct, *config_.arenas);
  used += receive(connection, staged.subspan(used));
  connection.read += direct + used;
  wait_for_rest(connection);
  return used;
}

// Returns how many of the bytes were used: all, unless reading is paused.
std::size_t SockLnd::receive(Connection& connection, std::span<const std::byte> staged) {
  std::span<const std::byte> rest = staged;
  while (connection.state == State::kOpen) {
    if (connection.paused()) return staged.size() - rest.size();
    switch (connection.framing.next(rest, *config_.arenas)) {
      case Framing::Step::kMore: return staged.size();
      case Framing::Step::kNoop:
        counters_.add(Id::kNoopsReceived);
        connection.boundary = true;
        [[fallthrough]];
      case Framing::Step::kAcknowledge: {
        // We never ask for one, so whatever is acknowledged is not ours.
        const ZeroCopyAck::Kind kind = connection.framing.acknowledges().kind;
        if (kind == ZeroCopyAck::Kind::kPair || kind == ZeroCopyAck::Kind::kRange) {
          close_connection(connection, Id::kClosedCookies, Errc::kProtocol);
        }
        break;
      }
      case Framing::Step::kHeader: on_header(connection); break;
      case Framing::Step::kWanted: on_wanted(connection); break;
      case Framing::Step::kFailed: on_failure(connection); break;
      case Framing::Step::kUndecided:
        PLNET_CHECK(false, "reading is paused until a decision comes");
    }
  }
  return staged.size();
}

void SockLnd::on_header(Connection& connection) {
  Peer& peer = *connection.peer;
  MessageHeader& header = connection.framing.header();
  if (peer.is_userspace()) {  // it may say what it likes
    header.source = peer.id.nid;
    header.source_pid = peer.id.pid;
  }
  ++connection.generation;
  connection.awaited = false;
  ++receiving_;
  counters_.add(Id::kReceived);
  ++connection.messages_received;
  connection.decision = core_.on_header(
      {.header = header, .from = peer.id.nid, .link = peer.link, .rx = handle_of(connection)});
  keep_link(peer, connection.decision.link);
  if (connection.decision.verdict != RxVerdict::kPark) return carry_out(connection);
  counters_.add(Id::kParked);
  connection.rx = Rx::kParked;
  streams_.driver().pause_reading(connection.stream);
}

void SockLnd::carry_out(Connection& connection) {
  const RxDecision& decision = connection.decision;
  switch (decision.verdict) {
    case RxVerdict::kReceive:
      connection.rx = Rx::kReceiving;
      return connection.framing.decide(decision.target, decision.length);
    case RxVerdict::kDrop: connection.rx = Rx::kSkipping; return connection.framing.decide({}, 0);
    case RxVerdict::kPark: PLNET_CHECK(false, "a message is parked once"); [[fallthrough]];
    case RxVerdict::kReject:
      connection.rx = Rx::kNone;
      --receiving_;
      return close_connection(connection, Id::kClosedRejected, Errc::kProtocol);
  }
}

// The acknowledgement goes out now, before the rest is skipped, and also for what nobody wanted.
void SockLnd::on_wanted(Connection& connection) {
  connection.boundary = true;
  if (const std::uint64_t cookie = connection.framing.request_cookie(); cookie != 0) {
    acknowledge(connection, cookie);
  }
  --receiving_;
  if (std::exchange(connection.rx, Rx::kNone) == Rx::kReceiving) {
    core_.on_received(handle_of(connection), {}, Health::kOk);
  }
}

// A peer takes it on any connection; which one the kernel takes says socklnd_proto.c:
// ksocknal_handle_zcreq(). Where that is not to be had or has too many already it goes where the
// request came from, and whoever is full reads no more until some are out. That one may be full
// itself if it kept the request's payload meanwhile: for this it has a place more.
void SockLnd::acknowledge(Connection& from, std::uint64_t cookie) {
  const bool routed = from.framing.header().source != from.peer->id.nid;
  const bool nonblocking = config_.tunables.nonblk_zcack != 0 || routed;
  Connection* to = choose_for_noop(*from.peer, nonblocking);
  if (to == nullptr || to->noops_full) to = &from;
  to->push_noop(cookie);
  look_at(*to);
  if (to->noops < kNoopsWaitingMax || to->noops_full) return;
  counters_.add(Id::kAckStops);
  to->noops_full = true;
  streams_.driver().pause_reading(to->stream);
}

void SockLnd::on_failure(Connection& connection) {
  const auto why = [&] {
    switch (connection.framing.failure()) {
      case Framing::Failure::kCookies: return Id::kClosedCookies;
      case Framing::Failure::kNoopChecksum: return Id::kClosedNoopSum;
      case Framing::Failure::kPayloadChecksum: return Id::kClosedSum;
      default: return Id::kClosedFrame;
    }
  }();
  close_connection(connection, why, Errc::kProtocol);
}

void SockLnd::resume(RxHandle rx, const RxDecision& decision) {
  Connection* const connection =
      connections_.is_lent(rx.index) ? &connections_.at(rx.index) : nullptr;
  if (connection == nullptr || connection->generation != rx.generation ||
      connection->rx != Rx::kParked) {
    counters_.add(Id::kStaleResumes);
    return;
  }
  connection->decision = decision;
  connection->rx = Rx::kDecided;
  keep_link(*connection->peer, decision.link);
  look_at(*connection);
}

void SockLnd::on_decided(Connection& connection) {
  if (connection.rx != Rx::kDecided || connection.state != State::kOpen) return;
  carry_out(connection);
  if (connection.state != State::kOpen) return;
  if (!connection.paused()) streams_.driver().resume_reading(connection.stream);
  (void)receive(connection, {});  // it may be complete already
}

void SockLnd::keep_link(Peer& peer, PeerLink* link) {
  if (link == nullptr || peer.link == link) return;
  PLNET_CHECK(link->nid == peer.id.nid && peer.link == nullptr, "a NID has one link");
  const Peer* const bound = bound_peer(*link);
  if (bound == nullptr) return;
  peer.link = link;
  if (bound->releasing) {
    peer.releasing = true;
    look_at(peer);
  }
}

}  // namespace plnet::socklnd
