// SPDX-License-Identifier: BSD-3-Clause
// Requests from others: executed once and in order, answered as often as they are asked.
#include <algorithm>
#include <cstring>

#include "drivers/net/cassini/soft/packet_port.hpp"

namespace plnet::cassini::soft {

void PacketPort::on_packet(NicAddress from, std::span<const std::byte> bytes) {
  const std::optional<Packet> packet = decode(bytes);
  const bool answer =
      packet && (packet->type == PacketType::kAck || packet->type == PacketType::kNack);
  // An answer repeats the addresses of its request.
  if (!packet ||
      (answer ? packet->message.source : packet->message.destination) != nic_.address() ||
      (answer ? packet->message.destination : packet->message.source) != from) {
    stats_.add(PortCounters::Id::kBad);
    return;
  }
  const std::span<const std::byte> payload = bytes.subspan(kPacketHeaderBytes);
  if (packet->type == PacketType::kAck) {
    answered(*packet, payload);
  } else if (packet->type == PacketType::kNack) {
    refused(*packet);
  } else {
    request(from, *packet, payload);
  }
}

PacketPort::TargetConnection* PacketPort::target_for(NicAddress from, const Packet& packet) {
  const std::uint64_t key = std::uint64_t{from} << 16 | packet.connection;
  const auto found = targets_.find(key);
  if (found != targets_.end()) {
    TargetConnection& target = *found->second;
    if (target.epoch == packet.epoch) return &target;
    const auto newer = static_cast<std::int32_t>(packet.epoch - target.epoch) > 0;
    if (!newer) return nullptr;  // of an earlier life
    if (!packet.syn) {
      nack(from, packet, ReturnCode::kNoMatchingConn, 0);
      return nullptr;
    }
    forget(target);
    target = TargetConnection{};
    target.epoch = packet.epoch;
    return &target;
  }
  if (packet.type == PacketType::kClear) return nullptr;
  if (!packet.syn || targets_.size() >= options_.target_connections) {
    nack(from, packet, packet.syn ? ReturnCode::kNoTargetConn : ReturnCode::kNoMatchingConn, 0);
    return nullptr;
  }
  auto& made = targets_[key] = std::make_unique<TargetConnection>();
  made->epoch = packet.epoch;
  return made.get();
}

void PacketPort::request(NicAddress from, const Packet& packet,
                         std::span<const std::byte> payload) {
  TargetConnection* const target = target_for(from, packet);
  if (target == nullptr) return;
  target->seen_ns = now_ns_;
  if (packet.cleared != 0) clear(*target, packet.cleared);
  if (packet.type == PacketType::kClear) return;
  const int distance = sequence_distance(target->expected, packet.sequence);
  Remembered& place = target->remembered[packet.sequence % target->remembered.size()];
  if (distance < 0) {
    stats_.add(PortCounters::Id::kDuplicates);
    if (place.sequence == packet.sequence) answer(from, packet, place);
    return;
  }
  if (distance > 0) {
    stats_.add(PortCounters::Id::kGaps);
    nack(from, packet, ReturnCode::kSequenceError, target->expected);
    return;
  }
  const bool needs_state = packet.type == PacketType::kFirst && !packet.eom;
  if (needs_state && partial_messages_ >= options_.message_states) {
    nack(from, packet, ReturnCode::kNoTargetMst, 0);
    return;
  }
  const bool get = packet.message.operation == Operation::kGet;
  if (remembered_ >= options_.remembered_responses || place.sequence != 0 ||
      (get && free_slabs_.empty())) {
    nack(from, packet, ReturnCode::kNoTargetTrs, 0);
    return;
  }
  place = Remembered{.sequence = packet.sequence};
  ++remembered_;
  stats_.add(PortCounters::Id::kReceived);
  execute(*target, packet, payload, place);
  target->expected = static_cast<std::uint16_t>(sequence_after(target->expected));
  answer(from, packet, place);
}

void PacketPort::execute(TargetConnection& target, const Packet& packet,
                         std::span<const std::byte> payload, Remembered& answer) {
  if (packet.type == PacketType::kFirst) {
    abandon(target);  // the source gave up on it in the middle
    target.message = packet.message;
    target.message_id = packet.message_id;
    target.delivery = nic_.portals().begin(packet.message);
    if (target.delivery.outcome.code == ReturnCode::kOk) {
      target.partial = true;
      ++partial_messages_;
    } else {
      answer.code = target.delivery.outcome.code;
      return;
    }
  } else if (!target.partial || target.message_id != packet.message_id) {
    answer.code = ReturnCode::kMstCancelled;
    return;
  }
  Delivery& delivery = target.delivery;
  answer.mlength = delivery.outcome.mlength;
  answer.list = delivery.outcome.list;
  const std::uint64_t room =
      packet.offset < delivery.outcome.mlength ? delivery.outcome.mlength - packet.offset : 0;
  const bool put = target.message.operation == Operation::kPut;
  const auto wanted =
      std::min<std::uint64_t>({room, put ? payload.size() : payload_max_, packet.length});
  const Translated there =
      nic_.portals().memory(delivery, target.message.operation, packet.offset, wanted);
  if (packet.code != ReturnCode::kOk) delivery.outcome.code = packet.code;  // of the source
  if (there.code != ReturnCode::kOk) delivery.outcome.code = there.code;
  if (there.memory != nullptr && put) std::memcpy(there.memory, payload.data(), wanted);
  if (there.memory != nullptr && !put) {
    answer.data = free_slabs_.back();
    free_slabs_.pop_back();
    answer.length = static_cast<std::uint32_t>(wanted);
    std::memcpy(slab(answer.data), there.memory, wanted);
  }
  if (delivery.cut) delivery.outcome.code = ReturnCode::kMstCancelled;
  if (packet.eom || delivery.outcome.code != ReturnCode::kOk) {
    nic_.portals().finish(target.message, delivery);
    target.partial = false;
    --partial_messages_;
  }
  answer.code = delivery.outcome.code;
}

void PacketPort::answer(NicAddress to, const Packet& request, const Remembered& answer) {
  Packet packet = request;
  packet.type = PacketType::kAck;
  packet.code = answer.code;
  packet.mlength = answer.mlength;
  packet.list = answer.list;
  packet.length = answer.length;
  std::span<const std::byte> payload;
  if (answer.data != kNone) payload = {slab(answer.data), answer.length};
  // No room: it is asked for again.
  if (!wire_.send(to, encode(packet), payload)) stats_.add(PortCounters::Id::kWireFull);
}

void PacketPort::nack(NicAddress to, const Packet& request, ReturnCode code, unsigned expected) {
  if (request.type == PacketType::kClear) return;
  Packet packet = request;
  packet.type = PacketType::kNack;
  packet.code = code;
  packet.expected = static_cast<std::uint16_t>(expected);
  if (!wire_.send(to, encode(packet), {})) stats_.add(PortCounters::Id::kWireFull);
}

void PacketPort::clear(TargetConnection& target, unsigned up_to) {
  for (Remembered& one : target.remembered) {
    if (one.sequence == 0 || sequence_distance(one.sequence, up_to) < 0) continue;
    if (one.data != kNone) free_slabs_.push_back(one.data);
    one = Remembered{};
    --remembered_;
  }
}

// A message whose rest will never come.
void PacketPort::abandon(TargetConnection& target) {
  if (!target.partial) return;
  target.delivery.cut = true;
  nic_.portals().finish(target.message, target.delivery);
  target.partial = false;
  --partial_messages_;
}

void PacketPort::forget(TargetConnection& target) {
  abandon(target);
  for (const Remembered& one : target.remembered) {
    if (one.sequence == 0) continue;
    if (one.data != kNone) free_slabs_.push_back(one.data);
    --remembered_;
  }
}

void PacketPort::expire_targets(std::uint64_t now_ns) {
  const std::uint64_t timeout = retry_.target_timeout_ns();
  expiry_ns_ = now_ns + timeout / 4;
  std::erase_if(targets_, [&](const auto& one) {
    if (one.second->seen_ns + timeout > now_ns) return false;
    forget(*one.second);
    return true;
  });
}

void PacketPort::cut(Nic& /*nic*/, unsigned portal, unsigned buffer_id, ListKind list) {
  for (const auto& [key, target] : targets_) {
    if (target->partial && Portals::uses(target->delivery, portal, buffer_id, list))
      target->delivery.cut = true;
  }
}

}  // namespace plnet::cassini::soft
