// SPDX-License-Identifier: BSD-3-Clause
// The protocol of our endpoints over a provider. No other implementation speaks it. All numbers are
// little-endian; doc/ofi.md explains the conversations.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "drivers/net/ofi/address.hpp"
#include "lib/base/result.hpp"

namespace plnet::ofi {

static_assert(std::endian::native == std::endian::little, "fields are copied as they are");

inline constexpr std::uint32_t kMagic = 0x6f664c31;
inline constexpr std::uint8_t kWireVersion = 1;

enum class PacketKind : std::uint8_t { kMessage = 1, kRecords = 2 };

// At the begin of each packet. In a message its operation follows, then its bytes; records follow
// each other.
struct PacketHeader {
  static constexpr std::size_t kBytes = 28;
  static constexpr std::size_t kMessageBytes = kBytes + 8;

  PacketKind kind = PacketKind::kRecords;
  std::uint8_t to_context = 0;
  std::uint16_t records = 0;
  std::uint32_t incarnation = 0;  // never 0; another one: the sender has started anew
  Process from;
};

enum class RecordKind : std::uint8_t {
  kDelivered = 1,  // answers a message
  kAsk,            // asks to read a tagged buffer
  kGrant,          // answers kAsk: the buffer, for so long
  kReadDone,       // ends the read that kGrant allowed
  kOffer,          // asks the peer to read this into its tagged buffer
  kFetched,        // answers kOffer: done; asks whether the bytes were still valid
  kConfirm,        // ends the transfer of kFetched
  kAnswer,         // 64 bits for a tagged buffer
  kAnswered,       // answers kAnswer
  kLeaving,        // of an address by name: the next endpoint under it is another one
};

struct Record {
  static constexpr std::size_t kBytes = 48;

  RecordKind kind = RecordKind::kDelivered;
  std::uint16_t status = 0;     // an errno; 0 is success
  std::uint32_t tag = 0;        // kAsk, kOffer, kAnswer
  std::uint64_t operation = 0;  // of the side that began the conversation
  std::uint64_t other = 0;      // of the tagged buffer, once taken; kAnswer: the data
  std::uint64_t address = 0;
  std::uint64_t key = 0;
  std::uint32_t length = 0;
  std::uint32_t lease_us = 0;  // kGrant: counted from the sending of kAsk
};

namespace wire_detail {
template <class T>
void put(std::byte* at, T value) {
  std::memcpy(at, &value, sizeof value);
}
template <class T>
[[nodiscard]] T get(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}
}  // namespace wire_detail

inline void encode(const PacketHeader& header, std::span<std::byte, PacketHeader::kBytes> to) {
  using wire_detail::put;
  std::byte* const at = to.data();
  put(at, kMagic);
  put(at + 4, kWireVersion);
  put(at + 5, static_cast<std::uint8_t>(header.kind));
  put(at + 6, header.to_context);
  put(at + 7, header.from.context);
  put(at + 8, header.incarnation);
  put(at + 12, header.from.service);
  put(at + 16, header.from.nic);
  put(at + 24, header.records);
  put(at + 26, std::uint16_t{0});
}

[[nodiscard]] inline Result<PacketHeader> decode_header(std::span<const std::byte> bytes) {
  using wire_detail::get;
  if (bytes.size() < PacketHeader::kBytes) return std::unexpected(Errc::kMalformed);
  const std::byte* const at = bytes.data();
  if (get<std::uint32_t>(at) != kMagic) return std::unexpected(Errc::kMalformed);
  if (get<std::uint8_t>(at + 4) != kWireVersion) return std::unexpected(Errc::kVersion);
  PacketHeader header;
  const auto kind = get<std::uint8_t>(at + 5);
  header.kind = static_cast<PacketKind>(kind);
  header.to_context = get<std::uint8_t>(at + 6);
  header.from.context = get<std::uint8_t>(at + 7);
  header.incarnation = get<std::uint32_t>(at + 8);
  header.from.service = get<std::uint32_t>(at + 12);
  header.from.nic = get<std::uint64_t>(at + 16);
  header.records = get<std::uint16_t>(at + 24);
  if (header.incarnation == 0 || header.from.context >= kContextsMax ||
      get<std::uint16_t>(at + 26) != 0)
    return std::unexpected(Errc::kMalformed);
  if (header.kind == PacketKind::kMessage) {
    if (bytes.size() < PacketHeader::kMessageBytes || header.records != 0)
      return std::unexpected(Errc::kMalformed);
    return header;
  }
  if (header.kind != PacketKind::kRecords || header.records == 0 ||
      bytes.size() != PacketHeader::kBytes + header.records * Record::kBytes)
    return std::unexpected(Errc::kMalformed);
  return header;
}

inline void encode(const Record& record, std::byte* at) {
  using wire_detail::put;
  put(at, static_cast<std::uint8_t>(record.kind));
  put(at + 1, std::uint8_t{0});
  put(at + 2, record.status);
  put(at + 4, record.tag);
  put(at + 8, record.operation);
  put(at + 16, record.other);
  put(at + 24, record.address);
  put(at + 32, record.key);
  put(at + 40, record.length);
  put(at + 44, record.lease_us);
}

[[nodiscard]] inline Result<Record> decode_record(const std::byte* at) {
  using wire_detail::get;
  const auto kind = get<std::uint8_t>(at);
  if (kind < static_cast<std::uint8_t>(RecordKind::kDelivered) ||
      kind > static_cast<std::uint8_t>(RecordKind::kLeaving) || get<std::uint8_t>(at + 1) != 0)
    return std::unexpected(Errc::kMalformed);
  return Record{.kind = static_cast<RecordKind>(kind),
                .status = get<std::uint16_t>(at + 2),
                .tag = get<std::uint32_t>(at + 4),
                .operation = get<std::uint64_t>(at + 8),
                .other = get<std::uint64_t>(at + 16),
                .address = get<std::uint64_t>(at + 24),
                .key = get<std::uint64_t>(at + 32),
                .length = get<std::uint32_t>(at + 40),
                .lease_us = get<std::uint32_t>(at + 44)};
}

}  // namespace plnet::ofi
