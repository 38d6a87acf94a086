// SPDX-License-Identifier: BSD-3-Clause
// The wire format of socklnd, except LNet's own headers: the acceptor's request, HELLO in its four
// versions, the header in front of each message.
// Checked against lustre-release v2_17_0 lnet/include/uapi/linux/lnet/lnet-idl.h (struct
// lnet_acceptor_connreq and _v2), lnet/include/uapi/linux/lnet/socklnd.h and
// lnet/include/lnet/socklnd.h (struct ksock_hello_msg_nid4, ksock_hello_msg, ksock_msg_hdr),
// lnet/klnds/socklnd/socklnd_proto.c.
//
// A sender uses its own byte order; the magic tells the receiver whether to swap. We always send
// little-endian: the V2/V3 receive routine of 2.15 to 2.17 forgets to swap the two NIDs. Ours swaps
// them, as 2.12 to 2.14 do.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "lib/base/result.hpp"
#include "lib/lnet/names/nid.hpp"
#include "lib/lnet/wire/header_codec.hpp"

namespace plnet::socklnd {

inline constexpr std::uint32_t kAcceptorMagic = 0xacce7100;
inline constexpr std::uint32_t kHelloMagic = 0x45726963;
inline constexpr std::uint32_t kLegacyMagic = 0xeebc0ded;  // HELLO V1, and acceptors before LNet
inline constexpr std::uint32_t kAcceptorVersion1 = 1;
inline constexpr std::uint32_t kAcceptorVersion2 = 2;

enum class Protocol : std::uint8_t { kV1 = 1, kV2 = 2, kV3 = 3, kV4 = 4 };

// From the point of view of the side that stores it; a HELLO has the sender's point of view.
enum class ConnectionType : std::int32_t {
  kNone = -1,  // in a HELLO: refused
  kAny = 0,
  kControl = 1,
  kBulkIn = 2,
  kBulkOut = 3,
};
inline constexpr std::size_t kConnectionTypes = 4;  // those that a connection can have

// --- The layouts ---

struct AcceptorRequestV1Wire {
  std::uint32_t magic = 0;
  std::uint32_t version = 0;
  std::uint64_t nid = 0;
};
static_assert(sizeof(AcceptorRequestV1Wire) == 16 && offsetof(AcceptorRequestV1Wire, version) == 4);
static_assert(offsetof(AcceptorRequestV1Wire, nid) == 8);

struct AcceptorRequestV2Wire {
  std::uint32_t magic = 0;
  std::uint32_t version = 0;
  lnet::Nid nid;
};
static_assert(sizeof(AcceptorRequestV2Wire) == 28 && offsetof(AcceptorRequestV2Wire, version) == 4);
static_assert(offsetof(AcceptorRequestV2Wire, nid) == 8);

// The HELLO of V2 and V3.
struct HelloNid4Wire {
  std::uint32_t magic = 0;
  std::uint32_t version = 0;
  std::uint64_t source_nid = 0;
  std::uint64_t destination_nid = 0;
  std::uint32_t source_pid = 0;
  std::uint32_t destination_pid = 0;
  std::uint64_t source_incarnation = 0;
  std::uint64_t destination_incarnation = 0;
  std::int32_t type = 0;
  std::uint32_t addresses = 0;
};
static_assert(sizeof(HelloNid4Wire) == 56 && offsetof(HelloNid4Wire, version) == 4);
static_assert(offsetof(HelloNid4Wire, source_nid) == 8);
static_assert(offsetof(HelloNid4Wire, destination_nid) == 16);
static_assert(offsetof(HelloNid4Wire, source_pid) == 24);
static_assert(offsetof(HelloNid4Wire, destination_pid) == 28);
static_assert(offsetof(HelloNid4Wire, source_incarnation) == 32);
static_assert(offsetof(HelloNid4Wire, destination_incarnation) == 40);
static_assert(offsetof(HelloNid4Wire, type) == 48 && offsetof(HelloNid4Wire, addresses) == 52);

struct HelloV4Wire {
  std::uint32_t magic = 0;
  std::uint32_t version = 0;
  lnet::Nid source_nid;
  lnet::Nid destination_nid;
  std::uint32_t source_pid = 0;
  std::uint32_t destination_pid = 0;
  std::uint64_t source_incarnation = 0;
  std::uint64_t destination_incarnation = 0;
  std::int32_t type = 0;
  std::uint32_t addresses = 0;
};
static_assert(sizeof(HelloV4Wire) == 80 && offsetof(HelloV4Wire, version) == 4);
static_assert(offsetof(HelloV4Wire, source_nid) == 8);
static_assert(offsetof(HelloV4Wire, destination_nid) == 28);
static_assert(offsetof(HelloV4Wire, source_pid) == 48);
static_assert(offsetof(HelloV4Wire, destination_pid) == 52);
static_assert(offsetof(HelloV4Wire, source_incarnation) == 56);
static_assert(offsetof(HelloV4Wire, destination_incarnation) == 64);
static_assert(offsetof(HelloV4Wire, type) == 72 && offsetof(HelloV4Wire, addresses) == 76);

// Little-endian from all senders: an LNet header with magic and version in its first eight bytes.
struct HelloV1Wire {
  std::uint32_t magic = 0;
  std::uint16_t version_major = 0;
  std::uint16_t version_minor = 0;
  std::uint64_t source_nid = 0;
  std::uint32_t destination_pid = 0;
  std::uint32_t source_pid = 0;
  std::uint32_t message_type = 0;
  std::uint32_t payload_length = 0;
  std::uint64_t incarnation = 0;
  std::uint32_t type = 0;
  std::array<std::uint32_t, 7> unused{};
};
static_assert(sizeof(HelloV1Wire) == 72 && offsetof(HelloV1Wire, version_major) == 4);
static_assert(offsetof(HelloV1Wire, version_minor) == 6);
static_assert(offsetof(HelloV1Wire, source_nid) == 8);
static_assert(offsetof(HelloV1Wire, destination_pid) == 16);
static_assert(offsetof(HelloV1Wire, source_pid) == 20);
static_assert(offsetof(HelloV1Wire, message_type) == 24);
static_assert(offsetof(HelloV1Wire, payload_length) == 28);
static_assert(offsetof(HelloV1Wire, incarnation) == 32 && offsetof(HelloV1Wire, type) == 40);

struct FrameWire {
  std::uint32_t type = 0;
  std::uint32_t checksum = 0;
  std::uint64_t cookies[2] = {};
};
static_assert(sizeof(FrameWire) == 24 && offsetof(FrameWire, checksum) == 4);
static_assert(offsetof(FrameWire, cookies) == 8);

inline constexpr std::size_t kAcceptorPrefixBytes = 8;  // magic and version
inline constexpr std::size_t kAcceptorV1Bytes = sizeof(AcceptorRequestV1Wire);
inline constexpr std::size_t kAcceptorV2Bytes = sizeof(AcceptorRequestV2Wire);
inline constexpr std::size_t kHelloPrefixBytes = 8;
inline constexpr std::size_t kHelloNid4Bytes = sizeof(HelloNid4Wire);
inline constexpr std::size_t kHelloV4Bytes = sizeof(HelloV4Wire);
inline constexpr std::size_t kHelloV1Bytes = sizeof(HelloV1Wire);
inline constexpr std::size_t kFrameBytes = sizeof(FrameWire);
// The LND of 2.12 to 2.14 may append as many IPv4 addresses to its HELLO (LNET_INTERFACES_NUM).
inline constexpr std::uint32_t kHelloAddressesMax = 16;

// --- The acceptor's request ---

enum class MagicKind : std::uint8_t {
  kAcceptor,
  kHello,   // no request: answered as below
  kLegacy,  // V1, always little-endian
  kUnknown,
};
struct Magic {
  MagicKind kind = MagicKind::kUnknown;
  bool swapped = false;  // the sender's byte order is not ours
};
// Decodes the first four bytes of a stream, or of a HELLO.
[[nodiscard]] Magic decode_magic(std::span<const std::byte, 4> bytes);

// The length of a request of this version; nothing: an unknown version.
[[nodiscard]] std::optional<std::size_t> acceptor_request_bytes(
    std::span<const std::byte, kAcceptorPrefixBytes> prefix, bool swapped);

// The NID that a peer requests. kMalformed: too few bytes; kVersion; kProtocol: another magic.
[[nodiscard]] Result<lnet::Nid> decode_acceptor_request(std::span<const std::byte> bytes);

// Returns the length: version 1 if the NID fits into it.
std::size_t encode_acceptor_request(const lnet::Nid& target,
                                    std::span<std::byte, kAcceptorV2Bytes> out);
// The answer to an unknown request, before its connection is closed: our version is 1.
void encode_acceptor_answer(std::span<std::byte, kAcceptorV1Bytes> out);

// --- HELLO ---

struct Hello {
  Protocol protocol = Protocol::kV3;
  lnet::Nid source;
  lnet::Nid destination;  // no receiver verifies it
  std::uint32_t source_pid = lnet::kLustrePid;
  std::uint32_t destination_pid = 0;
  std::uint64_t source_incarnation = 0;
  std::uint64_t destination_incarnation = 0;
  std::int32_t type = 0;        // as received: may be anything
  std::uint32_t addresses = 0;  // the number that follows; 0 and unused in V4

  friend bool operator==(const Hello&, const Hello&) = default;
};

struct HelloPrefix {
  bool known_magic = false;
  bool swapped = false;
  std::optional<Protocol> protocol{};  // nothing: a version that we do not know
};
[[nodiscard]] HelloPrefix decode_hello_prefix(std::span<const std::byte, kHelloPrefixBytes> bytes);

// The length without the list of addresses.
[[nodiscard]] constexpr std::size_t hello_bytes(Protocol protocol) {
  switch (protocol) {
    case Protocol::kV1: return kHelloV1Bytes;
    case Protocol::kV4: return kHelloV4Bytes;
    default: return kHelloNid4Bytes;
  }
}
// The fixed part. kMalformed: too few bytes; kVersion; kProtocol: another magic.
[[nodiscard]] Result<Hello> decode_hello(std::span<const std::byte> bytes);
// Whether a message of V1 that begins like a HELLO is one. Needs kHelloV1Bytes.
[[nodiscard]] bool is_v1_hello(std::span<const std::byte> bytes);
// Whether the addresses behind the fixed part of V1, V2 and V3 are valid: none may be 0.
[[nodiscard]] bool addresses_are_valid(std::span<const std::byte> list);

// Returns the length. V1 is never sent. kNotSupported, and nothing written, if a NID does not fit.
[[nodiscard]] Result<std::size_t> encode_hello(const Hello& hello,
                                               std::span<std::byte, kHelloV4Bytes> out);

// The type from the point of view of the other end. Nothing for a type that has no other end.
[[nodiscard]] std::optional<ConnectionType> inverted(std::int32_t type);

// --- Messages ---

inline constexpr std::uint32_t kFrameNoop = 0xc0;
inline constexpr std::uint32_t kFrameLnet = 0xc1;

struct Frame {
  std::uint32_t type = kFrameNoop;  // as received: may be anything
  std::uint32_t checksum = 0;       // 0: none
  // [0]: the cookie under which an LNet message is to be acknowledged. [1]: acknowledges a message.
  std::array<std::uint64_t, 2> cookies{};

  friend bool operator==(const Frame&, const Frame&) = default;
};
// Inline, since each message has one.
[[nodiscard]] inline Frame decode_frame(std::span<const std::byte, kFrameBytes> bytes,
                                        bool swapped) {
  FrameWire wire;
  std::memcpy(&wire, bytes.data(), sizeof wire);
  if (swapped) {
    return {.type = std::byteswap(wire.type),
            .checksum = std::byteswap(wire.checksum),
            .cookies = {std::byteswap(wire.cookies[0]), std::byteswap(wire.cookies[1])}};
  }
  return {wire.type, wire.checksum, {wire.cookies[0], wire.cookies[1]}};
}
inline void encode_frame(const Frame& frame, std::span<std::byte, kFrameBytes> out) {
  const FrameWire wire{frame.type, frame.checksum, {frame.cookies[0], frame.cookies[1]}};
  std::memcpy(out.data(), &wire, sizeof wire);
}
// The frame was encoded with checksum 0.
inline void set_frame_checksum(std::uint32_t checksum, std::span<std::byte, kFrameBytes> frame) {
  std::memcpy(frame.data() + offsetof(FrameWire, checksum), &checksum, sizeof checksum);
}

// The LNet header behind the frame.
[[nodiscard]] constexpr std::size_t lnet_header_bytes(Protocol protocol) {
  return protocol == Protocol::kV4 ? lnet::kHeaderNid16Bytes : lnet::kHeaderNid4Bytes;
}

inline constexpr std::uint64_t kKeepaliveCookie = 1;
inline constexpr std::uint64_t kFirstCookie = 2;

// The cookies that a frame acknowledges.
struct ZeroCopyAck {
  enum class Kind : std::uint8_t { kNothing, kKeepalive, kPair, kRange };
  Kind kind = Kind::kNothing;
  std::uint64_t first = 0;  // kRange: both inclusive; kPair: exactly these two
  std::uint64_t last = 0;

  friend bool operator==(const ZeroCopyAck&, const ZeroCopyAck&) = default;
};
// kProtocol if the cookies contradict each other.
[[nodiscard]] Result<ZeroCopyAck> acknowledgement_in(const Frame& frame, Protocol protocol);

}  // namespace plnet::socklnd
