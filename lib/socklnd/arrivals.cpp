// SPDX-License-Identifier: BSD-3-Clause
#include "lib/socklnd/arrivals.hpp"

#include <algorithm>
#include <cstring>

#include "lib/base/check.hpp"

namespace plnet::socklnd {

void Arrivals::accept(const Arrival& arrival) {
  PLNET_CHECK(arrival.local == environment_.config.nid, "arrivals are for this interface");
  PLNET_CHECK(!arrival.peer.nid.is_any() && arrival.peer.nid.net() == arrival.local.net(),
              "the acceptor has determined the peer");
  if (has_share(arrival.peer.nid)) {
    environment_.complain(arrival.peer.nid, Id::kRefusedShare);
    return discard(arrival, Id::kRefusedShare);
  }
  if (connections_.free_count() == 0) close_unused();
  Peer* const peer = peer_of(arrival);
  if (peer == nullptr)
    return discard(arrival, environment_.shutting_down ? Id::kClosedShutdown : Id::kRefusedNoRoom);
  peer->elsewhere = false;
  peers_.serve_soon(*peer);
  const auto refused = refusal(*peer, arrival);
  if (!refused && lanes_.hand_over(*peer, arrival)) return;
  Connection* const connection = connections_.adopt(*peer, arrival);
  if (connection == nullptr) {
    if (peer->open_count() == 0) peer->forget_identity();
    return;
  }
  const ConnectionType type = refused ? ConnectionType::kNone : arrival.type;
  connections_.add_hello(*connection, static_cast<std::int32_t>(type));
  connections_.serve_soon(*connection);
  if (refused) {
    environment_.count(*refused);
    connection->state = State::kRefusing;
    return;
  }
  environment_.count(Id::kOpenedByPeer);
  PLNET_CHECK(connection->state != State::kClosing,
              "a connection that was adopted is not closed yet");
  connections_.open(*connection, arrival.swapped);
}

void Arrivals::discard(const Arrival& arrival, Id why) {
  environment_.count(why);
  environment_.driver().discard(arrival.stream);
}

Peer* Arrivals::peer_of(const Arrival& arrival) {
  return environment_.shutting_down ? nullptr : peers_.find_or_make(arrival.peer);
}

// A NID is one address, with any number of processes on unprivileged ports: each of them is a peer
// here. A full set of connections for a node is always within the share.
bool Arrivals::has_share(const lnet::Nid& nid) const {
  const SockLndConfig& config = environment_.config;
  const std::size_t most = std::max(environment_.quota.bulk, environment_.quota.control);
  const std::size_t all = std::min(config.connections_max, config.peers_max);
  const std::size_t share =
      std::max({all / kAddressConnectionsPart, kAddressConnectionsLeast, 3 * most});
  std::size_t count = 0;
  peers_.for_each(nid, [&](const Peer& peer) { count += peer.open_count(); });
  return count >= share;
}

// Closes a connection on which no message was ever sent or received, to make room for another one.
// Its place comes free in a later poll.
void Arrivals::close_unused() {
  for (std::size_t look = 0; look < kUnusedLooks; ++look) {
    const std::uint32_t slot = next_slot_;
    PLNET_CHECK(next_slot_ < connections_.slots(), "the search stays among the connections");
    next_slot_ = slot + 1 == connections_.slots() ? 0 : slot + 1;
    Connection* const connection = connections_.find(slot);
    if (connection == nullptr || !is_unused(*connection)) continue;
    return connections_.close(*connection, Id::kClosedUnused, Errc::kNoSpace, false);
  }
}

bool Arrivals::is_unused(const Connection& connection) const {
  if (connection.state != State::kOpen || connection.away || connection.by_us) return false;
  const bool used = connection.peer->connections.any_of([](const Connection& each) {
    return each.away || each.messages_received > 0 || each.messages_sent > 0 ||
           each.has_to_send() || each.rx != Connection::Rx::kNone;
  });
  const bool old =
      connection.since != Instant{} && environment_.flushed >= connection.since + kUnusedAfter;
  return !used && old;
}

// lustre-release socklnd.c: ksocknal_create_conn(), in its order.
std::optional<Arrivals::Id> Arrivals::refusal(Peer& peer, const Arrival& arrival) {
  if (peer.releasing) return Id::kRefusedReleasing;
  // If both sides connect at once, the connection of the higher NID survives.
  const bool ours_wins = std::memcmp(&peer.id.nid, &environment_.config.nid, sizeof(lnet::Nid)) < 0;
  if (peer.attempt != nullptr && ours_wins) return Id::kRefusedRace;
  // An address that is not proven to be the peer's cannot end the peer's connections.
  if (!arrival.proven && peer.incarnation_known && !peer.matches(arrival.hello))
    return Id::kRefusedUnproven;
  if (!peers_.accept_identity(peer, arrival.hello)) return Id::kRefusedStale;
  const std::uint16_t most = std::max(environment_.quota.bulk, environment_.quota.control);
  if (peer.id.nid != environment_.config.nid && peer.open_of(arrival.type) >= most) {
    return Id::kRefusedDuplicate;
  }
  return std::nullopt;
}

}  // namespace plnet::socklnd
