// SPDX-License-Identifier: BSD-3-Clause
// Payload relayed behind its head, and the remainder that has to be fetched.
#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/drivers/tcp_relay_rig.hpp"

namespace plnet::drivers {
namespace {

using Id = TcpTable::Id;

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

TEST_F(TcpRelays, PayloadsOfOneSizeSetTheLowWaterMarkOnce) {
  establish();
  // All of them are in the socket before the first one is relayed, so it is never empty; they are
  // so few bytes that the system does not request a read for its own reasons.
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
  // Three settings: room in the buffer, the awaited bytes, and the default when the socket was
  // empty.
  EXPECT_EQ(count_of(*device, Id::kLowWaters), 3U);
  events.at_bytes = nullptr;
  seen(source).bytes.clear();
  send(source, std::span(head).first(1));
  ASSERT_TRUE(bench.run([&] { return seen(source).bytes.size() == 1; })) << "however little";
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

// Each piece takes a slot of the pipe, independent of its length.
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

TEST_F(TcpRelays, PayloadWithoutRoomAtTheTargetIsFetched) {
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
    EXPECT_EQ(seen(target).writable, round - 1) << "no reader";
    expected = joined(joined(expected, head), payload);
    receive(target, expected.size() - rest.size());
    ASSERT_TRUE(bench.run([&] { return seen(target).writable == round; }));
    // If everything fitted, no second wait would be needed.
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

// More is requested than was awaited: it emulates a system that does not return all of its bytes.
TEST_F(TcpRelays, RoomAtTheTargetIsReportedAtOnce) {
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

TEST_F(TcpRelays, WithAnySizesNothingIsLostOrSwapped) {
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
    // Keeps the vectors small.
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

}  // namespace
}  // namespace plnet::drivers
