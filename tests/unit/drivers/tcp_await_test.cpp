// SPDX-License-Identifier: BSD-3-Clause
// Payload awaited in its socket: when it is reported, and that waiting costs other streams nothing.
#include <cstddef>
#include <span>

#include <gtest/gtest.h>
#include <sys/socket.h>

#include "tests/unit/drivers/tcp_relay_rig.hpp"

namespace plnet::drivers {
namespace {

using Id = TcpTable::Id;

TEST_F(TcpRelays, AwaitedPayloadIsReportedOnceComplete) {
  establish();
  const Bytes payload = pattern(300'000);
  const std::uint64_t reads = count_of(*device, Id::kReads);
  ASSERT_TRUE(device->await(source.id, payload.size()));
  EXPECT_FALSE(device->await(source.id, payload.size())) << "one at a time";
  send(source, std::span(payload).first(payload.size() - 1));
  ASSERT_TRUE(bench.run([&] { return unread(source) == payload.size() - 1; }));
  settle();
  EXPECT_EQ(seen(source).awaited, 0U);
  EXPECT_TRUE(seen(source).bytes.empty());
  EXPECT_EQ(count_of(*device, Id::kReads), reads) << "not even tried";
  send(source, std::span(payload).last(1));
  ASSERT_TRUE(bench.run([&] { return seen(source).awaited == 1; }));
  settle();
  EXPECT_EQ(seen(source).awaited, 1U) << "once";
  EXPECT_TRUE(seen(source).bytes.empty());
  EXPECT_EQ(count_of(*device, Id::kReads), reads);
  EXPECT_EQ(fetched(source, payload.size()), payload);
  EXPECT_EQ(count_of(*device, Id::kBytesRead), payload.size());
  EXPECT_EQ(count_of(*device, Id::kAwaits), 1U);
  device->resume_reading(source.id);
  const Bytes next = pattern(100, 2);
  send(source, next);
  ASSERT_TRUE(bench.run([&] { return seen(source).bytes == next; }));
  EXPECT_EQ(low_water(source), 1);
}

TEST_F(TcpRelays, TheRestOfAPayloadWaitsFromWithinOnBytes) {
  establish();
  const Bytes payload = pattern(200'000);
  // Often enough that the stream is read directly, without waiting for the readiness set.
  for (unsigned i = 1; i <= 4; ++i) {
    send(source, std::span(payload).first(1));
    ASSERT_TRUE(bench.run([&] { return seen(source).bytes.size() == i; }));
  }
  seen(source).bytes.clear();
  events.at_bytes = [&](StreamId id) {
    events.at_bytes = nullptr;
    EXPECT_TRUE(device->await(id, payload.size() - seen(source).bytes.size()));
  };
  send(source, std::span(payload).first(96));
  ASSERT_TRUE(bench.run([&] { return seen(source).bytes.size() == 96; }));
  send(source, std::span(payload).subspan(96, 100'000));
  settle();
  EXPECT_EQ(seen(source).bytes.size(), 96U);
  send(source, std::span(payload).subspan(100'096));
  ASSERT_TRUE(bench.run([&] { return seen(source).awaited == 1; }));
  EXPECT_EQ(seen(source).bytes.size(), 96U);
  EXPECT_EQ(joined(seen(source).bytes, fetched(source, payload.size() - 96)), payload);
}

TEST_F(TcpRelays, PayloadThatHasArrivedIsReportedInTheNextPoll) {
  establish();
  const Bytes payload = pattern(10'000);
  device->pause_reading(source.id);
  send(source, payload);
  ASSERT_TRUE(bench.run([&] { return unread(source) == payload.size(); }));
  settle();  // all events of the readiness set are handled
  ASSERT_TRUE(device->await(source.id, payload.size() / 2));
  bench.turn_once();
  EXPECT_EQ(seen(source).awaited, 0U) << "paused by another user";
  device->resume_reading(source.id);
  bench.turn_once();
  EXPECT_EQ(seen(source).awaited, 1U);
  EXPECT_EQ(fetched(source, payload.size() / 2),
            Bytes(payload.begin(), payload.begin() + payload.size() / 2));
  device->resume_reading(source.id);
  settle();
  EXPECT_EQ(seen(source).bytes, Bytes(payload.begin() + payload.size() / 2, payload.end()));
}

// The last byte arrives after the readiness set reported room to write, before that event is
// served. Its report about bytes is discarded: they have been fetched.
TEST_F(TcpRelays, BytesFoundByAWriteEventKeepTheStreamPolled) {
  listen({.send_buffer_bytes = 16'384});
  source = connect(65'536);
  target = connect();
  const Bytes payload = pattern(1000);
  ASSERT_TRUE(device->await(source.id, payload.size()));
  send(source, std::span(payload).first(payload.size() - 1));
  ASSERT_TRUE(bench.run([&] { return unread(source) == payload.size() - 1; }));
  settle();
  ASSERT_EQ(seen(source).awaited, 0U);
  const Bytes much = pattern(1'000'000);
  std::size_t taken = 0;
  for (unsigned before = 0;; before = seen(source).writable) {
    taken += write(source, much);
    settle();
    if (seen(source).writable == before) break;
  }
  const unsigned writable = seen(source).writable;
  // Without a poll.
  const auto until = [](const auto& done) {
    for (unsigned i = 0; i < TcpBench::kTurnsMax; ++i) {
      if (done()) return true;
    }
    return false;
  };
  events.at_bytes = [&](StreamId) {
    EXPECT_EQ(seen(source).writable, writable) << "not served yet";
    ASSERT_EQ(::send(source.socket.get(), &payload.back(), 1, MSG_DONTWAIT), 1);
    EXPECT_TRUE(until([&] { return unread(source) == payload.size(); }));
  };
  // The readiness set has them in this order, and one poll serves both.
  ASSERT_EQ(::send(target.socket.get(), payload.data(), 1, MSG_DONTWAIT), 1);
  ASSERT_TRUE(until([&] { return unread(target) == 1; }));
  Bytes some(65'536);
  ASSERT_TRUE(until([&] {
    const ssize_t got = ::recv(source.socket.get(), some.data(), some.size(), MSG_DONTWAIT);
    if (got > 0) taken -= static_cast<std::size_t>(got);
    return taken == 0 && device->details(source.id).unacknowledged_bytes == 0;
  }));
  bench.turn_once();
  ASSERT_EQ(seen(target).bytes.size(), 1U);
  ASSERT_EQ(seen(source).writable, writable + 1);
  ASSERT_EQ(seen(source).awaited, 1U);
  events.at_bytes = nullptr;
  EXPECT_EQ(fetched(source, payload.size()), payload);
  device->resume_reading(source.id);
  settle();
  const Bytes next = pattern(10, 2);
  send(source, next);
  bench.run_for(1000);
  EXPECT_EQ(seen(source).bytes, next);
  EXPECT_EQ(low_water(source), 1);
}

TEST_F(TcpRelays, AUserThatDoesNotPauseKeepsReading) {
  establish();
  events.at_awaited = nullptr;
  const Bytes payload = pattern(100'000);
  ASSERT_TRUE(device->await(source.id, payload.size()));
  send(source, payload);
  ASSERT_TRUE(bench.run([&] { return seen(source).bytes.size() == payload.size(); }));
  EXPECT_EQ(seen(source).awaited, 1U);
  EXPECT_EQ(seen(source).bytes, payload);
  EXPECT_EQ(low_water(source), 1);
}

TEST_F(TcpRelays, AStreamThatMovesWithUnreadBytesIsServedElsewhere) {
  establish();
  const Bytes payload = pattern(10'000);
  hold(payload);
  send(source, std::span(payload).first(1));
  EXPECT_EQ(fetched(source, payload.size()), payload);
  ASSERT_TRUE(bench.run([&] { return unread(source) == 1; }));
  device->resume_reading(source.id);
  EXPECT_EQ(low_water(source), 1) << "not read since";
  ASSERT_TRUE(bench.run([&] { return seen(source).bytes.size() == 1; }));
}

TEST_F(TcpRelays, AWaitEndsWhenPatienceDoes) {
  establish();
  const Bytes payload = pattern(200'000);
  EXPECT_EQ(device->next_deadline(), Instant::max());
  ASSERT_TRUE(device->await(source.id, payload.size()));
  const Instant until = bench.now + TcpRelay::kPatience;
  EXPECT_EQ(device->next_deadline(), until);
  bench.now += std::chrono::microseconds(10);
  bench.turn_once();
  ASSERT_TRUE(device->await(target.id, payload.size()));
  send(source, std::span(payload).first(100'000));
  send(target, std::span(payload).first(100'000));
  bench.now = until - std::chrono::nanoseconds(1);
  settle();
  EXPECT_TRUE(seen(source).bytes.empty());
  EXPECT_EQ(device->next_deadline(), until);
  bench.now = until;
  ASSERT_TRUE(bench.run([&] { return seen(source).bytes.size() == 100'000; }));
  EXPECT_TRUE(seen(target).bytes.empty()) << "it has some microseconds left";
  EXPECT_EQ(device->next_deadline(), until + std::chrono::microseconds(10));
  // Nothing of the wait is left.
  EXPECT_EQ(low_water(source), 1);
  send(source, std::span(payload).subspan(100'000, 1));
  ASSERT_TRUE(bench.run([&] { return seen(source).bytes.size() == 100'001; }));
  send(source, std::span(payload).subspan(100'001));
  ASSERT_TRUE(bench.run([&] { return seen(source).bytes.size() == payload.size(); }));
  EXPECT_EQ(seen(source).bytes, payload);
  EXPECT_EQ(seen(source).awaited, 0U);
  send(target, std::span(payload).subspan(100'000));
  ASSERT_TRUE(bench.run([&] { return seen(target).awaited == 1; }));
  EXPECT_EQ(device->next_deadline(), Instant::max());
}

TEST_F(TcpRelays, TheWaitAlsoEndsWithoutBytes) {
  establish();
  ASSERT_TRUE(device->await(source.id, 1000));
  settle();
  bench.now += TcpRelay::kPatience;
  settle();
  EXPECT_EQ(device->next_deadline(), Instant::max());
  const std::uint64_t reads = count_of(*device, Id::kReads);
  settle();
  EXPECT_EQ(count_of(*device, Id::kReads), reads) << "idle, it costs nothing again";
  send(source, pattern(1));
  ASSERT_TRUE(bench.run([&] { return seen(source).bytes.size() == 1; }));
  // The next payload may be awaited again.
  hold(pattern(1000));
  EXPECT_EQ(fetched(source, 1000), pattern(1000));
}

// The system's default buffer is much smaller than this payload.
TEST_F(TcpRelays, ALargePayloadGetsRoomOrIsReadAsUsual) {
  establish();
  const Bytes payload = pattern(std::size_t{4} << 20U);
  ASSERT_TRUE(device->await(source.id, payload.size()));
  send(source, payload);
  ASSERT_TRUE(bench.run(
      [&] { return seen(source).awaited == 1 || seen(source).bytes.size() == payload.size(); }));
  if (seen(source).awaited == 1) {
    EXPECT_EQ(fetched(source, payload.size()), payload);
    device->resume_reading(source.id);
  } else {
    EXPECT_EQ(seen(source).bytes, payload);
  }
  EXPECT_EQ(low_water(source), 1);
}

TEST_F(TcpRelays, PayloadBeyondAFixedBufferIsReadAsUsual) {
  establish({.receive_buffer_bytes = 16'384});
  const Bytes payload = pattern(300'000);
  for (unsigned round = 1; round <= 3; ++round) {
    ASSERT_TRUE(device->await(source.id, payload.size()));
    send(source, payload);
    ASSERT_TRUE(bench.run([&] { return seen(source).bytes.size() == payload.size(); }));
    EXPECT_EQ(seen(source).bytes, payload);
    EXPECT_EQ(seen(source).awaited, 0U);
    seen(source).bytes.clear();
  }
  EXPECT_EQ(low_water(source), 1);
}

// An urgent byte is not part of the stream, and no read passes it at once.
TEST_F(TcpRelays, AnUrgentByteIsNoReasonToHang) {
  establish();
  const Bytes payload = pattern(1000);
  ASSERT_TRUE(device->await(source.id, 2 * payload.size() + 1));
  send(source, payload);
  ASSERT_EQ(::send(source.socket.get(), payload.data(), 1, MSG_OOB | MSG_DONTWAIT), 1);
  send(source, payload);
  settle();
  bench.now += TcpRelay::kPatience;
  ASSERT_TRUE(bench.run([&] { return seen(source).bytes.size() == 2 * payload.size(); }));
  EXPECT_EQ(seen(source).awaited, 0U);
  EXPECT_EQ(seen(source).bytes, joined(payload, payload));
}

TEST_F(TcpRelays, AnEmptyPayloadIsNotAwaited) {
  establish();
  EXPECT_FALSE(device->await(source.id, 0));
  EXPECT_EQ(device->next_deadline(), Instant::max());
  EXPECT_FALSE(device->await({}, 100));
}

class TcpWithoutRelay : public TcpRelays {
 protected:
  TcpWithoutRelay() : TcpRelays({.connections_max = 16, .coalesce = false, .relay = false}) {}
};

TEST_F(TcpWithoutRelay, NothingIsAwaited) {
  EXPECT_EQ(device->relay_refusal(), "") << "it is not wanted";
  establish();
  EXPECT_FALSE(device->await(source.id, 1000));
  EXPECT_EQ(count_of(*device, Id::kAwaits), 0U);
  send(source, pattern(1000));
  ASSERT_TRUE(bench.run([&] { return seen(source).bytes.size() == 1000; }));
  EXPECT_EQ(low_water(source), 1);
}

class TcpWithPipeSignal : public TcpRelays {
 protected:
  // The base class opened a device with the signal ignored; this one opens without.
  TcpWithPipeSignal() {
    const PipeSignal deadly(SIG_DFL);
    bench.devices.clear();
    device = static_cast<TcpDevice*>(&bench.make(0, events));
  }
};

TEST_F(TcpWithPipeSignal, NothingIsAwaited) {
  EXPECT_EQ(device->relay_refusal(), "the process does not ignore SIGPIPE");
  establish();
  EXPECT_FALSE(device->await(source.id, 1000));
}

}  // namespace
}  // namespace plnet::drivers
