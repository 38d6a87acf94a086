// SPDX-License-Identifier: BSD-3-Clause
// Every golden vector of kfilnd, both ways: layouts field by field with any contents, and real
// messages through encode() and decode().
#include <gtest/gtest.h>

#include "lib/kfilnd/wire.hpp"
#include "lib/lnet/names/nid64.hpp"
#include "tests/unit/lib/lnet/vectors.hpp"

namespace plnet::kfilnd::wire_vectors_test {
namespace {

namespace vectors = lnet::vectors;
using vectors::Bytes;
using vectors::Json;
using vectors::number;
using vectors::word;

std::uint16_t half(const Json& vector, const char* field) {
  return static_cast<std::uint16_t>(number(vector, field));
}

std::vector<Json> messages(std::string_view prefix) {
  static const Json all = vectors::load("kfilnd");
  std::vector<Json> found;
  for (const Json& vector : all) {
    if (vector["struct"].get<std::string>().starts_with(prefix)) found.push_back(vector);
  }
  return found;
}

template <class Wire>
void expect_part(const Json& vector, std::size_t at, const Wire& wire) {
  const Bytes bytes = vectors::bytes_of(vector);
  ASSERT_LE(at + sizeof wire, bytes.size());
  EXPECT_EQ(vectors::to_hex(std::span(bytes).subspan(at, sizeof wire)), vectors::hex_of(wire));
}

void expect_common(const Json& vector) {
  expect_part(vector, 0,
              CommonWire{.magic = word(vector, "magic"),
                         .version = half(vector, "version"),
                         .type = static_cast<std::uint8_t>(number(vector, "type")),
                         .reserved = static_cast<std::uint8_t>(number(vector, "reserved")),
                         .nob = half(vector, "nob"),
                         .checksum = half(vector, "cksum"),
                         .source_nid = number(vector, "srcnid"),
                         .destination_nid = number(vector, "dstnid")});
}

TEST(KfilndVectors, Layouts) {
  std::size_t seen = 0;
  for (const Json& vector : messages("kfilnd_msg.")) {
    SCOPED_TRACE(vectors::name(vector));
    ++seen;
    expect_common(vector);
    const auto structure = vector["struct"].get<std::string>();
    if (structure.starts_with("kfilnd_msg.HELLO")) {
      expect_part(vector, kCommonBytes,
                  HelloWire{half(vector, "hello.version"), half(vector, "hello.rx_base"),
                            word(vector, "hello.session_key"), half(vector, "hello.rx_count")});
    } else if (structure.starts_with("kfilnd_msg.BULK_REQ_V1")) {
      EXPECT_EQ(vectors::bytes_of(vector).size(), kBulkV1Bytes);
      expect_part(vector, kImmediateBytes,
                  BulkV1Wire{word(vector, "response_rx"), half(vector, "key")});
    } else if (structure.starts_with("kfilnd_msg.BULK_REQ_V2")) {
      EXPECT_EQ(vectors::bytes_of(vector).size(), kBulkV2Bytes);
      expect_part(vector, kImmediateBytes,
                  BulkV2Wire{word(vector, "response_rx"), half(vector, "key"),
                             word(vector, "session_key")});
    }
    if (!structure.starts_with("kfilnd_msg.HELLO")) {
      const Bytes bytes = vectors::bytes_of(vector);
      const auto header = lnet::decode_header_nid4(std::span(bytes).subspan(kCommonBytes));
      ASSERT_TRUE(header.has_value());
      EXPECT_EQ(header->payload_length, word(vector, "hdr.payload_length"));
      EXPECT_EQ(header->destination_pid, word(vector, "hdr.dest_pid"));
    }
  }
  EXPECT_GT(seen, 200U);
}

void expect_fields(const Json& vector, const Message& message) {
  EXPECT_EQ(static_cast<std::uint64_t>(message.kind), number(vector, "type"));
  EXPECT_EQ(message.version, number(vector, "version"));
  EXPECT_EQ(message.source_nid, number(vector, "srcnid"));
  EXPECT_EQ(message.destination_nid, number(vector, "dstnid"));
  if (message.is_hello()) {
    const Hello hello{half(vector, "hello.version"), half(vector, "hello.rx_base"),
                      word(vector, "hello.session_key"), half(vector, "hello.rx_count")};
    EXPECT_EQ(message.hello, hello);
  }
  if (!message.is_bulk()) return;
  EXPECT_EQ(message.response_rx, number(vector, "response_rx"));
  EXPECT_EQ(message.key, number(vector, "key"));
  EXPECT_EQ(message.session_key, number(vector, "session_key"));
}

TEST(KfilndVectors, RealMessagesBothWays) {
  std::size_t real = 0;
  for (const Json& vector : messages("kfilnd_msg.")) {
    const std::string name = vectors::name(vector);
    const bool summed = name.find("/cksum/") != std::string::npos;
    if (!summed && name.find("/real/") == std::string::npos) continue;
    if (name.find("/only/") != std::string::npos) continue;
    SCOPED_TRACE(name);
    ++real;
    const Bytes bytes = vectors::bytes_of(vector);
    Message message;
    const DecodeRules rules{.own_nid = number(vector, "dstnid"), .verify_checksum = true};
    ASSERT_EQ(decode(bytes, rules, message), std::nullopt);
    expect_fields(vector, message);

    Head head{};
    const std::size_t payload =
        message.kind == Kind::kImmediate ? bytes.size() - kImmediateBytes : 0;
    const std::size_t length = encode(message, static_cast<std::uint32_t>(payload), head);
    ASSERT_EQ(length, bytes.size() - payload);
    const auto behind = std::span(bytes).subspan(length);
    if (summed) {
      Checksum checksum;
      checksum.add(std::span(head).first(length));
      checksum.add(behind);
      EXPECT_EQ(checksum.value(), number(vector, "cksum"));
      set_checksum(checksum.value(), head);
    }
    EXPECT_EQ(vectors::to_hex(std::span(head).first(length)) + vectors::to_hex(behind),
              vectors::hex(vector));
  }
  EXPECT_GE(real, 37U);
}

TEST(KfilndVectors, Tags) {
  std::size_t seen = 0;
  for (const Json& vector : messages("tag")) {
    SCOPED_TRACE(vectors::name(vector));
    ++seen;
    const Tag tag = tag_of(word(vector, "session_key"), half(vector, "key"));
    EXPECT_EQ(tag, word(vector, "tag"));
    EXPECT_EQ(vectors::hex_of(tag), vectors::hex(vector));
  }
  EXPECT_GT(seen, 20U);
}

TEST(KfilndVectors, StatusInPlaceOfData) {
  std::size_t seen = 0;
  for (const Json& vector : messages("skip_data")) {
    SCOPED_TRACE(vectors::name(vector));
    ++seen;
    const auto status = vector["fields"]["status"].get<std::int64_t>();
    const auto data = static_cast<std::uint64_t>(-status);  // the driver's argument, in host order
    EXPECT_EQ(std::byteswap(data), number(vector, "cq_data_value"));
    EXPECT_EQ(vectors::hex_of(std::byteswap(data)), vectors::hex(vector));
  }
  EXPECT_EQ(seen, 4U);
}

TEST(KfilndVectors, Addresses) {
  std::size_t seen = 0;
  for (const Json& vector : messages("address")) {
    SCOPED_TRACE(vectors::name(vector));
    ++seen;
    const lnet::Nid nid = lnet::from_nid64(number(vector, "nid4"));
    EXPECT_EQ(nic_address_of(nid), number(vector, "nic"));
    EXPECT_EQ(service_of(nid), number(vector, "pid"));
  }
  EXPECT_EQ(seen, 2U);
}

}  // namespace
}  // namespace plnet::kfilnd::wire_vectors_test
