// SPDX-License-Identifier: BSD-3-Clause
#include "lib/kfilnd/wire.hpp"

#include <cstring>

#include "lib/lnet/names/nid64.hpp"

namespace plnet::kfilnd {

namespace {

template <class Wire>
Wire read(std::span<const std::byte> bytes, std::size_t at) {
  PLNET_CHECK(bytes.size() >= at + sizeof(Wire), "the caller has compared the length");
  Wire wire;
  std::memcpy(&wire, bytes.data() + at, sizeof wire);
  return wire;
}

template <class Wire>
std::size_t write(const Wire& wire, std::size_t at, Head& out) {
  std::memcpy(out.data() + at, &wire, sizeof wire);
  return at + sizeof wire;
}

std::size_t bytes_min(const Message& message) {
  if (message.is_hello()) return kHelloBytes;
  if (message.kind == Kind::kImmediate) return kImmediateBytes;
  return message.version == 1 ? kBulkV1Bytes : kBulkV2Bytes;
}

bool sums_up(std::span<const std::byte> bytes) {
  Checksum checksum;
  checksum.add(bytes);
  return checksum.value() == 0;
}

std::optional<Refusal> decode_hello(std::span<const std::byte> bytes, Message& out) {
  const auto wire = read<HelloWire>(bytes, kCommonBytes);
  out.hello = {.version = wire.version,
               .rx_base = wire.rx_base,
               .session_key = wire.session_key,
               .rx_count = wire.rx_count};
  // Zero contexts are an assertion in the kernel; contexts have 8 bits in the address of a peer.
  if (wire.version < kVersionMin || wire.rx_count == 0 || wire.rx_base > UINT8_MAX)
    return Refusal::kHello;
  if (out.kind == Kind::kHelloResponse && wire.version > kVersionMax) return Refusal::kHello;
  return std::nullopt;
}

// Type and length in the LNet header must match the message, or later code would copy too much.
bool fits(const Message& message, std::size_t nob) {
  const lnet::MessageHeader& header = message.header;
  const bool carries =
      header.type == lnet::MessageType::kPut || header.type == lnet::MessageType::kReply;
  if (message.kind == Kind::kBulkPut) return carries;
  if (message.kind == Kind::kBulkGet) return header.type == lnet::MessageType::kGet;
  return nob - kImmediateBytes == (carries ? header.payload_length : 0);
}

std::optional<Refusal> check_common(const CommonWire& common, std::span<const std::byte> bytes,
                                    const DecodeRules& rules) {
  if (common.magic != kMagic) return Refusal::kWrongMagic;
  if (common.version > kVersionMax) return Refusal::kVersion;
  if (common.nob > bytes.size()) return Refusal::kTruncated;
  if (common.nob > kMessageBytesMax) return Refusal::kLength;
  if (common.nob < kCommonBytes) return Refusal::kTooSmall;
  if (rules.verify_checksum && common.checksum != 0 && !sums_up(bytes.first(common.nob)))
    return Refusal::kChecksum;
  if (common.destination_nid != rules.own_nid) return Refusal::kNotForUs;
  // Networks of the fabric have no large NIDs.
  constexpr unsigned kNetShift = 32;
  if (common.source_nid >> kNetShift != rules.own_nid >> kNetShift) return Refusal::kNoSource;
  return std::nullopt;
}

}  // namespace

std::optional<Refusal> decode(std::span<const std::byte> bytes, const DecodeRules& rules,
                              Message& out) {
  if (bytes.size() < kCommonBytes) return Refusal::kShort;
  const auto common = read<CommonWire>(bytes, 0);
  if (const auto refusal = check_common(common, bytes, rules)) return refusal;
  if (common.type < static_cast<std::uint8_t>(Kind::kImmediate) ||
      common.type > static_cast<std::uint8_t>(Kind::kHelloResponse))
    return Refusal::kType;
  out.kind = static_cast<Kind>(common.type);
  out.version = common.version;
  out.source_nid = common.source_nid;
  out.destination_nid = common.destination_nid;
  if ((common.version == kHelloVersion) != out.is_hello()) return Refusal::kType;
  if (common.nob < bytes_min(out)) return Refusal::kTooSmall;
  if (out.is_hello()) return decode_hello(bytes, out);
  lnet::decode_header_nid4_into(bytes.subspan<kCommonBytes, lnet::kHeaderNid4Bytes>(), out.header);
  if (!fits(out, common.nob)) return Refusal::kLength;
  if (out.kind == Kind::kImmediate) return std::nullopt;
  const auto bulk = read<BulkV1Wire>(bytes, kImmediateBytes);
  out.response_rx = static_cast<std::uint8_t>(bulk.response_rx);  // truncated as in the kernel
  out.key = bulk.key;
  out.session_key = common.version == 1 ? 0 : read<BulkV2Wire>(bytes, kImmediateBytes).session_key;
  return std::nullopt;
}

std::size_t encode(const Message& message, std::uint32_t payload_bytes, Head& out) {
  std::size_t bytes = kCommonBytes;
  if (message.is_hello()) {
    bytes = write(HelloWire{.version = message.hello.version,
                            .rx_base = message.hello.rx_base,
                            .session_key = message.hello.session_key,
                            .rx_count = message.hello.rx_count},
                  bytes, out);
  } else {
    lnet::encode_header_nid4_truncating(
        message.header, std::span(out).subspan<kCommonBytes, lnet::kHeaderNid4Bytes>());
    bytes = kImmediateBytes;
    if (message.is_bulk() && message.version == 1) {
      bytes = write(BulkV1Wire{message.response_rx, message.key}, bytes, out);
    } else if (message.is_bulk()) {
      bytes = write(BulkV2Wire{message.response_rx, message.key, message.session_key}, bytes, out);
    }
  }
  const std::size_t nob = bytes + payload_bytes;
  PLNET_CHECK(nob <= kMessageBytesMax, "a message fits into a peer's receive buffer");
  (void)write(CommonWire{.magic = kMagic,
                         .version = message.version,
                         .type = static_cast<std::uint8_t>(message.kind),
                         .nob = static_cast<std::uint16_t>(nob),
                         .source_nid = message.source_nid,
                         .destination_nid = message.destination_nid},
              0, out);
  return bytes;
}

void Checksum::add(std::span<const std::byte> bytes) {
  for (const std::byte byte : bytes) {
    const auto value = std::to_integer<std::uint64_t>(byte);
    sum_ += odd_ ? value << 8U : value;
    odd_ = !odd_;
  }
}

std::uint16_t Checksum::value() const {
  std::uint64_t folded = sum_;
  while (folded > UINT16_MAX)
    folded = (folded & UINT16_MAX) + (folded >> 16U);
  return static_cast<std::uint16_t>(~folded);
}

void set_checksum(std::uint16_t checksum, std::span<std::byte> head) {
  PLNET_CHECK(head.size() >= kCommonBytes, "a checksum is set in an encoded head");
  std::memcpy(head.data() + offsetof(CommonWire, checksum), &checksum, sizeof checksum);
}

}  // namespace plnet::kfilnd
