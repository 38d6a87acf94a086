// SPDX-License-Identifier: BSD-3-Clause
// The frames of the link layer on an Ethernet: all have this one header. Our own format
// (doc/cassini-wire.md), little-endian except for the EtherType.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <span>

#include "drivers/net/cassini/soft/wire.hpp"

namespace plnet::cassini::soft::link {

static_assert(std::endian::native == std::endian::little, "layouts below are copied as they are");

struct Mac {
  std::array<std::uint8_t, 6> bytes{};
  friend bool operator==(const Mac&, const Mac&) = default;
};
inline constexpr Mac kBroadcast{{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}};

inline constexpr std::uint16_t kEtherType = 0x88b5;       // IEEE 802, local experimental 1
inline constexpr std::uint32_t kFrameMagic = 0x4c434c50;  // "PLCL"
inline constexpr std::uint8_t kFrameVersion = 1;
inline constexpr NicAddress kEverybody = 0xfffff;  // also the mask of an address

enum class FrameType : std::uint8_t {
  kAnnounce = 1,  // broadcast: this address is mine
  kAsk = 2,       // broadcast: whose is this address?
  kAnswer = 3,    // reply: it is mine
  kHello = 4,     // opens a session; `sequence` is the first one of the sender
  kWelcome = 5,   // answers kHello
  kData = 6,
  kAck = 7,    // payload: bits for `ack` + 1, + 2, … as 64-bit words
  kProbe = 8,  // asks whether the peer is alive. Answered by kAck
};

enum FrameFlags : std::uint16_t {
  kEchoes = 1U << 0,  // `echo` is valid
  kVoid = 1U << 1,    // of kData: no packet, only a place in the sequence
};
inline constexpr std::uint16_t kKnownFlags = kEchoes | kVoid;

struct EthernetWire {
  std::array<std::uint8_t, 6> destination{};
  std::array<std::uint8_t, 6> source{};
  std::array<std::uint8_t, 2> type{};  // most significant byte first
};
static_assert(sizeof(EthernetWire) == 14 && offsetof(EthernetWire, source) == 6);
static_assert(offsetof(EthernetWire, type) == 12);

struct FrameWire {
  std::uint32_t magic = kFrameMagic;
  std::uint8_t version = kFrameVersion;
  std::uint8_t type = 0;
  std::uint16_t length = 0;
  std::uint32_t destination = 0;
  std::uint32_t source = 0;
  std::uint32_t destination_epoch = 0;
  std::uint32_t source_epoch = 0;
  std::uint32_t sequence = 0;
  std::uint32_t ack = 0;
  std::uint16_t flags = 0;
  std::uint16_t reserved = 0;
  std::uint32_t sent_at = 0;
  std::uint32_t echo = 0;
  std::uint32_t checksum = 0;
};
static_assert(sizeof(FrameWire) == 48 && offsetof(FrameWire, version) == 4);
static_assert(offsetof(FrameWire, type) == 5 && offsetof(FrameWire, length) == 6);
static_assert(offsetof(FrameWire, destination) == 8 && offsetof(FrameWire, source) == 12);
static_assert(offsetof(FrameWire, destination_epoch) == 16);
static_assert(offsetof(FrameWire, source_epoch) == 20);
static_assert(offsetof(FrameWire, sequence) == 24 && offsetof(FrameWire, ack) == 28);
static_assert(offsetof(FrameWire, flags) == 32 && offsetof(FrameWire, reserved) == 34);
static_assert(offsetof(FrameWire, sent_at) == 36 && offsetof(FrameWire, echo) == 40);
static_assert(offsetof(FrameWire, checksum) == 44);

inline constexpr std::size_t kEthernetBytes = sizeof(EthernetWire);
inline constexpr std::size_t kLinkHeaderBytes = sizeof(FrameWire);  // counts against the MTU
inline constexpr std::size_t kFrameHeaderBytes = kEthernetBytes + kLinkHeaderBytes;
inline constexpr std::size_t kPayloadMax = UINT16_MAX;

struct Frame {
  Mac destination_mac;
  Mac source_mac;
  FrameType type = FrameType::kProbe;
  std::uint16_t flags = 0;
  NicAddress destination = 0;
  NicAddress source = 0;
  std::uint32_t destination_epoch = 0;  // 0: unknown
  std::uint32_t source_epoch = 0;
  std::uint32_t sequence = 0;
  std::uint32_t ack = 0;      // all before this one have arrived
  std::uint32_t sent_at = 0;  // the sender's clock in ns, its low half
  std::uint32_t echo = 0;     // `sent_at` of the frame that this one acknowledges

  friend bool operator==(const Frame&, const Frame&) = default;
};

struct ReceivedFrame {
  Frame frame;
  std::span<const std::byte> payload;
};
enum class FrameFault : std::uint8_t {
  kForeign,    // not of this protocol
  kVersion,    // of another version of it
  kMalformed,  // invalid lengths or fields
  kChecksum,
};

// Decodes a whole received Ethernet frame, including padding.
[[nodiscard]] std::expected<ReceivedFrame, FrameFault> decode_frame(
    std::span<const std::byte> bytes);

// The checksum of the payload alone: a packet's part that stays the same each time it is sent.
[[nodiscard]] std::uint32_t payload_checksum(std::span<const std::byte> payload);
// Writes the headers in front of a payload, which may be written later.
void encode_frame(const Frame& frame, std::size_t payload_bytes, std::uint32_t payload_checksum,
                  std::span<std::byte, kFrameHeaderBytes> out);

}  // namespace plnet::cassini::soft::link
