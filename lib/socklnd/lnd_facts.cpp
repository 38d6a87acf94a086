// SPDX-License-Identifier: BSD-3-Clause
// What is told to people.
#include <algorithm>

#include "lib/socklnd/lnd.hpp"

namespace plnet::socklnd {
namespace {

std::optional<Duration> time_since(Instant then, Instant now) {
  if (then == Instant{}) return std::nullopt;
  return std::max(now - then, Duration{});
}

std::uint32_t length_of(const TransmitQueue& queue) {
  std::uint32_t length = 0;
  queue.for_each([&length](const lnet::Transmit&) { ++length; });
  return length;
}

PeerState state_of(const Peer& peer, Instant now) {
  if (peer.releasing || peer.closing) return PeerState::kClosing;
  if (peer.open_count() > 0) return PeerState::kOpen;
  if (peer.attempt != nullptr) return PeerState::kConnecting;
  return peer.interval > Duration{} && peer.retry_at > now ? PeerState::kBackingOff
                                                           : PeerState::kIdle;
}

}  // namespace

std::uint32_t SockLnd::connection_slots() const {
  return static_cast<std::uint32_t>(connections_.capacity());
}

std::uint32_t SockLnd::peer_slots() const {
  return static_cast<std::uint32_t>(peers_.capacity());
}

std::optional<ConnectionFacts> SockLnd::connection_facts(std::uint32_t slot, Instant now) const {
  if (!connections_.is_lent(slot)) return std::nullopt;
  const Connection& connection = connections_.at(slot);
  if (connection.away) return std::nullopt;  // told where it is
  ConnectionFacts facts{.peer = connection.peer->id,
                        .stream = connection.stream,
                        .type = connection.type,
                        .state = connection.state,
                        .protocol = connection.protocol,
                        .by_us = connection.by_us,
                        .parked = connection.paused(),
                        .messages_sent = connection.messages_sent,
                        .bytes_sent = connection.written,
                        .messages_received = connection.messages_received,
                        .bytes_received = connection.read,
                        .messages_queued = length_of(connection.queue),
                        .bytes_queued = connection.queued_bytes};
  if (!connection.was_open) return facts;
  facts.age = time_since(connection.since, now);
  facts.since_sent = time_since(connection.tx_progress, now);
  facts.since_heard = time_since(connection.rx_progress, now);
  return facts;
}

std::optional<PeerFacts> SockLnd::peer_facts(std::uint32_t slot, Instant now) {
  if (!peers_.is_lent(slot)) return std::nullopt;
  Peer& peer = peers_.at(slot);
  if (peer.elsewhere) return std::nullopt;  // its home tells
  PeerFacts facts{.id = peer.id,
                  .state = state_of(peer, now),
                  .references = 1U + (peer.bound ? 1U : 0U),
                  .open = peer.open,
                  .attempt = peer.attempt != nullptr,
                  .protocol = peer.protocol,
                  .incarnation = peer.incarnation_known ? peer.incarnation : 0,
                  .messages_waiting = length_of(peer.waiting),
                  .backoff = peer.interval,
                  .retry_in = peer.retry_at > now ? peer.retry_at - now : Duration{},
                  .since_heard = time_since(peer.heard, now)};
  if (!peer.is_userspace())
    facts.wanted = static_cast<std::uint16_t>(quota_.control + 2 * quota_.bulk);
  peer.connections.for_each([&facts](const Connection& connection) {
    ++facts.references;
    facts.messages_queued += length_of(connection.queue);
  });
  return facts;
}

}  // namespace plnet::socklnd
