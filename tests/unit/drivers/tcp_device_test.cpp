// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/resource.h>
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

class TcpDevicePlain : public ::testing::Test {
 protected:
  explicit TcpDevicePlain(const TcpConfig& config = {.connections_max = 64}) : bench(config) {
    near = static_cast<TcpDevice*>(&bench.make(0, near_events));
    far = static_cast<TcpDevice*>(&bench.make(1, far_events));
  }
  Result<StreamId> connect(const StreamOptions& options = {}) {
    ConnectRequest request;
    request.addresses.remote = bench.address(1);
    request.privileged_port = false;
    request.options = options;
    return near->connect(request);
  }
  void establish(const StreamOptions& options = {}) {
    ASSERT_TRUE(far->listen(bench.address(1), 127, options).has_value());
    stream = connect(options).value();
    ASSERT_TRUE(bench.run([&] { return far_events.accepted == 1 && near_events.connected == 1; }));
    there = far_events.last;
  }
  // Until nothing is left to do: all that has been sent over loopback has arrived.
  void settle() { bench.run_for(100); }

  TcpBench bench;
  StreamCounter near_events;
  StreamCounter far_events;
  TcpDevice* near = nullptr;
  TcpDevice* far = nullptr;
  StreamId stream;
  StreamId there;
};

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
  // Two of the fifty speak: one read each, and no other to find out that there is no more.
  EXPECT_EQ(write_some(*near, stream, 96), 96U);
  EXPECT_EQ(write_some(*near, near_events.last, 96), 96U);
  bench.run_for(1000);
  EXPECT_EQ(far_events.bytes, 192U);
  EXPECT_EQ(count_of(*far, Id::kReads) - reads, 2U);
  EXPECT_EQ(count_of(*far, Id::kEmptyReads), 0U);
}

TEST_F(TcpDevicePlain, WhoSpeaksAloneIsReadDirectlyForAWhile) {
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
  EXPECT_EQ(count_of(*far, Id::kEpollWaits), waits) << "nobody was asked whether it has spoken";
  // Others are not forgotten meanwhile.
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

TEST_F(TcpDevicePlain, WhoSpeaksAloneMayEndPauseOrMove) {
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
  EXPECT_LE(count_of(*far, Id::kReads) - count_of(*far, Id::kEmptyReads), 7U)
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
  far->close(there, Errc::kProtocol);  // with bytes unread: a reset
  ASSERT_TRUE(bench.run([&] { return near_events.closed == 1; }));
  EXPECT_EQ(near_events.cause, Errc::kReset);
  EXPECT_EQ(near_events.unacknowledged, waiting);
  EXPECT_EQ(count_of(*near, Id::kResets), 1U);
}

TEST_F(TcpDevicePlain, AClosedStreamsIdNamesNothing) {
  establish();
  near->close(stream, Errc::kShutdown);
  EXPECT_EQ(near_events.closed, 0U);
  ASSERT_TRUE(bench.run([&] { return near_events.closed == 1 && far_events.closed == 1; }));
  EXPECT_EQ(near_events.cause, Errc::kShutdown);
  EXPECT_EQ(far_events.cause, Errc::kClosed);
  const auto next = connect();  // in the same record
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

TEST_F(TcpDevicePlain, AResetIsToldEvenIfReadingIsPaused) {
  establish();
  near->pause_reading(stream);
  far->pause_reading(there);
  EXPECT_EQ(write_some(*near, stream, 100), 100U);
  settle();
  far->close(there, Errc::kProtocol);
  ASSERT_TRUE(bench.run([&] { return near_events.closed == 1; }));
  EXPECT_EQ(near_events.cause, Errc::kReset);
}

TEST_F(TcpDevicePlain, MovesToAnotherShard) {
  establish();
  StreamCounter other_events;
  bench.devices.push_back(open_device({.connections_max = 8}, other_events));
  TcpDevice& other = *bench.devices.back();
  EXPECT_EQ(write_some(*near, stream, 10), 10U);
  settle();
  const auto detached = far->detach(there);
  ASSERT_TRUE(detached.has_value());
  EXPECT_EQ(detached->addresses.local, bench.address(1));
  EXPECT_EQ(write_some(*near, stream, 700), 700U);  // arrives while nobody has it
  settle();
  const auto adopted = other.adopt(*detached, {});
  ASSERT_TRUE(adopted.has_value());
  ASSERT_TRUE(bench.run([&] { return other_events.bytes == 700; }));
  EXPECT_EQ(far_events.bytes, 10U);
  EXPECT_EQ(far_events.closed, 0U) << "the old id just ends";
  EXPECT_EQ(write_some(*far, there, 1), 0U) << "and names nothing";
  EXPECT_EQ(write_some(other, *adopted, 30), 30U);
  near->close(stream, Errc::kShutdown);
  ASSERT_TRUE(bench.run([&] { return other_events.closed == 1; }));
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
  const auto value_of = [](int descriptor, int level, int name) {
    int value = 0;
    socklen_t size = sizeof value;
    EXPECT_EQ(::getsockopt(descriptor, level, name, &value, &size), 0);
    return value;
  };
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

TEST_F(TcpDevicePlain, StopsListening) {
  establish();
  far->stop_listening(bench.address(1));
  ASSERT_TRUE(connect().has_value());
  ASSERT_TRUE(bench.run([&] { return near_events.closed == 1; }));
  EXPECT_EQ(near_events.cause, Errc::kRefused);
  EXPECT_EQ(far_events.closed, 0U) << "what was accepted stays";
  EXPECT_TRUE(far->listen(bench.address(1), 127, {}).has_value()) << "beside what was accepted";
}

TEST_F(TcpDevicePlain, OnlyOneMayListenOnAnAddress) {
  ASSERT_TRUE(far->listen(bench.address(1), 127, {}).has_value());
  EXPECT_EQ(far->listen(bench.address(1), 127, {}).error(), Errc::kBusy);
  EXPECT_EQ(near->listen(bench.address(1), 127, {}).error(), Errc::kBusy);
  SocketAddress elsewhere = bench.address(1);
  elsewhere.ip[12] = 203;  // 203.x.y.z
  EXPECT_EQ(far->listen(elsewhere, 127, {}).error(), Errc::kNotFound);
  const std::string words = explain_listen_failure(Errc::kBusy, own_loopback(2, 988));
  EXPECT_NE(words.find(":988: somebody else listens there"), std::string::npos) << words;
}

TEST(TcpDevice, ShardsMayShareAListenAddress) {
  TcpBench bench({.connections_max = 64, .share_listeners = true});
  std::array<StreamCounter, 3> events;
  for (unsigned i = 0; i < 3; ++i)
    bench.devices.push_back(
        open_device({.connections_max = 64, .share_listeners = true}, events[i]));
  for (unsigned i = 1; i < 3; ++i)
    ASSERT_TRUE(bench.devices[i]->listen(bench.address(1), 127, {}).has_value());
  for (unsigned i = 0; i < 60; ++i) {
    ConnectRequest request;
    request.addresses.remote = bench.address(1);
    request.privileged_port = false;
    ASSERT_TRUE(bench.devices[0]->connect(request).has_value());
  }
  ASSERT_TRUE(bench.run([&] { return events[1].accepted + events[2].accepted == 60; }));
  EXPECT_GT(events[1].accepted, 0U);
  EXPECT_GT(events[2].accepted, 0U);
}

TEST(TcpDevice, MoreConnectionsThanStreamsAreReset) {
  TcpBench bench({.connections_max = 4});
  StreamCounter near_events;
  StreamCounter far_events;
  bench.devices.push_back(open_device({.connections_max = 64}, near_events));
  bench.devices.push_back(open_device({.connections_max = 4}, far_events));
  TcpDevice& near = *bench.devices[0];
  TcpDevice& far = *bench.devices[1];
  ASSERT_TRUE(far.listen(bench.address(1), 127, {}).has_value());
  ConnectRequest request;
  request.addresses.remote = bench.address(1);
  request.privileged_port = false;
  for (unsigned i = 0; i < 10; ++i)
    ASSERT_TRUE(near.connect(request).has_value());
  ASSERT_TRUE(bench.run([&] { return near_events.closed == 6 && far_events.accepted == 4; }));
  EXPECT_EQ(near_events.cause, Errc::kReset);
  EXPECT_EQ(count_of(far, Id::kAcceptsRefused), 6U);
  EXPECT_EQ(far.connect(request).error(), Errc::kNoMemory);
}

// Takes all descriptors that the process may still have, and gives them back.
class NoDescriptors {
 public:
  NoDescriptors() {
    (void)::getrlimit(RLIMIT_NOFILE, &before_);
    const int next = ::dup(0);
    ::close(next);
    const rlimit now{.rlim_cur = static_cast<rlim_t>(next), .rlim_max = before_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &now), 0);
  }
  ~NoDescriptors() { EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before_), 0); }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;

 private:
  rlimit before_{};
};

TEST_F(TcpDevicePlain, OutOfDescriptorsTheListenerRestsAndGoesOn) {
  establish();
  const auto second = connect();
  ASSERT_TRUE(second.has_value());
  {
    const NoDescriptors none;
    bench.run_for(1000);
    EXPECT_EQ(connect().error(), Errc::kNoMemory);
    EXPECT_EQ(count_of(*far, Id::kAcceptFailures), 1U) << "it does not spin";
    EXPECT_EQ(far->next_deadline(),
              bench.now - std::chrono::microseconds(999) + TcpDevice::kAcceptRetry);
    bench.now += TcpDevice::kAcceptRetry;
    bench.run_for(10);
    EXPECT_EQ(count_of(*far, Id::kAcceptFailures), 2U);
    // A descriptor of ours becomes free.
    near->close(stream, Errc::kShutdown);
    ASSERT_TRUE(bench.run([&] { return far_events.accepted == 2; }));
  }
  EXPECT_EQ(far->next_deadline(), Instant::max());
}

}  // namespace
}  // namespace plnet::drivers
