// SPDX-License-Identifier: BSD-3-Clause
#include "lib/socklnd/wire.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "lib/lnet/names/nid64.hpp"
#include "tests/unit/lib/lnet/vectors.hpp"

namespace plnet::socklnd {
namespace {

namespace vectors = lnet::vectors;
using lnet::Nid;
using vectors::Bytes;

constexpr Nid kA = Nid::of(lnet::NetType::kTcp, 0, 0xc0a8010a);
constexpr Nid kB = Nid::of(lnet::NetType::kTcp, 0, 0xc0a80114);

// The example of a connection of 2.17, byte by byte.
TEST(SocklndWire, AConnectionOpensAsAKernelOpensIt) {
  std::array<std::byte, kAcceptorV2Bytes> request{};
  ASSERT_EQ(encode_acceptor_request(kB, request), 16U);
  EXPECT_EQ(vectors::to_hex(std::span(request).first(16)), "0071ceac010000001401a8c000000200");

  Hello hello{.source = kA, .destination = kB, .source_incarnation = 0x1878a1b2c3d4e5f0};
  hello.type = static_cast<std::int32_t>(ConnectionType::kControl);
  std::array<std::byte, kHelloV4Bytes> out{};
  ASSERT_EQ(encode_hello(hello, out), 56U);
  const std::string accepted =
      "63697245030000000a01a8c0000002001401a8c0000002003930000000000000f0e5d4c3b2a178180000000000"
      "0000000100000000000000";
  EXPECT_EQ(vectors::to_hex(std::span(out).first(56)), accepted);

  hello.type = static_cast<std::int32_t>(ConnectionType::kNone);
  ASSERT_EQ(encode_hello(hello, out), 56U);
  EXPECT_EQ(vectors::to_hex(std::span(out).first(56)),
            accepted.substr(0, 96) + "ffffffff" + accepted.substr(104));
}

TEST(SocklndWire, NoopsLookAsAKernelSendsThem) {
  std::array<std::byte, kFrameBytes> out{};
  encode_frame({.type = kFrameNoop, .cookies = {0, 42}}, out);
  EXPECT_EQ(vectors::to_hex(out),
            "c0000000000000000000000000000000"
            "2a00000000000000");
  encode_frame({.type = kFrameNoop, .cookies = {0, kKeepaliveCookie}}, out);
  EXPECT_EQ(vectors::to_hex(out),
            "c0000000000000000000000000000000"
            "0100000000000000");
}

TEST(SocklndWire, AnIpv6ConnectionOpensWithTheLongForms) {
  const auto nid = std::bit_cast<Nid>([] {
    std::array<std::byte, sizeof(Nid)> raw{};
    std::ranges::copy(vectors::from_hex("0c02000020010db8000000000000000000000014"), raw.begin());
    return raw;
  }());
  std::array<std::byte, kAcceptorV2Bytes> request{};
  ASSERT_EQ(encode_acceptor_request(nid, request), 28U);
  EXPECT_EQ(vectors::to_hex(request), "0071ceac020000000c02000020010db8000000000000000000000014");
  EXPECT_EQ(decode_acceptor_request(request), nid);
  std::array<std::byte, kHelloV4Bytes> out{};
  EXPECT_EQ(
      encode_hello({.protocol = Protocol::kV3, .source = nid, .destination = kA}, out).error(),
      Errc::kNotSupported);
  EXPECT_EQ(encode_hello({.protocol = Protocol::kV4, .source = nid, .destination = nid}, out), 80U);
}

TEST(SocklndWire, MagicsAreToldApartInBothByteOrders) {
  const auto magic = [](const char* hex) {
    const Bytes bytes = vectors::from_hex(hex);
    return decode_magic(std::span(bytes).first<4>());
  };
  EXPECT_EQ(magic("0071ceac").kind, MagicKind::kAcceptor);
  EXPECT_FALSE(magic("0071ceac").swapped);
  EXPECT_EQ(magic("acce7100").kind, MagicKind::kAcceptor);
  EXPECT_TRUE(magic("acce7100").swapped);
  EXPECT_EQ(magic("63697245").kind, MagicKind::kHello);
  EXPECT_EQ(magic("45726963").kind, MagicKind::kHello);
  EXPECT_EQ(magic("ed0dbcee").kind, MagicKind::kLegacy);
  EXPECT_EQ(magic("eebc0ded").kind, MagicKind::kUnknown) << "V1 is little-endian, always";
  EXPECT_EQ(magic("47455420").kind, MagicKind::kUnknown);
}

TEST(SocklndWire, ARequestOfTheOtherByteOrderNamesTheSameNid) {
  const Bytes bytes = vectors::from_hex(
      "acce7100"
      "00000001"
      "00020000c0a80114");
  EXPECT_EQ(decode_acceptor_request(bytes), kB);
  EXPECT_EQ(decode_acceptor_request(std::span(bytes).first(15)).error(), Errc::kMalformed);
  EXPECT_EQ(decode_acceptor_request(std::span(bytes).first(7)).error(), Errc::kMalformed);
  EXPECT_EQ(decode_acceptor_request(vectors::from_hex("acce7100"
                                                      "00000003"
                                                      "00020000c0a80114"))
                .error(),
            Errc::kVersion);
}

TEST(SocklndWire, VersionsAreTakenFromThePrefix) {
  const auto prefix = [](const char* hex) {
    const Bytes bytes = vectors::from_hex(hex);
    return decode_hello_prefix(std::span(bytes).first<kHelloPrefixBytes>());
  };
  EXPECT_EQ(prefix("6369724502000000").protocol, Protocol::kV2);
  EXPECT_EQ(prefix("6369724503000000").protocol, Protocol::kV3);
  EXPECT_EQ(prefix("6369724504000000").protocol, Protocol::kV4);
  EXPECT_EQ(prefix("4572696300000004").protocol, Protocol::kV4);
  for (const char* const unknown : {"6369724501000000", "6369724505000000", "6369724500000000"}) {
    EXPECT_TRUE(prefix(unknown).known_magic);
    EXPECT_FALSE(prefix(unknown).protocol.has_value());
  }
  EXPECT_FALSE(prefix("0071ceac03000000").known_magic);
}

TEST(SocklndWire, ACookiePairIsReadAsTheKernelReadsIt) {
  using Kind = ZeroCopyAck::Kind;
  const auto noop = [](std::uint64_t a, std::uint64_t b, Protocol protocol = Protocol::kV3) {
    return acknowledgement_in({.type = kFrameNoop, .cookies = {a, b}}, protocol);
  };
  EXPECT_EQ(noop(0, 0), (ZeroCopyAck{}));
  EXPECT_EQ(noop(0, 42), (ZeroCopyAck{Kind::kRange, 42, 42}));
  EXPECT_EQ(noop(50, 42), (ZeroCopyAck{Kind::kPair, 50, 42}));
  EXPECT_EQ(noop(42, 50), (ZeroCopyAck{Kind::kRange, 42, 50}));
  EXPECT_EQ(noop(42, 42), (ZeroCopyAck{Kind::kRange, 42, 42}));
  EXPECT_EQ(noop(0, 1), (ZeroCopyAck{.kind = Kind::kKeepalive}));
  EXPECT_EQ(noop(1, 1, Protocol::kV4), (ZeroCopyAck{.kind = Kind::kKeepalive}));
  EXPECT_EQ(noop(2, 1).error(), Errc::kProtocol);
  EXPECT_EQ(noop(0, 1, Protocol::kV2), (ZeroCopyAck{Kind::kRange, 1, 1})) << "V2 has no keepalive";
  EXPECT_EQ(acknowledgement_in({.type = kFrameLnet, .cookies = {7, 9}}, Protocol::kV3),
            (ZeroCopyAck{Kind::kRange, 9, 9}))
      << "in a message the first cookie is a request";
}

TEST(SocklndWire, TypesInvertAsTheOtherEndSeesThem) {
  EXPECT_EQ(inverted(0), ConnectionType::kAny);
  EXPECT_EQ(inverted(1), ConnectionType::kControl);
  EXPECT_EQ(inverted(2), ConnectionType::kBulkOut);
  EXPECT_EQ(inverted(3), ConnectionType::kBulkIn);
  for (const std::int32_t type : {-1, 4, -2, 0x7fffffff})
    EXPECT_FALSE(inverted(type).has_value()) << type;
}

TEST(SocklndWire, AnAddressOfZeroIsAnError) {
  EXPECT_TRUE(addresses_are_valid({}));
  EXPECT_TRUE(addresses_are_valid(vectors::from_hex("0a0000010a000002")));
  EXPECT_FALSE(addresses_are_valid(vectors::from_hex("0a00000100000000")));
}

}  // namespace
}  // namespace plnet::socklnd
