// SPDX-License-Identifier: BSD-3-Clause
// An LNet message header in the core. The part that differs by message type stays in wire form: a
// router passes those 40 bytes on unchanged, and only an end node reads them. Layout checked
// against lustre-release lnet/include/uapi/linux/lnet/lnet-idl.h (struct lnet_hdr_*).
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "lib/lnet/names/nid.hpp"

namespace plnet::lnet {

static_assert(std::endian::native == std::endian::little,
              "the type area is read in place; a big-endian port swaps here");

enum class MessageType : std::uint32_t { kAck = 0, kPut = 1, kGet = 2, kReply = 3, kHello = 4 };

inline constexpr std::uint32_t kPayloadBytesMax = 1U << 20;  // LNET_MTU, also for routed messages
inline constexpr std::size_t kFragmentsMax = 256;            // LNET_MAX_IOV
inline constexpr std::size_t kTypeAreaBytes = 40;

// Only its creator interprets it; other nodes copy the bytes.
struct WireHandle {
  std::uint64_t interface_cookie = ~0ULL;
  std::uint64_t object_cookie = ~0ULL;

  [[nodiscard]] bool is_none() const { return interface_cookie == ~0ULL && object_cookie == ~0ULL; }
  friend bool operator==(const WireHandle&, const WireHandle&) = default;
};

// Typed views of MessageHeader::type_area. They alias its bytes, because copying the whole area to
// read or write one field stalls on the store buffer.
struct [[gnu::may_alias]] AckArea {
  WireHandle destination;
  std::uint64_t match_bits = 0;
  std::uint32_t accepted_length = 0;
  std::uint32_t unused[3] = {};
};
struct [[gnu::may_alias]] PutArea {
  WireHandle ack_handle;
  std::uint64_t match_bits = 0;
  std::uint64_t header_data = 0;  // in the sender's byte order
  std::uint32_t portal = 0;
  std::uint32_t offset = 0;
};
struct [[gnu::may_alias]] GetArea {
  WireHandle return_handle;
  std::uint64_t match_bits = 0;
  std::uint32_t portal = 0;
  std::uint32_t source_offset = 0;
  std::uint32_t sink_length = 0;
  std::uint32_t unused = 0;
};
struct [[gnu::may_alias]] ReplyArea {
  WireHandle destination;
  std::uint64_t unused[3] = {};
};
// Only in the first message of a socklnd V1 connection.
struct [[gnu::may_alias]] HelloArea {
  std::uint64_t incarnation = 0;
  std::uint32_t connection_type = 0;
  std::uint32_t unused[7] = {};
};
static_assert(sizeof(AckArea) == kTypeAreaBytes && offsetof(AckArea, accepted_length) == 24);
static_assert(sizeof(PutArea) == kTypeAreaBytes && offsetof(PutArea, portal) == 32);
static_assert(sizeof(GetArea) == kTypeAreaBytes && offsetof(GetArea, portal) == 24);
static_assert(offsetof(GetArea, sink_length) == 32);
static_assert(sizeof(ReplyArea) == kTypeAreaBytes);
static_assert(sizeof(HelloArea) == kTypeAreaBytes && offsetof(HelloArea, connection_type) == 8);
static_assert(sizeof(WireHandle) == 16 && offsetof(WireHandle, object_cookie) == 8);
static_assert(offsetof(AckArea, destination) == 0 && offsetof(AckArea, match_bits) == 16);
static_assert(offsetof(PutArea, match_bits) == 16 && offsetof(PutArea, header_data) == 24);
static_assert(offsetof(PutArea, offset) == 36 && offsetof(GetArea, match_bits) == 16);
static_assert(offsetof(GetArea, source_offset) == 28);

struct MessageHeader {
  Nid destination;
  Nid source;
  std::uint32_t destination_pid = kLustrePid;
  std::uint32_t source_pid = kLustrePid;
  MessageType type =
      MessageType::kAck;  // as received: other values occur, and the core refuses them
  std::uint32_t payload_length = 0;
  alignas(8) std::array<std::byte, kTypeAreaBytes> type_area{};

  // Area is one of the structs above; the caller has checked `type`.
  template <class Area>
  [[nodiscard]] const Area& area() const {
    static_assert(sizeof(Area) == kTypeAreaBytes && alignof(Area) <= 8);
    return *reinterpret_cast<const Area*>(type_area.data());
  }
  template <class Area>
  void set_area(const Area& area) {
    static_assert(sizeof(Area) == kTypeAreaBytes && alignof(Area) <= 8);
    *reinterpret_cast<Area*>(type_area.data()) = area;
  }
};

// The handle that an ACK or REPLY names. As on the wire, so any value.
[[nodiscard]] inline const WireHandle& handle_of(const MessageHeader& header) {
  static_assert(offsetof(AckArea, destination) == offsetof(ReplyArea, destination));
  return header.area<AckArea>().destination;
}
// The portal of a PUT or GET. As on the wire, so any value.
[[nodiscard]] inline std::uint32_t portal_of(const MessageHeader& header) {
  return header.type == MessageType::kPut ? header.area<PutArea>().portal
                                          : header.area<GetArea>().portal;
}

}  // namespace plnet::lnet
