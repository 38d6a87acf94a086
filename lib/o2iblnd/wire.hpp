// SPDX-License-Identifier: BSD-3-Clause
// Everything that o2iblnd puts on a wire: messages of 4096 bytes at most, the private data of the
// connection manager, rejections. Checked against lustre-release v2_17_0
// lnet/klnds/o2iblnd/o2iblnd-idl.h, o2iblnd.c: kiblnd_unpack_msg(), kiblnd_cksum().
//
// Three byte orders: o2iblnd's own fields are in the sender's order, which the magic tells; cookies
// are opaque and never swapped; the LNet header is always little-endian.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "lib/lnet/wire/header.hpp"
#include "lib/lnet/wire/header_codec.hpp"

namespace plnet::o2iblnd {

static_assert(std::endian::native == std::endian::little, "a big-endian port swaps LNet headers");

inline constexpr std::uint32_t kMagic = 0x0be91b91;
inline constexpr std::uint32_t kUnifiedMagic = 0x45726963;  // reserved for a protocol of all LNDs
inline constexpr std::uint16_t kVersion1 = 0x11;
inline constexpr std::uint16_t kVersion2 = 0x12;
inline constexpr std::uint32_t kMessageBytes = 4096;  // of a message buffer, on every machine
inline constexpr std::uint32_t kFragmentsMax = 257;   // 256 up to Lustre 2.12

// The values are those of the wire.
enum class Kind : std::uint8_t {
  kConnectRequest = 0xc0,
  kConnectAck = 0xc1,
  kNoop = 0xd0,
  kImmediate = 0xd1,
  kPutRequest = 0xd2,
  kPutNak = 0xd3,
  kPutAck = 0xd4,
  kPutDone = 0xd5,
  kGetRequest = 0xd6,
  kGetDone = 0xd7,
};

// --- The layouts: packed, nothing is aligned ---

struct [[gnu::packed]] CommonWire {
  std::uint32_t magic = 0;
  std::uint16_t version = 0;
  std::uint8_t type = 0;
  std::uint8_t credits = 0;
  std::uint32_t nob = 0;  // all bytes of the message
  std::uint32_t checksum = 0;
  std::uint64_t source_nid = 0;
  std::uint64_t source_stamp = 0;
  std::uint64_t destination_nid = 0;
  std::uint64_t destination_stamp = 0;
};
static_assert(sizeof(CommonWire) == 48 && offsetof(CommonWire, version) == 4);
static_assert(offsetof(CommonWire, type) == 6 && offsetof(CommonWire, credits) == 7);
static_assert(offsetof(CommonWire, nob) == 8 && offsetof(CommonWire, checksum) == 12);
static_assert(offsetof(CommonWire, source_nid) == 16 && offsetof(CommonWire, source_stamp) == 24);
static_assert(offsetof(CommonWire, destination_nid) == 32);
static_assert(offsetof(CommonWire, destination_stamp) == 40);

struct [[gnu::packed]] ParametersWire {
  std::uint16_t queue_depth = 0;
  std::uint16_t max_frags = 0;
  std::uint32_t max_msg_size = 0;
};
static_assert(sizeof(ParametersWire) == 8 && offsetof(ParametersWire, max_frags) == 2);
static_assert(offsetof(ParametersWire, max_msg_size) == 4);

struct [[gnu::packed]] CompletionWire {
  std::uint64_t cookie = 0;
  std::int32_t status = 0;  // below 0: an errno; else a number of bytes
};
static_assert(sizeof(CompletionWire) == 12 && offsetof(CompletionWire, status) == 8);

// A remote buffer: this, then the fragments.
struct [[gnu::packed]] DescriptorWire {
  std::uint32_t key = 0;  // of all fragments
  std::uint32_t count = 0;
};
struct [[gnu::packed]] FragmentWire {
  std::uint32_t nob = 0;
  std::uint64_t address = 0;
};
static_assert(sizeof(DescriptorWire) == 8 && offsetof(DescriptorWire, count) == 4);
static_assert(sizeof(FragmentWire) == 12 && offsetof(FragmentWire, address) == 4);

struct [[gnu::packed]] RejectWire {
  std::uint32_t magic = 0;
  std::uint16_t version = 0;
  std::uint8_t why = 0;
  std::uint8_t padding = 0;
  std::uint64_t incarnation = 0;
  ParametersWire parameters;
};
static_assert(sizeof(RejectWire) == 24 && offsetof(RejectWire, version) == 4);
static_assert(offsetof(RejectWire, why) == 6 && offsetof(RejectWire, padding) == 7);
static_assert(offsetof(RejectWire, incarnation) == 8 && offsetof(RejectWire, parameters) == 16);

inline constexpr std::size_t kCommonBytes = sizeof(CommonWire);
inline constexpr std::size_t kConnectBytes = kCommonBytes + sizeof(ParametersWire);
inline constexpr std::size_t kImmediateBytes = kCommonBytes + lnet::kHeaderNid4Bytes;
inline constexpr std::size_t kPutRequestBytes = kImmediateBytes + 8;
inline constexpr std::size_t kPutAckBytes = kCommonBytes + 16 + sizeof(DescriptorWire);
inline constexpr std::size_t kGetRequestBytes = kImmediateBytes + 8 + sizeof(DescriptorWire);
inline constexpr std::size_t kCompletionBytes = kCommonBytes + sizeof(CompletionWire);
inline constexpr std::size_t kRejectBytes = sizeof(RejectWire);
inline constexpr std::size_t kRejectBytesMin = offsetof(RejectWire, padding);
inline constexpr std::uint32_t kInlineBytesMax = kMessageBytes - kImmediateBytes;
static_assert(kConnectBytes == 56 && kImmediateBytes == 120 && kPutRequestBytes == 128);
static_assert(kPutAckBytes == 72 && kGetRequestBytes == 136 && kCompletionBytes == 60);
static_assert(kInlineBytesMax == 3976);
static_assert(kGetRequestBytes + kFragmentsMax * sizeof(FragmentWire) == 3220);

// --- Messages ---

// Fragments as they lie in a message; every read is a copy, since nothing there is aligned.
class RemoteFragments {
 public:
  RemoteFragments() = default;
  RemoteFragments(std::span<const std::byte> bytes, bool swapped)
      : bytes_(bytes), swapped_(swapped) {}

  [[nodiscard]] std::uint32_t count() const {
    return static_cast<std::uint32_t>(bytes_.size() / sizeof(FragmentWire));
  }
  [[nodiscard]] FragmentWire at(std::uint32_t index) const;
  [[nodiscard]] std::uint64_t total() const;

 private:
  std::span<const std::byte> bytes_;
  bool swapped_ = false;
};

// A buffer of the peer that we may write to, or one of ours that it may write to.
struct RemoteBuffer {
  std::uint32_t key = 0;
  RemoteFragments fragments;
};

struct Parameters {
  std::uint16_t queue_depth = 0;
  std::uint16_t max_frags = 0;
  std::uint32_t max_msg_size = kMessageBytes;

  friend bool operator==(const Parameters&, const Parameters&) = default;
};

struct Message {
  Kind kind = Kind::kNoop;
  std::uint16_t version = kVersion2;
  std::uint8_t credits = 0;
  bool swapped = false;  // decode(): the sender has the other byte order
  std::uint32_t nob = 0;
  std::uint64_t source_nid = 0;  // as lnet::to_nid64()
  std::uint64_t source_stamp = 0;
  std::uint64_t destination_nid = 0;
  std::uint64_t destination_stamp = 0;
  Parameters parameters;          // kConnect…
  lnet::MessageHeader header;     // kImmediate, kPutRequest, kGetRequest
  std::uint64_t cookie = 0;       // of the request that is begun or answered
  std::uint64_t sink_cookie = 0;  // kPutAck: what PUT_DONE names
  std::int32_t status = 0;        // kPutNak, kPutDone, kGetDone
  RemoteBuffer buffer;            // kPutAck, kGetRequest; decode(): lies in the message
};

// The violations of the protocol, in the kernel's order of checks.
enum class Refusal : std::uint8_t {
  kShort,
  kWrongMagic,
  kVersion,
  kTruncated,  // claims more bytes than arrived
  kChecksum,
  kNoSource,  // from the wildcard NID
  kTooSmall,  // for its type
  kType,
  kFragments,  // none, too many, or more than there are bytes for
};
inline constexpr std::size_t kRefusals = 9;

// Decodes a whole message; bytes behind its length are ignored, since private data is padded. After
// a refusal `out` is partly filled.
[[nodiscard]] std::optional<Refusal> decode(std::span<const std::byte> bytes, Message& out);

// All but the payload of kImmediate, whose length is given and counted; returns the bytes written.
// Without checksum. Fragments are copied from message.buffer.
[[nodiscard]] std::size_t encode(const Message& message, std::uint32_t payload_bytes,
                                 std::span<std::byte> out);
[[nodiscard]] std::size_t fragments_at(Kind kind);
void put_fragment(const FragmentWire& fragment, std::uint32_t index, Kind kind,
                  std::span<std::byte> out);
// Sets the fields of an encoded message that are known only when it is posted.
void set_credits(std::span<std::byte> message, std::uint8_t credits);

// --- Checksum: never 0, which says that there is none ---

// The kernel adds plain char, whose sign depends on the architecture and since Linux 6.2 does not.
enum class CharSign : std::uint8_t { kSigned, kUnsigned };
[[nodiscard]] std::uint32_t checksum_of(std::span<const std::byte> bytes, CharSign sign);
// The checksum field counts as 0.
[[nodiscard]] std::uint32_t message_checksum(std::span<const std::byte> message, CharSign sign);
void set_checksum(std::span<std::byte> message, CharSign sign);

// --- Rejections: private data of a REJ, padded by the connection manager ---

enum class RejectReason : std::uint8_t {
  kRace = 1,
  kNoResources = 2,
  kFatal = 3,
  kIncompatible = 4,
  kStale = 5,
  kFragments = 6,
  kQueueDepth = 7,
  kServiceId = 8,
  kEarly = 9,
};

struct Reject {
  std::uint16_t version = kVersion2;
  RejectReason why = RejectReason::kFatal;
  // Only peers of version 2 tell these.
  std::uint64_t incarnation = ~0ULL;
  std::optional<Parameters> parameters;
};

[[nodiscard]] std::array<std::byte, kRejectBytes> encode(const Reject& reject);
// Nothing: it is too short or has another magic, so it is no rejection of o2iblnd.
[[nodiscard]] std::optional<Reject> decode_reject(std::span<const std::byte> bytes);

}  // namespace plnet::o2iblnd
