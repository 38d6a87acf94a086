// SPDX-License-Identifier: BSD-3-Clause
#include "lib/trace/file/capture_reader.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "lib/trace/decode/captured.hpp"
#include "lib/trace/file/pcapng.hpp"

namespace plnet::trace {

namespace {

constexpr std::uint32_t kPcapMicroseconds = 0xa1b2c3d4;
constexpr std::uint32_t kPcapNanoseconds = 0xa1b23c4d;
constexpr std::size_t kPcapHeader = 24;
constexpr std::size_t kPcapRecord = 16;

constexpr std::size_t kBlockFrame = 12;  // type, length, length again

constexpr std::size_t round_up_4(std::size_t value) {
  return (value + 3) & ~std::size_t{3};
}

std::string_view letters_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Calls `option(code, value)` for each option.
template <class Option>
void for_each_option(std::span<const std::byte> bytes, bool swapped, Option&& option) {
  while (bytes.size() >= 4) {
    const std::uint16_t code = number_at<std::uint16_t>(bytes, 0, swapped).value_or(0);
    const std::size_t length = number_at<std::uint16_t>(bytes, 2, swapped).value_or(0);
    bytes = bytes.subspan(4);
    if (code == pcapng::kOptionEnd || length > bytes.size()) return;
    option(code, bytes.first(length));
    bytes = bytes.subspan(std::min(round_up_4(length), bytes.size()));
  }
}

std::uint64_t units_of(std::uint8_t resolution) {
  const unsigned exponent = resolution & 0x7fU;
  if ((resolution & 0x80U) != 0) return exponent < 64 ? 1ULL << exponent : 0;
  std::uint64_t units = 1;
  for (unsigned i = 0; i < exponent && i < 19; ++i)
    units *= 10;
  return exponent <= 19 ? units : 0;
}

}  // namespace

template <class Number>
Number CaptureReader::at(Bytes bytes, std::size_t offset) const {
  return number_at<Number>(bytes, offset, swapped_).value_or(0);
}

void CaptureReader::take(Bytes& bytes, std::size_t count) {
  bytes = bytes.subspan(count);
  position_ += count;
}

CaptureReader::Step CaptureReader::fail(std::string why) {
  format_ = Format::kBroken;
  error_ = fmt::format("byte {}: {}", position_, why);
  return Step::kFailed;
}

CaptureReader::Step CaptureReader::next(std::span<const std::byte>& bytes) {
  switch (format_) {
    case Format::kUnknown: {
      const Step step = read_magic(bytes);
      return step == Step::kPacket ? next(bytes) : step;
    }
    case Format::kPcap: return next_pcap(bytes);
    case Format::kPcapng: return next_block(bytes);
    case Format::kBroken: return Step::kFailed;
  }
  return Step::kFailed;
}

// kPacket: the format is known.
CaptureReader::Step CaptureReader::read_magic(Bytes& bytes) {
  if (bytes.size() < kPcapHeader) return Step::kMore;
  const auto magic = at<std::uint32_t>(bytes, 0);
  if (magic == pcapng::kSection) {
    format_ = Format::kPcapng;
    return Step::kPacket;
  }
  const std::uint32_t other = std::byteswap(magic);
  const bool micro = magic == kPcapMicroseconds || other == kPcapMicroseconds;
  if (!micro && magic != kPcapNanoseconds && other != kPcapNanoseconds) {
    return fail("neither a pcap nor a pcapng file");
  }
  swapped_ = other == kPcapMicroseconds || other == kPcapNanoseconds;
  format_ = Format::kPcap;
  Interface interface;
  interface.link = static_cast<LinkType>(at<std::uint32_t>(bytes, 20) & 0xffffU);
  interface.units_per_second = micro ? 1'000'000 : kNsPerSecond;
  interfaces_.push_back(std::move(interface));
  take(bytes, kPcapHeader);
  return Step::kPacket;
}

CaptureReader::Step CaptureReader::next_pcap(Bytes& bytes) {
  if (bytes.size() < kPcapRecord) return Step::kMore;
  const std::size_t captured = at<std::uint32_t>(bytes, 8);
  if (captured > kPacketBytesMax) return fail("a packet of more than 64 MiB");
  if (bytes.size() - kPcapRecord < captured) return Step::kMore;
  const Interface& interface = interfaces_.front();
  const std::uint64_t fraction = at<std::uint32_t>(bytes, 4);
  packet_ = {.time_ns = at<std::uint32_t>(bytes, 0) * kNsPerSecond +
                        fraction * (kNsPerSecond / interface.units_per_second),
             .link = interface.link,
             .length = at<std::uint32_t>(bytes, 12),
             .bytes = bytes.subspan(kPcapRecord, captured)};
  take(bytes, kPcapRecord + captured);
  return Step::kPacket;
}

CaptureReader::Step CaptureReader::next_block(Bytes& bytes) {
  for (;;) {
    if (bytes.size() < kBlockFrame) return Step::kMore;
    const auto type = at<std::uint32_t>(bytes, 0);
    if (type == pcapng::kSection) {  // its byte order applies to its own length already
      const auto magic = number_at<std::uint32_t>(bytes, 8, false);
      swapped_ = magic == std::byteswap(pcapng::kSectionMagic);
      if (!swapped_ && magic != pcapng::kSectionMagic)
        return fail("a section of unknown byte order");
    }
    const std::size_t length = at<std::uint32_t>(bytes, 4);
    if (length < kBlockFrame || length % 4 != 0) return fail("a block of impossible length");
    if (length > kPacketBytesMax) return fail("a block of more than 64 MiB");
    if (bytes.size() < length) return Step::kMore;
    const Step step = on_block(type, bytes.subspan(8, length - kBlockFrame));
    if (step == Step::kFailed) return step;
    take(bytes, length);
    if (step == Step::kPacket) return step;
  }
}

// kMore: a block without a packet.
CaptureReader::Step CaptureReader::on_block(std::uint32_t type, Bytes body) {
  switch (type) {
    case pcapng::kSection: return on_section(body);
    case pcapng::kInterface: return on_interface(body);
    case pcapng::kEnhancedPacket: return on_enhanced_packet(body);
    case pcapng::kSimplePacket: return on_simple_packet(body);
    default: return Step::kMore;
  }
}

CaptureReader::Step CaptureReader::on_section(Bytes body) {
  if (body.size() < 16) return fail("a section that is too short");
  if (at<std::uint16_t>(body, 4) != 1) return fail("a pcapng file of another version than 1");
  interfaces_.clear();
  return Step::kMore;
}

CaptureReader::Step CaptureReader::on_interface(Bytes body) {
  if (body.size() < 8) return fail("an interface that is too short");
  if (interfaces_.size() == kInterfacesMax) return fail("more than 4096 interfaces");
  Interface interface;
  interface.link = static_cast<LinkType>(at<std::uint16_t>(body, 0));
  for_each_option(body.subspan(8), swapped_, [&](std::uint16_t code, Bytes value) {
    if (code == pcapng::kOptionInterfaceName) interface.name = letters_of(value);
    if (code == pcapng::kOptionResolution && value.size() == 1) {
      interface.units_per_second = units_of(std::to_integer<std::uint8_t>(value[0]));
    }
    if (code == pcapng::kOptionTimeOffset) interface.offset_s = at<std::int64_t>(value, 0);
  });
  if (interface.units_per_second == 0) return fail("an interface with an impossible time unit");
  interfaces_.push_back(std::move(interface));
  return Step::kMore;
}

CaptureReader::Step CaptureReader::on_enhanced_packet(Bytes body) {
  constexpr std::size_t kFixed = 20;
  if (body.size() < kFixed) return fail("a packet that is too short");
  const std::size_t number = at<std::uint32_t>(body, 0);
  const std::size_t captured = at<std::uint32_t>(body, 12);
  if (number >= interfaces_.size()) return fail("a packet of an unknown interface");
  if (captured > body.size() - kFixed) return fail("a packet that is longer than its block");
  const Interface& interface = interfaces_[number];
  const std::uint64_t time =
      std::uint64_t{at<std::uint32_t>(body, 4)} << 32U | at<std::uint32_t>(body, 8);
  const std::uint64_t units = interface.units_per_second;
  const auto whole = time / units + static_cast<std::uint64_t>(interface.offset_s);
  const auto part = static_cast<__uint128_t>(time % units) * kNsPerSecond / units;
  packet_ = {.time_ns = whole * kNsPerSecond + static_cast<std::uint64_t>(part),
             .link = interface.link,
             .length = at<std::uint32_t>(body, 16),
             .bytes = body.subspan(kFixed, captured),
             .interface = interface.name};
  const std::size_t options = kFixed + round_up_4(captured);
  if (options >= body.size()) return Step::kPacket;
  for_each_option(body.subspan(options), swapped_, [&](std::uint16_t code, Bytes value) {
    if (code == pcapng::kOptionComment) packet_.comment = letters_of(value);
    if (code == pcapng::kOptionPacketFlags && value.size() == 4) {
      const std::uint32_t direction = at<std::uint32_t>(value, 0) & 3U;
      if (direction == pcapng::kInbound) packet_.direction = Direction::kReceived;
      if (direction == pcapng::kOutbound) packet_.direction = Direction::kSent;
    }
  });
  return Step::kPacket;
}

CaptureReader::Step CaptureReader::on_simple_packet(Bytes body) {
  if (body.size() < 4) return fail("a packet that is too short");
  if (interfaces_.empty()) return fail("a packet of an unknown interface");
  const auto length = at<std::uint32_t>(body, 0);
  packet_ = {.link = interfaces_.front().link,
             .length = length,
             .bytes = body.subspan(4, std::min<std::size_t>(length, body.size() - 4))};
  return Step::kPacket;
}

}  // namespace plnet::trace
