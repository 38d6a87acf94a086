// SPDX-License-Identifier: BSD-3-Clause
// Every golden vector of o2iblnd, both ways: layouts field by field with any contents, and real
// messages through decode() and encode().
#include <gtest/gtest.h>

#include "lib/lnet/names/nid64.hpp"
#include "lib/o2iblnd/negotiation.hpp"
#include "lib/o2iblnd/wire.hpp"
#include "tests/unit/lib/lnet/vectors.hpp"

namespace plnet::o2iblnd::wire_vectors_test {
namespace {

namespace vectors = lnet::vectors;
using vectors::Bytes;
using vectors::Json;
using vectors::number;
using vectors::word;

std::uint16_t half(const Json& vector, const std::string& field) {
  return static_cast<std::uint16_t>(number(vector, field));
}
std::uint8_t byte(const Json& vector, const std::string& field) {
  return static_cast<std::uint8_t>(number(vector, field));
}
std::int32_t status_of(const Json& vector) {
  const Json& fields = vector["fields"];
  return fields.contains("status") ? fields["status"].get<std::int32_t>() : 0;
}

std::vector<Json> of_struct(std::string_view prefix, std::string_view name_part = "") {
  static const Json all = vectors::load("o2iblnd");
  std::vector<Json> found;
  for (const Json& vector : all) {
    if (vector["struct"].get<std::string>().starts_with(prefix) &&
        vectors::name(vector).find(name_part) != std::string::npos)
      found.push_back(vector);
  }
  return found;
}

bool is_swapped(const Json& vector) {
  return vectors::name(vector).starts_with("opposite-order/");
}

template <class Wire>
void expect_part(const Json& vector, std::size_t at, const Wire& wire) {
  const Bytes bytes = vectors::bytes_of(vector);
  ASSERT_LE(at + sizeof wire, bytes.size());
  EXPECT_EQ(vectors::to_hex(std::span(bytes).subspan(at, sizeof wire)), vectors::hex_of(wire));
}

ParametersWire parameters_of(const Json& vector) {
  return {half(vector, "connparams.queue_depth"), half(vector, "connparams.max_frags"),
          word(vector, "connparams.max_msg_size")};
}

void expect_fragments(const Json& vector, std::size_t at, std::uint32_t count) {
  expect_part(vector, at - sizeof(DescriptorWire),
              DescriptorWire{word(vector, "rd.key"), word(vector, "rd.nfrags")});
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::string name = "rd.frag[" + std::to_string(i) + "].";
    expect_part(vector, at + i * sizeof(FragmentWire),
                FragmentWire{word(vector, name + "nob"), number(vector, name + "addr")});
  }
}

TEST(O2iblndVectors, Layouts) {
  std::size_t seen = 0;
  for (const Json& vector : of_struct("kib_msg.")) {
    if (is_swapped(vector)) continue;
    SCOPED_TRACE(vectors::name(vector));
    ++seen;
    expect_part(vector, 0,
                CommonWire{.magic = word(vector, "magic"),
                           .version = half(vector, "version"),
                           .type = byte(vector, "type"),
                           .credits = byte(vector, "credits"),
                           .nob = word(vector, "nob"),
                           .checksum = word(vector, "cksum"),
                           .source_nid = number(vector, "srcnid"),
                           .source_stamp = number(vector, "srcstamp"),
                           .destination_nid = number(vector, "dstnid"),
                           .destination_stamp = number(vector, "dststamp")});
    const auto structure = vector["struct"].get<std::string>();
    const auto is = [&](std::string_view name) {
      return structure.starts_with("kib_msg." + std::string(name));
    };
    if (is("CONNPARAMS")) expect_part(vector, kCommonBytes, parameters_of(vector));
    if (is("COMPLETION"))
      expect_part(vector, kCommonBytes,
                  CompletionWire{number(vector, "cookie"), status_of(vector)});
    if (is("PUT_REQ") || is("GET_REQ"))
      expect_part(vector, kImmediateBytes, number(vector, "cookie"));
    if (is("PUT_ACK")) {
      expect_part(vector, kCommonBytes, number(vector, "src_cookie"));
      expect_part(vector, kCommonBytes + 8, number(vector, "dst_cookie"));
    }
    if (is("PUT_ACK") || is("GET_REQ"))
      expect_fragments(vector, fragments_at(is("PUT_ACK") ? Kind::kPutAck : Kind::kGetRequest),
                       static_cast<std::uint32_t>(structure.back() - '0'));
  }
  EXPECT_GT(seen, 300U);
  for (const Json& vector : of_struct("kib_rej")) {
    SCOPED_TRACE(vectors::name(vector));
    expect_part(
        vector, 0,
        RejectWire{word(vector, "magic"), half(vector, "version"), byte(vector, "why"),
                   byte(vector, "padding"), number(vector, "incarnation"), parameters_of(vector)});
  }
}

void expect_message(const Json& vector, const Message& message) {
  EXPECT_EQ(message.version, half(vector, "version"));
  EXPECT_EQ(static_cast<std::uint8_t>(message.kind), byte(vector, "type"));
  EXPECT_EQ(message.credits, byte(vector, "credits"));
  EXPECT_EQ(message.nob, word(vector, "nob"));
  EXPECT_EQ(message.source_nid, number(vector, "srcnid"));
  EXPECT_EQ(message.source_stamp, number(vector, "srcstamp"));
  EXPECT_EQ(message.destination_nid, number(vector, "dstnid"));
  EXPECT_EQ(message.destination_stamp, number(vector, "dststamp"));
  EXPECT_EQ(message.swapped, is_swapped(vector));
  const Json& fields = vector["fields"];
  if (fields.contains("cookie")) {
    EXPECT_EQ(message.cookie, number(vector, "cookie"));
  }
  if (fields.contains("src_cookie")) {
    EXPECT_EQ(message.cookie, number(vector, "src_cookie"));
    EXPECT_EQ(message.sink_cookie, number(vector, "dst_cookie"));
  }
  if (fields.contains("status")) {
    EXPECT_EQ(message.status, status_of(vector));
  }
  if (fields.contains("rd.key")) {
    EXPECT_EQ(message.buffer.key, word(vector, "rd.key"));
    ASSERT_EQ(message.buffer.fragments.count(), word(vector, "rd.nfrags"));
    for (std::uint32_t i = 0; i < message.buffer.fragments.count(); ++i) {
      const std::string name = "rd.frag[" + std::to_string(i) + "].";
      const FragmentWire fragment = message.buffer.fragments.at(i);
      EXPECT_EQ(std::uint32_t{fragment.nob}, word(vector, name + "nob"));
      EXPECT_EQ(std::uint64_t{fragment.address}, number(vector, name + "addr"));
    }
  }
  if (fields.contains("connparams.queue_depth")) {
    EXPECT_EQ(message.parameters.queue_depth, half(vector, "connparams.queue_depth"));
    EXPECT_EQ(message.parameters.max_frags, half(vector, "connparams.max_frags"));
    EXPECT_EQ(message.parameters.max_msg_size, word(vector, "connparams.max_msg_size"));
  }
}

// Checksum and payload are not known from a message and are left as they are.
void expect_same_bytes(const Json& vector, const Message& message) {
  const Bytes bytes = vectors::bytes_of(vector);
  Bytes out = bytes;
  std::ranges::fill(std::span(out).first(kCommonBytes), std::byte{0xee});
  const std::size_t payload =
      message.kind == Kind::kImmediate ? message.nob - kImmediateBytes : std::size_t{0};
  const std::size_t head = encode(message, static_cast<std::uint32_t>(payload), out);
  EXPECT_EQ(head + payload, bytes.size());
  const bool is_signed = vectors::name(vector).find("cksum-signed") != std::string::npos;
  if (word(vector, "cksum") != 0)
    set_checksum(out, is_signed ? CharSign::kSigned : CharSign::kUnsigned);
  EXPECT_EQ(vectors::to_hex(out), vectors::hex(vector));
}

TEST(O2iblndVectors, RealMessagesBothWays) {
  std::size_t seen = 0;
  for (const char* const group : {"real/", "cksum-"}) {
    for (const Json& vector : of_struct("kib_msg.", group)) {
      SCOPED_TRACE(vectors::name(vector));
      ++seen;
      const Bytes bytes = vectors::bytes_of(vector);
      Message message;
      ASSERT_EQ(decode(bytes, message), std::nullopt);
      expect_message(vector, message);
      if (!message.swapped) expect_same_bytes(vector, message);
      Bytes padded = bytes;
      padded.resize(padded.size() + 92);
      EXPECT_EQ(decode(padded, message), std::nullopt);
      padded.resize(padded.size() - 93);
      EXPECT_NE(decode(padded, message), std::nullopt);
    }
  }
  EXPECT_GT(seen, 50U);
}

TEST(O2iblndVectors, ADamagedChecksumIsSeen) {
  for (const Json& vector : of_struct("kib_msg.", "cksum-")) {
    SCOPED_TRACE(vectors::name(vector));
    Bytes bytes = vectors::bytes_of(vector);
    bytes[20] ^= std::byte{0x40};
    Message message;
    EXPECT_EQ(decode(bytes, message), Refusal::kChecksum);
  }
}

TEST(O2iblndVectors, Checksums) {
  for (const Json& vector : of_struct("cksum")) {
    SCOPED_TRACE(vectors::name(vector));
    const Bytes bytes = vectors::bytes_of(vector);
    EXPECT_EQ(checksum_of(bytes, CharSign::kSigned), word(vector, "cksum_signed_char"));
    EXPECT_EQ(checksum_of(bytes, CharSign::kUnsigned), word(vector, "cksum_unsigned_char"));
  }
}

TEST(O2iblndVectors, Rejections) {
  std::size_t seen = 0;
  for (const Json& vector : of_struct("kib_rej", "real/")) {
    SCOPED_TRACE(vectors::name(vector));
    const auto reject = decode_reject(vectors::bytes_of(vector));
    ASSERT_TRUE(reject.has_value());
    EXPECT_EQ(reject->version, half(vector, "version"));
    EXPECT_EQ(static_cast<std::uint8_t>(reject->why), byte(vector, "why"));
    if (reject->version == kVersion1) continue;
    ++seen;
    EXPECT_EQ(reject->incarnation, number(vector, "incarnation"));
    ASSERT_TRUE(reject->parameters.has_value());
    EXPECT_EQ(reject->parameters->queue_depth, half(vector, "connparams.queue_depth"));
    if (word(vector, "magic") == kMagic) {
      EXPECT_EQ(vectors::to_hex(encode(*reject)), vectors::hex(vector));
    }
  }
  EXPECT_GT(seen, 3U);
}

TEST(O2iblndVectors, RaceOrder) {
  for (const Json& vector : of_struct("race_order")) {
    SCOPED_TRACE(vectors::name(vector));
    const std::uint64_t a = number(vector, "nid_a");
    const std::uint64_t b = number(vector, "nid_b");
    const Json& fields = vector["fields"];
    const bool before = fields["a_lower_up_to_2.15"].get<bool>();
    const bool since = fields["a_lower_from_2.16"].get<bool>();
    EXPECT_EQ(is_lower(a, b, RaceOrder::kNumber), before);
    EXPECT_EQ(is_lower(b, a, RaceOrder::kNumber), !before);
    EXPECT_EQ(is_lower(a, b, RaceOrder::kHash), since);
    EXPECT_EQ(is_lower(b, a, RaceOrder::kHash), !since);
  }
}

}  // namespace
}  // namespace plnet::o2iblnd::wire_vectors_test
