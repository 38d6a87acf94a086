// SPDX-License-Identifier: BSD-3-Clause
// Requests of peers.
#include <algorithm>

#include "lib/base/check.hpp"
#include "lib/o2iblnd/handshakes.hpp"

namespace plnet::o2iblnd {

namespace {

O2ibCounters::Id counter_of(RejectReason why) {
  using Id = O2ibCounters::Id;
  switch (why) {
    case RejectReason::kRace: return Id::kRaces;
    case RejectReason::kNoResources: return Id::kRejectedResources;
    case RejectReason::kStale: return Id::kRejectedStale;
    case RejectReason::kFragments: return Id::kRejectedFragments;
    case RejectReason::kQueueDepth: return Id::kRejectedDepth;
    case RejectReason::kEarly: return Id::kRejectedEarly;
    case RejectReason::kFatal:
    case RejectReason::kIncompatible:
    case RejectReason::kServiceId: break;
  }
  return Id::kRejectedFatal;
}

}  // namespace

void Handshakes::on_request(QueuePairId request, const Ipv4Endpoint& from,
                            std::span<const std::byte> data) {
  environment_.count(Id::kRequests);
  Message& message = message_;
  message = {};
  environment_.self.ready = !environment_.shutting_down;
  if (const auto judged =
          judge_request(data, from.port, environment_.self, environment_.tunables, message);
      !judged)
    return reject(request, judged.error(), message, from);
  const auto peer = judge_peer(message, from);
  if (!peer) return reject(request, peer.error(), message, from);
  if (const auto accepted = accept(request, **peer, message); !accepted)
    reject(request, accepted.error(), message, from);
}

void Handshakes::reject(QueuePairId request, RejectReason why, const Message& message,
                        const Ipv4Endpoint& from) {
  const auto data = encode(rejection(why, message, environment_.self, environment_.tunables));
  environment_.driver.reject(request, data);
  if (why == RejectReason::kFatal) {
    environment_.complain(counter_of(why), lnet::Nid::any(), from.address);
  } else {
    environment_.count(counter_of(why));
  }
}

std::expected<Peer*, RejectReason> Handshakes::judge_peer(const Message& request,
                                                          const Ipv4Endpoint& from) {
  const lnet::Nid nid = lnet::from_nid64(request.source_nid);
  const auto refuse = [](RejectReason why) { return std::unexpected(why); };
  // A node connects from the address of its NID. Any other sender could end the connections of the
  // node that it claims to be.
  if (nid.net() != environment_.config.nid.net() || nid.address32() != from.address)
    return refuse(RejectReason::kFatal);
  if (environment_.config.gate != nullptr && !environment_.config.gate->admits(nid)) {
    environment_.count(Id::kRefusedAccess);
    return refuse(RejectReason::kFatal);
  }
  Peer* const peer = peers_.find_or_make(nid);
  if (peer == nullptr || peer->releasing || peer->users >= environment_.config.peer_connections_max)
    return refuse(RejectReason::kNoResources);
  if (peer->version != 0 && peer->is_known() &&
      ((peer->incarnation != 0 && peer->incarnation != request.source_stamp) ||
       peer->version != request.version)) {
    // Another life of it: nothing of the old one is left.
    close_all(*peer, Errc::kStale);
    peer->incarnation = request.source_stamp;
    peer->version = request.version;
    return refuse(RejectReason::kStale);
  }
  if (peer->connecting != 0 &&
      is_lower(request.source_nid, environment_.self.nid, environment_.config.race_order) &&
      peer->races < kRacesMax) {
    ++peer->races;
    return refuse(RejectReason::kRace);
  }
  return peer;
}

std::expected<void, RejectReason> Handshakes::accept(QueuePairId request, Peer& peer,
                                                     const Message& message) {
  const auto no_room = [&] {
    peers_.release_unused(peer);
    return std::unexpected(RejectReason::kNoResources);
  };
  PLNET_CHECK(!peer.releasing, "judge_peer() has refused a peer that is removed");
  if (!connections_.has_room()) return no_room();
  Offer offer{.version = message.version,
              .queue_depth = message.parameters.queue_depth,
              .max_frags = message.parameters.max_frags};
  if (accept_away(request, peer, message, offer)) return {};
  if (!prepare(request, offer)) return no_room();
  begin_accepting(peer, message);
  Connection* const connection = connections_.take(peer, request, false, offer);
  PLNET_CHECK(connection != nullptr, "the caller has looked for room");
  answer(*connection, message);
  return {};
}

Result<void> Handshakes::prepare(QueuePairId request, Offer& offer) {
  PLNET_CHECK(offer.queue_depth > 0, "judge_request() has refused a depth of 0");
  offer.queue_depth = static_cast<std::uint16_t>(depth_that_fits(
      environment_.driver.limits(), offer.version, offer.queue_depth, offer.max_frags));
  for (;; --offer.queue_depth) {
    const auto prepared = environment_.driver.prepare(
        request, size_of(offer.version, offer.queue_depth, offer.max_frags));
    if (prepared || prepared.error() != Errc::kNoMemory || offer.queue_depth < 2) return prepared;
  }
}

// The peer's own request replaces our attempts.
void Handshakes::begin_accepting(Peer& peer, const Message& message) {
  peer.elsewhere = false;
  peer.reconnecting = 0;
  peer.races = 0;
  ++peer.accepting;
  peer.version = message.version;
  peer.incarnation = message.source_stamp;
  peer.max_frags = message.parameters.max_frags;
}

void Handshakes::answer(Connection& connection, const Message& request) {
  PLNET_CHECK(connection.state == Connection::State::kAccepting, "a request is answered once");
  connection.incarnation = request.source_stamp;
  Result<void> accepted = std::unexpected(Errc::kNoMemory);
  if (connections_.post_all(connection)) {
    const Offer& offer = connection.offer;
    std::array<std::byte, kConnectBytes> data{};
    (void)encode({.kind = Kind::kConnectAck,
                  .version = request.version,
                  .source_nid = environment_.self.nid,
                  .source_stamp = environment_.self.incarnation,
                  .destination_nid = request.source_nid,
                  .destination_stamp = request.source_stamp,
                  .parameters = {.queue_depth = offer.queue_depth, .max_frags = offer.max_frags}},
                 0, data);
    if (environment_.tunables.cksum != 0) set_checksum(data, environment_.config.char_sign);
    accepted =
        environment_.driver.accept(connection.id, connect_parameters(environment_.tunables), data);
  }
  if (accepted) return;
  // The queue pair exists, so the connection drains like any other.
  environment_.driver.reject(
      connection.id,
      encode(rejection(RejectReason::kFatal, request, environment_.self, environment_.tunables)));
  connection.disconnected = true;
  connections_.close(connection, accepted.error());
}

void Handshakes::close_all(Peer& peer, Errc cause) {
  while (Connection* const connection = peer.connections.front())
    connections_.close(*connection, cause);
  while (Connection* const connection = peer.away.front())
    connections_.close(*connection, cause);
}

void Handshakes::close_other_lives(Peer& peer, std::uint16_t version, std::uint64_t incarnation) {
  const auto close_if_other = [&](Connection& connection) {
    if (connection.offer.version == version && connection.incarnation == incarnation) return;
    connections_.close(connection, Errc::kStale);
  };
  peer.connections.for_each(close_if_other);
  peer.away.for_each(close_if_other);
}

}  // namespace plnet::o2iblnd
