// SPDX-License-Identifier: BSD-3-Clause
// Every golden vector of socklnd's own structures, both ways.
#include <gtest/gtest.h>

#include "lib/lnet/names/nid64.hpp"
#include "lib/socklnd/checksum.hpp"
#include "lib/socklnd/wire.hpp"
#include "tests/unit/lib/lnet/vectors.hpp"

namespace plnet::socklnd {
namespace {

namespace vectors = lnet::vectors;
using lnet::Nid;
using vectors::Bytes;
using vectors::Json;
using vectors::number;
using vectors::word;

bool is_real(const Json& vector) {
  return vectors::name(vector).find("/real/") != std::string::npos;
}

TEST(SocklndVectors, AcceptorRequests) {
  ASSERT_EQ(vectors::group("acceptor_connreq_v1").size(), 8U);
  for (const Json& vector : vectors::group("acceptor_connreq_v1")) {
    SCOPED_TRACE(vectors::name(vector));
    const AcceptorRequestV1Wire wire{word(vector, "magic"), word(vector, "version"),
                                     number(vector, "nid")};
    EXPECT_EQ(vectors::hex_of(wire), vectors::hex(vector));
    const Bytes bytes = vectors::bytes_of(vector);
    const auto nid = decode_acceptor_request(bytes);
    if (!is_real(vector)) {
      EXPECT_EQ(nid.error(), Errc::kProtocol) << "no magic in these";
      continue;
    }
    EXPECT_EQ(nid, lnet::from_nid64(number(vector, "nid")));
    std::array<std::byte, kAcceptorV2Bytes> out{};
    ASSERT_EQ(encode_acceptor_request(*nid, out), kAcceptorV1Bytes);
    EXPECT_EQ(vectors::to_hex(std::span(out).first(kAcceptorV1Bytes)), vectors::hex(vector));
  }
  ASSERT_EQ(vectors::group("acceptor_connreq_v2").size(), 7U);
  for (const Json& vector : vectors::group("acceptor_connreq_v2")) {
    SCOPED_TRACE(vectors::name(vector));
    const AcceptorRequestV2Wire wire{word(vector, "magic"), word(vector, "version"),
                                     vectors::raw<Nid>(vector, "nid")};
    EXPECT_EQ(vectors::hex_of(wire), vectors::hex(vector));
    if (!is_real(vector)) continue;
    EXPECT_EQ(decode_acceptor_request(vectors::bytes_of(vector)), wire.nid);
    std::array<std::byte, kAcceptorV2Bytes> out{};
    ASSERT_EQ(encode_acceptor_request(wire.nid, out), kAcceptorV2Bytes);
    EXPECT_EQ(vectors::to_hex(out), vectors::hex(vector));
  }
  std::array<std::byte, kAcceptorV1Bytes> answer{};
  encode_acceptor_answer(answer);
  bool found = false;
  for (const Json& vector : vectors::group("acceptor_connreq_v1"))
    found |= vectors::name(vector).ends_with("version-answer") &&
             vectors::hex(vector) == vectors::to_hex(answer);
  EXPECT_TRUE(found);
}

// The layout with any contents.
template <class Wire>
void expect_layout(const Json& vector, Wire wire) {
  wire.magic = word(vector, "magic");
  wire.version = word(vector, "version");
  wire.source_pid = word(vector, "src_pid");
  wire.destination_pid = word(vector, "dst_pid");
  wire.source_incarnation = number(vector, "src_incarnation");
  wire.destination_incarnation = number(vector, "dst_incarnation");
  wire.type = static_cast<std::int32_t>(word(vector, "ctype"));
  wire.addresses = word(vector, "nips");
  const Bytes bytes = vectors::bytes_of(vector);
  EXPECT_EQ(vectors::to_hex(std::span(bytes).first(sizeof wire)), vectors::hex_of(wire));
}

void expect_fields(const Json& vector, const Hello& hello) {
  EXPECT_EQ(static_cast<std::uint32_t>(hello.protocol), word(vector, "version"));
  EXPECT_EQ(hello.source_pid, word(vector, "src_pid"));
  EXPECT_EQ(hello.destination_pid, word(vector, "dst_pid"));
  EXPECT_EQ(hello.source_incarnation, number(vector, "src_incarnation"));
  EXPECT_EQ(hello.destination_incarnation, number(vector, "dst_incarnation"));
  EXPECT_EQ(hello.type, static_cast<std::int32_t>(word(vector, "ctype")));
  EXPECT_EQ(hello.addresses, word(vector, "nips"));
}

void expect_round_trip(const Json& vector, const Hello& hello, std::size_t length) {
  std::array<std::byte, kHelloV4Bytes> out{};
  ASSERT_EQ(encode_hello(hello, out), length);
  EXPECT_EQ(vectors::to_hex(std::span(out).first(length)),
            vectors::hex(vector).substr(0, 2 * length));
}

TEST(SocklndVectors, HelloV2AndV3) {
  std::size_t real = 0;
  for (const char* const group : {"ksock_hello_nid4", "ksock_hello_nid4.ips"}) {
    for (const Json& vector : vectors::group(group)) {
      if (vectors::name(vector).starts_with("opposite")) continue;
      SCOPED_TRACE(vectors::name(vector));
      expect_layout(vector, HelloNid4Wire{.source_nid = number(vector, "src_nid"),
                                          .destination_nid = number(vector, "dst_nid")});
      const Bytes bytes = vectors::bytes_of(vector);
      const auto hello = decode_hello(bytes);
      if (!is_real(vector)) {
        EXPECT_EQ(hello.error(), Errc::kProtocol);
        continue;
      }
      ++real;
      ASSERT_TRUE(hello.has_value());
      expect_fields(vector, *hello);
      EXPECT_EQ(hello->source, lnet::from_nid64(number(vector, "src_nid")));
      EXPECT_EQ(hello->destination, lnet::from_nid64(number(vector, "dst_nid")));
      EXPECT_EQ(bytes.size(), kHelloNid4Bytes + 4 * hello->addresses);
      EXPECT_TRUE(addresses_are_valid(std::span(bytes).subspan(kHelloNid4Bytes)));
      expect_round_trip(vector, *hello, kHelloNid4Bytes);
    }
  }
  EXPECT_EQ(real, 14U);
}

TEST(SocklndVectors, HelloV4) {
  const auto cases = vectors::group("ksock_hello_v4");
  ASSERT_EQ(cases.size(), 18U);
  for (const Json& vector : cases) {
    SCOPED_TRACE(vectors::name(vector));
    const auto source = vectors::raw<Nid>(vector, "src_nid");
    const auto destination = vectors::raw<Nid>(vector, "dst_nid");
    expect_layout(vector, HelloV4Wire{.source_nid = source, .destination_nid = destination});
    if (!is_real(vector)) continue;
    const auto hello = decode_hello(vectors::bytes_of(vector));
    ASSERT_TRUE(hello.has_value());
    expect_fields(vector, *hello);
    EXPECT_EQ(hello->source, source);
    EXPECT_EQ(hello->destination, destination);
    expect_round_trip(vector, *hello, kHelloV4Bytes);
  }
}

TEST(SocklndVectors, HelloV1IsRecognised) {
  for (const Json& vector : vectors::group("ksock_hello_v1")) {
    SCOPED_TRACE(vectors::name(vector));
    const HelloV1Wire wire{
        .magic = word(vector, "magic"),
        .version_major = static_cast<std::uint16_t>(word(vector, "version_major")),
        .version_minor = static_cast<std::uint16_t>(word(vector, "version_minor")),
        .source_nid = number(vector, "src_nid"),
        .destination_pid = word(vector, "dest_pid"),
        .source_pid = word(vector, "src_pid"),
        .message_type = word(vector, "type"),
        .payload_length = word(vector, "payload_length"),
        .incarnation = number(vector, "incarnation"),
        .type = word(vector, "conn_type")};
    EXPECT_EQ(vectors::hex_of(wire), vectors::hex(vector));
    if (!is_real(vector)) continue;
    const auto hello = decode_hello(vectors::bytes_of(vector));
    ASSERT_TRUE(hello.has_value());
    EXPECT_EQ(hello->protocol, Protocol::kV1);
    EXPECT_EQ(hello->source, lnet::from_nid64(wire.source_nid));
    EXPECT_EQ(hello->source_incarnation, wire.incarnation);
    EXPECT_EQ(hello->type, 1);
    std::array<std::byte, kHelloV4Bytes> out{};
    EXPECT_EQ(encode_hello(*hello, out).error(), Errc::kNotSupported);
  }
}

Frame frame_of(const Json& vector) {
  return {word(vector, "type"),
          word(vector, "csum"),
          {number(vector, "zc_cookies[0]"), number(vector, "zc_cookies[1]")}};
}

std::size_t expect_frames(const Json& vector) {
  SCOPED_TRACE(vectors::name(vector));
  const Bytes bytes = vectors::bytes_of(vector);
  const auto head = std::span(bytes).first<kFrameBytes>();
  EXPECT_EQ(decode_frame(head, false), frame_of(vector));
  std::array<std::byte, kFrameBytes> out{};
  encode_frame(frame_of(vector), out);
  EXPECT_EQ(vectors::to_hex(out), vectors::to_hex(head));
  return 1;
}

TEST(SocklndVectors, FramesAloneAndInFrontOfMessages) {
  std::size_t frames = 0;
  for (const Json& vector : vectors::all()) {
    const auto structure = vector["struct"].get<std::string>();
    if (vectors::name(vector).starts_with("opposite")) continue;
    if (structure == "ksock_msg_hdr") frames += expect_frames(vector);
    if (!structure.starts_with("ksock_msg.")) continue;
    frames += expect_frames(vector);
    if (!is_real(vector)) continue;
    const bool large = structure.find("nid16") != std::string::npos;
    const std::size_t header = lnet_header_bytes(large ? Protocol::kV4 : Protocol::kV3);
    EXPECT_EQ(vectors::bytes_of(vector).size(),
              kFrameBytes + header + word(vector, "hdr.payload_length"));
  }
  EXPECT_EQ(frames, 170U);
}

TEST(SocklndVectors, Checksums) {
  std::size_t whole = 0;
  for (const Json& vector : vectors::group("csum")) {
    SCOPED_TRACE(vectors::name(vector));
    EXPECT_EQ(add_to_checksum(kChecksumStart, vectors::bytes_of(vector)), word(vector, "csum"));
  }
  for (const Json& vector : vectors::all()) {
    if (vectors::name(vector).find("/csum-v2/") == std::string::npos) continue;
    SCOPED_TRACE(vectors::name(vector));
    ++whole;
    Bytes bytes = vectors::bytes_of(vector);
    const Frame frame = decode_frame(std::span(bytes).first<kFrameBytes>(), false);
    std::fill_n(bytes.begin() + offsetof(FrameWire, checksum), 4, std::byte{0});
    EXPECT_EQ(add_to_checksum(kChecksumStart, bytes), frame.checksum);
  }
  EXPECT_EQ(whole, 6U);
}

TEST(SocklndVectors, SendersOfTheOtherByteOrder) {
  std::size_t seen = 0;
  for (const Json& vector : vectors::all()) {
    if (!vectors::name(vector).starts_with("opposite-order")) continue;
    SCOPED_TRACE(vectors::name(vector));
    ++seen;
    const Bytes bytes = vectors::bytes_of(vector);
    if (bytes.size() == kFrameBytes) {
      EXPECT_EQ(decode_frame(std::span(bytes).first<kFrameBytes>(), true), frame_of(vector));
      continue;
    }
    EXPECT_TRUE(decode_hello_prefix(std::span(bytes).first<kHelloPrefixBytes>()).swapped);
    const auto hello = decode_hello(bytes);
    ASSERT_TRUE(hello.has_value());
    expect_fields(vector, *hello);
    EXPECT_EQ(hello->source, lnet::from_nid64(number(vector, "src_nid")));
    EXPECT_EQ(hello->destination, lnet::from_nid64(number(vector, "dst_nid")));
  }
  EXPECT_EQ(seen, 2U);
}

}  // namespace
}  // namespace plnet::socklnd
