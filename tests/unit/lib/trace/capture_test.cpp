// SPDX-License-Identifier: BSD-3-Clause
// Capture files: those of kernel peers, our own, and errors in others.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "lib/lnet/move/statistics.hpp"
#include "lib/lnet/names/address_text.hpp"
#include "lib/lnet/names/nid_text.hpp"
#include "lib/lnet/wire/header_codec.hpp"
#include "lib/trace/decode/message.hpp"
#include "lib/trace/decode/rpc_names.hpp"
#include "lib/trace/file/capture_writer.hpp"
#include "lib/trace/file/record_comment.hpp"
#include "lib/trace/file/roce_stream.hpp"
#include "tests/unit/lib/trace/capture_files.hpp"
#include "tests/unit/lib/trace/records.hpp"

namespace plnet::trace::capture_test {
namespace {

using capture_files::Kept;
using capture_files::read;
using records::Bytes;

std::map<std::string, int> kinds(const Kept& kept) {
  std::map<std::string, int> kinds;
  for (const auto& one : kept.all) {
    const Message message = decode(one.record);
    std::string name = name_or_number(message_type_names(), one.record.header.type);
    if (const auto* const selftest = message.selftest()) {
      name = name_or_number(rpc_names::selftest_types(), selftest->type);
    } else if (message.ping() != nullptr) {
      name += " ping";
    }
    ++kinds[name];
  }
  return kinds;
}

TEST(TraceCapture, ReadsKernelsOfTcp) {
  const auto file = capture_files::shared("kernel-2.17-tcp.pcap");
  if (!file) GTEST_SKIP() << "no captures of kernels beside the tree";
  Kept kept;
  read(*file, kept);
  const auto counts = kinds(kept);
  EXPECT_EQ(counts.at("BRW_REQ"), 5);
  EXPECT_EQ(counts.at("BRW_REQ"), counts.at("BRW_REPLY"));
  EXPECT_EQ(counts.at("MAKE_SESSION_REQ"), counts.at("MAKE_SESSION_REPLY"));
  EXPECT_GE(counts.at("REPLY ping"), 2);
  EXPECT_GE(counts.at("PUT ping"), 1);
  for (const auto& one : kept.all) {
    EXPECT_EQ(one.record.header.source.net(), lnet::make_net(lnet::NetType::kTcp));
    EXPECT_EQ(one.record.header.captured,
              std::min(one.record.header.payload_length, std::uint32_t{65536}));
  }
}

TEST(TraceCapture, ReadsKernelsOfRoce) {
  const auto file = capture_files::shared("kernel-2.17-o2ib-rxe.pcap");
  if (!file) GTEST_SKIP() << "no captures of kernels beside the tree";
  Kept kept;
  read(*file, kept);
  const auto counts = kinds(kept);
  EXPECT_GE(counts.at("MAKE_SESSION_REQ"), 1);
  EXPECT_GE(counts.at("REPLY ping"), 1);
  for (const auto& one : kept.all)
    EXPECT_EQ(one.record.header.source.type, static_cast<std::uint8_t>(lnet::NetType::kO2ib));
}

// With segments missing, other messages are still found and unchanged.
TEST(TraceCapture, GoesOnBehindLosses) {
  const auto file = capture_files::shared("kernel-2.17-tcp.pcap");
  if (!file) GTEST_SKIP() << "no captures of kernels beside the tree";
  Kept whole;
  read(*file, whole);
  for (std::size_t lost = 0; lost < 141; ++lost) {
    CaptureReader reader;
    Kept kept;
    CaptureSource source(kept, {});
    std::span bytes = std::as_bytes(std::span(*file));
    for (std::size_t i = 0; reader.next(bytes) == CaptureReader::Step::kPacket; ++i)
      if (i != lost) source.add(reader.packet());
    source.finish();
    EXPECT_GE(kept.all.size() + 3, whole.all.size()) << "without packet " << lost;
  }
}

TEST(TraceCapture, SnapLengthCutsPayloads) {
  const auto file = capture_files::shared("kernel-2.17-tcp.pcap");
  if (!file) GTEST_SKIP() << "no captures of kernels beside the tree";
  Kept whole;
  Kept cut;
  read(*file, whole);
  read(*file, cut, {.snap_bytes = 10});
  ASSERT_EQ(cut.all.size(), whole.all.size());
  for (std::size_t i = 0; i < cut.all.size(); ++i) {
    EXPECT_LE(cut.all[i].payload.size(), 10U);
    EXPECT_EQ(cut.all[i].record.header.payload_length, whole.all[i].record.header.payload_length);
  }
}

// A pcap file in the other byte order.
TEST(TraceCapture, ReadsEitherByteOrder) {
  const auto file = capture_files::shared("kernel-2.17-tcp.pcap");
  if (!file) GTEST_SKIP() << "no captures of kernels beside the tree";
  std::string swapped = *file;
  const auto swap = [&](std::size_t at, std::size_t size) {
    std::reverse(&swapped[at], &swapped[at + size]);
  };
  swap(0, 4);
  swap(4, 2);
  swap(6, 2);
  for (std::size_t at = 8; at < 24; at += 4)
    swap(at, 4);
  for (std::size_t at = 24; at < swapped.size();) {
    std::uint32_t length = 0;
    std::memcpy(&length, &swapped[at + 8], sizeof length);
    for (std::size_t i = 0; i < 16; i += 4)
      swap(at + i, 4);
    at += 16 + length;
  }
  Kept one;
  Kept other;
  read(*file, one);
  read(swapped, other);
  ASSERT_EQ(one.all.size(), other.all.size());
  for (std::size_t i = 0; i < one.all.size(); ++i) {
    EXPECT_EQ(one.all[i].record.header.time_ns, other.all[i].record.header.time_ns);
    EXPECT_EQ(one.all[i].payload, other.all[i].payload);
  }
}

Record large_nids(const Bytes& payload) {
  Record record =
      records::put({.portal = 12, .match_bits = 77, .time_ns = 1'700'000'000'000'000'005}, payload);
  record.header.source =
      lnet::nid_of(lnet::make_net(lnet::NetType::kTcp, 3), lnet::parse_ip("2001:db8::17").value());
  return record;
}

TEST(TraceCapture, OwnFilesKeepAllOfRecord) {
  const Bytes payload = records::payload_of("ptlrpc", "request.1/real/obd-ping");
  const auto nid = lnet::Nid::of(lnet::NetType::kTcp, 3, 0x0a000009);
  CaptureWriter writer(PacketStyle::kUpperPdu, "test");
  std::vector<Record> records{large_nids(payload), records::get({.portal = 8}, 4096),
                              records::reply({.direction = Direction::kReceived}, 100)};
  records[1].header.direction = Direction::kDropped;
  records[1].header.cause = static_cast<std::uint8_t>(lnet::Cause::kDroppedHopDown);
  records[2].header.hop = lnet::Nid::of(lnet::NetType::kTcp, 3, 0x0a0000fe);
  for (const Record& record : records)
    writer.add(record, nid);
  Kept kept;
  const std::string file = writer.take();
  read(file, kept);
  ASSERT_EQ(kept.all.size(), records.size());
  for (std::size_t i = 0; i < records.size(); ++i) {
    const RecordHeader& was = records[i].header;
    const RecordHeader& is = kept.all[i].record.header;
    EXPECT_EQ(is.time_ns, was.time_ns);
    EXPECT_EQ(is.source, was.source);
    EXPECT_EQ(is.destination, was.destination);
    EXPECT_EQ(is.hop, was.hop);
    EXPECT_EQ(is.direction, was.direction);
    EXPECT_EQ(is.cause, was.cause);
    EXPECT_EQ(is.type_area, was.type_area);
    EXPECT_EQ(is.payload_length, was.payload_length);
    EXPECT_EQ(kept.all[i].interface, nid);
  }
  EXPECT_EQ(kept.all[0].payload, payload);
}

TEST(TraceCapture, SyntheticTcpIsReadBack) {
  const Bytes payload(150'000, std::byte{7});
  CaptureWriter writer(PacketStyle::kTcp, "test");
  std::string file;
  for (std::uint64_t i = 0; i < 5; ++i) {
    Record record = records::put({.portal = 6, .match_bits = i, .time_ns = i}, payload);
    if (i % 2 == 1) {  // most of it was not captured
      record.payload = record.payload.first(64);
      record.header.captured = 64;
    }
    writer.add(record, {});
    file += writer.take();
  }
  Kept kept;
  read(file, kept, {.snap_bytes = 1U << 20U});
  ASSERT_EQ(kept.all.size(), 5U);
  for (std::size_t i = 0; i < kept.all.size(); ++i) {
    EXPECT_EQ(kept.all[i].record.match_bits(), i);
    EXPECT_EQ(kept.all[i].payload.size(), i % 2 == 1 ? 64U : payload.size());
  }
}

TEST(TraceCapture, FileEndsAnywhere) {
  const Bytes payload = records::payload_of("ptlrpc", "request.1/real/obd-ping");
  CaptureWriter writer(PacketStyle::kUpperPdu, "test");
  writer.add(large_nids(payload), {});
  writer.add(large_nids(payload), {});
  const std::string file = writer.take();
  for (std::size_t length = 0; length <= file.size(); ++length) {
    const std::string part = file.substr(0, length);
    CaptureReader reader;
    std::span bytes = std::as_bytes(std::span(part));
    std::size_t packets = 0;
    CaptureReader::Step step{};
    while ((step = reader.next(bytes)) == CaptureReader::Step::kPacket)
      ++packets;
    EXPECT_EQ(step, CaptureReader::Step::kMore) << length << reader.error();
    EXPECT_EQ(reader.position() + bytes.size(), length);
    EXPECT_EQ(packets == 2, length == file.size());
  }
}

TEST(TraceCapture, ErrorsSayWhere) {
  const auto error_of = [](std::string file) {
    CaptureReader reader;
    std::span bytes = std::as_bytes(std::span(file));
    while (reader.next(bytes) == CaptureReader::Step::kPacket) {
    }
    return reader.error();
  };
  EXPECT_EQ(error_of(std::string(30, 'x')), "byte 0: neither a pcap nor a pcapng file");
  CaptureWriter writer(PacketStyle::kUpperPdu, "test");
  const std::string section = writer.take();
  std::string block(28, '\0');
  block[4] = 29;
  EXPECT_EQ(error_of(section + block),
            "byte " + std::to_string(section.size()) + ": a block of impossible length");
  block[0] = 6;
  block[4] = 32;
  block += std::string(4, '\0');
  EXPECT_TRUE(error_of(section + block).ends_with("a packet of an unknown interface"));
}

struct Framed : FramedSink {
  std::vector<std::size_t> payloads;
  void on_message(const FramedMessage& message) override {
    payloads.push_back(message.payload.size());
  }
};

// An immediate message in two packets of a queue pair; it claims more bytes than a buffer holds.
TEST(TraceCapture, RoceMessagesAreBounded) {
  constexpr std::size_t kPacket = 60'000;
  Bytes message(kPacket);
  const std::uint32_t magic = 0x0be91b91;
  std::memcpy(message.data(), &magic, sizeof magic);
  message[6] = std::byte{0xd1};
  const std::uint32_t length = 1U << 30U;
  std::memcpy(&message[8], &length, sizeof length);
  const Record put = records::put({.portal = 6}, Bytes(1U << 20U));
  const std::span<std::byte> all = message;
  ASSERT_TRUE(
      lnet::encode_header_nid4(header_of(put.header), all.subspan<48, lnet::kHeaderNid4Bytes>())
          .has_value());
  const auto packet = [&](std::uint8_t opcode) {
    Bytes bytes(12);
    bytes[0] = std::byte{opcode};
    bytes.insert(bytes.end(), message.begin(), message.end());
    bytes.resize(bytes.size() + 4);
    return bytes;
  };
  Framed sink;
  RoceStreams streams(sink);
  for (const std::uint8_t opcode : std::to_array<std::uint8_t>({0, 1, 1, 2})) {
    const Bytes bytes = packet(opcode);
    streams.add({.length = static_cast<std::uint32_t>(bytes.size()), .bytes = bytes}, 1);
  }
  EXPECT_EQ(sink.payloads, std::vector<std::size_t>{4096 - 120});
}

TEST(TraceCapture, CommentsOfOthersChangeNothing) {
  RecordHeader header = records::get({}, 1).header;
  const lnet::Nid source = header.source;
  KnownNids nids;
  apply_comment("src=1.2.3.4@tcp", header, nids);
  EXPECT_EQ(header.source, source);
  apply_comment("lnetdump src=nonsense dir=UP cause= =x hop", header, nids);
  EXPECT_EQ(header.source, source);
  EXPECT_EQ(header.direction, Direction::kSent);
}

TEST(TraceCapture, MoreNidsThanAreKeptAreFoundAllTheSame) {
  KnownNids nids;
  for (int round = 0; round < 2; ++round) {
    for (std::uint32_t i = 0; i < KnownNids::kTextsMax + 2; ++i) {
      const lnet::Nid nid = lnet::Nid::of(lnet::NetType::kTcp, 0, i + 1);
      ASSERT_EQ(nids.find(lnet::text_of(nid)), nid);
    }
  }
  EXPECT_FALSE(nids.find(""));
  EXPECT_FALSE(nids.find("nonsense"));
}

}  // namespace
}  // namespace plnet::trace::capture_test
