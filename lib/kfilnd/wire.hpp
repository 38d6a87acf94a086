// SPDX-License-Identifier: BSD-3-Clause
// The wire format of kfilnd: HELLO, IMMEDIATE, the two versions of bulk requests, and the tags of
// buffers.
// Checked against lustre-release v2_17_0 lnet/klnds/kfilnd/kfilnd.h, kfilnd_tn.c.
//
// The kernel sends in its own byte order and drops messages whose magic does not read 0xdeadbeef.
// All kernels that run kfilnd are little-endian, so the format is, and other messages are refused.
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

// The values are those of the wire.
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
  std::uint8_t reserved = 0;  // kernels do not set it
  std::uint16_t nob = 0;      // the bytes of the whole message
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

// These follow the LNet header.
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
inline constexpr std::size_t kHeadBytesMax = kBulkV2Bytes;  // without payload
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
  std::uint16_t version = kHelloVersion;  // of the message; a HELLO has 0
  std::uint64_t source_nid = 0;           // as lnet::to_nid64()
  std::uint64_t destination_nid = 0;
  Hello hello;                    // of a HELLO
  lnet::MessageHeader header;     // of all others
  std::uint8_t response_rx = 0;   // bulk: the receive context that has the tagged buffer
  std::uint16_t key = 0;          // bulk
  std::uint32_t session_key = 0;  // bulk of version 2; in version 1 that of the sender's HELLO

  [[nodiscard]] bool is_hello() const {
    return kind == Kind::kHelloRequest || kind == Kind::kHelloResponse;
  }
  [[nodiscard]] bool is_bulk() const { return kind == Kind::kBulkPut || kind == Kind::kBulkGet; }
};

// The cause for which a message is dropped, in the kernel's order of checks; checks that the kernel
// does not make are last.
enum class Refusal : std::uint8_t {
  kShort,
  kWrongMagic,
  kVersion,
  kTruncated,  // claims more bytes than arrived
  kChecksum,
  kNotForUs,
  kNoSource,  // from no NID, or from another network
  kTooSmall,  // for its type
  kType,
  kHello,   // an impossible version or context count
  kLength,  // the payload has another length, or the LNet header another type, than it should
};
inline constexpr std::size_t kRefusals = 11;

struct DecodeRules {
  std::uint64_t own_nid = 0;
  bool verify_checksum = false;  // where there is one
};

// Decodes a whole message. The payload of an IMMEDIATE lies behind kImmediateBytes and has the
// length in its header. After a refusal `out` is partly filled.
[[nodiscard]] std::optional<Refusal> decode(std::span<const std::byte> bytes,
                                            const DecodeRules& rules, Message& out);

using Head = std::array<std::byte, kHeadBytesMax>;

// Encodes all but the payload and returns the length. Large NIDs in the LNet header are truncated
// as in the kernel's routers. The checksum is 0.
[[nodiscard]] std::size_t encode(const Message& message, std::uint32_t payload_bytes, Head& out);

// --- Checksum: that of IPv4 headers, of the whole message ---

// Bytes may be added in pieces of any length.
class Checksum {
 public:
  void add(std::span<const std::byte> bytes);
  // With this value in its checksum field a message sums up to zero.
  [[nodiscard]] std::uint16_t value() const;

 private:
  std::uint64_t sum_ = 0;
  bool odd_ = false;
};
void set_checksum(std::uint16_t checksum, std::span<std::byte> head);

// --- Tags ---

inline constexpr std::uint16_t kKeyMin = 1;
inline constexpr std::uint16_t kKeyMax = 65534;
// Computed in 32 bits, as in the kernel: only the low half of the session key is left.
[[nodiscard]] constexpr Tag tag_of(std::uint32_t session_key, std::uint16_t key) {
  return session_key << 16 | key;
}

// --- Addresses ---

// The number of the NID is the NIC's address on the fabric; the number of the network names the
// process there.
inline constexpr unsigned kServiceGranule = 256;
[[nodiscard]] constexpr std::uint64_t nic_address_of(const lnet::Nid& nid) {
  return nid.address32();
}
[[nodiscard]] constexpr unsigned service_of(const lnet::Nid& nid) {
  return nid.number() % kServiceGranule;
}

}  // namespace plnet::kfilnd
