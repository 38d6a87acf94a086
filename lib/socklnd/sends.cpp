// SPDX-License-Identifier: BSD-3-Clause
#include "lib/socklnd/sends.hpp"

#include <algorithm>

#include "lib/base/check.hpp"
#include "lib/socklnd/connection_choice.hpp"
#include "lib/socklnd/kept_payloads.hpp"

namespace plnet::socklnd {

using lnet::KeptPayload;
using lnet::Transmit;
using Left = Completions::Left;

namespace {

// The peer of a large payload most likely sends another one, and bytes of that one which are read
// before they are awaited are copied twice. Measured (doc/performance.md): a smaller limit makes a
// relay dearer by up to a fifth, four times this one by a twentieth.
constexpr std::size_t kReadOfNext = 4096;

std::uintptr_t milliseconds(Instant now) {
  return static_cast<std::uintptr_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count());
}

}  // namespace

Sends::Sends(Environment& environment, Connections& connections, Peers& peers,
             Completions& completions)
    : environment_(environment),
      connections_(connections),
      peers_(peers),
      completions_(completions),
      spoil_checksum_(environment.config.tunables.inject_csum_error != 0),
      outgoing_(environment.config.copied_bytes_max) {}

std::size_t Sends::send(std::span<Transmit* const> burst) {
  std::size_t taken = 0;
  while (taken < burst.size() && send(*burst[taken]))
    ++taken;
  return taken;
}

bool Sends::send(Transmit& transmit) {
  PLNET_DEBUG_CHECK(transmit.header.payload_length <= lnet::kPayloadBytesMax,
                    "a payload is no longer than LNET_MTU");
  Peer* const peer = peers_.of_message(transmit);
  Connection* const connection =
      peer == nullptr || peer->releasing
          ? nullptr
          : choose_connection(*peer, transmit, environment_.config.tunables);
  if (connection == nullptr) [[unlikely]]
    return send_later(peer, transmit);
  completions_.lend(transmit);
  if (transmit.kept && !may_relay(*connection, transmit) && !bring_payload(transmit)) {
    end_lost(transmit);
    return true;
  }
  queue(*connection, transmit);
  note_deadline(*peer, transmit);
  return true;
}

bool Sends::send_later(Peer* peer, Transmit& transmit) {
  if (transmit.lane != 0 && !environment_.has_all_notes()) return false;
  completions_.lend(transmit);
  if (peer == nullptr) {
    end_unreachable(transmit);
    return true;
  }
  if (peer->releasing) {
    completions_.end(transmit, std::unexpected(Errc::kShutdown), Health::kLocalAborted);
  } else if (transmit.lane != 0) {
    peer->elsewhere = true;
    environment_.count(Id::kNoLane);  // mostly because the peer has closed the connection
    completions_.end(transmit, std::unexpected(Errc::kIo), Health::kRemoteDropped, Left::kNothing);
  } else if (!bring_payload(transmit)) {
    end_lost(transmit);
  } else {
    peer->elsewhere = false;
    peer->waiting.push(transmit);
    peers_.serve_soon(*peer);
  }
  note_deadline(*peer, transmit);
  return true;
}

void Sends::end_unreachable(Transmit& transmit) {
  const bool process = (transmit.header.destination_pid & lnet::kPidUserFlag) != 0;
  environment_.count(process ? Id::kNoSuchProcess : Id::kNoPeerRoom);
  completions_.end(transmit, std::unexpected(process ? Errc::kNoRoute : Errc::kNoMemory),
                   process ? Health::kRemoteError : Health::kLocalError);
}

void Sends::queue(Connection& connection, Transmit& transmit) {
  PLNET_CHECK(connection.state == State::kOpen && !connection.away,
              "messages are queued on open connections of this shard");
  if (connection.is_settled()) {
    connection.sent_since = true;
    peers_.serve_soon(*connection.peer);  // starts the time until the acknowledgement
  }
  connection.queue.push(transmit);
  connection.queued_bytes += wire_bytes(connection.protocol, transmit);
  connection.last_post = ++posts_;
  connections_.serve_soon(connection);
}

// The message may be in any queue: its peer looks for it when it is served.
void Sends::cancel(Transmit& transmit) {
  Peer* const peer = transmit.next_hop->lnd_peer != nullptr ? peers_.of_message(transmit) : nullptr;
  if (peer == nullptr || (transmit.lnd_state & kEnded) != 0) return;
  transmit.lnd_state |= kCancelled;
  peer->sweep = true;
  peers_.serve_soon(*peer);
}

// --- A peer ---

void Sends::stamp(Peer& peer, Instant now) {
  peer.waiting.for_each([&](Transmit& transmit) {
    if (transmit.lnd_state >> kCameShift == 0) {
      transmit.lnd_state |= std::max<std::uintptr_t>(milliseconds(now), 1) << kCameShift;
    }
  });
}

void Sends::end_expired(Peer& peer, Instant now) {
  peer.sweep = false;
  peer.earliest_deadline = Instant::max();
  peer.waiting.take_out(0, [&](Transmit& transmit) {
    if (has_expired(peer, transmit, now)) return true;
    if (now < waits_since(transmit) + environment_.timeout) return false;
    completions_.end(transmit, std::unexpected(Errc::kTimedOut), Health::kNetworkTimeout);
    return true;
  });
  peer.connections.for_each([&](Connection& connection) {
    connection.queue.take_out(connection.has_begun_message() ? 1 : 0, [&](Transmit& transmit) {
      if (!has_expired(peer, transmit, now)) return false;
      PLNET_DEBUG_CHECK(connection.queued_bytes >= wire_bytes(connection.protocol, transmit),
                        "queued bytes are those of messages");
      connection.queued_bytes -= wire_bytes(connection.protocol, transmit);
      return true;
    });
  });
}

bool Sends::has_expired(Peer& peer, Transmit& transmit, Instant now) {
  if ((transmit.lnd_state & kCancelled) != 0) {
    completions_.end(transmit, std::unexpected(Errc::kCancelled), Health::kOk);
    return true;
  }
  if (transmit.deadline <= now) {
    environment_.count(Id::kExpired);
    completions_.end(transmit, std::unexpected(Errc::kTimedOut), Health::kNetworkTimeout);
    return true;
  }
  peer.earliest_deadline = std::min(peer.earliest_deadline, transmit.deadline);
  return false;
}

void Sends::queue_waiting(Peer& peer) {
  while (Transmit* const transmit = peer.waiting.front()) {
    Connection* const connection = choose_connection(peer, *transmit, environment_.config.tunables);
    if (connection == nullptr) return;
    PLNET_DEBUG_CHECK(!transmit->kept, "the payload of a waiting message is in its buffer");
    peer.waiting.pop();
    queue(*connection, *transmit);
  }
}

// --- A connection ---

void Sends::write_greeting(Connection& connection) {
  const std::array<std::span<const std::byte>, 1> piece{connection.greeting.unsent()};
  const std::size_t taken = environment_.driver().write(connection.stream, piece);
  connection.greeting.on_sent(taken);
  connection.written += taken;
  connection.blocked = !connection.greeting.done();
}

void Sends::write(Connection& connection) {
  PLNET_CHECK(connection.state == State::kOpen && connection.greeting.done(),
              "messages go out behind the greeting");
  if (!connection.queue.empty() && connection.queue.front()->kept) return relay_front(connection);
  gather(connection);
  environment_.count(Id::kWrites);
  const std::size_t taken = environment_.driver().write(connection.stream, outgoing_.pieces());
  PLNET_CHECK(taken <= outgoing_.bytes(), "TCP takes no more than it is given");
  connection.written += taken;
  connection.blocked = taken < outgoing_.bytes();
  on_taken(connection, taken);
}

// An item that was sent in part goes first. Acknowledgements follow, since the peer keeps memory
// for them.
void Sends::gather(const Connection& connection) {
  outgoing_.begin(connection.front_sent, {.wanted = environment_.has_checksums(connection.protocol),
                                          .begun = connection.front_checksum,
                                          .spoil = spoil_checksum_});
  const Transmit* next = connection.queue.front();
  const auto add_message = [&] {
    const Transmit& transmit = *next;
    next = transmit.lnd_next;
    return outgoing_.add(transmit, connection.protocol, *environment_.config.arenas);
  };
  if (connection.has_begun_message() && !add_message()) return;
  for (std::uint8_t i = 0; i < connection.noops && !outgoing_.full(); ++i)
    outgoing_.add_noop(connection.noop_cookies[(connection.noops_first + i) % kNoopPlaces]);
  while (next != nullptr && !outgoing_.full()) {
    if (!add_message()) return;
  }
}

void Sends::on_taken(Connection& connection, std::size_t taken) {
  std::uint64_t left = taken + connection.front_sent;
  connection.front_sent = 0;
  std::uint64_t end_of_item = connection.written - taken - (left - taken);
  for (const Outgoing::Item& item : outgoing_.items()) {
    if (item.spoilt && left > 0) {
      spoil_checksum_ = false;
      environment_.count(Id::kSpoilt);
    }
    if (left < item.bytes) {
      connection.front_checksum = item.checksum;
      connection.front_sent = static_cast<std::uint32_t>(left);
      connection.front_is_noop = item.noop;
      return;
    }
    left -= item.bytes;
    end_of_item += item.bytes;
    if (item.noop) {
      const std::uint64_t cookie = connection.noop_cookies[connection.noops_first];
      environment_.count(cookie == kKeepaliveCookie ? Id::kKeepalivesSent : Id::kAcksSent);
      connection.pop_noop();
      continue;
    }
    PLNET_DEBUG_CHECK(connection.queued_bytes >= item.bytes, "queued bytes are counted");
    connection.queued_bytes -= item.bytes;
    connection.ends[connection.messages_sent++ % kEndsRemembered] = end_of_item;
    environment_.count(Id::kSent);
    completions_.end(*connection.queue.pop(), {}, Health::kOk);
  }
  PLNET_DEBUG_CHECK(left == 0, "TCP takes whole items and a part of the next");
}

// lustre-release socklnd_cb.c: ksocknal_process_transmit(), ksocknal_tx_done();
// socklnd.c: ksocknal_destroy_conn(). The kernel takes all of these for local errors: there a peer
// that resets its connections lowers the health of our interface.
void Sends::end_all(Connection& connection, Errc cause) {
  TransmitQueue& queue = connection.queue;
  if (connection.ours) return completions_.end_all(queue, Errc::kShutdown, Health::kLocalAborted);
  if (queue.empty()) return;
  const bool begun = connection.has_begun_message();
  if (connection.stuck || (begun && cause == Errc::kTimedOut)) {
    completions_.end(*queue.pop(), std::unexpected(Errc::kTimedOut),
                     connection.stuck ? Health::kNetworkTimeout : Health::kRemoteTimeout);
  } else if (begun) {
    completions_.end(*queue.pop(), std::unexpected(Errc::kIo),
                     is_of_peer(cause) ? Health::kRemoteError : Health::kLocalError);
  }
  completions_.end_all(queue, Errc::kIo,
                       is_of_peer(cause) ? Health::kRemoteDropped : Health::kLocalDropped,
                       Left::kNothing);
}

// --- A payload that lies in another socket ---

// The message can go at once, and nothing goes before it.
bool Sends::may_relay(const Connection& connection, const Transmit& transmit) const {
  const bool free = connection.state == State::kOpen && !connection.away && !connection.blocked &&
                    !connection.has_to_send() && connection.front_sent == 0;
  const KeptPayload kept = environment_.core.kept_payload(transmit);
  PLNET_CHECK(kept.keeper != nullptr, "the core knows the keeper of a kept payload");
  return free && !environment_.has_checksums(connection.protocol) &&
         kept.keeper->family() == &environment_.streams;
}

bool Sends::bring_payload(Transmit& transmit) {
  if (!transmit.kept) return true;
  transmit.kept = false;
  const KeptPayload kept = environment_.core.kept_payload(transmit);
  PLNET_CHECK(kept.keeper != nullptr, "the core knows the keeper of a kept payload");
  return kept.keeper->bring(kept.rx).has_value() && !kept.lost;
}

// Neither NI is to blame, and no other attempt would find the payload.
void Sends::end_lost(Transmit& transmit) {
  completions_.end(transmit, std::unexpected(Errc::kIo), Health::kOk);
}

void Sends::end_lost_front(Connection& connection) {
  PLNET_CHECK(connection.front_sent == 0, "no byte of the message has left");
  Transmit& transmit = *connection.queue.pop();
  PLNET_DEBUG_CHECK(connection.queued_bytes >= wire_bytes(connection.protocol, transmit),
                    "queued bytes are those of messages");
  connection.queued_bytes -= wire_bytes(connection.protocol, transmit);
  end_lost(transmit);
}

void Sends::relay_front(Connection& connection) {
  Transmit& transmit = *connection.queue.front();
  const KeptPayload kept = environment_.core.kept_payload(transmit);
  PLNET_CHECK(kept.keeper != nullptr && kept.keeper->family() == &environment_.streams,
              "may_relay() has looked at the keeper");
  KeptPayloads& holder = *static_cast<KeptPayloads*>(kept.keeper);
  Connection* const from = holder.find(kept.rx);
  if (from == nullptr || connection.noops > 0) {
    if (!bring_payload(transmit)) end_lost_front(connection);
    return;
  }
  transmit.kept = false;
  const std::uint32_t left = from->framing.left_unseen();
  PLNET_CHECK(left <= transmit.header.payload_length, "a payload is in one message");
  outgoing_.begin_with(transmit, connection.protocol, transmit.header.payload_length - left,
                       *environment_.config.arenas);
  const std::size_t head = outgoing_.bytes();
  const std::size_t taken =
      environment_.driver().relay(from->stream, connection.stream, outgoing_.pieces(), left);
  PLNET_CHECK(taken <= head + left, "TCP takes no more than it is given");
  environment_.count(Id::kWrites);
  if (taken > head) KeptPayloads::on_relayed(*from, taken - head);
  if (taken == head + left) {
    environment_.count(Id::kRelayed);
    environment_.driver().limit_next_read(from->stream, kReadOfNext);
    holder.finish(*from);
  } else if (!holder.bring(kept.rx)) {
    if (taken == 0) return end_lost_front(connection);
    // The peer has the beginning of a message that cannot go on.
    connection.written += taken;
    on_taken(connection, taken);
    return connections_.close(connection, Id::kClosedError, Errc::kIo, false);
  }
  connection.written += taken;
  on_taken(connection, taken);
}

}  // namespace plnet::socklnd
