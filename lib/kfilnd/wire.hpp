// SPDX-License-Identifier: BSD-3-Clause
// Everything that kfilnd puts on a fabric: HELLO, IMMEDIATE, and the requests of bulk transfers in
// their two versions; the name of a tagged buffer; what is said instead of touching one.
// Checked against lustre-release v2_17_0 lnet/klnds/kfilnd/kfilnd.h, kfilnd_tn.c.
//
// The kernel sends in its own byte order and drops what does not read 0xdeadbeef. Every kernel that
// runs it is little-endian, so the format is, and the rest is refused.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "lib/kfilnd/fabric_endpoint.hpp"
#include "lib/lnet/wire/header.hpp"
#include "lib/lnet/wire/header_codec.hpp"

namespace plnet::kfilnd {

static_assert(std::endian::native == std::endian::little, "a big-endian port swaps here");

inline constexpr std::uint32_t kMagic = 0xdeadbeef;
inline constexpr std::uint16_t kHelloVersion = 0;  // of the message that carries a HELLO
inline constexpr std::uint16_t kVersionMin = 1;
inline constexpr std::uint16_t kVersionMax = 2;

// The numbers of the wire.
enum class Kind : std::uint8_t {
  kImmediate = 1,
  kBulkPut = 2,
  kBulkGet = 3,
  kHelloRequest = 4,
  kHelloResponse = 5,
};

// --- The layouts: packed, nothing is aligned ---

struct [[gnu::packed]] CommonWire {
  std::uint32_t magic = 0;
  std::uint16_t version = 0;
  std::uint8_t type = 0;
  std::uint8_t reserved = 0;  // kernels send whatever was there
  std::uint16_t nob = 0;      // all bytes of the message
  std::uint16_t checksum = 0;
  std::uint64_t source_nid = 0;
  std::uint64_t destination_nid = 0;
};
static_assert(sizeof(CommonWire) == 28 && offsetof(CommonWire, version) == 4);
static_assert(offsetof(CommonWire, type) == 6 && offsetof(CommonWire, reserved) == 7);
static_assert(offsetof(CommonWire, nob) == 8 && offsetof(CommonWire, checksum) == 10);
static_assert(offsetof(CommonWire, source_nid) == 12);
static_assert(offsetof(CommonWire, destination_nid) == 20);

struct [[gnu::packed]] HelloWire {
  std::uint16_t version = 0;
  std::uint16_t rx_base = 0;
  std::uint32_t session_key = 0;
  std::uint16_t rx_count = 0;
};
static_assert(sizeof(HelloWire) == 10 && offsetof(HelloWire, rx_base) == 2);
static_assert(offsetof(HelloWire, session_key) == 4 && offsetof(HelloWire, rx_count) == 8);

// Behind the LNet header.
struct [[gnu::packed]] BulkV1Wire {
  std::uint32_t response_rx = 0;
  std::uint16_t key = 0;
};
struct [[gnu::packed]] BulkV2Wire {
  std::uint32_t response_rx = 0;
  std::uint16_t key = 0;
  std::uint32_t session_key = 0;
};
static_assert(sizeof(BulkV1Wire) == 6 && offsetof(BulkV1Wire, key) == 4);
static_assert(sizeof(BulkV2Wire) == 10 && offsetof(BulkV2Wire, key) == 4);
static_assert(offsetof(BulkV2Wire, session_key) == 6);

inline constexpr std::size_t kCommonBytes = sizeof(CommonWire);
inline constexpr std::size_t kHelloBytes = kCommonBytes + sizeof(HelloWire);
inline constexpr std::size_t kImmediateBytes = kCommonBytes + lnet::kHeaderNid4Bytes;
inline constexpr std::size_t kBulkV1Bytes = kImmediateBytes + sizeof(BulkV1Wire);
inline constexpr std::size_t kBulkV2Bytes = kImmediateBytes + sizeof(BulkV2Wire);
inline constexpr std::size_t kHeadBytesMax = kBulkV2Bytes;  // of any message, without payload
inline constexpr std::uint32_t kMessageBytesMax = 4096;
inline constexpr std::uint32_t kInlineBytesMax = kMessageBytesMax - kImmediateBytes;
static_assert(kHelloBytes == 38 && kImmediateBytes == 100);
static_assert(kBulkV1Bytes == 106 && kBulkV2Bytes == 110 && kInlineBytesMax == 3996);

// --- Messages ---

struct Hello {
  std::uint16_t version = kVersionMax;  // REQ: the highest; RSP: the negotiated one
  std::uint16_t rx_base = 0;            // receive context for every untagged message to the sender
  std::uint32_t session_key = 0;
  std::uint16_t rx_count = 1;

  friend bool operator==(const Hello&, const Hello&) = default;
};

struct Message {
  Kind kind = Kind::kImmediate;
  std::uint16_t version = kHelloVersion;  // of the message; 0 is HELLO's
  std::uint64_t source_nid = 0;           // as lnet::to_nid64()
  std::uint64_t destination_nid = 0;
  Hello hello;                    // kHello…
  lnet::MessageHeader header;     // the others
  std::uint8_t response_rx = 0;   // kBulk…: the receive context that has the tagged buffer
  std::uint16_t key = 0;          // kBulk…
  std::uint32_t session_key = 0;  // kBulk… of version 2; of version 1 it is what HELLO said

  [[nodiscard]] bool is_hello() const {
    return kind == Kind::kHelloRequest || kind == Kind::kHelloResponse;
  }
  [[nodiscard]] bool is_bulk() const { return kind == Kind::kBulkPut || kind == Kind::kBulkGet; }
};

// Why a message is dropped; in the order in which the kernel looks, what it does not look at last.
enum class Refusal : std::uint8_t {
  kShort,
  kWrongMagic,
  kVersion,
  kTruncated,  // says that it is longer than what came
  kChecksum,
  kNotForUs,
  kNoSource,  // from nobody, or from another network
  kTooSmall,  // for its type
  kType,
  kHello,   // version or context count that nobody can have
  kLength,  // the LNet header promises another payload than there is, or another type
};
inline constexpr std::size_t kRefusals = 11;

struct DecodeRules {
  std::uint64_t own_nid = 0;
  bool verify_checksum = false;  // where there is one
};

// Of the whole message as it came. A payload of IMMEDIATE is what lies behind kImmediateBytes, as
// long as the header says. On refusal `out` is half filled.
[[nodiscard]] std::optional<Refusal> decode(std::span<const std::byte> bytes,
                                            const DecodeRules& rules, Message& out);

using Head = std::array<std::byte, kHeadBytesMax>;

// All but the payload; returns its length. Large NIDs in the LNet header are cut as the kernel's
// routers cut them. Without checksum.
[[nodiscard]] std::size_t encode(const Message& message, std::uint32_t payload_bytes, Head& out);

// --- Checksum: that of IPv4 headers, of the whole message ---

// Bytes may be added piece by piece; an odd piece need not be the last.
class Checksum {
 public:
  void add(std::span<const std::byte> bytes);
  // A message with this in its checksum field adds up to a folded zero.
  [[nodiscard]] std::uint16_t value() const;

 private:
  std::uint64_t sum_ = 0;
  bool odd_ = false;
};
void set_checksum(std::uint16_t checksum, std::span<std::byte> head);

// --- Tags ---

inline constexpr std::uint16_t kKeyMin = 1;
inline constexpr std::uint16_t kKeyMax = 65534;
// In 32 bits, as the kernel computes it: of the session key the low half is left.
[[nodiscard]] constexpr Tag tag_of(std::uint32_t session_key, std::uint16_t key) {
  return session_key << 16 | key;
}

// --- Addresses ---

// The NID's number is the NIC's address on the fabric; the network's number is the process there.
inline constexpr unsigned kServiceGranule = 256;
[[nodiscard]] constexpr std::uint64_t nic_address_of(const lnet::Nid& nid) {
  return nid.address32();
}
[[nodiscard]] constexpr unsigned service_of(const lnet::Nid& nid) {
  return nid.number() % kServiceGranule;
}

}  // namespace plnet::kfilnd
