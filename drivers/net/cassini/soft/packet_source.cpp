// SPDX-License-Identifier: BSD-3-Clause
// Requests: sent in the order of each connection, kept until answered, repeated as the retry
// handler decides.
#include <algorithm>
#include <cstring>

#include "drivers/net/cassini/soft/packet_port.hpp"

namespace plnet::cassini::soft {

void PacketPort::start(NicAddress /*from*/, const Message& message, const LocalBuffer& local,
                       const Completion& completion) {
  // The result of an atomic operation has a place before the value changes.
  if (local.immediate.empty() || message.operation == Operation::kFetchingAtomic) {
    const Translated here = nic_.local_memory(local, message.operation, 0, message.length);
    if (here.code != ReturnCode::kOk) {
      nic_.completed(message, completion, {.code = here.code});
      return;
    }
  }
  Message routed = message;
  routed.destination = wire_.route(message.destination, message.vni, message.pid);
  const std::uint16_t number =
      retry_.parked(routed.destination, now_ns_) ? kNone : connection_for(routed);
  if (number == kNone) {
    nic_.completed(message, completion, {.code = ReturnCode::kUndeliverable});
    return;
  }
  const std::uint16_t slot = free_messages_.back();
  free_messages_.pop_back();
  Outgoing& out = messages_[slot];
  out.message = routed;
  out.completion = completion;
  out.local = local;
  out.outcome = {};
  out.sent = out.waiting = 0;
  out.next = kNone;
  out.all_sent = out.started = false;
  if (!local.immediate.empty()) {
    std::ranges::copy(local.immediate, out.bytes.begin());
    out.local.immediate = {out.bytes.data(), local.immediate.size()};
  }
  Connection& connection = connections_[number];
  (connection.tail == kNone ? connection.head : messages_[connection.tail].next) = slot;
  connection.tail = slot;
  if (!connection.active) {
    // Being closed, or idle for so long that the target may forget it at any moment: without
    // unanswered packets a restart is safe.
    if (connection.state != State::kNormal ||
        (connection.established &&
         now_ns_ - connection.idle_since_ns > retry_.target_timeout_ns() / 4))
      renew(connection);
    connection.active = true;
    active_.push_back(number);
  }
}

// The oldest message with packets left.
std::uint16_t PacketPort::first_unsent(const Connection& connection) const {
  std::uint16_t number = connection.head;
  while (number != kNone && messages_[number].all_sent)
    number = messages_[number].next;
  return number;
}

// Prepares its next packet. False: nothing to send.
bool PacketPort::prepare(Connection& connection, std::size_t room) {
  if (connection.count == kPacketWindow) return false;
  const std::uint16_t number = first_unsent(connection);
  if (number == kNone) return false;
  Outgoing& out = messages_[number];
  Sent& sent = connection.at(connection.count);
  sent = Sent{};
  sent.message = number;
  sent.sequence = connection.next_sequence;
  sent.first = !out.started;
  sent.offset = out.sent;
  const std::uint32_t bytes = eager_bytes(out.message);
  sent.length = static_cast<std::uint32_t>(std::min<std::size_t>(room, bytes - out.sent));
  sent.sent_ns = now_ns_;  // the timeout includes the wait for the wire
  out.started = true;
  out.sent += sent.length;
  out.all_sent = out.sent == bytes;
  sent.eom = out.all_sent;
  ++out.waiting;
  ++connection.count;
  connection.next_sequence = static_cast<std::uint16_t>(sequence_after(connection.next_sequence));
  return true;
}

// The wire has less room than at the splitting, and the packet was never sent.
void PacketPort::shorten(Connection& connection, Sent& sent, std::size_t room) {
  if (sent.length <= room || sent.tries > 0) return;
  if (connection.to_send + 1 != connection.count) return;  // later packets already have numbers
  Outgoing& out = messages_[sent.message];
  if (out.outcome.code != ReturnCode::kOk) return;  // it has already ended
  sent.length = static_cast<std::uint32_t>(room);
  sent.eom = out.all_sent = false;
  out.sent = sent.offset + sent.length;
}

bool PacketPort::pump(std::uint16_t number) {
  Connection& connection = connections_[number];
  if (now_ns_ < connection.hold_until_ns) return false;
  const std::size_t room = payload_room(connection.to.destination);
  bool sent_any = false;
  for (unsigned i = 0; i < connection.batch; ++i) {
    if (connection.to_send == connection.count && !prepare(connection, room)) break;
    Sent& sent = connection.at(connection.to_send);
    shorten(connection, sent, room);
    if (!sent.done && !send(number, sent)) break;
    ++connection.to_send;
    sent_any = true;
  }
  return sent_any;
}

bool PacketPort::send(std::uint16_t number, Sent& sent) {
  const Connection& connection = connections_[number];
  const Outgoing& out = messages_[sent.message];
  Packet packet;
  packet.type = sent.first ? PacketType::kFirst : PacketType::kContinuation;
  packet.syn = !connection.established;
  packet.eom = sent.eom;
  packet.attempt = sent.tries;
  packet.connection = number;
  packet.sequence = sent.sequence;
  packet.cleared = connection.cleared;
  packet.epoch = connection.epoch;
  packet.message_id = sent.message;
  packet.length = sent.length;
  packet.offset = sent.offset;
  packet.message = out.message;
  packet.message.source = nic_.address();
  std::span<const std::byte> payload;
  if (is_atomic(out.message.operation)) {
    payload = out.local.immediate;
  } else if (out.message.operation == Operation::kPut && sent.length > 0) {
    if (!out.local.immediate.empty()) {
      payload = out.local.immediate.subspan(sent.offset, sent.length);
    } else {
      const Translated here =
          nic_.local_memory(out.local, Operation::kPut, sent.offset, sent.length);
      // Unmapped meanwhile: the target must be notified or it would wait for the rest.
      if (here.code != ReturnCode::kOk) packet.code = ReturnCode::kUncor;
      if (here.memory != nullptr) payload = {here.memory, sent.length};
    }
  }
  const PacketHeader header = encode(packet);
  if (!wire_.send(out.message.destination, header, payload)) {
    stats_.add(PortCounters::Id::kWireFull);
    return false;
  }
  stats_.add(sent.tries == 0 ? PortCounters::Id::kSent : PortCounters::Id::kResent);
  if (sent.tries < UINT8_MAX) ++sent.tries;
  sent.sent_ns = now_ns_;
  return true;
}

void PacketPort::check_timer(std::uint16_t number) {
  Connection& connection = connections_[number];
  if (connection.count == 0 || now_ns_ < connection.hold_until_ns) return;
  Sent& oldest = connection.at(0);
  if (now_ns_ < oldest.sent_ns + retry_.packet_timeout_ns()) return;
  const PacketName name{.sct = number, .spt = oldest.sequence, .nid = connection.to.destination};
  // Packets too long for the receiver do not count against its NID.
  const std::size_t room = payload_room(connection.to.destination);
  unsigned with_it = 0;
  for (unsigned i = 1; i < connection.count; ++i) {
    const Sent& sent = connection.at(i);
    if (!sent.done && sent.tries > 0 && sent.length <= room) ++with_it;
  }
  retry(number, 0, retry_.timed_out(name, oldest.history, now_ns_, with_it));
}

void PacketPort::retry(std::uint16_t number, unsigned at, const RetryHandler::Decision& decision) {
  Connection& connection = connections_[number];
  if (!decision.again) {
    give_up(number, decision.code);
    return;
  }
  connection.to_send = std::min(connection.to_send, at);
  connection.hold_until_ns = now_ns_ + decision.after_ns;
  // Earlier packets keep their time: their responses may be lost.
  if (at == 0) connection.at(0).sent_ns = connection.hold_until_ns;
  connection.batch = decision.small_batch ? retry_.batch() : kPacketWindow;
}

PacketPort::Connection* PacketPort::connection_of(NicAddress from, const Packet& answer) {
  if (answer.connection >= connections_.size()) return nullptr;
  Connection& connection = connections_[answer.connection];
  const bool his = connection.state != State::kFree && connection.to.destination == from &&
                   connection.epoch == answer.epoch;
  return his ? &connection : nullptr;
}

PacketPort::Sent* PacketPort::find_sent(Connection& connection, unsigned sequence, unsigned& at) {
  if (connection.count == 0) return nullptr;
  const int distance = sequence_distance(connection.at(0).sequence, sequence);
  if (distance < 0 || distance >= static_cast<int>(connection.count)) return nullptr;
  at = static_cast<unsigned>(distance);
  Sent& sent = connection.at(at);
  return sent.done || sent.tries == 0 ? nullptr : &sent;
}

void PacketPort::answered(NicAddress from, const Packet& packet,
                          std::span<const std::byte> payload) {
  Connection* const connection = connection_of(from, packet);
  if (connection == nullptr) return stats_.add(PortCounters::Id::kLate);
  unsigned at = 0;
  bool any = false;
  // A run ends with `sequence`; one longer than a window is invalid.
  unsigned sequence = packet.expected == 0 ? packet.sequence : packet.expected;
  for (unsigned i = 0; i < kPacketWindow; ++i) {
    Sent* const sent = find_sent(*connection, sequence, at);
    if (sent != nullptr) answered_one(*sent, packet, payload);
    any = any || sent != nullptr;
    if (sequence == packet.sequence) break;
    sequence = sequence_after(sequence);
  }
  if (!any) return stats_.add(PortCounters::Id::kLate);
  connection->established = true;
  connection->batch = kPacketWindow;
  settle(*connection);
}

void PacketPort::answered_one(Sent& sent, const Packet& packet,
                              std::span<const std::byte> payload) {
  Outgoing& out = messages_[sent.message];
  if (sent.first) {
    out.outcome.mlength =
        packet.expected == 0 ? std::min(packet.mlength, out.message.length) : out.message.length;
    out.outcome.list = packet.list;
  }
  if (packet.code != ReturnCode::kOk && (out.outcome.code == ReturnCode::kOk || sent.first)) {
    out.outcome = {.code = packet.code, .list = packet.list, .target_error = true};
    out.all_sent = true;  // the rest cannot be delivered
  }
  if (sent.tries > 1) out.outcome.retried = true;
  if (fetches(out.message.operation) && out.outcome.code == ReturnCode::kOk) {
    const std::uint64_t rest = packet.mlength - std::min(packet.mlength, sent.offset);
    const auto length = static_cast<std::size_t>(std::min<std::uint64_t>(rest, sent.length));
    if (payload.size() < length) {
      out.outcome.code = ReturnCode::kUncor;  // otherwise there would be a hole in our buffer
      sent.done = true;
      return;
    }
    const Translated here =
        nic_.local_memory(out.local, out.message.operation, sent.offset, length);
    if (here.code != ReturnCode::kOk) {
      out.outcome.code = here.code;
    } else if (length > 0) {
      std::memcpy(here.memory, payload.data(), length);
    }
  }
  sent.done = true;
}

// Answered packets, oldest first, leave the window; messages end.
void PacketPort::settle(Connection& connection) {
  while (connection.count > 0 && connection.at(0).done) {
    const Sent& sent = connection.at(0);
    connection.cleared = sent.sequence;
    const std::uint16_t number = sent.message;
    Outgoing& out = messages_[number];
    --out.waiting;
    connection.first = (connection.first + 1) % kPacketWindow;
    --connection.count;
    if (connection.to_send > 0) --connection.to_send;
    if (out.all_sent && out.waiting == 0) end_message(connection, number, out.outcome);
  }
  // No packet waits for its next attempt any more: later messages do not wait for it either.
  if (connection.to_send == connection.count) connection.hold_until_ns = 0;
}

void PacketPort::end_message(Connection& connection, std::uint16_t number, const Outcome& outcome) {
  const Outgoing& out = messages_[number];
  // Messages of a connection end in their order: this is the first one.
  PLNET_CHECK(connection.head == number, "messages of a connection end in order");
  connection.head = out.next;
  if (connection.head == kNone) connection.tail = kNone;
  nic_.completed(out.message, out.completion, outcome);
  free_messages_.push_back(number);
}

// Unanswered packets may or may not have been executed: none is sent again. Packets never sent move
// to a new connection of the same number.
void PacketPort::give_up(std::uint16_t number, ReturnCode code) {
  Connection& connection = connections_[number];
  const bool parked = retry_.parked(connection.to.destination, now_ns_);
  while (connection.head != kNone && (messages_[connection.head].started || parked)) {
    Outcome outcome = messages_[connection.head].outcome;
    if (outcome.code == ReturnCode::kOk) outcome = {.code = code};
    end_message(connection, connection.head, outcome);
  }
  renew(connection);
}

void PacketPort::renew(Connection& connection) {
  connection.count = 0;
  connection.to_send = 0;
  connection.first = 0;
  connection.next_sequence = 1;
  connection.cleared = 0;
  connection.hold_until_ns = 0;
  connection.batch = kPacketWindow;
  connection.established = false;
  connection.state = State::kNormal;
  connection.close_tries = 0;
  connection.epoch = ++next_epoch_;
}

void PacketPort::refused(NicAddress from, const Packet& packet) {
  Connection* const found = connection_of(from, packet);
  unsigned at = 0;
  Sent* const sent = found == nullptr ? nullptr : find_sent(*found, packet.sequence, at);
  if (sent == nullptr) return stats_.add(PortCounters::Id::kLate);
  Connection& connection = *found;
  if (packet.code == ReturnCode::kSequenceError) {
    // Everything from the missing packet on is sent again, once for all NACKs of one gap.
    if (packet.attempt + 1 != sent->tries || connection.to_send <= at) return;
    const int behind = sequence_distance(connection.at(0).sequence, packet.expected);
    if (behind < 0 || behind > static_cast<int>(at)) return;
    at = static_cast<unsigned>(behind);
  }
  const PacketName name{
      .sct = packet.connection, .spt = packet.sequence, .nid = connection.to.destination};
  // Later packets are refused for ever, and each refusal would postpone the timeout. A packet of
  // the receiver has just arrived, so its room is known.
  if (connection.at(at).length > payload_room(connection.to.destination) &&
      messages_[connection.at(at).message].message.operation == Operation::kPut)
    return retry(packet.connection, at, retry_.undeliverable(name));
  retry(packet.connection, at,
        retry_.refused(name, connection.at(at).history, packet.code, connection.established));
}

}  // namespace plnet::cassini::soft
