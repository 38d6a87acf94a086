// SPDX-License-Identifier: BSD-3-Clause
// What is awaited, relayed and fetched, and what a wait costs nobody.
#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include <gtest/gtest.h>
#include <sys/socket.h>

#include "tests/unit/drivers/tcp_relay_rig.hpp"

namespace plnet::drivers {
namespace {

using Id = TcpTable::Id;

TEST_F(TcpRelays, WhatIsAwaitedIsToldOfOnceAllOfItIsThere) {
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
  // Often enough that it is read directly, without a look at the readiness set.
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

TEST_F(TcpRelays, WhatIsThereAlreadyIsToldOfInTheNextPoll) {
  establish();
  const Bytes payload = pattern(10'000);
  device->pause_reading(source.id);
  send(source, payload);
  ASSERT_TRUE(bench.run([&] { return unread(source) == payload.size(); }));
  settle();  // all that the readiness set had to say has been said
  ASSERT_TRUE(device->await(source.id, payload.size() / 2));
  bench.turn_once();
  EXPECT_EQ(seen(source).awaited, 0U) << "paused by somebody else";
  device->resume_reading(source.id);
  bench.turn_once();
  EXPECT_EQ(seen(source).awaited, 1U);
  EXPECT_EQ(fetched(source, payload.size() / 2),
            Bytes(payload.begin(), payload.begin() + payload.size() / 2));
  device->resume_reading(source.id);
  settle();
  EXPECT_EQ(seen(source).bytes, Bytes(payload.begin() + payload.size() / 2, payload.end()));
}

// The last of it comes after the readiness set has said that there is room to write, and before
// that is served. What it says of the bytes then is forgotten: they have been fetched.
TEST_F(TcpRelays, WhatIsFoundWhenThereIsRoomToWriteLeavesTheStreamHeard) {
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
  // In this order the readiness set has them, and one poll serves them.
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

TEST_F(TcpRelays, WhoDoesNotPauseReadsOnAsEver) {
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

TEST_F(TcpRelays, APayloadIsRelayedWholeBehindItsHead) {
  establish({.send_buffer_bytes = 200'000});
  Bytes expected;
  for (unsigned round = 1; round <= 5; ++round) {
    const Bytes head = pattern(96, round);
    const Bytes payload = pattern(200'000 + round, 10 + round);
    const Bytes next = pattern(100, 20 + round);
    hold(payload);
    send(source, next);
    EXPECT_EQ(relay(source, target, head, payload.size()), head.size() + payload.size());
    expected = joined(joined(expected, head), payload);
    receive(target, expected.size());
    EXPECT_EQ(target.received, expected);
    settle();
    EXPECT_TRUE(seen(source).bytes.empty()) << "held until it is resumed";
    device->resume_reading(source.id);
    ASSERT_TRUE(bench.run([&] { return seen(source).bytes == next; }));
    seen(source).bytes.clear();
    EXPECT_EQ(count_of(*device, Id::kSends), round) << "the head";
  }
  EXPECT_EQ(seen(target).writable, 0U);
  EXPECT_EQ(count_of(*device, Id::kShortWrites), 0U);
  EXPECT_EQ(count_of(*device, Id::kBytesRelayed), 1'000'015U);
  EXPECT_EQ(count_of(*device, Id::kBytesRead), 1'000'015U + 500);
  EXPECT_EQ(count_of(*device, Id::kBytesWritten), expected.size());
  EXPECT_EQ(low_water(source), 1);
}

TEST_F(TcpRelays, PayloadsOfOneSizeCostOneWordToTheSystem) {
  establish();
  // All of them are in the socket before the first one goes, so it never runs empty; and they are
  // so few bytes that the system has no reason of its own to want it read.
  const Bytes head = pattern(96, 1);
  const Bytes payload = pattern(8000);
  const Bytes message = joined(head, payload);
  unsigned relayed = 0;
  events.at_awaited = [&](StreamId id) {
    device->pause_reading(id);
    EXPECT_EQ(relay(source, target, head, payload.size()), message.size());
    device->limit_next_read(id, head.size());
    device->resume_reading(id);
    ++relayed;
  };
  const auto await_payload = [&](StreamId id) { ASSERT_TRUE(device->await(id, payload.size())); };
  events.at_bytes = await_payload;
  device->pause_reading(source.id);
  for (unsigned i = 0; i < 4; ++i)
    send(source, message);
  ASSERT_TRUE(bench.run([&] { return unread(source) == 4 * message.size(); }));
  device->limit_next_read(source.id, head.size());
  device->resume_reading(source.id);
  receive(target, 4 * message.size());
  EXPECT_EQ(relayed, 4U);
  settle();
  // Room, so many bytes, and anything once it was empty.
  EXPECT_EQ(count_of(*device, Id::kLowWaters), 3U);
  events.at_bytes = nullptr;
  seen(source).bytes.clear();
  send(source, std::span(head).first(1));
  ASSERT_TRUE(bench.run([&] { return seen(source).bytes.size() == 1; })) << "however little";
}

TEST_F(TcpRelays, WhoLeavesWithMoreToReadIsHeardElsewhere) {
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

TEST_F(TcpRelays, OnlyTheNextReadIsLimited) {
  establish();
  const Bytes payload = pattern(5000);
  std::vector<std::size_t> after;
  events.at_bytes = [&](StreamId) { after.push_back(seen(source).bytes.size()); };
  device->pause_reading(source.id);
  send(source, payload);
  device->limit_next_read(source.id, 100);
  device->resume_reading(source.id);
  ASSERT_TRUE(bench.run([&] { return seen(source).bytes.size() == payload.size(); }));
  EXPECT_EQ(seen(source).bytes, payload);
  ASSERT_EQ(after.size(), 2U);
  EXPECT_EQ(after[0], 100U);
  after.clear();
  seen(source).bytes.clear();
  device->limit_next_read(source.id, 1'000'000);
  send(source, payload);
  ASSERT_TRUE(bench.run([&] { return seen(source).bytes.size() == payload.size(); }));
  EXPECT_EQ(seen(source).bytes, payload) << "more than is ever staged is no limit";
  device->limit_next_read({}, 100);
}

TEST_F(TcpRelays, APayloadIsRelayedWithinOnAwaitedToo) {
  establish({.send_buffer_bytes = 200'000});
  const Bytes head = pattern(96, 2);
  const Bytes payload = pattern(150'000);
  const Bytes next = pattern(50, 3);
  events.at_awaited = [&](StreamId id) {
    device->pause_reading(id);
    EXPECT_EQ(relay(source, target, head, payload.size()), head.size() + payload.size());
    device->resume_reading(id);
  };
  ASSERT_TRUE(device->await(source.id, payload.size()));
  send(source, joined(payload, next));
  receive(target, head.size() + payload.size());
  EXPECT_EQ(target.received, joined(head, payload));
  ASSERT_TRUE(bench.run([&] { return seen(source).bytes == next; }));
}

TEST_F(TcpRelays, APayloadGoesBackWhereItCameFrom) {
  establish({.send_buffer_bytes = 200'000});
  const Bytes payload = pattern(150'000);
  hold(payload);
  EXPECT_EQ(relay(source, source, {}, payload.size()), payload.size());
  device->resume_reading(source.id);
  receive(source, payload.size());
  EXPECT_EQ(source.received, payload);
}

// Each piece takes a slot of the pipe, however little is in it.
TEST_F(TcpRelays, ManySmallSegmentsAreRelayed) {
  establish({.send_buffer_bytes = 200'000});
  const Bytes payload = pattern(60'000);
  ASSERT_TRUE(device->await(source.id, payload.size()));
  for (std::size_t at = 0; at < payload.size(); at += 100)
    send(source, std::span(payload).subspan(at, 100));
  ASSERT_TRUE(bench.run([&] { return seen(source).awaited == 1; }));
  EXPECT_EQ(relay(source, target, pattern(96), payload.size()), payload.size() + 96);
  receive(target, payload.size() + 96);
  EXPECT_EQ(target.received, joined(pattern(96), payload));
}

TEST_F(TcpRelays, WhatATargetWithoutRoomDoesNotTakeIsFetched) {
  listen({.send_buffer_bytes = 16'384});
  source = connect();
  target = connect(4096);
  Bytes expected;
  for (unsigned round = 1; round <= 3; ++round) {
    const Bytes head = pattern(96, round);
    const Bytes payload = pattern(500'000 + round, 10 + round);
    hold(payload);
    const std::uint64_t relayed = count_of(*device, Id::kBytesRelayed);
    const std::size_t taken = relay(source, target, head, payload.size());
    ASSERT_GT(taken, head.size());
    ASSERT_LT(taken, head.size() + payload.size());
    EXPECT_EQ(count_of(*device, Id::kBytesRelayed) - relayed, taken - head.size());
    EXPECT_EQ(count_of(*device, Id::kShortWrites), round);
    EXPECT_EQ(write(target, head), 0U) << "on_writable() is owed";
    EXPECT_EQ(device->detach(target.id).error(), Errc::kBusy);
    const Bytes rest = fetched(source, head.size() + payload.size() - taken);
    device->resume_reading(source.id);
    EXPECT_TRUE(std::ranges::equal(rest, std::span(payload).subspan(taken - head.size())));
    settle();
    EXPECT_EQ(seen(target).writable, round - 1) << "nobody has read";
    expected = joined(joined(expected, head), payload);
    receive(target, expected.size() - rest.size());
    ASSERT_TRUE(bench.run([&] { return seen(target).writable == round; }));
    // With room for all of it there would be nothing to wait for again.
    std::span<const std::byte> left = rest;
    while (!left.empty()) {
      left = left.subspan(write(target, std::span(left).first(std::min(left.size(), 2000UZ))));
      receive(target, expected.size() - left.size());
    }
    EXPECT_EQ(target.received, expected);
    EXPECT_EQ(seen(target).writable, round);
  }
  EXPECT_TRUE(seen(source).bytes.empty());
  EXPECT_EQ(count_of(*device, Id::kBytesRead), 1'500'006U);
  EXPECT_EQ(count_of(*device, Id::kBytesWritten), expected.size());
}

TEST_F(TcpRelays, AHeadThatIsNotTakenWholeLeavesThePayloadAlone) {
  listen({.send_buffer_bytes = 16'384});
  source = connect();
  target = connect(4096);
  const Bytes head = pattern(500'000, 2);
  const Bytes payload = pattern(200'000);
  hold(payload);
  const std::size_t taken = relay(source, target, head, payload.size());
  EXPECT_GT(taken, 0U);
  EXPECT_LT(taken, head.size());
  EXPECT_EQ(relay(source, target, head, payload.size()), 0U) << "nor at all while it is blocked";
  EXPECT_EQ(count_of(*device, Id::kBytesRelayed), 0U);
  EXPECT_EQ(fetched(source, payload.size()), payload);
  receive(target, taken);
  ASSERT_TRUE(bench.run([&] { return seen(target).writable == 1; }));
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
  // And nothing of the wait is left.
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

TEST_F(TcpRelays, PatienceEndsForWhomNothingHasComeToo) {
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
  // The next one may be waited for again.
  hold(pattern(1000));
  EXPECT_EQ(fetched(source, 1000), pattern(1000));
}

// The system's default buffer is much smaller than that.
TEST_F(TcpRelays, ALargePayloadIsMadeRoomForOrReadAsEver) {
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

TEST_F(TcpRelays, WhatABufferOfAFixedSizeCannotHoldIsReadAsEver) {
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

// It is no byte of the stream, and no read goes past it at once.
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

// More is asked for than was awaited: what stands for a system that does not give what it has.
TEST_F(TcpRelays, ATargetThatHadRoomIsToldSoAtOnce) {
  establish();
  const Bytes payload = pattern(1000);
  hold(payload);
  EXPECT_EQ(relay(source, target, {}, payload.size() + 1), payload.size());
  EXPECT_EQ(write(target, payload), 0U);
  EXPECT_EQ(seen(target).writable, 0U);
  bench.turn_once();
  EXPECT_EQ(seen(target).writable, 1U);
  EXPECT_EQ(write(target, payload), payload.size());
  receive(target, 2 * payload.size());
  EXPECT_EQ(target.received, joined(payload, payload));
}

TEST_F(TcpRelays, WhateverTheSizesNothingIsLostOrSwapped) {
  listen({.send_buffer_bytes = 100'000});
  source = connect();
  target = connect();
  Bytes expected;
  std::uint32_t random = 1;
  const auto drawn = [&](std::size_t most) {
    random = random * 1'664'525U + 1'013'904'223U;
    return 1 + (random >> 8U) % most;
  };
  std::uint64_t relayed = 0;
  std::uint64_t all = 0;
  for (unsigned round = 0; round < 100; ++round) {
    const Bytes head = pattern(drawn(10'000), round);
    const Bytes payload = pattern(drawn(1U << drawn(19)), ~round);
    hold(payload);
    const std::size_t taken = relay(source, target, head, payload.size());
    relayed += taken - std::min(taken, head.size());
    all += payload.size();
    const Bytes message = joined(head, payload);
    expected = joined(expected, message);
    const Bytes rest = fetched(source, std::min(payload.size(), message.size() - taken));
    EXPECT_TRUE(std::ranges::equal(rest, std::span(message).last(rest.size())));
    device->resume_reading(source.id);
    write_all(target, std::span(message).subspan(taken), expected.size());
    // So that the vectors stay small.
    ASSERT_EQ(target.received, expected);
    expected.clear();
    target.received.clear();
  }
  EXPECT_EQ(count_of(*device, Id::kBytesRelayed), relayed);
  EXPECT_EQ(count_of(*device, Id::kBytesRead), all);
  EXPECT_GT(relayed, 0U);
  EXPECT_LT(relayed, all) << "some were too large for their target";
  EXPECT_TRUE(seen(source).bytes.empty());
}

TEST_F(TcpRelays, NothingIsNotAwaited) {
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
  // The base has opened one with the signal ignored: this one is opened without.
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
