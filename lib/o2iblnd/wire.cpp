// SPDX-License-Identifier: BSD-3-Clause
#include "lib/o2iblnd/wire.hpp"

#include <cstring>

#include "lib/base/check.hpp"
#include "lib/lnet/names/nid64.hpp"

namespace plnet::o2iblnd {

namespace {

constexpr std::size_t kVersionEnd = offsetof(CommonWire, type);

template <class Wire>
Wire read(std::span<const std::byte> bytes, std::size_t at) {
  Wire wire;
  std::memcpy(&wire, bytes.data() + at, sizeof wire);
  return wire;
}

template <class Wire>
void write(const Wire& wire, std::size_t at, std::span<std::byte> out) {
  PLNET_CHECK(at + sizeof wire <= out.size(), "a message fits into its buffer");
  std::memcpy(out.data() + at, &wire, sizeof wire);
}

template <class Number>
Number ordered(Number value, bool swapped) {
  return swapped ? std::byteswap(value) : value;
}

bool has_header(Kind kind) {
  return kind == Kind::kImmediate || kind == Kind::kPutRequest || kind == Kind::kGetRequest;
}

bool is_completion(Kind kind) {
  return kind == Kind::kPutNak || kind == Kind::kPutDone || kind == Kind::kGetDone;
}

// 0: no such type.
std::size_t bytes_min(std::uint8_t type) {
  switch (static_cast<Kind>(type)) {
    case Kind::kConnectRequest:
    case Kind::kConnectAck: return kConnectBytes;
    case Kind::kNoop: return kCommonBytes;
    case Kind::kImmediate: return kImmediateBytes;
    case Kind::kPutRequest: return kPutRequestBytes;
    case Kind::kPutAck: return kPutAckBytes;
    case Kind::kGetRequest: return kGetRequestBytes;
    case Kind::kPutNak:
    case Kind::kPutDone:
    case Kind::kGetDone: return kCompletionBytes;
  }
  return 0;
}

std::size_t descriptor_at(Kind kind) {
  return fragments_at(kind) - sizeof(DescriptorWire);
}

std::uint32_t sum_up(std::uint32_t sum, std::span<const std::byte> bytes, CharSign sign) {
  for (const std::byte one : bytes) {
    const auto value = std::to_integer<std::uint8_t>(one);
    sum = std::rotl(sum, 1) + (sign == CharSign::kSigned
                                   ? static_cast<std::uint32_t>(static_cast<std::int8_t>(value))
                                   : std::uint32_t{value});
  }
  return sum;
}

Parameters parameters_of(const ParametersWire& wire, bool swapped) {
  return {.queue_depth = ordered(wire.queue_depth, swapped),
          .max_frags = ordered(wire.max_frags, swapped),
          .max_msg_size = ordered(wire.max_msg_size, swapped)};
}

ParametersWire wire_of(const Parameters& parameters) {
  return {parameters.queue_depth, parameters.max_frags, parameters.max_msg_size};
}

std::optional<Refusal> decode_buffer(std::span<const std::byte> message, Message& out) {
  const auto wire = read<DescriptorWire>(message, descriptor_at(out.kind));
  const std::uint32_t count = ordered(wire.count, out.swapped);
  out.buffer.key = ordered(wire.key, out.swapped);
  if (count == 0 || count > kFragmentsMax) return Refusal::kFragments;
  const std::size_t bytes = count * sizeof(FragmentWire);
  if (message.size() - fragments_at(out.kind) < bytes) return Refusal::kFragments;
  out.buffer.fragments = {message.subspan(fragments_at(out.kind), bytes), out.swapped};
  return std::nullopt;
}

std::optional<Refusal> decode_body(std::span<const std::byte> message, Message& out) {
  if (has_header(out.kind))
    lnet::decode_header_nid4_into(message.subspan<kCommonBytes, lnet::kHeaderNid4Bytes>(),
                                  out.header);
  switch (out.kind) {
    case Kind::kNoop:
    case Kind::kImmediate: return std::nullopt;
    case Kind::kConnectRequest:
    case Kind::kConnectAck:
      out.parameters = parameters_of(read<ParametersWire>(message, kCommonBytes), out.swapped);
      return std::nullopt;
    case Kind::kPutNak:
    case Kind::kPutDone:
    case Kind::kGetDone: {
      const auto wire = read<CompletionWire>(message, kCommonBytes);
      out.cookie = wire.cookie;
      out.status = ordered(wire.status, out.swapped);
      return std::nullopt;
    }
    case Kind::kPutRequest:
      out.cookie = read<std::uint64_t>(message, kImmediateBytes);
      return std::nullopt;
    case Kind::kPutAck:
      out.cookie = read<std::uint64_t>(message, kCommonBytes);
      out.sink_cookie = read<std::uint64_t>(message, kCommonBytes + sizeof out.cookie);
      break;
    case Kind::kGetRequest: out.cookie = read<std::uint64_t>(message, kImmediateBytes); break;
  }
  return decode_buffer(message, out);
}

}  // namespace

FragmentWire RemoteFragments::at(std::uint32_t index) const {
  PLNET_CHECK(index < count(), "no such fragment");
  const auto wire = read<FragmentWire>(bytes_, index * sizeof(FragmentWire));
  return {ordered(wire.nob, swapped_), ordered(wire.address, swapped_)};
}

std::uint64_t RemoteFragments::total() const {
  std::uint64_t bytes = 0;
  for (std::uint32_t i = 0; i < count(); ++i)
    bytes += at(i).nob;
  return bytes;
}

std::optional<Refusal> decode(std::span<const std::byte> bytes, Message& out) {
  if (bytes.size() < kVersionEnd) return Refusal::kShort;
  const auto magic = read<std::uint32_t>(bytes, 0);
  out.swapped = magic == std::byteswap(kMagic);
  if (magic != kMagic && !out.swapped) return Refusal::kWrongMagic;
  const auto version = read<std::uint16_t>(bytes, offsetof(CommonWire, version));
  out.version = ordered(version, out.swapped);
  if (out.version != kVersion1 && out.version != kVersion2) return Refusal::kVersion;
  if (bytes.size() < kCommonBytes) return Refusal::kShort;
  const auto common = read<CommonWire>(bytes, 0);
  out.nob = ordered(common.nob, out.swapped);
  if (out.nob > bytes.size()) return Refusal::kTruncated;
  const auto message = bytes.first(out.nob);
  // The kernel computes the sum only over the length, and compares the length with the type later.
  const std::uint32_t checksum = ordered(common.checksum, out.swapped);
  if (checksum != 0 && checksum != message_checksum(message, CharSign::kSigned) &&
      checksum != message_checksum(message, CharSign::kUnsigned))
    return Refusal::kChecksum;
  out.credits = common.credits;
  out.source_nid = ordered(common.source_nid, out.swapped);
  out.source_stamp = ordered(common.source_stamp, out.swapped);
  out.destination_nid = ordered(common.destination_nid, out.swapped);
  out.destination_stamp = ordered(common.destination_stamp, out.swapped);
  if (out.source_nid == lnet::kNid64Any) return Refusal::kNoSource;
  const std::size_t least = bytes_min(common.type);
  if (least == 0) return Refusal::kType;
  if (message.size() < least) return Refusal::kTooSmall;
  out.kind = static_cast<Kind>(common.type);
  return decode_body(message, out);
}

std::size_t fragments_at(Kind kind) {
  PLNET_CHECK(kind == Kind::kPutAck || kind == Kind::kGetRequest, "a message with fragments");
  return kind == Kind::kPutAck ? kPutAckBytes : kGetRequestBytes;
}

void put_fragment(const FragmentWire& fragment, std::uint32_t index, Kind kind,
                  std::span<std::byte> out) {
  PLNET_CHECK(index < kFragmentsMax, "no message has more fragments");
  write(fragment, fragments_at(kind) + index * sizeof fragment, out);
}

std::size_t encode(const Message& message, std::uint32_t payload_bytes, std::span<std::byte> out) {
  std::size_t bytes = bytes_min(static_cast<std::uint8_t>(message.kind));
  PLNET_CHECK(bytes > 0 && bytes <= out.size(), "a message of a known type fits into its buffer");
  if (has_header(message.kind))
    lnet::encode_header_nid4_truncating(message.header,
                                        out.subspan(kCommonBytes).first<lnet::kHeaderNid4Bytes>());
  if (message.kind == Kind::kConnectRequest || message.kind == Kind::kConnectAck) {
    write(wire_of(message.parameters), kCommonBytes, out);
  } else if (is_completion(message.kind)) {
    write(CompletionWire{message.cookie, message.status}, kCommonBytes, out);
  } else if (message.kind == Kind::kPutAck) {
    write(message.cookie, kCommonBytes, out);
    write(message.sink_cookie, kCommonBytes + sizeof message.cookie, out);
  } else if (message.kind == Kind::kPutRequest || message.kind == Kind::kGetRequest) {
    write(message.cookie, kImmediateBytes, out);
  }
  if (message.kind == Kind::kPutAck || message.kind == Kind::kGetRequest) {
    const std::uint32_t count = message.buffer.fragments.count();
    PLNET_CHECK(count > 0 && count <= kFragmentsMax, "a buffer has fragments");
    write(DescriptorWire{message.buffer.key, count}, descriptor_at(message.kind), out);
    for (std::uint32_t i = 0; i < count; ++i)
      put_fragment(message.buffer.fragments.at(i), i, message.kind, out);
    bytes += count * sizeof(FragmentWire);
  }
  PLNET_CHECK(bytes + payload_bytes <= kMessageBytes, "a message is as long as a buffer at most");
  write(CommonWire{.magic = kMagic,
                   .version = message.version,
                   .type = static_cast<std::uint8_t>(message.kind),
                   .credits = message.credits,
                   .nob = static_cast<std::uint32_t>(bytes + payload_bytes),
                   .source_nid = message.source_nid,
                   .source_stamp = message.source_stamp,
                   .destination_nid = message.destination_nid,
                   .destination_stamp = message.destination_stamp},
        0, out);
  return bytes;
}

void set_credits(std::span<std::byte> message, std::uint8_t credits) {
  write(credits, offsetof(CommonWire, credits), message);
}

std::uint32_t checksum_of(std::span<const std::byte> bytes, CharSign sign) {
  const std::uint32_t sum = sum_up(0, bytes, sign);
  return sum == 0 ? 1 : sum;
}

std::uint32_t message_checksum(std::span<const std::byte> message, CharSign sign) {
  constexpr std::size_t kField = offsetof(CommonWire, checksum);
  constexpr std::array<std::byte, sizeof(std::uint32_t)> kNone{};
  if (message.size() < kField + kNone.size()) return checksum_of(message, sign);
  std::uint32_t sum = sum_up(0, message.first(kField), sign);
  sum = sum_up(sum, kNone, sign);
  sum = sum_up(sum, message.subspan(kField + kNone.size()), sign);
  return sum == 0 ? 1 : sum;
}

void set_checksum(std::span<std::byte> message, CharSign sign) {
  write(message_checksum(message, sign), offsetof(CommonWire, checksum), message);
}

std::array<std::byte, kRejectBytes> encode(const Reject& reject) {
  std::array<std::byte, kRejectBytes> out{};
  write(RejectWire{.magic = kMagic,
                   .version = reject.version,
                   .why = static_cast<std::uint8_t>(reject.why),
                   .incarnation = reject.incarnation,
                   .parameters = wire_of(reject.parameters.value_or(Parameters{}))},
        0, out);
  return out;
}

std::optional<Reject> decode_reject(std::span<const std::byte> bytes) {
  if (bytes.size() < kRejectBytesMin) return std::nullopt;
  const auto magic = read<std::uint32_t>(bytes, 0);
  const bool swapped = magic == std::byteswap(kMagic) || magic == std::byteswap(kUnifiedMagic);
  if (!swapped && magic != kMagic && magic != kUnifiedMagic) return std::nullopt;
  Reject reject;
  reject.version = ordered(read<std::uint16_t>(bytes, offsetof(RejectWire, version)), swapped);
  reject.why = static_cast<RejectReason>(read<std::uint8_t>(bytes, offsetof(RejectWire, why)));
  if (bytes.size() >= kRejectBytes && reject.version > kVersion1) {
    const auto wire = read<RejectWire>(bytes, 0);
    reject.incarnation = ordered(wire.incarnation, swapped);
    reject.parameters = parameters_of(wire.parameters, swapped);
  }
  return reject;
}

}  // namespace plnet::o2iblnd
