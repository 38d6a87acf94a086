// SPDX-License-Identifier: BSD-3-Clause
// Requests from other NICs: executed once and in order, answered whenever they are repeated.
#include <algorithm>
#include <cstring>

#include "drivers/net/cassini/soft/atomic.hpp"
#include "drivers/net/cassini/soft/packet_port.hpp"
#include "drivers/net/cassini/soft/shared_word.hpp"

namespace plnet::cassini::soft {

void PacketPort::on_packet(NicAddress from, std::span<const std::byte> bytes) {
  const std::optional<Packet> packet = decode(bytes);
  const bool answer =
      packet && (packet->type == PacketType::kAck || packet->type == PacketType::kNack ||
                 packet->type == PacketType::kCleared || packet->type == PacketType::kClosed);
  // A response repeats the addresses of its request.
  if (!packet ||
      (answer ? packet->message.source : packet->message.destination) != nic_.address() ||
      (answer ? packet->message.destination : packet->message.source) != nic_of(from)) {
    stats_.add(PortCounters::Id::kBad);
    return;
  }
  const std::span<const std::byte> payload = bytes.subspan(kPacketHeaderBytes);
  switch (packet->type) {
    case PacketType::kAck: return answered(from, *packet, payload);
    case PacketType::kNack: return refused(from, *packet);
    case PacketType::kCleared:
    case PacketType::kClosed: return closing_answered(from, *packet);
    case PacketType::kClear:
    case PacketType::kClose: return closing(from, *packet);
    case PacketType::kFirst:
    case PacketType::kContinuation: return request(from, *packet, payload);
  }
}

void PacketPort::request(NicAddress from, const Packet& packet,
                         std::span<const std::byte> payload) {
  const std::uint16_t number = target_for(from, packet);
  if (number == kNone) return;
  TargetConnection& target = targets_[number];
  target.seen_ns = now_ns_;
  if (packet.cleared != 0) clear(target, packet.cleared);
  const int distance = sequence_distance(target.expected, packet.sequence);
  Remembered& place = target.remembered[packet.sequence % target.remembered.size()];
  if (distance < 0) {
    stats_.add(PortCounters::Id::kDuplicates);
    if (place.sequence == packet.sequence) owe(number, packet.sequence);
    return;
  }
  if (distance > 0) {
    stats_.add(PortCounters::Id::kGaps);
    nack(from, packet, ReturnCode::kSequenceError, target.expected);
    return;
  }
  const bool needs_state = packet.type == PacketType::kFirst && !packet.eom;
  Source& source = sources_[target.source];
  if (needs_state &&
      !has_share(source.partial_messages, options_.message_states - partial_messages_)) {
    nack(from, packet, ReturnCode::kNoTargetMst, 0);
    return;
  }
  const bool get = fetches(packet.message.operation);
  const unsigned left = responses_max_ - std::min(responses_max_, remembered_);
  if (!has_share(source.remembered, left) || place.sequence != 0 || (get && free_slabs_.empty())) {
    nack(from, packet, ReturnCode::kNoTargetTrs, 0);
    return;
  }
  place = Remembered{.sequence = packet.sequence};
  ++remembered_;
  ++source.remembered;
  stats_.add(PortCounters::Id::kReceived);
  std::span<const std::byte> read;
  const bool ends = execute(target, packet, payload, place, read);
  place.plain = place.code == ReturnCode::kOk && place.list == ListKind::kPriority &&
                place.data == kNone && read.empty() && place.mlength == target.message.length;
  target.expected = static_cast<std::uint16_t>(sequence_after(target.expected));
  // Saves a copy of the data: where no packet is lost, nobody asks for the response again.
  const bool answered =
      !read.empty() && wire_.keeps_all() && send_answer(target, packet.sequence, place, read);
  if (!read.empty() && !answered) keep(place, read);
  // The process may reuse its memory from its event on, so the data has been read before.
  if (ends) {
    nic_.portals().finish(target.message, target.delivery);
    end_partial(target);
  }
  if (!answered) owe(number, packet.sequence);
}

void PacketPort::keep(Remembered& answer, std::span<const std::byte> read) {
  answer.data = free_slabs_.back();
  free_slabs_.pop_back();
  answer.length = static_cast<std::uint32_t>(read.size());
  std::memcpy(slab(answer.data), read.data(), read.size());
}

bool PacketPort::execute(TargetConnection& target, const Packet& packet,
                         std::span<const std::byte> payload, Remembered& answer,
                         std::span<const std::byte>& read) {
  if (packet.type == PacketType::kFirst) {
    abandon(target);  // the source gave it up in the middle
    target.message = packet.message;
    target.message_id = packet.message_id;
    target.next_offset = 0;
    target.delivery = nic_.portals().begin(packet.message);
    if (target.delivery.outcome.code != ReturnCode::kOk) {
      answer.code = target.delivery.outcome.code;
      return false;
    }
    target.partial = true;
    ++partial_messages_;
    ++sources_[target.source].partial_messages;
  } else if (!target.partial || target.message_id != packet.message_id) {
    answer.code = ReturnCode::kMstCancelled;
    return false;
  }
  Delivery& delivery = target.delivery;
  answer.mlength = delivery.outcome.mlength;
  answer.list = delivery.outcome.list;
  // No holes: each part follows the previous one, and the last one ends the message.
  const std::uint64_t end = packet.offset + packet.length;
  if (packet.offset != target.next_offset || packet.eom != (end == eager_bytes(target.message)))
    delivery.outcome.code = ReturnCode::kUncor;
  target.next_offset = end;
  if (is_atomic(target.message.operation)) {
    move_atomic(target, packet, payload, answer);
  } else {
    move(target, packet, payload, read);
  }
  if (delivery.cut) delivery.outcome.code = ReturnCode::kMstCancelled;
  answer.code = delivery.outcome.code;
  return packet.eom || delivery.outcome.code != ReturnCode::kOk;
}

void PacketPort::move(TargetConnection& target, const Packet& packet,
                      std::span<const std::byte> payload, std::span<const std::byte>& read) {
  Delivery& delivery = target.delivery;
  const std::uint64_t room =
      packet.offset < delivery.outcome.mlength ? delivery.outcome.mlength - packet.offset : 0;
  const bool put = target.message.operation == Operation::kPut;
  const auto asked = std::min<std::uint64_t>(room, packet.length);
  const auto wanted =
      std::min<std::uint64_t>(asked, put ? payload.size() : payload_room(target.from));
  const Translated there =
      nic_.portals().memory(delivery, target.message.operation, packet.offset, wanted);
  if (packet.code != ReturnCode::kOk) delivery.outcome.code = packet.code;  // of the source
  if (there.code != ReturnCode::kOk) delivery.outcome.code = there.code;
  if (wanted < asked && delivery.outcome.code == ReturnCode::kOk) {
    // There is less room than the initiator assumed: an error is better than a hole in its buffer.
    stats_.add(PortCounters::Id::kTooLong);
    delivery.outcome.code = ReturnCode::kUncor;
  }
  if (there.memory != nullptr && put) std::memcpy(there.memory, payload.data(), wanted);
  if (there.memory != nullptr && !put) read = {there.memory, wanted};
}

// Nothing of the payload is trusted: it may be of any length and hold any request.
void PacketPort::move_atomic(TargetConnection& target, const Packet& packet,
                             std::span<const std::byte> payload, Remembered& answer) {
  Delivery& delivery = target.delivery;
  const Operation operation = target.message.operation;
  AtomicRequest request;
  const bool is_whole = payload.size() == sizeof request && packet.eom;
  if (is_whole) std::memcpy(&request, payload.data(), sizeof request);
  end_of_copy();
  const std::uint32_t bytes = target.message.length;
  if (packet.code != ReturnCode::kOk) {
    delivery.outcome.code = packet.code;  // of the source
  } else if (!is_whole || bytes != atomic_bytes(request.type)) {
    delivery.outcome.code = ReturnCode::kUncor;
  }
  if (delivery.outcome.code != ReturnCode::kOk || delivery.cut) return;
  const Translated there = nic_.portals().memory(delivery, operation, 0, bytes);
  delivery.outcome.code =
      there.code == ReturnCode::kOk ? check_atomic(request, delivery.start) : there.code;
  if (delivery.outcome.code != ReturnCode::kOk || there.memory == nullptr) return;
  AtomicValue before{};
  nic_.tables().execute(request, fetches(operation), there.memory, before);
  if (!fetches(operation)) return;
  keep(answer, std::span<const std::byte>(before).first(bytes));
}

void PacketPort::owe(std::uint16_t number, std::uint16_t sequence) {
  TargetConnection& target = targets_[number];
  const auto after = static_cast<std::uint16_t>(sequence_after(sequence));
  if (!target.owing) {
    target.owing = true;
    target.owed_from = sequence;
    target.owed_to = after;
    owing_.push_back(number);
    return;
  }
  if (sequence_distance(target.owed_from, sequence) < 0) target.owed_from = sequence;
  if (sequence_distance(target.owed_to, after) > 0) target.owed_to = after;
}

// Responses are sent at the end of a step, combined; those that the wire rejects now follow later.
void PacketPort::pay_all() {
  for (std::size_t i = 0; i < owing_.size();) {
    TargetConnection& target = targets_[owing_[i]];
    if (!pay(target)) {
      stats_.add(PortCounters::Id::kWireFull);
      ++i;
      continue;
    }
    target.owing = false;
    owing_[i] = owing_.back();
    owing_.pop_back();
  }
}

bool PacketPort::pay(TargetConnection& target) {
  const auto at = [&](unsigned sequence) -> const Remembered& {
    return target.remembered[sequence % target.remembered.size()];
  };
  while (target.owed_from != target.owed_to) {
    unsigned last = target.owed_from;
    const Remembered& first = at(last);
    unsigned after = sequence_after(last);
    if (first.sequence == last) {
      if (first.plain) {
        for (; after != target.owed_to && at(after).sequence == after && at(after).plain;
             after = sequence_after(after))
          last = after;
      }
      std::span<const std::byte> payload;
      if (first.data != kNone) payload = {slab(first.data), first.length};
      if (!send_answer(target, last, first, payload)) return false;
    }
    target.owed_from = static_cast<std::uint16_t>(after);
  }
  return true;
}

// The last of a run of plain answers stands for the run, which begins with the first one owed.
bool PacketPort::send_answer(const TargetConnection& target, unsigned sequence,
                             const Remembered& answer, std::span<const std::byte> payload) {
  Packet packet;
  packet.type = PacketType::kAck;
  packet.connection = target.connection;
  packet.sequence = static_cast<std::uint16_t>(sequence);
  packet.expected = answer.plain ? target.owed_from : std::uint16_t{0};
  packet.epoch = target.epoch;
  packet.code = answer.code;
  packet.mlength = answer.mlength;
  packet.list = answer.list;
  packet.length = static_cast<std::uint32_t>(payload.size());
  packet.message = target.message;
  packet.message.source = target.from;
  packet.message.destination = nic_.address();
  if (!wire_.send(target.from, encode(packet), payload)) return false;
  stats_.add(PortCounters::Id::kAnswers);
  return true;
}

void PacketPort::nack(NicAddress to, const Packet& request, ReturnCode code, unsigned expected) {
  Packet packet = request;
  packet.type = PacketType::kNack;
  packet.code = code;
  packet.expected = static_cast<std::uint16_t>(expected);
  if (!wire_.send(to, encode(packet), {})) stats_.add(PortCounters::Id::kWireFull);
}

// An invalid value of the source cannot extend the loop beyond the remembered responses.
void PacketPort::clear(TargetConnection& target, unsigned up_to) {
  const unsigned newest = sequence_after(target.expected, kSequences - 1);
  const int told =
      sequence_distance(target.cleared == 0 ? 1 : sequence_after(target.cleared), up_to);
  if (told < 0 || sequence_distance(up_to, newest) < 0) return;
  unsigned sequence = target.cleared == 0 ? 1 : sequence_after(target.cleared);
  for (int i = 0; i <= told; ++i, sequence = sequence_after(sequence)) {
    Remembered& one = target.remembered[sequence % target.remembered.size()];
    if (one.sequence != sequence) continue;
    if (one.data != kNone) free_slabs_.push_back(one.data);
    one = Remembered{};
    --remembered_;
    --sources_[target.source].remembered;
  }
  target.cleared = static_cast<std::uint16_t>(up_to);
}

// The rest of the message will never arrive.
void PacketPort::abandon(TargetConnection& target) {
  if (!target.partial) return;
  target.delivery.cut = true;
  nic_.portals().finish(target.message, target.delivery);
  end_partial(target);
}

void PacketPort::end_partial(TargetConnection& target) {
  target.partial = false;
  --partial_messages_;
  --sources_[target.source].partial_messages;
}

void PacketPort::cut(Nic& /*nic*/, unsigned portal, unsigned buffer_id, ListKind list) {
  for (const std::uint16_t number : used_targets_) {
    TargetConnection& target = targets_[number];
    if (target.partial && Portals::uses(target.delivery, portal, buffer_id, list))
      target.delivery.cut = true;
  }
}

}  // namespace plnet::cassini::soft
