// SPDX-License-Identifier: BSD-3-Clause
// Every golden vector of this layer's wire structures, both ways.
#include <gtest/gtest.h>

#include "lib/lnet/names/nid64.hpp"
#include "lib/lnet/wire/header_codec.hpp"
#include "lib/lnet/wire/ping_buffer.hpp"
#include "lib/lnet/wire/process_id_codec.hpp"
#include "tests/unit/lib/lnet/vectors.hpp"

namespace plnet::lnet::wire_vectors_test {
namespace {

using vectors::Json;
using vectors::number;
using vectors::word;

WireHandle handle(const Json& vector, const std::string& prefix) {
  return {.interface_cookie = number(vector, prefix + "interface_cookie"),
          .object_cookie = number(vector, prefix + "object_cookie")};
}

// The type area from the fields of a vector. `kind` is the part after the dot: "PUT".
std::array<std::byte, kTypeAreaBytes> area_of(const Json& vector, const std::string& kind) {
  MessageHeader header;
  if (kind == "ACK") {
    header.set_area(AckArea{.destination = handle(vector, "msg.dst_wmd."),
                            .match_bits = number(vector, "msg.match_bits"),
                            .accepted_length = word(vector, "msg.mlength")});
  } else if (kind == "PUT") {
    header.set_area(PutArea{.ack_handle = handle(vector, "msg.ack_wmd."),
                            .match_bits = number(vector, "msg.match_bits"),
                            .header_data = number(vector, "msg.hdr_data"),
                            .portal = word(vector, "msg.ptl_index"),
                            .offset = word(vector, "msg.offset")});
  } else if (kind == "GET") {
    header.set_area(GetArea{.return_handle = handle(vector, "msg.return_wmd."),
                            .match_bits = number(vector, "msg.match_bits"),
                            .portal = word(vector, "msg.ptl_index"),
                            .source_offset = word(vector, "msg.src_offset"),
                            .sink_length = word(vector, "msg.sink_length")});
  } else if (kind == "REPLY") {
    header.set_area(ReplyArea{.destination = handle(vector, "msg.dst_wmd.")});
  } else if (kind == "HELLO") {
    header.set_area(HelloArea{.incarnation = number(vector, "msg.incarnation"),
                              .connection_type = word(vector, "msg.conn_type")});
  } else {
    ADD_FAILURE() << "no such kind of message: " << kind;
  }
  return header.type_area;
}

// Decoding an area as its type yields the fields.
void expect_area(const MessageHeader& header, const Json& vector, const std::string& kind) {
  EXPECT_EQ(header.type_area, area_of(vector, kind));
  if (kind == "GET") {
    const auto get = header.area<GetArea>();
    EXPECT_EQ(get.return_handle, handle(vector, "msg.return_wmd."));
    EXPECT_EQ(get.sink_length, word(vector, "msg.sink_length"));
    EXPECT_EQ(get.source_offset, word(vector, "msg.src_offset"));
  } else if (kind == "PUT") {
    const auto put = header.area<PutArea>();
    EXPECT_EQ(put.header_data, number(vector, "msg.hdr_data"));
    EXPECT_EQ(put.portal, word(vector, "msg.ptl_index"));
    EXPECT_EQ(put.offset, word(vector, "msg.offset"));
  } else if (kind == "ACK") {
    EXPECT_EQ(header.area<AckArea>().accepted_length, word(vector, "msg.mlength"));
  } else if (kind == "HELLO") {
    EXPECT_EQ(header.area<HelloArea>().connection_type, word(vector, "msg.conn_type"));
  }
}

void expect_common(const MessageHeader& header, const Json& vector) {
  EXPECT_EQ(header.destination_pid, word(vector, "dest_pid"));
  EXPECT_EQ(header.source_pid, word(vector, "src_pid"));
  EXPECT_EQ(static_cast<std::uint32_t>(header.type), word(vector, "type"));
  EXPECT_EQ(header.payload_length, word(vector, "payload_length"));
}

MessageHeader header_of(const Json& vector, const std::string& kind) {
  MessageHeader header;
  header.destination_pid = word(vector, "dest_pid");
  header.source_pid = word(vector, "src_pid");
  header.type = static_cast<MessageType>(word(vector, "type"));
  header.payload_length = word(vector, "payload_length");
  header.type_area = area_of(vector, kind);
  return header;
}

constexpr std::array kKinds{"ACK", "PUT", "GET", "REPLY", "HELLO"};
constexpr std::array<std::size_t, 5> kCasesOfKind{14, 18, 17, 12, 11};

// Some vectors use the top 8 bits of a 64-bit NID. No NID uses them, and both the kernel and this
// node discard them; the wire structure itself is compared completely.
std::uint64_t without_top(std::uint64_t nid) {
  return nid == kNid64Any ? nid : nid << 8 >> 8;
}

TEST(WireVectors, HeaderNid4) {
  for (std::size_t k = 0; k < kKinds.size(); ++k) {
    const std::string kind = kKinds[k];
    const auto cases = vectors::group("lnet_hdr_nid4." + kind);
    ASSERT_EQ(cases.size(), kCasesOfKind[k]);
    for (const Json& vector : cases) {
      SCOPED_TRACE(vectors::name(vector));
      const auto wire = vectors::value_of<HeaderNid4Wire>(vector);
      EXPECT_EQ(wire.destination_nid, number(vector, "dest_nid"));
      EXPECT_EQ(wire.source_nid, number(vector, "src_nid"));

      const auto bytes = vectors::bytes_of(vector);
      const auto decoded = decode_header_nid4(bytes);
      ASSERT_TRUE(decoded.has_value());
      expect_common(*decoded, vector);
      expect_area(*decoded, vector, kind);
      EXPECT_EQ(to_nid64(decoded->destination).value, without_top(number(vector, "dest_nid")));
      EXPECT_EQ(to_nid64(decoded->source).value, without_top(number(vector, "src_nid")));

      MessageHeader header = header_of(vector, kind);
      header.destination = from_nid64(number(vector, "dest_nid"));
      header.source = from_nid64(number(vector, "src_nid"));
      HeaderNid4Wire expected = wire;
      expected.destination_nid = without_top(wire.destination_nid);
      expected.source_nid = without_top(wire.source_nid);
      std::array<std::byte, kHeaderNid4Bytes> encoded{};
      ASSERT_TRUE(encode_header_nid4(header, encoded).has_value());
      EXPECT_EQ(vectors::to_hex(encoded), vectors::hex_of(expected));
      if (expected.destination_nid == wire.destination_nid &&
          expected.source_nid == wire.source_nid) {
        EXPECT_EQ(vectors::to_hex(encoded), vectors::hex(vector));
      } else {
        EXPECT_NE(vectors::name(vector).find("distinct-"), std::string::npos);
      }
    }
  }
}

TEST(WireVectors, HeaderNid16) {
  for (std::size_t k = 0; k < kKinds.size(); ++k) {
    const std::string kind = kKinds[k];
    const auto cases = vectors::group("lnet_hdr_nid16." + kind);
    ASSERT_EQ(cases.size(), kCasesOfKind[k]);
    for (const Json& vector : cases) {
      SCOPED_TRACE(vectors::name(vector));
      const auto bytes = vectors::bytes_of(vector);
      const auto decoded = decode_header_nid16(bytes);
      ASSERT_TRUE(decoded.has_value());
      expect_common(*decoded, vector);
      expect_area(*decoded, vector, kind);
      EXPECT_EQ(decoded->destination, vectors::raw<Nid>(vector, "dest_nid"));
      EXPECT_EQ(decoded->source, vectors::raw<Nid>(vector, "src_nid"));

      MessageHeader header = header_of(vector, kind);
      header.destination = vectors::raw<Nid>(vector, "dest_nid");
      header.source = vectors::raw<Nid>(vector, "src_nid");
      std::array<std::byte, kHeaderNid16Bytes> encoded{};
      encode_header_nid16(header, encoded);
      EXPECT_EQ(vectors::to_hex(encoded), vectors::hex(vector));
    }
  }
}

TEST(WireVectors, SmallStructures) {
  ASSERT_EQ(vectors::group("wire_handle").size(), 5U);
  for (const Json& vector : vectors::group("wire_handle")) {
    SCOPED_TRACE(vectors::name(vector));
    const WireHandle expected = handle(vector, "");
    EXPECT_EQ(vectors::value_of<WireHandle>(vector), expected);
    EXPECT_EQ(vectors::hex_of(expected), vectors::hex(vector));
    EXPECT_EQ(expected.is_none(), vectors::name(vector) == "wire_handle/max");
  }
  ASSERT_EQ(vectors::group("nid_metadata_entry").size(), 5U);
  for (const Json& vector : vectors::group("nid_metadata_entry")) {
    SCOPED_TRACE(vectors::name(vector));
    const NidMetadataWire wire{.nid = number(vector, "nid"),
                               .opaque = vectors::raw<std::array<std::byte, 32>>(vector, "buffer")};
    EXPECT_EQ(vectors::hex_of(wire), vectors::hex(vector));
    EXPECT_EQ(vectors::value_of<NidMetadataWire>(vector).nid, wire.nid);
    EXPECT_EQ(vectors::value_of<NidMetadataWire>(vector).opaque, wire.opaque);
  }
  ASSERT_EQ(vectors::group("process_id_packed").size(), 5U);
  for (const Json& vector : vectors::group("process_id_packed")) {
    SCOPED_TRACE(vectors::name(vector));
    const ProcessIdWire wire{.nid = number(vector, "nid"), .pid = word(vector, "pid")};
    EXPECT_EQ(vectors::hex_of(wire), vectors::hex(vector));
    const auto bytes = vectors::bytes_of(vector);
    const ProcessId id = decode_process_id(std::span<const std::byte, 12>(bytes));
    EXPECT_EQ(to_nid64(id.nid).value, without_top(number(vector, "nid")));
    EXPECT_EQ(id.pid, word(vector, "pid"));
    if (without_top(number(vector, "nid")) != number(vector, "nid")) continue;
    std::array<std::byte, kProcessIdBytes> encoded{};
    EXPECT_TRUE(encode_process_id(id, encoded));
    EXPECT_EQ(vectors::to_hex(encoded), vectors::hex(vector));
  }
}

TEST(WireVectors, PingStructures) {
  ASSERT_EQ(vectors::group("ping_info_header").size(), 7U);
  for (const Json& vector : vectors::group("ping_info_header")) {
    SCOPED_TRACE(vectors::name(vector));
    const PingInfoWire wire{.magic = word(vector, "magic"),
                            .features = word(vector, "features"),
                            .pid = word(vector, "pid"),
                            .entries = word(vector, "nnis")};
    EXPECT_EQ(vectors::hex_of(wire), vectors::hex(vector));
    EXPECT_EQ(vectors::value_of<PingInfoWire>(vector).entries, wire.entries);
  }
  ASSERT_EQ(vectors::group("ni_status").size(), 6U);
  for (const Json& vector : vectors::group("ni_status")) {
    SCOPED_TRACE(vectors::name(vector));
    const NiStatusWire wire{.nid = number(vector, "nid"),
                            .status = word(vector, "status"),
                            .total_size = word(vector, "msg_size")};
    EXPECT_EQ(vectors::hex_of(wire), vectors::hex(vector));
    EXPECT_EQ(vectors::value_of<NiStatusWire>(vector).total_size, wire.total_size);
  }
  ASSERT_EQ(vectors::group("ni_large_status").size(), 5U);
  for (const Json& vector : vectors::group("ni_large_status")) {
    SCOPED_TRACE(vectors::name(vector));
    const NiLargeStatusWire wire{.status = word(vector, "status"),
                                 .nid = vectors::raw<Nid>(vector, "nid")};
    EXPECT_EQ(vectors::hex_of(wire), vectors::hex(vector));
    EXPECT_EQ(vectors::value_of<NiLargeStatusWire>(vector).nid, wire.nid);
  }
}

struct PingShape {
  const char* name;
  unsigned small;
  unsigned large;
  std::size_t cases;
};
constexpr PingShape kPingShapes[] = {
    {"ping_info.2", 2, 0, 6},   {"ping_info.3", 3, 0, 4},   {"ping_info.4", 4, 0, 4},
    {"ping_info.1+1", 1, 1, 4}, {"ping_info.2+1", 2, 1, 4}, {"ping_info.2+2", 2, 2, 4},
};

// Builds the structures of a vector from its fields.
vectors::Bytes assemble(const Json& vector, const PingShape& shape) {
  vectors::Bytes bytes;
  const auto append = [&bytes](const auto& wire) {
    const auto more = std::as_bytes(std::span(&wire, 1));
    bytes.insert(bytes.end(), more.begin(), more.end());
  };
  append(PingInfoWire{word(vector, "magic"), word(vector, "features"), word(vector, "pid"),
                      word(vector, "nnis")});
  for (unsigned i = 0; i < shape.small; ++i) {
    const std::string prefix = "ni[" + std::to_string(i) + "].";
    append(NiStatusWire{number(vector, prefix + "nid"), word(vector, prefix + "status"),
                        word(vector, prefix + "msg_size")});
  }
  for (unsigned i = 0; i < shape.large; ++i) {
    const std::string prefix = "large[" + std::to_string(i) + "].";
    append(NiLargeStatusWire{word(vector, prefix + "status"),
                             vectors::raw<Nid>(vector, prefix + "nid")});
  }
  return bytes;
}

std::vector<PingEntry> entries_of(const Json& vector, const PingShape& shape) {
  std::vector<PingEntry> entries;
  for (unsigned i = 1; i < shape.small; ++i) {
    const std::string prefix = "ni[" + std::to_string(i) + "].";
    entries.push_back(
        {from_nid64(number(vector, prefix + "nid")), word(vector, prefix + "status")});
  }
  for (unsigned i = 0; i < shape.large; ++i) {
    const std::string prefix = "large[" + std::to_string(i) + "].";
    entries.push_back({vectors::raw<Nid>(vector, prefix + "nid"), word(vector, prefix + "status")});
  }
  return entries;
}

void expect_ping(std::span<const std::byte> bytes, const Json& vector, const PingShape& shape) {
  const auto view = PingView::parse(bytes);
  ASSERT_TRUE(view.has_value());
  EXPECT_EQ(view->features(), word(vector, "features"));
  EXPECT_EQ(view->pid(), word(vector, "pid"));
  EXPECT_EQ(view->sequence(), word(vector, "ni[0].status"));
  EXPECT_EQ(view->total_bytes(), bytes.size());
  EXPECT_FALSE(view->truncated());
  std::vector<PingEntry> found;
  auto walk = view->walk();
  while (const auto entry = walk.next())
    found.push_back(*entry);
  const auto expected = entries_of(vector, shape);
  EXPECT_EQ(found, expected);
  const bool primary_large = (word(vector, "features") & kPingPrimaryLarge) != 0;
  EXPECT_EQ(view->primary(), primary_large ? expected[shape.small - 1].nid : expected[0].nid);
}

void expect_built(const Json& vector, const PingShape& shape) {
  auto entries = entries_of(vector, shape);
  const std::uint32_t features = word(vector, "features");
  if ((features & kPingPrimaryLarge) != 0) {  // configured first, reported last
    std::ranges::rotate(entries, entries.begin() + (shape.small - 1));
  }
  const PingSource source{.routing = (features & kPingRouteDisabled) == 0,
                          .discovery = (features & kPingDiscovery) != 0,
                          .pid = word(vector, "pid"),
                          .sequence = word(vector, "ni[0].status"),
                          .interfaces = entries};
  std::array<std::byte, kPingBytesMax> out{};
  const auto length = build_ping(source, out);
  ASSERT_TRUE(length.has_value());
  EXPECT_EQ(vectors::to_hex(std::span(out).first(*length)), vectors::hex(vector));
}

// The bytes of a sender with the other byte order.
vectors::Bytes swapped(vectors::Bytes bytes, const PingShape& shape) {
  std::size_t at = 0;
  const auto swap = [&](std::size_t length) {
    std::reverse(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                 bytes.begin() + static_cast<std::ptrdiff_t>(at + length));
    at += length;
  };
  for (unsigned i = 0; i < 4; ++i)
    swap(4);
  for (unsigned i = 0; i < shape.small; ++i) {
    swap(8);
    swap(4);
    swap(4);
  }
  for (unsigned i = 0; i < shape.large; ++i) {
    swap(4);
    at += sizeof(Nid);
  }
  return bytes;
}

TEST(WireVectors, PingInfo) {
  std::size_t real = 0;
  for (const PingShape& shape : kPingShapes) {
    const auto cases = vectors::group(shape.name);
    ASSERT_EQ(cases.size(), shape.cases) << shape.name;
    for (const Json& vector : cases) {
      SCOPED_TRACE(vectors::name(vector));
      const auto name = vectors::name(vector);
      const auto bytes = vectors::bytes_of(vector);
      EXPECT_EQ(vectors::to_hex(assemble(vector, shape)), vectors::hex(vector));
      if (name.find("/real/") == std::string::npos) {
        EXPECT_EQ(PingView::parse(bytes).error(), Errc::kProtocol);  // these have no magic
        continue;
      }
      ++real;
      expect_ping(bytes, vector, shape);
      expect_built(vector, shape);
      const auto other_order = swapped(bytes, shape);
      expect_ping(other_order, vector, shape);
      EXPECT_TRUE(PingView::parse(other_order)->byte_swapped());
      EXPECT_FALSE(PingView::parse(bytes)->byte_swapped());
    }
  }
  EXPECT_EQ(real, 8U);
}

}  // namespace
}  // namespace plnet::lnet::wire_vectors_test
