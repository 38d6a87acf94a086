// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include "drivers/net/tcp/socket.hpp"
#include "tests/unit/drivers/stream_counter.hpp"
#include "tests/unit/drivers/tcp_rig.hpp"

namespace plnet::drivers {
namespace {

using socklnd::ConnectRequest;
using socklnd::SocketAddress;
using socklnd::StreamId;
using socklnd::StreamOptions;
using testrig::StreamCounter;
using testrig::write_some;
using Id = TcpTable::Id;

int value_of(int descriptor, int level, int name) {
  int value = 0;
  socklen_t size = sizeof value;
  EXPECT_EQ(::getsockopt(descriptor, level, name, &value, &size), 0);
  return value;
}

TEST_F(TcpDevicePlain, IdleConnectionsCostNoSystemCall) {
  ASSERT_TRUE(far->listen(bench.address(1), 127, {}).has_value());
  stream = connect().value();
  for (unsigned i = 1; i < 50; ++i)
    ASSERT_TRUE(connect().has_value());
  ASSERT_TRUE(bench.run([&] { return far_events.accepted == 50 && near_events.connected == 50; }));
  settle();
  const std::uint64_t waits = count_of(*far, Id::kEpollWaits);
  const std::uint64_t reads = count_of(*far, Id::kReads);
  const std::uint64_t accepts = count_of(*far, Id::kAcceptCalls);
  bench.run_for(1000);
  EXPECT_EQ(count_of(*far, Id::kEpollWaits) - waits, 1000U) << "one look for all of them a turn";
  EXPECT_EQ(count_of(*far, Id::kReads), reads);
  EXPECT_EQ(count_of(*far, Id::kAcceptCalls), accepts);
  // Two of the fifty send: one read each, without a second read that would find nothing.
  EXPECT_EQ(write_some(*near, stream, 96), 96U);
  EXPECT_EQ(write_some(*near, near_events.last, 96), 96U);
  bench.run_for(1000);
  EXPECT_EQ(far_events.bytes, 192U);
  EXPECT_EQ(count_of(*far, Id::kReads) - reads, 2U);
  EXPECT_EQ(count_of(*far, Id::kEmptyReads), 0U);
}

TEST_F(TcpDevicePlain, TheOnlyActiveStreamIsReadDirectlyForAWhile) {
  establish();
  settle();
  EXPECT_EQ(write_some(*near, stream, 96), 96U);
  far->poll(bench.now);
  EXPECT_EQ(far_events.bytes, 96U);
  const std::uint64_t waits = count_of(*far, Id::kEpollWaits);
  for (unsigned i = 0; i < TcpDevice::kHotPolls; ++i) {
    EXPECT_EQ(write_some(*near, stream, 96), 96U);
    EXPECT_EQ(far->poll(bench.now), 1U);
  }
  EXPECT_EQ(far_events.bytes, 96U * (1 + TcpDevice::kHotPolls));
  EXPECT_EQ(count_of(*far, Id::kEpollWaits), waits) << "no peer's traffic was checked";
  // Other streams are served meanwhile.
  const StreamId other = connect().value();
  for (unsigned i = 0; i <= TcpDevice::kHotPolls; ++i) {
    EXPECT_EQ(write_some(*near, stream, 96), 96U);
    far->poll(bench.now);
  }
  EXPECT_EQ(far_events.accepted, 2U);
  bench.run_for(1000);
  const std::uint64_t reads = count_of(*far, Id::kReads);
  bench.run_for(1000);
  EXPECT_EQ(count_of(*far, Id::kReads), reads) << "silent for long, it costs nothing again";
  near->close(other, Errc::kShutdown);
}

TEST_F(TcpDevicePlain, TheOnlyActiveStreamMayEndPauseOrMove) {
  establish();
  for (unsigned round = 0; round < 3; ++round) {
    EXPECT_EQ(write_some(*near, stream, 96), 96U);
    ASSERT_TRUE(bench.run([&] { return far_events.bytes == 96U * (round + 1); }));
  }
  far->pause_reading(there);
  EXPECT_EQ(write_some(*near, stream, 96), 96U);
  settle();
  EXPECT_EQ(far_events.bytes, 96U * 3);
  far->resume_reading(there);
  settle();
  EXPECT_EQ(far_events.bytes, 96U * 4);
  near->close(stream, Errc::kShutdown);
  ASSERT_TRUE(bench.run([&] { return far_events.closed == 1; }));
  EXPECT_EQ(far_events.cause, Errc::kClosed);
  EXPECT_EQ(count_of(*far, Id::kStaleCalls), 0U);
}

TEST_F(TcpDevicePlain, ManySmallMessagesShareASystemCall) {
  establish();
  const std::array<std::byte, 96> message{};
  const std::vector<std::span<const std::byte>> waiting(1000, message);
  EXPECT_EQ(near->write(stream, waiting), 96'000U);
  EXPECT_EQ(count_of(*near, Id::kSends), 1U);
  EXPECT_EQ(count_of(*near, Id::kPiecesSent), 1000U);
  settle();
  EXPECT_EQ(far_events.bytes, 96'000U);
  EXPECT_LE(count_of(*far, Id::kReads) - count_of(*far, Id::kEmptyReads), 2U)
      << "as many as staging buffers that they fill";
  const std::vector<std::span<const std::byte>> more(2100, message);
  EXPECT_EQ(near->write(stream, more), 2100U * 96);
  EXPECT_EQ(count_of(*near, Id::kSends), 4U) << "1024 pieces are the system's limit";
}

TEST_F(TcpDevicePlain, WritesStopWhenThePeerDoesNotReadAndGoOnLater) {
  const StreamOptions small{.send_buffer_bytes = 16'384, .receive_buffer_bytes = 16'384};
  establish(small);
  far->pause_reading(there);
  std::size_t total = 0;
  while (true) {
    const std::size_t taken = write_some(*near, stream, 65'536);
    total += taken;
    if (taken < 65'536) break;
  }
  const std::uint64_t sends = count_of(*near, Id::kSends);
  EXPECT_EQ(write_some(*near, stream, 100), 0U) << "tries before on_writable() take nothing";
  EXPECT_EQ(count_of(*near, Id::kSends), sends) << "and cost no system call";
  settle();
  EXPECT_EQ(far_events.bytes, 0U);
  EXPECT_EQ(near_events.writable, 0U);
  EXPECT_GT(near->facts(stream).unacknowledged_bytes, 0U);
  far->resume_reading(there);
  ASSERT_TRUE(bench.run([&] { return far_events.bytes == total && near_events.writable > 0; }));
  EXPECT_EQ(near_events.writable, 1U);
  EXPECT_EQ(write_some(*near, stream, 100), 100U);
}

TEST_F(TcpDevicePlain, UnacknowledgedBytesAreCountedWhenAConnectionDies) {
  const StreamOptions small{.send_buffer_bytes = 65'536, .receive_buffer_bytes = 4096};
  establish(small);
  far->pause_reading(there);
  const std::size_t total = write_some(*near, stream, 100'000);
  settle();
  const std::uint64_t waiting = near->facts(stream).unacknowledged_bytes;
  EXPECT_GT(waiting, 0U);
  EXPECT_LT(waiting, total);
  EXPECT_LE(near->facts(stream).unsent_bytes, waiting);
  far->close(there, Errc::kProtocol);  // with unread bytes: a reset
  ASSERT_TRUE(bench.run([&] { return near_events.closed == 1; }));
  EXPECT_EQ(near_events.cause, Errc::kReset);
  EXPECT_EQ(near_events.unacknowledged, waiting);
  EXPECT_EQ(count_of(*near, Id::kResets), 1U);
}

TEST_F(TcpDevicePlain, DetailsAreThoseOfTheSocket) {
  establish({.no_delay = false, .send_buffer_bytes = 65'536, .receive_buffer_bytes = 32'768});
  far->pause_reading(there);
  const std::size_t written = write_some(*near, stream, 1000);
  settle();
  const auto ours = near->details(stream);
  const auto theirs = far->details(there);
  EXPECT_TRUE(ours.addresses.local == theirs.addresses.remote);
  EXPECT_TRUE(ours.addresses.remote == theirs.addresses.local);
  EXPECT_NE(ours.addresses.local.port, 0);
  EXPECT_GE(ours.send_buffer_bytes, 65'536U);
  EXPECT_GE(ours.receive_buffer_bytes, 32'768U);
  EXPECT_TRUE(ours.nagle);
  EXPECT_EQ(theirs.unread_bytes, written);
  EXPECT_EQ(ours.unread_bytes, 0U);
  EXPECT_GT(ours.congestion_window, 0U);
  EXPECT_GT(ours.segment_bytes, 0U);
  EXPECT_EQ(ours.retransmits, 0U);
  near->close(stream, Errc::kClosed);
  EXPECT_EQ(near->details(stream).addresses.local.port, 0) << "it has ended";
}

TEST_F(TcpDevicePlain, AClosedStreamsIdNamesNothing) {
  establish();
  near->close(stream, Errc::kShutdown);
  EXPECT_EQ(near_events.closed, 0U);
  ASSERT_TRUE(bench.run([&] { return near_events.closed == 1 && far_events.closed == 1; }));
  EXPECT_EQ(near_events.cause, Errc::kShutdown);
  EXPECT_EQ(far_events.cause, Errc::kClosed);
  const auto next = connect();  // reuses the record
  ASSERT_TRUE(next.has_value());
  EXPECT_EQ(next->index, stream.index);
  EXPECT_EQ(write_some(*near, stream, 10), 0U);
  near->pause_reading(stream);
  near->resume_reading(stream);
  near->close(stream, Errc::kIo);
  EXPECT_FALSE(near->detach(stream).has_value());
  EXPECT_EQ(count_of(*near, Id::kStaleCalls), 5U);
  near->close({}, Errc::kIo);
  EXPECT_EQ(count_of(*near, Id::kStaleCalls), 6U);
  ASSERT_TRUE(bench.run([&] { return near_events.connected == 2; })) << "its successor lives";
  EXPECT_EQ(count_of(*near, Id::kOpen), 1U);
}

TEST_F(TcpDevicePlain, AnEndWaitsUntilAPausedStreamHasReadAll) {
  establish();
  far->pause_reading(there);
  EXPECT_EQ(write_some(*near, stream, 5000), 5000U);
  near->close(stream, Errc::kShutdown);
  settle();
  EXPECT_EQ(far_events.closed, 0U);
  EXPECT_EQ(far_events.bytes, 0U);
  far->resume_reading(there);
  ASSERT_TRUE(bench.run([&] { return far_events.closed == 1; }));
  EXPECT_EQ(far_events.bytes, 5000U);
  EXPECT_EQ(far_events.cause, Errc::kClosed);
}

TEST_F(TcpDevicePlain, AResetIsReportedEvenIfReadingIsPaused) {
  establish();
  near->pause_reading(stream);
  far->pause_reading(there);
  EXPECT_EQ(write_some(*near, stream, 100), 100U);
  settle();
  far->close(there, Errc::kProtocol);
  ASSERT_TRUE(bench.run([&] { return near_events.closed == 1; }));
  EXPECT_EQ(near_events.cause, Errc::kReset);
}

TEST_F(TcpDevicePlain, AStreamThatOwesOnWritableStaysHere) {
  const StreamOptions small{.send_buffer_bytes = 16'384, .receive_buffer_bytes = 16'384};
  establish(small);
  far->pause_reading(there);
  while (write_some(*near, stream, 65'536) == 65'536) {
  }
  EXPECT_EQ(near->detach(stream).error(), Errc::kBusy);
  EXPECT_EQ(near->detach(connect().value()).error(), Errc::kBusy) << "nor one not yet connected";
}

TEST_F(TcpDevicePlain, AcceptedSocketsHaveTheOptionsOfTheListener) {
  const StreamOptions options{.send_buffer_bytes = 50'000,
                              .receive_buffer_bytes = 60'000,
                              .keepalive_idle_s = 30,
                              .keepalive_interval_s = 5,
                              .keepalive_count = 7,
                              .type_of_service = 0x10};
  establish(options);
  for (TcpDevice* device : {near, far}) {
    const auto detached = device->detach(device == near ? stream : there);
    ASSERT_TRUE(detached.has_value());
    const TcpSocket socket(static_cast<int>(detached->descriptor));
    EXPECT_EQ(value_of(socket.get(), IPPROTO_TCP, TCP_NODELAY), 1);
    EXPECT_EQ(value_of(socket.get(), IPPROTO_TCP, TCP_LINGER2), -1);
    EXPECT_EQ(value_of(socket.get(), SOL_SOCKET, SO_SNDBUF), 100'000) << "the system doubles it";
    EXPECT_EQ(value_of(socket.get(), SOL_SOCKET, SO_RCVBUF), 120'000);
    EXPECT_EQ(value_of(socket.get(), SOL_SOCKET, SO_KEEPALIVE), 1);
    EXPECT_EQ(value_of(socket.get(), IPPROTO_TCP, TCP_KEEPIDLE), 30);
    EXPECT_EQ(value_of(socket.get(), IPPROTO_TCP, TCP_KEEPINTVL), 5);
    EXPECT_EQ(value_of(socket.get(), IPPROTO_TCP, TCP_KEEPCNT), 7);
    EXPECT_EQ(value_of(socket.get(), IPPROTO_IP, IP_TOS), 0x10);
    EXPECT_EQ(count_of(*device, Id::kOptionFailures), 0U);
  }
}

TEST_F(TcpDevicePlain, ADiscardedStreamEndsForThePeer) {
  establish();
  const auto detached = far->detach(far_events.last);
  ASSERT_TRUE(detached.has_value());
  far->discard(*detached);
  EXPECT_TRUE(bench.run([this] { return near_events.closed == 1; }));
}

TEST_F(TcpDevicePlain, ReadBytesAreAcknowledgedAtOnceOnDemand) {
  establish();
  far->acknowledge_now(far_events.last);
  EXPECT_EQ(count_of(*far, Id::kQuickAcks), 1U);
  EXPECT_EQ(count_of(*far, Id::kOptionFailures), 0U);
  far->close(far_events.last, Errc::kShutdown);
  far->acknowledge_now(far_events.last);
  EXPECT_EQ(count_of(*far, Id::kQuickAcks), 1U) << "not of one that closes";
}

TEST_F(TcpDevicePlain, AcknowledgementsOfAPureReaderAreCombined) {
  establish();
  const auto receive_one = [this] {
    const std::uint64_t before = far_events.bytes;
    EXPECT_EQ(write_some(*near, stream, 96), 96U);
    EXPECT_TRUE(bench.run([&] { return far_events.bytes == before + 96; }));
  };
  receive_one();
  EXPECT_EQ(count_of(*far, Id::kSharedAcks), 1U);
  receive_one();
  EXPECT_EQ(count_of(*far, Id::kSharedAcks), 1U) << "it is reported periodically, not each time";
  bench.now += TcpRx::kAcksSharedEvery;
  receive_one();
  EXPECT_EQ(count_of(*far, Id::kSharedAcks), 2U);
  EXPECT_EQ(count_of(*far, Id::kOptionFailures), 0U);

  const auto detached = far->detach(far_events.last);
  ASSERT_TRUE(detached.has_value());
  const TcpSocket socket(static_cast<int>(detached->descriptor));
  EXPECT_EQ(value_of(socket.get(), IPPROTO_TCP, TCP_QUICKACK), 0) << "interactive";
}

TEST_F(TcpDevicePlain, AnAddressIsOursWhileTheSystemHasIt) {
  EXPECT_TRUE(near->is_local(bench.address(0)));
  EXPECT_TRUE(near->is_local({.ip = socklnd::SocketAddress{}.ip, .port = 988}));
  socklnd::SocketAddress elsewhere = bench.address(0);
  const std::array<std::uint8_t, 4> documentation{192, 0, 2, 1};
  std::ranges::copy(documentation, elsewhere.ip.begin() + 12);
  EXPECT_FALSE(near->is_local(elsewhere));
  socklnd::SocketAddress v6{};
  v6.ip[0] = 0x20;
  v6.ip[15] = 1;
  EXPECT_FALSE(near->is_local(v6));
}

TEST_F(TcpDevicePlain, TheReadinessSetWakesASleeper) {
  establish();
  settle();
  pollfd set{.fd = far->wake_descriptor(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(::poll(&set, 1, 0), 0) << "nothing to do";
  EXPECT_EQ(far->poll(bench.now), 0U);
  EXPECT_EQ(far->next_deadline(), Instant::max());
  EXPECT_EQ(write_some(*near, stream, 10), 10U);
  EXPECT_EQ(::poll(&set, 1, 0), 1) << "there is";
  EXPECT_EQ(far->poll(bench.now), 1U);
  EXPECT_EQ(far_events.bytes, 10U);
}

TEST(TcpDevice, BusyPollingIsAskedForOnEveryStream) {
  StreamCounter events;
  TcpBench bench;
  bench.devices.push_back(
      open_device({.connections_max = 8, .busy_poll = {.usec = 50, .budget = 16}}, events));
  TcpDevice& device = *bench.devices.back();
  ASSERT_TRUE(device.listen(bench.address(1), 8, {}).has_value());
  ConnectRequest request;
  request.addresses.remote = bench.address(1);
  request.privileged_port = false;
  ASSERT_TRUE(device.connect(request).has_value());
  ASSERT_TRUE(bench.run([&] { return events.connected == 1 && events.accepted == 1; }));
  if (count_of(device, Id::kOptionFailures) > 0) GTEST_SKIP() << "needs CAP_NET_ADMIN";
  const auto detached = device.detach(events.last);
  ASSERT_TRUE(detached.has_value());
  const TcpSocket socket(static_cast<int>(detached->descriptor));
  EXPECT_EQ(value_of(socket.get(), SOL_SOCKET, SO_BUSY_POLL), 50);
  EXPECT_EQ(value_of(socket.get(), SOL_SOCKET, SO_PREFER_BUSY_POLL), 1);
  // The system accepts a budget, but does not report which one it uses.
  EXPECT_EQ(busy_poll_refusal({.usec = 50, .budget = 16}), "");
}

// No system accepts this budget for a socket, independent of privileges: it is a number of 16 bits.
TEST(TcpDevice, BusyPollingThatIsRefusedIsNotedOnceAndForNoStreamAskedForAgain) {
  constexpr BusyPoll kTooMuch{.usec = 50, .budget = 1U << 20U};
  StreamCounter events;
  TcpBench bench;
  bench.devices.push_back(open_device({.connections_max = 8, .busy_poll = kTooMuch}, events));
  TcpDevice& device = *bench.devices.back();
  ASSERT_TRUE(device.listen(bench.address(1), 8, {}).has_value());
  ConnectRequest request;
  request.addresses.remote = bench.address(1);
  request.privileged_port = false;
  for (unsigned i = 1; i <= 3; ++i) {
    ASSERT_TRUE(device.connect(request).has_value());
    ASSERT_TRUE(bench.run([&] { return events.connected == i && events.accepted == i; }));
  }
  EXPECT_EQ(count_of(device, Id::kOptionFailures), 1U);
  EXPECT_NE(busy_poll_refusal(kTooMuch), "");
  EXPECT_EQ(busy_poll_refusal({}), "") << "nothing was asked for";
}

TEST_F(TcpDevicePlain, LoopbackHasNoNapi) {
  establish();
  EXPECT_EQ(write_some(*near, stream, 10), 10U);
  settle();
  EXPECT_EQ(near->details(stream).napi_id, 0U);
  EXPECT_EQ(near->facts(stream).napi_id, 0U);
}

TEST(TcpDevice, ATurnEndsAfterAMegabyte) {
  TcpBench bench;
  StreamCounter near_events;
  StreamCounter far_events;
  bench.devices.push_back(open_device({.connections_max = 64}, near_events));
  bench.devices.push_back(open_device({.connections_max = 64}, far_events));
  ASSERT_TRUE(bench.devices[1]->listen(bench.address(1), 64, {}).has_value());
  ConnectRequest request;
  request.addresses.remote = bench.address(1);
  request.privileged_port = false;
  constexpr unsigned kStreams = 32;
  std::vector<StreamId> streams;
  for (unsigned i = 0; i < kStreams; ++i)
    streams.push_back(bench.devices[0]->connect(request).value());
  ASSERT_TRUE(bench.run(
      [&] { return near_events.connected == kStreams && far_events.accepted == kStreams; }));
  std::uint64_t sent = 0;
  for (const StreamId stream : streams)
    sent += write_some(*bench.devices[0], stream, 200'000);
  std::uint64_t most = 0;
  ASSERT_TRUE(bench.run([&] {
    const std::uint64_t before = far_events.bytes;
    bench.devices[1]->poll(bench.now);
    most = std::max(most, far_events.bytes - before);
    return far_events.bytes == sent;
  }));
  EXPECT_LT(most, TcpDevice::kBytesPerPoll + TcpRx::kBytesPerTurn + 65'536);
}

// Reads byte by byte, so that few bytes keep a stream busy for many turns.
struct Sipper final : socklnd::StreamEvents {
  std::span<std::byte> destination(StreamId) override { return {}; }
  std::size_t on_bytes(StreamId id, std::size_t, std::span<const std::byte> staged) override {
    bytes[id.index] += staged.size();
    device->limit_next_read(id, 1);
    return staged.size();
  }
  void on_writable(StreamId) override {}
  void on_connected(StreamId, const socklnd::StreamAddresses&) override {}
  void on_accepted(StreamId id, const socklnd::StreamAddresses&) override {
    device->limit_next_read(id, 1);
    bytes.resize(std::max<std::size_t>(bytes.size(), id.index + 1));
    last = id;
    ++accepted;
  }
  void on_closed(StreamId, Errc, std::uint64_t) override {}

  TcpDevice* device = nullptr;
  std::vector<std::uint64_t> bytes;  // per stream
  StreamId last;
  unsigned accepted = 0;
};

TEST(TcpDevice, ACrowdThatIsNeverDoneDoesNotHideTheOthers) {
  constexpr unsigned kCrowd = TcpDevice::kServedPerPoll + 6;
  constexpr unsigned kTurns = 100;
  const TcpConfig config{.connections_max = kCrowd + 2, .coalesce = false};
  TcpBench bench;
  StreamCounter near_events;
  Sipper far_events;
  bench.devices.push_back(open_device(config, near_events));
  bench.devices.push_back(open_device(config, far_events));
  TcpDevice& near = *bench.devices[0];
  far_events.device = bench.devices[1].get();
  ASSERT_TRUE(far_events.device->listen(bench.address(1), 127, {}).has_value());
  ConnectRequest request;
  request.addresses.remote = bench.address(1);
  request.privileged_port = false;
  std::vector<StreamId> streams;
  for (unsigned i = 1; i <= kCrowd + 1; ++i) {
    streams.push_back(near.connect(request).value());
    ASSERT_TRUE(bench.run([&] { return near_events.connected == i && far_events.accepted == i; }));
  }
  const std::uint32_t late = far_events.last.index;
  // Twice the bytes that can be read of each stream in all turns, so that every stream stays busy.
  constexpr std::size_t kEach = std::size_t{2} * kTurns * TcpRx::kReadsPerTurn;
  for (unsigned i = 0; i < kCrowd; ++i)
    ASSERT_EQ(write_some(near, streams[i], kEach), kEach);
  bench.run_for(kTurns / 2);
  EXPECT_EQ(write_some(near, streams.back(), 10), 10U);
  ASSERT_TRUE(near.connect(request).has_value());
  bench.run_for(kTurns / 2);
  EXPECT_EQ(far_events.bytes[late], 10U);
  EXPECT_EQ(far_events.accepted, kCrowd + 2);
  for (std::uint32_t i = 0; i < kCrowd + 1; ++i)
    EXPECT_TRUE(i == late || (far_events.bytes[i] > 0 && far_events.bytes[i] < kEach)) << i;
}

}  // namespace
}  // namespace plnet::drivers
