// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/cassini/soft/link/frame.hpp"

#include <cstring>

#include "drivers/net/cassini/soft/link/crc32c.hpp"
#include "lib/base/check.hpp"

namespace plnet::cassini::soft::link {

namespace {

constexpr std::size_t kMacBytes = offsetof(EthernetWire, type);
constexpr std::size_t kCheckedBytes = offsetof(FrameWire, checksum);

// Payload first, so that its part need not be recomputed when a packet is sent again; then the two
// MAC addresses, which peers learn, and the header.
std::uint32_t checksum_of(std::uint32_t after_payload, std::span<const std::byte> bytes) {
  const std::uint32_t after_macs = crc32c(after_payload, bytes.first(kMacBytes));
  return ~crc32c(after_macs, bytes.subspan(kEthernetBytes, kCheckedBytes));
}

bool is_possible(const FrameWire& wire) {
  return wire.type >= static_cast<std::uint8_t>(FrameType::kAnnounce) &&
         wire.type <= static_cast<std::uint8_t>(FrameType::kProbe) &&
         (wire.flags & ~kKnownFlags) == 0 && wire.reserved == 0 && wire.destination <= kEverybody &&
         wire.source < kEverybody;
}

}  // namespace

std::expected<ReceivedFrame, FrameFault> decode_frame(std::span<const std::byte> bytes) {
  if (bytes.size() < kFrameHeaderBytes) return std::unexpected(FrameFault::kForeign);
  EthernetWire ethernet;
  std::memcpy(&ethernet, bytes.data(), sizeof ethernet);
  FrameWire wire;
  std::memcpy(&wire, bytes.data() + kEthernetBytes, sizeof wire);
  if (ethernet.type[0] != kEtherType >> 8 || ethernet.type[1] != (kEtherType & 0xff) ||
      wire.magic != kFrameMagic)
    return std::unexpected(FrameFault::kForeign);
  if (wire.version != kFrameVersion) return std::unexpected(FrameFault::kVersion);
  if (wire.length > bytes.size() - kFrameHeaderBytes)
    return std::unexpected(FrameFault::kMalformed);
  const std::span<const std::byte> payload = bytes.subspan(kFrameHeaderBytes, wire.length);
  if (checksum_of(payload_checksum(payload), bytes) != wire.checksum)
    return std::unexpected(FrameFault::kChecksum);
  if (!is_possible(wire)) return std::unexpected(FrameFault::kMalformed);
  return ReceivedFrame{.frame = {.destination_mac = {ethernet.destination},
                                 .source_mac = {ethernet.source},
                                 .type = static_cast<FrameType>(wire.type),
                                 .flags = wire.flags,
                                 .destination = wire.destination,
                                 .source = wire.source,
                                 .destination_epoch = wire.destination_epoch,
                                 .source_epoch = wire.source_epoch,
                                 .sequence = wire.sequence,
                                 .ack = wire.ack,
                                 .sent_at = wire.sent_at,
                                 .echo = wire.echo},
                       .payload = payload};
}

std::uint32_t payload_checksum(std::span<const std::byte> payload) {
  return crc32c(kCrcStart, payload);
}

void encode_frame(const Frame& frame, std::size_t payload_bytes, std::uint32_t payload_checksum,
                  std::span<std::byte, kFrameHeaderBytes> out) {
  PLNET_CHECK(payload_bytes <= kPayloadMax, "the length has 16 bits");
  const EthernetWire ethernet{.destination = frame.destination_mac.bytes,
                              .source = frame.source_mac.bytes,
                              .type = {kEtherType >> 8, kEtherType & 0xff}};
  FrameWire wire{.type = static_cast<std::uint8_t>(frame.type),
                 .length = static_cast<std::uint16_t>(payload_bytes),
                 .destination = frame.destination,
                 .source = frame.source,
                 .destination_epoch = frame.destination_epoch,
                 .source_epoch = frame.source_epoch,
                 .sequence = frame.sequence,
                 .ack = frame.ack,
                 .flags = frame.flags,
                 .sent_at = frame.sent_at,
                 .echo = frame.echo};
  std::memcpy(out.data(), &ethernet, sizeof ethernet);
  std::memcpy(out.data() + kEthernetBytes, &wire, sizeof wire);
  wire.checksum = checksum_of(payload_checksum, out);
  std::memcpy(out.data() + kEthernetBytes + kCheckedBytes, &wire.checksum, sizeof wire.checksum);
}

}  // namespace plnet::cassini::soft::link
