// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/wire/header_codec.hpp"

#include <cstring>

#include "lib/lnet/names/nid64.hpp"

// Fields are copied to and from the wire unchanged; header.hpp does not compile on a big-endian
// host.

namespace plnet::lnet {

namespace {

// Copies field by field by the layout of the wire structures, which are never built.
template <class Field>
void get(std::span<const std::byte> bytes, std::size_t at, Field& field) {
  std::memcpy(&field, bytes.data() + at, sizeof field);
}
template <class Field>
void set(std::span<std::byte> bytes, std::size_t at, const Field& field) {
  std::memcpy(bytes.data() + at, &field, sizeof field);
}

// The fields that both forms share.
template <class Wire>
void get_common(std::span<const std::byte> bytes, MessageHeader& header) {
  get(bytes, offsetof(Wire, destination_pid), header.destination_pid);
  get(bytes, offsetof(Wire, source_pid), header.source_pid);
  std::uint32_t type = 0;
  get(bytes, offsetof(Wire, type), type);
  header.type = static_cast<MessageType>(type);
  get(bytes, offsetof(Wire, payload_length), header.payload_length);
  get(bytes, offsetof(Wire, type_area), header.type_area);
}

template <class Wire>
void set_common(const MessageHeader& header, std::span<std::byte> bytes) {
  set(bytes, offsetof(Wire, destination_pid), header.destination_pid);
  set(bytes, offsetof(Wire, source_pid), header.source_pid);
  set(bytes, offsetof(Wire, type), static_cast<std::uint32_t>(header.type));
  set(bytes, offsetof(Wire, payload_length), header.payload_length);
  set(bytes, offsetof(Wire, type_area), header.type_area);
}

}  // namespace

void decode_header_nid4_into(std::span<const std::byte, kHeaderNid4Bytes> bytes,
                             MessageHeader& header) {
  std::uint64_t nid = 0;
  get(bytes, offsetof(HeaderNid4Wire, destination_nid), nid);
  header.destination = from_nid64(nid);
  get(bytes, offsetof(HeaderNid4Wire, source_nid), nid);
  header.source = from_nid64(nid);
  get_common<HeaderNid4Wire>(bytes, header);
}

void decode_header_nid16_into(std::span<const std::byte, kHeaderNid16Bytes> bytes,
                              MessageHeader& header) {
  get(bytes, offsetof(HeaderNid16Wire, destination_nid), header.destination);
  get(bytes, offsetof(HeaderNid16Wire, source_nid), header.source);
  get_common<HeaderNid16Wire>(bytes, header);
}

Result<MessageHeader> decode_header_nid4(std::span<const std::byte> bytes) {
  if (bytes.size() < kHeaderNid4Bytes) return std::unexpected(Errc::kMalformed);
  Result<MessageHeader> header;
  decode_header_nid4_into(bytes.first<kHeaderNid4Bytes>(), *header);
  return header;
}

Result<MessageHeader> decode_header_nid16(std::span<const std::byte> bytes) {
  if (bytes.size() < kHeaderNid16Bytes) return std::unexpected(Errc::kMalformed);
  Result<MessageHeader> header;
  decode_header_nid16_into(bytes.first<kHeaderNid16Bytes>(), *header);
  return header;
}

Result<void> encode_header_nid4(const MessageHeader& header,
                                std::span<std::byte, kHeaderNid4Bytes> out) {
  if (header.destination.is_large() || header.source.is_large()) {
    return std::unexpected(Errc::kNotSupported);
  }
  encode_header_nid4_truncating(header, out);
  return {};
}

void encode_header_nid4_truncating(const MessageHeader& header,
                                   std::span<std::byte, kHeaderNid4Bytes> out) {
  set(out, offsetof(HeaderNid4Wire, destination_nid), to_nid64(header.destination).value);
  set(out, offsetof(HeaderNid4Wire, source_nid), to_nid64(header.source).value);
  set_common<HeaderNid4Wire>(header, out);
}

void encode_header_nid16(const MessageHeader& header, std::span<std::byte, kHeaderNid16Bytes> out) {
  set(out, offsetof(HeaderNid16Wire, destination_nid), header.destination);
  set(out, offsetof(HeaderNid16Wire, source_nid), header.source);
  set_common<HeaderNid16Wire>(header, out);
}

}  // namespace plnet::lnet
