// SPDX-License-Identifier: BSD-3-Clause
// Streams that wait for a payload, keep one, or are to receive one: their end, and cases in which
// they stay open.
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

TEST_F(TcpRelays, ThePeersEndIsReportedAfterHeldPayload) {
  establish();
  const Bytes payload = pattern(200'000);
  hold(payload);
  send(source, std::span(payload).first(10));
  source.socket.reset();
  settle();
  EXPECT_EQ(seen(source).closed, 0U);
  EXPECT_EQ(fetched(source, payload.size()), payload);
  settle();
  EXPECT_EQ(seen(source).closed, 0U);
  device->resume_reading(source.id);
  ASSERT_TRUE(bench.run([&] { return seen(source).closed == 1; }));
  EXPECT_EQ(seen(source).bytes.size(), 10U);
  EXPECT_EQ(seen(source).cause, Errc::kClosed);
}

TEST_F(TcpRelays, AnEndRightBehindAwaitedPayloadDoesNotHideIt) {
  establish({.send_buffer_bytes = 200'000});
  const Bytes payload = pattern(100'000);
  ASSERT_TRUE(device->await(source.id, payload.size()));
  send(source, payload);
  source.socket.reset();
  ASSERT_TRUE(bench.run([&] { return seen(source).awaited == 1; }));
  EXPECT_EQ(relay(source, target, {}, payload.size()), payload.size());
  receive(target, payload.size());
  EXPECT_EQ(target.received, payload);
  EXPECT_EQ(seen(source).closed, 0U);
  device->resume_reading(source.id);
  ASSERT_TRUE(bench.run([&] { return seen(source).closed == 1; }));
  EXPECT_EQ(seen(source).cause, Errc::kClosed);
}

TEST_F(TcpRelays, HeldPayloadSurvivesAReset) {
  establish({.send_buffer_bytes = 200'000});
  const Bytes payload = pattern(100'000);
  for (const bool relayed : {true, false}) {
    if (!relayed) source = connect();
    hold(payload);
    reset(source);
    settle();
    EXPECT_EQ(seen(source).closed, 0U);
    if (relayed) {
      EXPECT_EQ(relay(source, target, {}, payload.size()), payload.size());
      receive(target, payload.size());
      EXPECT_EQ(target.received, payload);
    } else {
      EXPECT_EQ(fetched(source, payload.size()), payload);
    }
    EXPECT_EQ(seen(source).closed, 0U);
    device->resume_reading(source.id);
    ASSERT_TRUE(bench.run([&] { return seen(source).closed == 1; }));
    EXPECT_EQ(seen(source).cause, Errc::kReset);
  }
}

TEST_F(TcpRelays, AnEndBeforeAllIsThereEndsTheWait) {
  for (const bool orderly : {true, false}) {
    if (orderly) {
      establish();
    } else {
      source = connect();
    }
    const Bytes payload = pattern(50'000);
    ASSERT_TRUE(device->await(source.id, payload.size() + 1));
    send(source, payload);
    ASSERT_TRUE(bench.run([&] { return unread(source) == payload.size(); }));
    settle();
    EXPECT_TRUE(seen(source).bytes.empty());
    if (orderly) {
      source.socket.reset();
    } else {
      reset(source);
    }
    ASSERT_TRUE(bench.run([&] { return seen(source).closed == 1; }));
    EXPECT_EQ(seen(source).awaited, 0U);
    EXPECT_EQ(seen(source).bytes, payload);
    EXPECT_EQ(seen(source).cause, orderly ? Errc::kClosed : Errc::kReset);
    EXPECT_EQ(device->next_deadline(), Instant::max());
  }
}

// The device has not noticed the reset yet. After a FIN the system reports EPIPE, which comes with
// a signal.
TEST_F(TcpRelays, ATargetThatIsResetLeavesTheRestToBeFetched) {
  for (const bool after_end : {false, true}) {
    if (after_end) {
      source = connect();
      target = connect();
    } else {
      establish();
    }
    const Bytes payload = pattern(200'000);
    hold(payload);
    ASSERT_TRUE(!after_end || ::shutdown(target.socket.get(), SHUT_WR) == 0);
    reset(target);
    const std::size_t taken = relay(source, target, {}, payload.size());
    EXPECT_EQ(taken, 0U);
    EXPECT_EQ(write(target, payload), 0U);
    EXPECT_EQ(relay(source, target, {}, payload.size()), 0U);
    EXPECT_EQ(fetched(source, payload.size()), payload);
    device->resume_reading(source.id);
    ASSERT_TRUE(bench.run([&] { return seen(target).closed == 1; }));
    EXPECT_EQ(seen(target).cause, Errc::kReset);
    EXPECT_EQ(seen(target).writable, 0U);
    EXPECT_EQ(seen(source).closed, 0U);
    target = connect();
    expect_empty_pipe();
  }
}

TEST_F(TcpRelays, ATargetThatTookSomeAndIsResetLeavesTheRestToBeFetched) {
  listen({.send_buffer_bytes = 16'384});
  source = connect();
  target = connect(4096);
  const Bytes payload = pattern(500'000);
  hold(payload);
  const std::size_t taken = relay(source, target, {}, payload.size());
  ASSERT_GT(taken, 0U);
  ASSERT_LT(taken, payload.size());
  reset(target);
  settle();
  EXPECT_EQ(seen(target).closed, 1U);
  EXPECT_EQ(seen(target).cause, Errc::kReset);
  EXPECT_EQ(seen(target).writable, 0U);
  const Bytes rest = fetched(source, payload.size() - taken);
  EXPECT_TRUE(std::ranges::equal(rest, std::span(payload).subspan(taken)));
}

TEST_F(TcpRelays, AStreamThatWaitsCanBeClosed) {
  establish();
  ASSERT_TRUE(device->await(source.id, 100'000));
  bench.now += std::chrono::microseconds(10);
  bench.turn_once();
  ASSERT_TRUE(device->await(target.id, 100'000));
  send(source, pattern(50'000));
  device->close(source.id, Errc::kShutdown);
  EXPECT_EQ(device->next_deadline(), bench.now + TcpRelay::kPatience) << "the other's";
  EXPECT_FALSE(device->await(source.id, 10));
  ASSERT_TRUE(bench.run([&] { return seen(source).closed == 1; }));
  EXPECT_EQ(seen(source).cause, Errc::kShutdown);
  EXPECT_EQ(seen(source).awaited, 0U);
  EXPECT_TRUE(seen(source).bytes.empty());
  EXPECT_FALSE(device->await(source.id, 10));
  const Peer next = connect();
  EXPECT_EQ(next.id.index, source.id.index) << "in the same record";
  bench.now += TcpRelay::kPatience;
  settle();
  EXPECT_EQ(device->next_deadline(), Instant::max());
  send(next, pattern(10));
  ASSERT_TRUE(bench.run([&] { return seen(next).bytes.size() == 10; }));
}

TEST_F(TcpRelays, AStreamThatIsHeldCanBeClosed) {
  establish();
  hold(pattern(100'000));
  device->close(source.id, Errc::kShutdown);
  EXPECT_EQ(seen(source).closed, 0U);
  settle();
  EXPECT_EQ(seen(source).closed, 1U);
  EXPECT_EQ(seen(source).cause, Errc::kShutdown);
  // Also from within the callback.
  source = connect();
  events.at_awaited = [&](StreamId id) { device->close(id, Errc::kProtocol); };
  ASSERT_TRUE(device->await(source.id, 1000));
  send(source, pattern(2000));
  ASSERT_TRUE(bench.run([&] { return seen(source).closed == 1; }));
  EXPECT_EQ(seen(source).awaited, 1U);
  EXPECT_EQ(seen(source).cause, Errc::kProtocol);
  EXPECT_TRUE(seen(source).bytes.empty());
}

TEST_F(TcpRelays, BytesOfAClosedStreamInThePipeAreDiscarded) {
  listen({.send_buffer_bytes = 16'384});
  source = connect();
  target = connect(4096);
  const Bytes payload = pattern(500'000);
  hold(payload);
  ASSERT_LT(relay(source, target, {}, payload.size()), payload.size());
  device->close(source.id, Errc::kShutdown);
  settle();
  source = connect();
  target = connect();
  expect_empty_pipe();
}

TEST_F(TcpRelays, AStreamThatWaitsOrIsHeldStaysHere) {
  establish();
  const Bytes payload = pattern(100'000);
  ASSERT_TRUE(device->await(source.id, payload.size()));
  EXPECT_EQ(device->detach(source.id).error(), Errc::kBusy);
  send(source, payload);
  ASSERT_TRUE(bench.run([&] { return seen(source).awaited == 1; }));
  EXPECT_EQ(device->detach(source.id).error(), Errc::kBusy);
  EXPECT_EQ(fetched(source, payload.size()), payload);
  device->resume_reading(source.id);
  EXPECT_EQ(low_water(source), 1) << "now it can move";
  send(source, payload);
  ASSERT_TRUE(bench.run([&] { return seen(source).bytes.size() == payload.size(); }));
}

TEST_F(TcpRelays, ADeviceMayEndDuringAWait) {
  establish();
  hold(pattern(1000));
  ASSERT_TRUE(device->await(target.id, 1000));
  bench.devices.clear();
}

// Connects nowhere: the system empties the receive buffer and has no connection any more.
void disconnect(int descriptor) {
  sockaddr nowhere{};
  nowhere.sa_family = AF_UNSPEC;
  EXPECT_EQ(::connect(descriptor, &nowhere, sizeof(nowhere)), 0);
}

using AddressCall = int (*)(int, sockaddr*, socklen_t*);
std::vector<std::byte> address_by(AddressCall call, int descriptor) {
  sockaddr_storage address{};
  socklen_t length = sizeof(address);
  if (call(descriptor, reinterpret_cast<sockaddr*>(&address), &length) != 0) return {};
  const auto bytes = std::as_bytes(std::span(&address, 1)).first(length);
  return {bytes.begin(), bytes.end()};
}

int other_end_of(int descriptor) {
  const auto ours = address_by(::getsockname, descriptor);
  for (int other = 0; other < 1024; ++other) {
    if (address_by(::getpeername, other) == ours) return other;
  }
  return -1;
}

TEST_F(TcpRelays, HeldPayloadThatTheSystemDoesNotGiveIsAnError) {
  establish();
  const Bytes payload = pattern(200'000);
  hold(payload);
  disconnect(other_end_of(source.socket.get()));
  Bytes all(payload.size());
  EXPECT_FALSE(device->fetch(source.id, all).has_value());
  device->resume_reading(source.id);
  device->close(source.id, Errc::kIo);
  ASSERT_TRUE(bench.run([&] { return seen(source).closed == 1; }));
  EXPECT_EQ(seen(source).bytes.size(), 0U);
}

}  // namespace
}  // namespace plnet::drivers
