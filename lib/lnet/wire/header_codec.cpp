// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/wire/header_codec.hpp"

#include <cstring>

#include "lib/lnet/names/nid64.hpp"

// The structures are copied to and from the wire as they are; header.hpp refuses to compile on a
// big-endian host.

namespace plnet::lnet {

namespace {

// What both forms have in common.
template <class Wire>
void copy_to_header(const Wire& wire, MessageHeader& header) {
  header.destination_pid = wire.destination_pid;
  header.source_pid = wire.source_pid;
  header.type = static_cast<MessageType>(wire.type);
  header.payload_length = wire.payload_length;
  header.type_area = wire.type_area;
}

template <class Wire>
void copy_to_wire(const MessageHeader& header, Wire& wire) {
  wire.destination_pid = header.destination_pid;
  wire.source_pid = header.source_pid;
  wire.type = static_cast<std::uint32_t>(header.type);
  wire.payload_length = header.payload_length;
  wire.type_area = header.type_area;
}

}  // namespace

Result<MessageHeader> decode_header_nid4(std::span<const std::byte> bytes) {
  if (bytes.size() < kHeaderNid4Bytes) return std::unexpected(Errc::kMalformed);
  HeaderNid4Wire wire{};
  std::memcpy(&wire, bytes.data(), sizeof wire);
  Result<MessageHeader> header;
  header->destination = from_nid64(wire.destination_nid);
  header->source = from_nid64(wire.source_nid);
  copy_to_header(wire, *header);
  return header;
}

Result<MessageHeader> decode_header_nid16(std::span<const std::byte> bytes) {
  if (bytes.size() < kHeaderNid16Bytes) return std::unexpected(Errc::kMalformed);
  HeaderNid16Wire wire{};
  std::memcpy(&wire, bytes.data(), sizeof wire);
  Result<MessageHeader> header;
  header->destination = wire.destination_nid;
  header->source = wire.source_nid;
  copy_to_header(wire, *header);
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
  HeaderNid4Wire wire{};
  wire.destination_nid = to_nid64(header.destination).value;
  wire.source_nid = to_nid64(header.source).value;
  copy_to_wire(header, wire);
  std::memcpy(out.data(), &wire, sizeof wire);
}

void encode_header_nid16(const MessageHeader& header, std::span<std::byte, kHeaderNid16Bytes> out) {
  HeaderNid16Wire wire{};
  wire.destination_nid = header.destination;
  wire.source_nid = header.source;
  copy_to_wire(header, wire);
  std::memcpy(out.data(), &wire, sizeof wire);
}

}  // namespace plnet::lnet
