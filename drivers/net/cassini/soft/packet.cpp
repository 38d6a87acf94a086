// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/cassini/soft/packet.hpp"

#include <algorithm>

#include "drivers/net/cassini/soft/shared_word.hpp"

namespace plnet::cassini::soft {

using Bits = layout::WirePacket;

namespace {

constexpr std::array kOperations{Operation::kPut, Operation::kGet, Operation::kAtomic,
                                 Operation::kFetchingAtomic};  // from opcode 1 on

constexpr std::uint64_t opcode_of(Operation operation) {
  return static_cast<std::uint64_t>(std::ranges::find(kOperations, operation) -
                                    kOperations.begin()) +
         1;
}

constexpr bool is_request(PacketType type) {
  return type == PacketType::kFirst || type == PacketType::kContinuation;
}

}  // namespace

PacketHeader encode(const Packet& packet) {
  PacketHeader header{};
  std::byte* at = header.data();
  const Message& message = packet.message;
  Bits::Magic::set(at, kWireMagic);
  Bits::Version::set(at, kWireVersion);
  Bits::Type::set(at, static_cast<std::uint64_t>(packet.type));
  Bits::Syn::set(at, packet.syn ? 1 : 0);
  Bits::Eom::set(at, packet.eom ? 1 : 0);
  Bits::Restricted::set(at, message.restricted ? 1 : 0);
  Bits::Try::set(at, packet.attempt);
  Bits::SourceNid::set(at, nic_of(message.source));
  Bits::EndpointDefined::set(at, endpoint_defined(message.pid, message.index));
  Bits::Nid::set(at, nic_of(message.destination));
  Bits::Vni::set(at, message.vni);
  Bits::IndexExt::set(at, message.index & 31U);
  Bits::TrafficClass::set(at, message.traffic_class);
  Bits::Connection::set(at, packet.connection);
  Bits::Sequence::set(at, packet.sequence);
  Bits::Epoch::set(at, packet.epoch);
  Bits::Cleared::set(at, packet.cleared);
  Bits::Opcode::set(at, opcode_of(message.operation));
  Bits::Code::set(at, static_cast<std::uint64_t>(packet.code));
  Bits::MessageId::set(at, packet.message_id);
  Bits::Length::set(at, packet.length);
  Bits::Offset::set(at, packet.offset);
  Bits::RemoteOffset::set(at, message.remote_offset);
  Bits::MatchBits::set(at, message.match_bits);
  Bits::HeaderData::set(at, message.header_data);
  Bits::Initiator::set(at, message.initiator);
  Bits::RequestLength::set(at, message.length);
  Bits::Rendezvous::set(at, message.rendezvous ? 1 : 0);
  Bits::Flush::set(at, message.flush ? 1 : 0);
  Bits::RendezvousId::set(at, message.rendezvous_id);
  Bits::MLength::set(at, is_request(packet.type) ? message.eager_length : packet.mlength);
  Bits::Expected::set(at, packet.expected);
  Bits::List::set(at, static_cast<std::uint64_t>(packet.list));
  return header;
}

std::optional<Packet> decode(std::span<const std::byte> bytes) {
  if (bytes.size() < kPacketHeaderBytes) return {};
  PacketHeader header;
  std::copy_n(bytes.begin(), header.size(), header.begin());
  end_of_copy();
  const std::byte* at = header.data();
  if (Bits::Magic::get(at) != kWireMagic || Bits::Version::get(at) != kWireVersion) return {};
  const std::uint64_t type = Bits::Type::get(at);
  const std::uint64_t opcode = Bits::Opcode::get(at);
  const std::uint64_t list = Bits::List::get(at);
  const std::uint64_t sequence = Bits::Sequence::get(at);
  if (type == 0 || type > static_cast<std::uint64_t>(PacketType::kClosed)) return {};
  if (opcode == 0 || opcode > kOperations.size() || list >= kLists || sequence > kSequences)
    return {};
  if (Bits::Cleared::get(at) > kSequences || Bits::Expected::get(at) > kSequences) return {};
  if (sequence == 0 && type < static_cast<std::uint64_t>(PacketType::kClear)) return {};
  // Codes have six bits in events; an event with code 0 would look half written for ever.
  const std::uint64_t code = Bits::Code::get(at);
  if (code == 0 || code > kReturnCodeMax) return {};
  Packet packet;
  packet.type = static_cast<PacketType>(type);
  packet.syn = Bits::Syn::get(at) != 0;
  packet.eom = Bits::Eom::get(at) != 0;
  packet.attempt = static_cast<std::uint8_t>(Bits::Try::get(at));
  packet.connection = static_cast<std::uint16_t>(Bits::Connection::get(at));
  packet.sequence = static_cast<std::uint16_t>(sequence);
  packet.cleared = static_cast<std::uint16_t>(Bits::Cleared::get(at));
  packet.expected = static_cast<std::uint16_t>(Bits::Expected::get(at));
  packet.epoch = static_cast<std::uint32_t>(Bits::Epoch::get(at));
  packet.message_id = static_cast<std::uint32_t>(Bits::MessageId::get(at));
  packet.length = static_cast<std::uint32_t>(Bits::Length::get(at));
  packet.offset = Bits::Offset::get(at);
  packet.code = static_cast<ReturnCode>(code);
  packet.list = static_cast<ListKind>(list);
  Message& message = packet.message;
  const auto mlength = static_cast<std::uint32_t>(Bits::MLength::get(at));
  (is_request(packet.type) ? message.eager_length : packet.mlength) = mlength;
  message.rendezvous = Bits::Rendezvous::get(at) != 0;
  message.flush = Bits::Flush::get(at) != 0;
  message.rendezvous_id = static_cast<std::uint8_t>(Bits::RendezvousId::get(at));
  message.operation = kOperations.at(opcode - 1);
  message.restricted = Bits::Restricted::get(at) != 0;
  if (message.rendezvous && (message.operation != Operation::kPut || message.restricted)) return {};
  message.traffic_class = static_cast<std::uint8_t>(Bits::TrafficClass::get(at));
  const std::uint64_t endpoint = Bits::EndpointDefined::get(at);
  message.index = index_of(endpoint, Bits::IndexExt::get(at));
  message.pid = static_cast<std::uint16_t>(endpoint & kPidAnyValue);
  message.vni = static_cast<std::uint16_t>(Bits::Vni::get(at));
  message.source = static_cast<NicAddress>(Bits::SourceNid::get(at));
  message.destination = static_cast<NicAddress>(Bits::Nid::get(at));
  message.initiator = static_cast<std::uint32_t>(Bits::Initiator::get(at));
  message.length = static_cast<std::uint32_t>(Bits::RequestLength::get(at));
  message.remote_offset = Bits::RemoteOffset::get(at);
  message.match_bits = Bits::MatchBits::get(at);
  message.header_data = Bits::HeaderData::get(at);
  return packet;
}

}  // namespace plnet::cassini::soft
