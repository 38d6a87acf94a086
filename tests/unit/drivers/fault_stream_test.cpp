// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "drivers/net/fault/stream.hpp"

namespace plnet::fault_stream_test {
namespace {

using drivers::Direction;
using drivers::Fault;
using drivers::FaultPlan;
using drivers::FaultRule;
using drivers::FaultStreamDriver;
using drivers::Trigger;
using socklnd::StreamId;

constexpr StreamId kStream{.index = 3, .generation = 1};
constexpr StreamId kOther{.index = 5, .generation = 1};

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

// The driver below: records its calls.
class Below final : public socklnd::StreamDriver {
 public:
  std::size_t write(StreamId, std::span<const std::span<const std::byte>> pieces) override {
    std::size_t taken = 0;
    first_piece = pieces.empty() ? nullptr : pieces.front().data();
    for (const auto piece : pieces) {
      const std::size_t take = std::min(piece.size(), room - std::min(room, taken));
      wire.append(reinterpret_cast<const char*>(piece.data()), take);
      taken += take;
    }
    return taken;
  }
  void pause_reading(StreamId) override { log += "pause "; }
  void resume_reading(StreamId) override { log += "resume "; }
  void acknowledge_now(StreamId) override { log += "acknowledge "; }
  bool await(StreamId, std::size_t bytes) override {
    log += "await:" + std::to_string(bytes) + " ";
    return true;
  }
  std::size_t relay(StreamId, StreamId to, std::span<const std::span<const std::byte>> head,
                    std::size_t bytes) override {
    const std::size_t taken = write(to, head);
    wire.append(bytes, '.');
    return taken + bytes;
  }
  Result<void> fetch(StreamId, std::span<std::byte> target) override {
    log += "fetch:" + std::to_string(target.size()) + " ";
    return fetched;
  }
  void limit_next_read(StreamId, std::size_t bytes) override {
    log += "limit:" + std::to_string(bytes) + " ";
  }
  Result<StreamId> connect(const socklnd::ConnectRequest&) override { return kStream; }
  Result<void> listen(const socklnd::SocketAddress&, unsigned,
                      const socklnd::StreamOptions&) override {
    return {};
  }
  void stop_listening(const socklnd::SocketAddress&) override {}
  void close(StreamId, Errc cause) override {
    log.append("close:").append(name_of(cause)).append(" ");
  }
  Result<socklnd::DetachedStream> detach(StreamId) override { return socklnd::DetachedStream{}; }
  Result<StreamId> adopt(const socklnd::DetachedStream&, const socklnd::StreamOptions&) override {
    return kStream;
  }
  void discard(const socklnd::DetachedStream&) override {}
  bool is_local(const socklnd::SocketAddress&) const override { return true; }
  socklnd::StreamFacts facts(StreamId) const override { return {}; }
  CounterView counters() const override { return {}; }

  const std::byte* first_piece = nullptr;  // of the last write
  std::string wire;
  std::string log;
  Result<void> fetched;
  std::size_t room = 1U << 20;
};

// socklnd above: records its events.
class Above final : public socklnd::StreamEvents {
 public:
  std::span<std::byte> destination(StreamId) override { return target; }
  std::size_t on_bytes(StreamId, std::size_t direct, std::span<const std::byte> staged) override {
    if (driver != nullptr) {
      EXPECT_TRUE(driver->detach(kStream).has_value());
    }
    heard.append(reinterpret_cast<const char*>(target.data()), direct);
    heard.append(reinterpret_cast<const char*>(staged.data()), staged.size());
    return staged.size();
  }
  void on_writable(StreamId) override { ++writable; }
  void on_awaited(StreamId id) override {
    ++awaited;
    if (keeper != nullptr) keeper->pause_reading(id);
  }
  void on_connected(StreamId, const socklnd::StreamAddresses&) override {}
  void on_accepted(StreamId, const socklnd::StreamAddresses&) override {}
  void on_closed(StreamId, Errc, std::uint64_t) override { ++closed; }

  std::array<std::byte, 8> target{};
  std::string heard;
  socklnd::StreamDriver* driver = nullptr;  // if set: moves the stream away when bytes arrive
  socklnd::StreamDriver* keeper = nullptr;  // if set: keeps the awaited payload
  unsigned writable = 0;
  unsigned awaited = 0;
  unsigned closed = 0;
};

struct FaultStream : testing::Test {
  FaultStream() {
    fault.attach(below);
    fault.on_connected(kStream, {});
  }
  void plan(const FaultRule& rule) {
    FaultPlan plan;
    ASSERT_TRUE(plan.add(rule));
    ASSERT_TRUE(fault.set_plan(plan));
  }
  std::size_t write(const std::string& text) {
    const auto piece = bytes_of(text);
    return fault.write(kStream, {&piece, 1});
  }
  std::size_t relay(const std::string& head, std::size_t bytes) {
    const auto piece = bytes_of(head);
    return fault.relay(kOther, kStream, {&piece, 1}, bytes);
  }
  std::size_t hear(const std::string& text) {
    (void)fault.destination(kStream);
    return fault.on_bytes(kStream, 0, bytes_of(text));
  }
  std::uint64_t applied() { return fault.judge().counts(0).applied(); }
  static Instant at(int usec) { return Instant{} + std::chrono::microseconds(usec); }

  Above above;
  Below below;
  FaultStreamDriver fault{above, Random(1)};
};

FaultRule first(Fault fault, Direction direction) {
  return {.fault = fault,
          .direction = direction,
          .trigger = Trigger::kAtNth,
          .nth = 1,
          .delay = std::chrono::microseconds(10),
          .error = Errc::kReset};
}

TEST_F(FaultStream, WithoutRulesNothingChanges) {
  EXPECT_EQ(write("hello"), 5U);
  EXPECT_EQ(hear("world"), 5U);
  EXPECT_EQ(below.wire, "hello");
  EXPECT_EQ(above.heard, "world");
}

TEST_F(FaultStream, ACorruptedWriteHasOneOtherByte) {
  plan(first(Fault::kCorrupt, Direction::kTx));
  EXPECT_EQ(write("hello"), 5U);
  EXPECT_EQ(below.wire, "Hello");
  EXPECT_EQ(applied(), 1U);
}

TEST_F(FaultStream, ACorruptionOfUnsentBytesIsNoFault) {
  plan(first(Fault::kCorrupt, Direction::kTx));
  below.room = 0;
  EXPECT_EQ(write("hello"), 0U);
  EXPECT_EQ(applied(), 0U);
}

TEST_F(FaultStream, CorruptedReadsHaveOneOtherByteStagedAndDirect) {
  plan({.fault = Fault::kCorrupt, .direction = Direction::kRx});
  EXPECT_EQ(hear("aaaa"), 4U);
  const auto other = [](char letter) { return letter != 'a'; };
  EXPECT_EQ(std::ranges::count_if(above.heard, other), 1);
  above.heard.clear();
  above.target.fill(std::byte{'a'});
  (void)fault.destination(kStream);
  EXPECT_EQ(fault.on_bytes(kStream, 8, {}), 0U);
  EXPECT_EQ(std::ranges::count_if(above.heard, other), 1);
  EXPECT_EQ(applied(), 2U);
}

TEST_F(FaultStream, ASplitWriteIsCutAndContinues) {
  plan(first(Fault::kSplit, Direction::kTx));
  EXPECT_EQ(write("abcdef"), 3U);
  EXPECT_EQ(below.wire, "abc");
  EXPECT_EQ(above.writable, 0U);
  EXPECT_EQ(fault.poll(at(0)), 1U);
  EXPECT_EQ(above.writable, 1U);
  EXPECT_EQ(write("def"), 3U);
  EXPECT_EQ(below.wire, "abcdef");
}

// The span may describe payload that is not in memory.
TEST_F(FaultStream, ASplitWriteOffersItsBytesWhereTheyLie) {
  plan(first(Fault::kSplit, Direction::kTx));
  const std::string left = "ab";
  const std::string right = "cdef";
  const std::array pieces{bytes_of(left), bytes_of(right)};
  EXPECT_EQ(fault.write(kStream, pieces), 3U);
  EXPECT_EQ(below.wire, "abc");
  EXPECT_EQ(below.first_piece, bytes_of(left).data());
}

TEST_F(FaultStream, ASplitWriteOfManyPiecesIsCutAtItsLimit) {
  plan(first(Fault::kSplit, Direction::kTx));
  const std::string one = "x";
  const std::vector<std::span<const std::byte>> pieces(4 * drivers::kHalfPiecesMax, bytes_of(one));
  EXPECT_EQ(fault.write(kStream, pieces), drivers::kHalfPiecesMax);
  fault.poll(at(0));
  EXPECT_EQ(above.writable, 1U) << "the rest is requested";
}

TEST_F(FaultStream, AnEmptyWriteIsNeverCutShort) {
  plan(first(Fault::kStall, Direction::kTx));
  EXPECT_EQ(write(""), 0U);
  EXPECT_EQ(applied(), 0U);
  fault.poll(at(100));
  EXPECT_EQ(above.writable, 0U);
}

TEST_F(FaultStream, AResetDoesNotFollowAStreamThatHasMovedAway) {
  plan(first(Fault::kReset, Direction::kRx));
  above.driver = &fault;
  EXPECT_EQ(hear("bytes"), 5U);
  EXPECT_EQ(below.log, "");
}

TEST_F(FaultStream, ATruncatedWriteBreaksTheStreamAfterHalf) {
  plan(first(Fault::kTruncate, Direction::kTx));
  EXPECT_EQ(write("abcdef"), 3U);
  EXPECT_EQ(below.wire, "abc");
  EXPECT_EQ(below.log, "close:Reset ");
  EXPECT_EQ(write("def"), 0U);
  fault.close(kStream, Errc::kShutdown);  // socklnd closes it meanwhile
  EXPECT_EQ(below.log, "close:Reset ");
  fault.on_closed(kStream, Errc::kReset, 0);
  EXPECT_EQ(above.closed, 1U);
}

TEST_F(FaultStream, AStalledWriteGoesOnAfterTheDelay) {
  plan(first(Fault::kStall, Direction::kTx));
  EXPECT_EQ(write("abc"), 0U);
  EXPECT_EQ(fault.next_deadline(), at(10));
  EXPECT_EQ(fault.poll(at(9)), 0U);
  EXPECT_EQ(above.writable, 0U);
  fault.poll(at(10));
  EXPECT_EQ(above.writable, 1U);
  EXPECT_EQ(write("abc"), 3U);
}

TEST_F(FaultStream, AStalledReadPausesAndRespectsThePauseOfAbove) {
  plan(first(Fault::kDelay, Direction::kRx));
  EXPECT_EQ(hear("abc"), 3U);
  EXPECT_EQ(below.log, "pause ");
  fault.pause_reading(kStream);
  EXPECT_EQ(fault.poll(at(10)), 1U);
  EXPECT_EQ(below.log, "pause ");  // the upper layer is not reading yet
  fault.resume_reading(kStream);
  EXPECT_EQ(below.log, "pause resume ");
}

TEST_F(FaultStream, AStallOfReadingOutlivesAResumeFromAbove) {
  plan(first(Fault::kStall, Direction::kRx));
  EXPECT_EQ(hear("abc"), 3U);
  fault.resume_reading(kStream);
  EXPECT_EQ(below.log, "pause ");
  fault.poll(at(10));
  EXPECT_EQ(below.log, "pause resume ");
}

TEST_F(FaultStream, AResetClosesWithItsCause) {
  plan(first(Fault::kReset, Direction::kRx));
  EXPECT_EQ(hear("abc"), 3U);
  EXPECT_EQ(above.heard, "abc");
  EXPECT_EQ(below.log, "close:Reset ");
  EXPECT_EQ(hear("def"), 3U);
  EXPECT_EQ(above.heard, "abc");
  EXPECT_EQ(applied(), 1U);
}

TEST_F(FaultStream, AStreamInTheMiddleOfAFaultStaysHere) {
  plan(first(Fault::kStall, Direction::kTx));
  EXPECT_EQ(write("abc"), 0U);
  EXPECT_EQ(fault.detach(kStream).error(), Errc::kBusy);
  fault.poll(at(10));
  EXPECT_TRUE(fault.detach(kStream));
}

TEST_F(FaultStream, RulesForAnotherStreamDoNotApply) {
  FaultRule rule = first(Fault::kReset, Direction::kTx);
  rule.stream = 4;
  plan(rule);
  EXPECT_EQ(write("abc"), 3U);
  EXPECT_EQ(below.log, "");
}

TEST_F(FaultStream, WithoutRulesRelaysPassUnchanged) {
  EXPECT_TRUE(fault.await(kStream, 7));
  fault.on_awaited(kStream);
  EXPECT_EQ(above.awaited, 1U);
  EXPECT_EQ(relay("head", 3), 7U);
  EXPECT_EQ(below.wire, "head...");
  std::array<std::byte, 4> rest{};
  EXPECT_TRUE(fault.fetch(kStream, rest).has_value());
  below.fetched = std::unexpected(Errc::kIo);
  EXPECT_EQ(fault.fetch(kStream, {}).error(), Errc::kIo);
  fault.limit_next_read(kStream, 9);
  EXPECT_EQ(below.log, "await:7 fetch:4 fetch:0 limit:9 ");
}

TEST_F(FaultStream, ASplitRelaySendsTheHeadAndContinuesOnRequest) {
  plan(first(Fault::kSplit, Direction::kTx));
  EXPECT_EQ(relay("head", 3), 4U);
  EXPECT_EQ(below.wire, "head");
  (void)fault.poll(at(1));
  EXPECT_EQ(above.writable, 1U);
  EXPECT_EQ(applied(), 1U);
}

TEST_F(FaultStream, ARelayIsStalledOrBrokenAsAWriteIs) {
  plan(first(Fault::kStall, Direction::kTx));
  EXPECT_EQ(relay("head", 3), 0U);
  (void)fault.poll(at(5));
  EXPECT_EQ(relay("head", 3), 0U);
  (void)fault.poll(at(11));
  EXPECT_EQ(above.writable, 1U);
  EXPECT_EQ(relay("head", 3), 7U);
  plan(first(Fault::kReset, Direction::kTx));
  EXPECT_EQ(relay("head", 3), 0U);
  EXPECT_EQ(below.log, "close:" + std::string(name_of(Errc::kReset)) + " ");
  EXPECT_EQ(relay("head", 3), 0U) << "it is doomed";
  EXPECT_FALSE(fault.await(kStream, 7));
}

TEST_F(FaultStream, ACorruptionDoesNotAffectRelays) {
  plan(first(Fault::kCorrupt, Direction::kTx));
  EXPECT_EQ(relay("head", 3), 7U);
  EXPECT_EQ(below.wire, "head...");
  EXPECT_EQ(applied(), 0U);
}

TEST_F(FaultStream, AStreamThatHoldsAPayloadIsLeftAlone) {
  plan({.fault = Fault::kReset, .direction = Direction::kTx, .error = Errc::kReset});
  above.keeper = &fault;
  fault.on_awaited(kStream);
  EXPECT_EQ(write("noop"), 4U);
  fault.resume_reading(kStream);
  EXPECT_EQ(write("noop"), 0U);
}

}  // namespace
}  // namespace plnet::fault_stream_test
