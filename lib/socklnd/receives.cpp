// SPDX-License-Identifier: BSD-3-Clause
#include "lib/socklnd/receives.hpp"

#include <utility>

#include "lib/base/check.hpp"

namespace plnet::socklnd {

using lnet::MessageHeader;
using lnet::RxDecision;
using lnet::RxVerdict;

std::size_t Receives::read(Connection& connection, std::span<const std::byte> staged) {
  std::span<const std::byte> rest = staged;
  while (connection.state == State::kOpen) {
    if (connection.paused()) return staged.size() - rest.size();
    switch (connection.framing.next(rest, *environment_.config.arenas)) {
      case Framing::Step::kMore: return staged.size();
      case Framing::Step::kNoop:
        environment_.count(Id::kNoopsReceived);
        connection.boundary = true;
        [[fallthrough]];
      case Framing::Step::kAcknowledge: on_acknowledgement(connection); break;
      case Framing::Step::kHeader: on_header(connection); break;
      case Framing::Step::kWanted: on_payload(connection); break;
      case Framing::Step::kFailed: on_failure(connection); break;
      case Framing::Step::kUndecided:
        PLNET_CHECK(false, "reading is paused until a decision comes");
    }
  }
  return staged.size();
}

// We request no acknowledgements, so a cookie in one is not ours.
void Receives::on_acknowledgement(Connection& connection) {
  const ZeroCopyAck::Kind kind = connection.framing.acknowledges().kind;
  if (kind == ZeroCopyAck::Kind::kPair || kind == ZeroCopyAck::Kind::kRange) {
    connections_.close(connection, Id::kClosedCookies, Errc::kProtocol);
  }
}

void Receives::on_header(Connection& connection) {
  PLNET_CHECK(connection.rx == Rx::kNone, "one message comes at a time");
  PLNET_DEBUG_CHECK(connection.state == State::kOpen && !connection.away,
                    "messages arrive on open connections of this shard");
  Peer& peer = *connection.peer;
  MessageHeader& header = connection.framing.header();
  if (peer.is_userspace()) {  // its own statement of its source is not trusted
    header.source = peer.id.nid;
    header.source_pid = peer.id.pid;
  }
  ++connection.generation;
  connection.awaited = false;
  ++environment_.receiving;
  environment_.count(Id::kReceived);
  ++connection.messages_received;
  connection.decision = environment_.core.on_header({.header = header,
                                                     .from = peer.id.nid,
                                                     .link = peer.link,
                                                     .rx = connections_.handle_of(connection)});
  PLNET_DEBUG_CHECK(is_sound(connection.decision),
                    "a decision has room for the bytes that it takes");
  peers_.keep_link(peer, connection.decision.link);
  if (connection.decision.verdict != RxVerdict::kPark) return run_decision(connection);
  environment_.count(Id::kParked);
  connection.rx = Rx::kParked;
  environment_.driver().pause_reading(connection.stream);
}

void Receives::run_decision(Connection& connection) {
  const RxDecision& decision = connection.decision;
  switch (decision.verdict) {
    case RxVerdict::kReceive:
      connection.rx = Rx::kReceiving;
      return connection.framing.decide(decision.target, decision.length);
    case RxVerdict::kDrop: connection.rx = Rx::kSkipping; return connection.framing.decide({}, 0);
    case RxVerdict::kPark: PLNET_CHECK(false, "a message is parked once"); [[fallthrough]];
    case RxVerdict::kReject:
      connection.rx = Rx::kNone;
      set_over();
      return connections_.close(connection, Id::kClosedRejected, Errc::kProtocol);
  }
}

void Receives::set_over() {
  PLNET_CHECK(environment_.receiving > 0, "a message is over once");
  --environment_.receiving;
}

// The acknowledgement goes out now, before unwanted bytes are skipped, and for dropped messages
// too.
void Receives::on_payload(Connection& connection) {
  PLNET_DEBUG_CHECK(connection.rx == Rx::kReceiving || connection.rx == Rx::kSkipping,
                    "a payload ends after its decision");
  connection.boundary = true;
  if (const std::uint64_t cookie = connection.framing.request_cookie(); cookie != 0) {
    noops_.acknowledge(connection, cookie);
  }
  set_over();
  if (std::exchange(connection.rx, Rx::kNone) == Rx::kReceiving) {
    environment_.core.on_received(connections_.handle_of(connection), {}, Health::kOk);
  }
}

void Receives::on_failure(Connection& connection) {
  const auto why = [&] {
    switch (connection.framing.failure()) {
      case Framing::Failure::kCookies: return Id::kClosedCookies;
      case Framing::Failure::kNoopChecksum: return Id::kClosedNoopSum;
      case Framing::Failure::kPayloadChecksum: return Id::kClosedSum;
      default: return Id::kClosedFrame;
    }
  }();
  connections_.close(connection, why, Errc::kProtocol);
}

void Receives::resume(lnet::RxHandle rx, const RxDecision& decision) {
  PLNET_CHECK(decision.verdict != RxVerdict::kPark, "a message is parked once");
  PLNET_DEBUG_CHECK(is_sound(decision), "a decision has room for the bytes that it takes");
  Connection* const connection = connections_.find(rx);
  if (connection == nullptr || connection->rx != Rx::kParked) {
    environment_.count(Id::kStaleResumes);
    return;
  }
  connection->decision = decision;
  connection->rx = Rx::kDecided;
  peers_.keep_link(*connection->peer, decision.link);
  connections_.serve_soon(*connection);
}

void Receives::run_decided(Connection& connection) {
  if (connection.rx != Rx::kDecided || connection.state != State::kOpen) return;
  run_decision(connection);
  if (connection.state != State::kOpen) return;
  if (!connection.paused()) environment_.driver().resume_reading(connection.stream);
  (void)read(connection, {});  // the message may be complete already
}

// lustre-release socklnd.c: ksocknal_destroy_conn().
void Receives::end(Connection& connection, Errc cause) {
  const Rx was = std::exchange(connection.rx, Rx::kNone);
  if (was == Rx::kNone) return;
  PLNET_CHECK(was != Rx::kKept, "the end of a stream is reported after its kept payload");
  set_over();
  const lnet::RxHandle rx = connections_.handle_of(connection);
  if (was == Rx::kParked) return environment_.core.on_parked_gone(rx, cause);
  const bool wanted = was == Rx::kReceiving || connection.decision.verdict == RxVerdict::kReceive;
  if (was == Rx::kSkipping || !wanted) return;
  if (connection.ours) {
    environment_.core.on_received(rx, std::unexpected(Errc::kShutdown), Health::kLocalAborted);
  } else {
    environment_.core.on_received(rx, std::unexpected(Errc::kIo),
                                  is_of_peer(cause) ? Health::kRemoteError : Health::kLocalError);
  }
}

}  // namespace plnet::socklnd
