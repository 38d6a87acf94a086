// SPDX-License-Identifier: BSD-3-Clause
// The LNet message header on the wire, in both of its forms: with 64-bit NIDs (72 bytes, every
// release) and with large ones (96 bytes, since 2.16). All integers are little-endian; NIDs in
// extended form, wire handles and header data are never swapped.
// Checked against lustre-release lnet/include/uapi/linux/lnet/lnet-idl.h: struct _lnet_hdr_nid4,
// struct lnet_hdr; lnet/include/lnet/lib-lnet.h: lnet_hdr_from_nid4() and its neighbours.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "lib/base/result.hpp"
#include "lib/lnet/names/nid.hpp"
#include "lib/lnet/wire/header.hpp"

namespace plnet::lnet {

// The bytes on the wire.
struct HeaderNid4Wire {
  std::uint64_t destination_nid = 0;
  std::uint64_t source_nid = 0;
  std::uint32_t destination_pid = 0;
  std::uint32_t source_pid = 0;
  std::uint32_t type = 0;
  std::uint32_t payload_length = 0;
  std::array<std::byte, kTypeAreaBytes> type_area{};
};
static_assert(sizeof(HeaderNid4Wire) == 72);
static_assert(offsetof(HeaderNid4Wire, destination_nid) == 0);
static_assert(offsetof(HeaderNid4Wire, source_nid) == 8);
static_assert(offsetof(HeaderNid4Wire, destination_pid) == 16);
static_assert(offsetof(HeaderNid4Wire, source_pid) == 20);
static_assert(offsetof(HeaderNid4Wire, type) == 24);
static_assert(offsetof(HeaderNid4Wire, payload_length) == 28);
static_assert(offsetof(HeaderNid4Wire, type_area) == 32);

struct HeaderNid16Wire {
  Nid destination_nid;
  Nid source_nid;
  std::uint32_t destination_pid = 0;
  std::uint32_t source_pid = 0;
  std::uint32_t type = 0;
  std::uint32_t payload_length = 0;
  std::array<std::byte, kTypeAreaBytes> type_area{};
};
static_assert(sizeof(HeaderNid16Wire) == 96);
static_assert(offsetof(HeaderNid16Wire, destination_nid) == 0);
static_assert(offsetof(HeaderNid16Wire, source_nid) == 20);
static_assert(offsetof(HeaderNid16Wire, destination_pid) == 40);
static_assert(offsetof(HeaderNid16Wire, source_pid) == 44);
static_assert(offsetof(HeaderNid16Wire, type) == 48);
static_assert(offsetof(HeaderNid16Wire, payload_length) == 52);
static_assert(offsetof(HeaderNid16Wire, type_area) == 56);

inline constexpr std::size_t kHeaderNid4Bytes = sizeof(HeaderNid4Wire);
inline constexpr std::size_t kHeaderNid16Bytes = sizeof(HeaderNid16Wire);

// Both read the beginning of the span and fail with kMalformed if it is too short. Nothing else can
// fail: the core judges types, lengths and NIDs (a malformed NID arrives as sent).
[[nodiscard]] Result<MessageHeader> decode_header_nid4(std::span<const std::byte> bytes);
[[nodiscard]] Result<MessageHeader> decode_header_nid16(std::span<const std::byte> bytes);
// The same into the final place of the header: copying a header right after decoding would wait for
// the processor's store buffer.
void decode_header_nid4_into(std::span<const std::byte, kHeaderNid4Bytes> bytes,
                             MessageHeader& header);
void decode_header_nid16_into(std::span<const std::byte, kHeaderNid16Bytes> bytes,
                              MessageHeader& header);

// Fails with kNotSupported, and writes nothing, if a NID does not fit into 64 bits.
[[nodiscard]] Result<void> encode_header_nid4(const MessageHeader& header,
                                              std::span<std::byte, kHeaderNid4Bytes> out);
// Cuts large NIDs to the first four bytes of their address, as kernel routers since 2.16 do when
// such a message goes on to a network with short headers. The receiver cannot answer.
void encode_header_nid4_truncating(const MessageHeader& header,
                                   std::span<std::byte, kHeaderNid4Bytes> out);
void encode_header_nid16(const MessageHeader& header, std::span<std::byte, kHeaderNid16Bytes> out);

}  // namespace plnet::lnet
