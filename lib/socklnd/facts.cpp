// SPDX-License-Identifier: BSD-3-Clause
#include "lib/socklnd/facts.hpp"

#include <algorithm>

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

ConnectionFacts facts_of(const Connection& connection, Instant now) {
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

PeerFacts facts_of(Peer& peer, const ConnectionQuota& quota, Instant now) {
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
    facts.wanted = static_cast<std::uint16_t>(quota.control + 2 * quota.bulk);
  peer.connections.for_each([&facts](const Connection& connection) {
    ++facts.references;
    facts.messages_queued += length_of(connection.queue);
  });
  return facts;
}

}  // namespace plnet::socklnd
