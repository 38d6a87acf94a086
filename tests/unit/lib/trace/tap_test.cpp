// SPDX-License-Identifier: BSD-3-Clause
// From a message that the core shows to records in the rings of captures.
#include <array>
#include <atomic>
#include <cstring>
#include <deque>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "lib/trace/show/wait.hpp"
#include "lib/trace/tap/shard_tap.hpp"
#include "tests/unit/lib/trace/records.hpp"

namespace plnet::trace::tap_test {
namespace {

using lnet::TapWay;

constexpr std::size_t kRing = kRingBytesMin;
const auto kOurs = lnet::Nid::of(lnet::NetType::kTcp, 0, 0x0a0000fe);

// Like a program on a node: it reads only the words filled in for it.
class BriefFilter final : public RecordFilter {
 public:
  explicit BriefFilter(Expression expression) : filter_(std::move(expression)) {}
  [[nodiscard]] bool matches(FilterInput& input) const override { return filter_.matches(input); }
  [[nodiscard]] bool needs_content() const override { return filter_.needs_content(); }
  [[nodiscard]] bool reads_brief_only() const override { return true; }

 private:
  ExpressionFilter filter_;
};

// A capture in memory of its own.
class Kept {
 public:
  explicit Kept(const char* filter, std::uint32_t snap, bool states = false)
      : memory_(ring_memory_bytes(kRing) / sizeof(Line)),
        filter_(Expression::parse(filter).value()),
        capture(RingWriter::create(bytes(), {}).value(), *filter == '\0' ? nullptr : &filter_, snap,
                states) {}

  std::vector<Record> read() {
    auto reader = RingReader::attach(bytes()).value();
    std::vector<Record> records;
    payloads_.clear();
    while (const auto record = reader.next().value()) {
      payloads_.emplace_back(record->payload.begin(), record->payload.end());
      records.push_back({record->header, payloads_.back()});
      interfaces.push_back(reader.interface(record->header.interface));
    }
    return records;
  }

 private:
  struct alignas(kNoSharing) Line {
    std::array<std::byte, kNoSharing> bytes;
  };
  std::span<std::byte> bytes() { return std::as_writable_bytes(std::span(memory_)); }

  std::vector<Line> memory_;
  BriefFilter filter_;
  std::deque<std::vector<std::byte>> payloads_;

 public:
  ShardCapture capture;
  std::vector<lnet::Nid> interfaces;
};

class TapTest : public testing::Test {
 protected:
  TapTest() { (void)arenas_.add({.base = memory_.data(), .size = memory_.size()}).value(); }

  // The payload lies in pieces of that size with gaps between them.
  lnet::Payload place(std::span<const std::byte> bytes, std::size_t piece) {
    fragments_.clear();
    std::uint64_t at = 0;
    for (std::size_t done = 0; done < bytes.size(); done += piece) {
      const std::size_t here = std::min(piece, bytes.size() - done);
      std::memcpy(&memory_[at], &bytes[done], here);
      fragments_.push_back({{0, at}, static_cast<std::uint32_t>(here)});
      at += here + 8;
    }
    return {fragments_, 0, static_cast<std::uint32_t>(bytes.size())};
  }
  static lnet::MessageHeader request(std::uint32_t length) {
    return header_of(records::put({.portal = portal::kOstIo, .match_bits = 0x1234},
                                  std::vector<std::byte>(length))
                         .header);
  }
  void show(ShardTap& tap, const lnet::MessageHeader& header, const lnet::Payload& payload,
            TapWay way = TapWay::kReceived) {
    tap.on_message({.header = header,
                    .way = way,
                    .cause = lnet::Cause::kDroppedHopDown,
                    .interface = kOurs,
                    .hop = records::kClient,
                    .payload = payload,
                    .when = Instant(std::chrono::seconds(5))});
    tap.end_turn();
  }

  std::vector<std::byte> memory_ = std::vector<std::byte>(1U << 16U);
  ArenaTable arenas_;
  std::vector<Fragment> fragments_;
  std::atomic<std::int64_t> offset_ns_{1'000'000'000};
};

TEST_F(TapTest, WaitsAreRecordsOfCapturesOfStates) {
  Kept with("", 0, true);
  Kept others("src 10.0.0.99@tcp", 0, true);
  Kept without("", 0);
  ShardTap tap(arenas_, offset_ns_, {&with.capture, &others.capture, &without.capture});
  const lnet::MessageHeader header = request(4096);
  const Instant begun(std::chrono::seconds(5));
  tap.on_wait({.header = header, .wait = lnet::Wait::kBuffer, .when = begun});
  tap.on_wait({.header = header,
               .wait = lnet::Wait::kBuffer,
               .over = true,
               .waited = std::chrono::milliseconds(3),
               .when = begun});
  tap.end_turn();
  const auto records = with.read();
  ASSERT_EQ(records.size(), 2U);
  EXPECT_TRUE(records[0].is_wait() && records[1].is_wait());
  EXPECT_TRUE(wait_line_of(records[0]).contains(" WAIT ")) << wait_line_of(records[0]);
  EXPECT_TRUE(wait_line_of(records[1]).contains(" GO ")) << wait_line_of(records[1]);
  EXPECT_TRUE(wait_line_of(records[1]).ends_with(" after 3.0ms")) << wait_line_of(records[1]);
  EXPECT_TRUE(wait_line_of(records[0]).contains("buffer")) << wait_line_of(records[0]);
  EXPECT_TRUE(wait_json_of(records[1]).contains(R"("waited_ns":3000000)"));
  EXPECT_TRUE(others.read().empty() && without.read().empty());
}

TEST_F(TapTest, RecordsAllThatIsKnown) {
  Kept kept("", 4096);
  ShardTap tap(arenas_, offset_ns_, {&kept.capture});
  EXPECT_TRUE(tap.wants_payload());
  const auto bytes = records::payload_of("ptlrpc", "request.1/real/obd-ping");
  for (const std::size_t piece : {bytes.size(), std::size_t{7}})
    show(tap, request(static_cast<std::uint32_t>(bytes.size())), place(bytes, piece));
  show(tap, request(10), {}, TapWay::kDropped);
  const auto records = kept.read();
  ASSERT_EQ(records.size(), 3U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(records[i].header.time_ns, 6'000'000'000U);
    EXPECT_EQ(records[i].header.direction, Direction::kReceived);
    EXPECT_EQ(records[i].header.hop, records::kClient);
    EXPECT_EQ(records[i].match_bits(), 0x1234U);
    EXPECT_TRUE(std::ranges::equal(records[i].payload, bytes));
    EXPECT_EQ(kept.interfaces[i], kOurs);
  }
  EXPECT_EQ(records[2].header.direction, Direction::kDropped);
  EXPECT_EQ(records[2].header.cause, static_cast<std::uint8_t>(lnet::Cause::kDroppedHopDown));
  EXPECT_EQ(records[2].header.payload_length, 10U);
  EXPECT_TRUE(records[2].payload.empty());
}

TEST_F(TapTest, CutsPayloadsAsEachCaptureWants) {
  Kept none("", 0);
  Kept some("", 16);
  ShardTap headers(arenas_, offset_ns_, {&none.capture});
  EXPECT_FALSE(headers.wants_payload());
  ShardTap both(arenas_, offset_ns_, {&none.capture, &some.capture});
  const std::vector<std::byte> bytes(6000, std::byte{7});
  show(both, request(6000), place(bytes, 100));
  EXPECT_TRUE(none.read().at(0).payload.empty());
  EXPECT_EQ(some.read().at(0).payload.size(), 16U);
}

TEST_F(TapTest, FiltersByContentWithoutKeepingIt) {
  Kept pings("opc OBD_PING", 0);
  Kept reads("opc OST_READ", 0);
  Kept gets("get", 0);
  ShardTap tap(arenas_, offset_ns_, {&pings.capture, &reads.capture, &gets.capture});
  EXPECT_TRUE(tap.wants_payload());
  const auto bytes = records::payload_of("ptlrpc", "request.1/real/obd-ping");
  show(tap, request(static_cast<std::uint32_t>(bytes.size())), place(bytes, 50));
  const auto matched = pings.read();
  ASSERT_EQ(matched.size(), 1U);
  EXPECT_TRUE(matched[0].payload.empty());
  EXPECT_TRUE(reads.read().empty());
  EXPECT_TRUE(gets.read().empty());
}

TEST_F(TapTest, ReadsNoMemoryThatIsInNoArena) {
  Kept kept("", 64);
  ShardTap tap(arenas_, offset_ns_, {&kept.capture});
  fragments_ = {{{kNoArena, 0}, 32}};
  show(tap, request(32), {fragments_, 0, 32});
  EXPECT_TRUE(kept.read().at(0).payload.empty());
}

}  // namespace
}  // namespace plnet::trace::tap_test
