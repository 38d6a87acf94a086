// SPDX-License-Identifier: BSD-3-Clause
#include "lib/socklnd/noops.hpp"

#include "lib/base/check.hpp"
#include "lib/socklnd/connection_choice.hpp"

namespace plnet::socklnd {

using Id = SockLndCounters::Id;
using State = Connection::State;

// A peer takes an acknowledgement on any connection; socklnd_proto.c: ksocknal_handle_zcreq() has
// the kernel's choice. If no such connection is open, or its line is full, the acknowledgement goes
// to the connection of the request. That line may be full too, if the payload of the request stayed
// in the socket meanwhile: kNoopPlaces has a place for this case.
void Noops::acknowledge(Connection& from, std::uint64_t cookie) {
  PLNET_CHECK(!from.away, "messages arrive where the stream is");
  const bool routed = from.framing.header().source != from.peer->id.nid;
  const bool nonblocking = environment_.config.tunables.nonblk_zcack != 0 || routed;
  Connection* to = choose_for_noop(*from.peer, nonblocking, environment_.config.tunables);
  if (to == nullptr || to->noops_full) to = &from;
  to->push_noop(cookie);
  connections_.serve_soon(*to);
  if (to->noops < kNoopsWaitingMax || to->noops_full) return;
  environment_.count(Id::kAckStops);
  to->noops_full = true;
  environment_.driver().pause_reading(to->stream);
}

bool Noops::resume_if_room(Connection& connection) {
  if (!connection.noops_full || connection.noops > kNoopsWaitingMax / 2) return false;
  connection.noops_full = false;
  if (connection.paused()) return false;
  environment_.driver().resume_reading(connection.stream);
  return true;
}

// Keepalives are non-blocking NOOPs, and go only where we send acknowledgements.
void Noops::keep_alive(Peer& peer, Instant now) {
  const Duration silence = std::chrono::seconds(environment_.config.tunables.keepalive);
  if (silence == Duration{} || now < peer.heard + silence || now < peer.keepalive_again) return;
  Connection* quietest = nullptr;
  bool answering = false;
  peer.connections.for_each([&](Connection& connection) {
    answering |= connection.noops > 0;
    const bool fits = connection.state == State::kOpen && !connection.away &&
                      connection.type == ConnectionType::kBulkIn &&
                      connection.protocol != Protocol::kV2;
    if (!fits) return;
    if (quietest == nullptr || connection.queued_bytes < quietest->queued_bytes) {
      quietest = &connection;
    }
  });
  if (quietest == nullptr || answering) return;
  quietest->push_noop(kKeepaliveCookie);
  PLNET_DEBUG_CHECK(quietest->noops < kNoopsWaitingMax,
                    "a connection without an answer to send has room for a keepalive");
  peer.keepalive_again = now + kKeepaliveAgain;
  connections_.serve_soon(*quietest);
}

}  // namespace plnet::socklnd
