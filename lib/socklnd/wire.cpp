// SPDX-License-Identifier: BSD-3-Clause
#include "lib/socklnd/wire.hpp"

#include <bit>
#include <cstring>

#include "lib/base/check.hpp"
#include "lib/lnet/names/nid64.hpp"
#include "lib/lnet/wire/header.hpp"

// The layouts are copied to and from the wire unchanged; header.hpp does not compile on a
// big-endian host.

namespace plnet::socklnd {

using lnet::Nid;

namespace {

template <class Value>
Value read(std::span<const std::byte> bytes) {
  Value value{};
  PLNET_CHECK(bytes.size() >= sizeof value, "the caller has compared the length");
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

template <class... Fields>
void swap_if(bool swapped, Fields&... fields) {
  if (!swapped) return;
  ((fields = static_cast<Fields>(std::byteswap(static_cast<std::make_unsigned_t<Fields>>(fields)))),
   ...);
}

template <class Wire>
void take_common(const Wire& wire, Hello& hello) {
  hello.source_pid = wire.source_pid;
  hello.destination_pid = wire.destination_pid;
  hello.source_incarnation = wire.source_incarnation;
  hello.destination_incarnation = wire.destination_incarnation;
  hello.type = wire.type;
  hello.addresses = wire.addresses;
}

template <class Wire>
void give_common(const Hello& hello, Wire& wire) {
  wire.magic = kHelloMagic;
  wire.version = static_cast<std::uint32_t>(hello.protocol);
  wire.source_pid = hello.source_pid;
  wire.destination_pid = hello.destination_pid;
  wire.source_incarnation = hello.source_incarnation;
  wire.destination_incarnation = hello.destination_incarnation;
  wire.type = hello.type;
  wire.addresses = hello.addresses;
}

template <class Wire>
void swap_common(bool swapped, Wire& wire) {
  swap_if(swapped, wire.source_pid, wire.destination_pid, wire.source_incarnation,
          wire.destination_incarnation, wire.type, wire.addresses);
}

Hello decode_v1(std::span<const std::byte> bytes) {
  const auto wire = read<HelloV1Wire>(bytes);
  Hello hello{.protocol = Protocol::kV1, .source = lnet::from_nid64(wire.source_nid)};
  hello.source_pid = wire.source_pid;
  hello.destination_pid = wire.destination_pid;
  hello.source_incarnation = wire.incarnation;
  hello.type = static_cast<std::int32_t>(wire.type);
  hello.addresses = wire.payload_length / 4;
  return hello;
}

Hello decode_nid4(std::span<const std::byte> bytes, Protocol protocol, bool swapped) {
  auto wire = read<HelloNid4Wire>(bytes);
  swap_common(swapped, wire);
  swap_if(swapped, wire.source_nid, wire.destination_nid);
  Hello hello{.protocol = protocol,
              .source = lnet::from_nid64(wire.source_nid),
              .destination = lnet::from_nid64(wire.destination_nid)};
  take_common(wire, hello);
  return hello;
}

Hello decode_v4(std::span<const std::byte> bytes, bool swapped) {
  auto wire = read<HelloV4Wire>(bytes);
  swap_common(swapped, wire);
  Hello hello{
      .protocol = Protocol::kV4, .source = wire.source_nid, .destination = wire.destination_nid};
  take_common(wire, hello);
  return hello;
}

}  // namespace

Magic decode_magic(std::span<const std::byte, 4> bytes) {
  const auto magic = read<std::uint32_t>(bytes);
  const std::uint32_t other = std::byteswap(magic);
  if (magic == kAcceptorMagic) return {MagicKind::kAcceptor, false};
  if (other == kAcceptorMagic) return {MagicKind::kAcceptor, true};
  if (magic == kHelloMagic) return {MagicKind::kHello, false};
  if (other == kHelloMagic) return {MagicKind::kHello, true};
  if (magic == kLegacyMagic) return {MagicKind::kLegacy, false};
  return {};
}

std::optional<std::size_t> acceptor_request_bytes(
    std::span<const std::byte, kAcceptorPrefixBytes> prefix, bool swapped) {
  auto version = read<std::uint32_t>(prefix.subspan<4>());
  swap_if(swapped, version);
  if (version == kAcceptorVersion1) return kAcceptorV1Bytes;
  if (version == kAcceptorVersion2) return kAcceptorV2Bytes;
  return std::nullopt;
}

Result<Nid> decode_acceptor_request(std::span<const std::byte> bytes) {
  if (bytes.size() < kAcceptorPrefixBytes) return std::unexpected(Errc::kMalformed);
  const Magic magic = decode_magic(bytes.first<4>());
  if (magic.kind != MagicKind::kAcceptor) return std::unexpected(Errc::kProtocol);
  const auto wanted = acceptor_request_bytes(bytes.first<kAcceptorPrefixBytes>(), magic.swapped);
  if (!wanted) return std::unexpected(Errc::kVersion);
  if (bytes.size() < *wanted) return std::unexpected(Errc::kMalformed);
  if (*wanted == kAcceptorV2Bytes) return read<AcceptorRequestV2Wire>(bytes).nid;
  auto nid = read<AcceptorRequestV1Wire>(bytes).nid;
  swap_if(magic.swapped, nid);
  return lnet::from_nid64(nid);
}

std::size_t encode_acceptor_request(const Nid& target, std::span<std::byte, kAcceptorV2Bytes> out) {
  const lnet::Nid64 nid = lnet::to_nid64(target);
  if (nid.lossy) {
    const AcceptorRequestV2Wire wire{kAcceptorMagic, kAcceptorVersion2, target};
    std::memcpy(out.data(), &wire, sizeof wire);
    return sizeof wire;
  }
  const AcceptorRequestV1Wire wire{kAcceptorMagic, kAcceptorVersion1, nid.value};
  std::memcpy(out.data(), &wire, sizeof wire);
  return sizeof wire;
}

void encode_acceptor_answer(std::span<std::byte, kAcceptorV1Bytes> out) {
  const AcceptorRequestV1Wire wire{kAcceptorMagic, kAcceptorVersion1, 0};
  std::memcpy(out.data(), &wire, sizeof wire);
}

HelloPrefix decode_hello_prefix(std::span<const std::byte, kHelloPrefixBytes> bytes) {
  const Magic magic = decode_magic(bytes.first<4>());
  HelloPrefix prefix{.known_magic = magic.kind == MagicKind::kHello, .swapped = magic.swapped};
  auto version = read<std::uint32_t>(bytes.subspan<4>());
  if (magic.kind == MagicKind::kLegacy) {
    prefix.known_magic = true;
    if (version == 1) prefix.protocol = Protocol::kV1;  // major 1, minor 0
    return prefix;
  }
  if (!prefix.known_magic) return prefix;
  swap_if(magic.swapped, version);
  if (version >= 2 && version <= 4) prefix.protocol = static_cast<Protocol>(version);
  return prefix;
}

Result<Hello> decode_hello(std::span<const std::byte> bytes) {
  if (bytes.size() < kHelloPrefixBytes) return std::unexpected(Errc::kMalformed);
  const HelloPrefix prefix = decode_hello_prefix(bytes.first<kHelloPrefixBytes>());
  if (!prefix.known_magic) return std::unexpected(Errc::kProtocol);
  if (!prefix.protocol) return std::unexpected(Errc::kVersion);
  if (bytes.size() < hello_bytes(*prefix.protocol)) return std::unexpected(Errc::kMalformed);
  if (*prefix.protocol == Protocol::kV1) return decode_v1(bytes);
  if (*prefix.protocol == Protocol::kV4) return decode_v4(bytes, prefix.swapped);
  return decode_nid4(bytes, *prefix.protocol, prefix.swapped);
}

bool is_v1_hello(std::span<const std::byte> bytes) {
  const auto type = read<HelloV1Wire>(bytes).message_type;
  return type == static_cast<std::uint32_t>(lnet::MessageType::kHello);
}

bool addresses_are_valid(std::span<const std::byte> list) {
  for (; list.size() >= 4; list = list.subspan(4)) {
    if (read<std::uint32_t>(list) == 0) return false;
  }
  return list.empty();
}

Result<std::size_t> encode_hello(const Hello& hello, std::span<std::byte, kHelloV4Bytes> out) {
  if (hello.protocol == Protocol::kV1) return std::unexpected(Errc::kNotSupported);
  if (hello.protocol == Protocol::kV4) {
    HelloV4Wire wire;
    give_common(hello, wire);
    wire.source_nid = hello.source;
    wire.destination_nid = hello.destination;
    std::memcpy(out.data(), &wire, sizeof wire);
    return sizeof wire;
  }
  const lnet::Nid64 source = lnet::to_nid64(hello.source);
  const lnet::Nid64 destination = lnet::to_nid64(hello.destination);
  if (source.lossy || destination.lossy) return std::unexpected(Errc::kNotSupported);
  HelloNid4Wire wire;
  give_common(hello, wire);
  wire.source_nid = source.value;
  wire.destination_nid = destination.value;
  std::memcpy(out.data(), &wire, sizeof wire);
  return sizeof wire;
}

std::optional<ConnectionType> inverted(std::int32_t type) {
  switch (static_cast<ConnectionType>(type)) {
    case ConnectionType::kAny: return ConnectionType::kAny;
    case ConnectionType::kControl: return ConnectionType::kControl;
    case ConnectionType::kBulkIn: return ConnectionType::kBulkOut;
    case ConnectionType::kBulkOut: return ConnectionType::kBulkIn;
    default: return std::nullopt;
  }
}

Result<ZeroCopyAck> acknowledgement_in(const Frame& frame, Protocol protocol) {
  using Kind = ZeroCopyAck::Kind;
  const std::uint64_t second = frame.cookies[1];
  // In an LNet message the first cookie is a request.
  const std::uint64_t first = frame.type == kFrameNoop ? frame.cookies[0] : 0;
  if (second == 0) return ZeroCopyAck{};
  if (second == kKeepaliveCookie && protocol != Protocol::kV2) {
    if (first > kKeepaliveCookie) return std::unexpected(Errc::kProtocol);
    return ZeroCopyAck{.kind = Kind::kKeepalive};
  }
  if (first == 0) return ZeroCopyAck{Kind::kRange, second, second};
  if (first > second) return ZeroCopyAck{Kind::kPair, first, second};
  return ZeroCopyAck{Kind::kRange, first, second};
}

}  // namespace plnet::socklnd
