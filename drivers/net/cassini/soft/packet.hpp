// SPDX-License-Identifier: BSD-3-Clause
// The messages of software NICs on a wire: a format of our own, versioned, with every field of the
// device's headers, so that traces are comparable.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>

#include "drivers/net/cassini/soft/field.hpp"
#include "drivers/net/cassini/soft/message.hpp"

namespace plnet::cassini::soft {

#define PLNET_SOFT_WIRE_FIELDS(X)                   \
  X(Magic, "magic", 0, 0, 32)                       \
  X(Version, "version", 4, 0, 8)                    \
  X(Type, "type", 5, 0, 8)                          \
  X(Syn, "syn", 6, 0, 1)                            \
  X(Eom, "eom", 6, 1, 1)                            \
  X(Restricted, "restricted", 6, 2, 1)              \
  X(Rendezvous, "rendezvous", 6, 3, 1)              \
  X(Flush, "flush", 6, 4, 1)                        \
  X(Try, "try", 7, 0, 8)                            \
  X(SourceNid, "source_nid", 8, 0, 20)              \
  X(EndpointDefined, "endpoint_defined", 12, 0, 12) \
  X(Nid, "nid", 13, 4, 20)                          \
  X(Vni, "vni", 16, 0, 16)                          \
  X(IndexExt, "index_ext", 18, 0, 5)                \
  X(TrafficClass, "traffic_class", 19, 0, 8)        \
  X(Connection, "connection", 20, 0, 16)            \
  X(Sequence, "sequence", 22, 0, 16)                \
  X(Epoch, "epoch", 24, 0, 32)                      \
  X(Cleared, "cleared", 28, 0, 16)                  \
  X(Opcode, "opcode", 30, 0, 8)                     \
  X(Code, "code", 31, 0, 8)                         \
  X(MessageId, "message_id", 32, 0, 32)             \
  X(Length, "length", 36, 0, 32)                    \
  X(Offset, "offset", 40, 0, 64)                    \
  X(RemoteOffset, "remote_offset", 48, 0, 64)       \
  X(MatchBits, "match_bits", 56, 0, 64)             \
  X(HeaderData, "header_data", 64, 0, 64)           \
  X(Initiator, "initiator", 72, 0, 32)              \
  X(RequestLength, "request_length", 76, 0, 32)     \
  X(MLength, "mlength", 80, 0, 32)                  \
  X(Expected, "expected", 84, 0, 16)                \
  X(List, "list", 86, 0, 8)                         \
  X(RendezvousId, "rendezvous_id", 87, 0, 8)

namespace layout {
PLNET_SOFT_LAYOUT(WirePacket, 88, PLNET_SOFT_WIRE_FIELDS);
}  // namespace layout

// MLength of a request is the eager length of its rendezvous, that of a response the bytes that
// were moved. The payload of an atomic operation is its AtomicRequest.

inline constexpr std::uint32_t kWireMagic = 0x4e434c50;  // PLCN
inline constexpr std::uint8_t kWireVersion = 2;
inline constexpr std::size_t kPacketHeaderBytes = layout::WirePacket::kBytes;
inline constexpr std::size_t kPayloadMax = 8192;

// The last four close a connection: first its responses are forgotten, then the connection.
enum class PacketType : std::uint8_t {
  kFirst = 1,
  kContinuation,
  kAck,
  kNack,
  kClear,
  kCleared,
  kClose,
  kClosed
};

// Sequence numbers of a connection: 1 … 4095, then 1 again.
inline constexpr unsigned kSequences = 4095;
constexpr unsigned sequence_after(unsigned sequence, unsigned steps = 1) {
  return (sequence - 1 + steps) % kSequences + 1;
}
// The distance from `from` to `to`, assuming at most half the circle.
constexpr int sequence_distance(unsigned from, unsigned to) {
  const int ahead = static_cast<int>((to + kSequences - from) % kSequences);
  return ahead > static_cast<int>(kSequences / 2) ? ahead - static_cast<int>(kSequences) : ahead;
}

struct Packet {
  PacketType type = PacketType::kFirst;
  bool syn = false;  // no response has been seen on this connection yet
  bool eom = false;
  std::uint8_t attempt = 0;
  std::uint16_t connection = 0;  // the connection's number at the sender of the request
  std::uint16_t sequence = 0;
  std::uint16_t cleared = 0;   // responses up to this one may be forgotten; 0: none
  std::uint16_t expected = 0;  // of a NACK for a gap; of an ACK: the first of a run, or 0
  std::uint32_t epoch = 0;
  std::uint32_t message_id = 0;
  std::uint32_t length = 0;  // bytes carried or requested
  std::uint64_t offset = 0;  // offset of these bytes in the message
  ReturnCode code = ReturnCode::kOk;
  std::uint32_t mlength = 0;
  ListKind list = ListKind::kPriority;
  Message message;  // length and header of the whole
};

using PacketHeader = std::array<std::byte, kPacketHeaderBytes>;
[[nodiscard]] PacketHeader encode(const Packet& packet);
// Nothing: not a packet of this version.
[[nodiscard]] std::optional<Packet> decode(std::span<const std::byte> bytes);

}  // namespace plnet::cassini::soft
