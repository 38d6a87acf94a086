// SPDX-License-Identifier: BSD-3-Clause
// Payload that waits in its socket and is relayed from there: one device with bare sockets as
// peers. The device's clock stands still unless a case advances it, so no wait times out by itself.
#pragma once

#include <algorithm>
#include <array>
#include <csignal>
#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "drivers/net/tcp/socket.hpp"
#include "tests/unit/drivers/tcp_rig.hpp"

namespace plnet::drivers {

// The device checks this setting when it is opened.
class PipeSignal {
 public:
  explicit PipeSignal(sighandler_t handler) : before_(::signal(SIGPIPE, handler)) {}
  ~PipeSignal() { (void)::signal(SIGPIPE, before_); }
  PipeSignal(const PipeSignal&) = delete;
  PipeSignal& operator=(const PipeSignal&) = delete;

 private:
  sighandler_t before_;
};

struct RelayEvents final : socklnd::StreamEvents {
  struct Stream {
    std::vector<std::byte> bytes;
    unsigned awaited = 0;
    unsigned writable = 0;
    unsigned closed = 0;
    Errc cause = Errc::kInvalid;
  };

  std::span<std::byte> destination(socklnd::StreamId) override { return {}; }
  std::size_t on_bytes(socklnd::StreamId id, std::size_t,
                       std::span<const std::byte> staged) override {
    std::vector<std::byte>& bytes = streams[id.index].bytes;
    bytes.insert(bytes.end(), staged.begin(), staged.end());
    if (at_bytes) at_bytes(id);
    return staged.size();
  }
  void on_writable(socklnd::StreamId id) override { ++streams[id.index].writable; }
  void on_awaited(socklnd::StreamId id) override {
    ++streams[id.index].awaited;
    if (at_awaited) at_awaited(id);
  }
  void on_connected(socklnd::StreamId, const socklnd::StreamAddresses&) override {}
  void on_accepted(socklnd::StreamId id, const socklnd::StreamAddresses&) override {
    streams[id.index] = {};
    last = id;
    ++accepted;
  }
  void on_closed(socklnd::StreamId id, Errc cause, std::uint64_t) override {
    ++streams[id.index].closed;
    streams[id.index].cause = cause;
  }

  std::map<std::uint32_t, Stream> streams;
  std::function<void(socklnd::StreamId)> at_bytes;
  std::function<void(socklnd::StreamId)> at_awaited;
  socklnd::StreamId last;
  unsigned accepted = 0;
};

class StillBench final : public TcpBench {
 public:
  using TcpBench::TcpBench;
  void turn_once() override {
    for (const auto& device : devices)
      device->poll(now);
  }
};

class TcpRelays : public ::testing::Test {
 protected:
  using Bytes = std::vector<std::byte>;
  using StreamId = socklnd::StreamId;

  // Both ends of a connection: the bare socket and the device's stream.
  struct Peer {
    TcpSocket socket;
    socklnd::StreamId id;
    Bytes received;
  };

  static inline const TcpConfig kConfig{.connections_max = 16, .coalesce = false};

  explicit TcpRelays(const TcpConfig& config = kConfig) : bench(config) {
    device = static_cast<TcpDevice*>(&bench.make(0, events));
    events.at_awaited = [this](socklnd::StreamId id) { device->pause_reading(id); };
  }

  // No part of the pattern repeats at a distance that is a power of two, so swapped parts are
  // detected.
  static Bytes pattern(std::size_t count, unsigned seed = 1) {
    Bytes bytes(count);
    std::uint32_t state = seed;
    for (std::byte& byte : bytes) {
      state = state * 1'664'525U + 1'013'904'223U;
      byte = static_cast<std::byte>(state >> 24U);
    }
    return bytes;
  }

  static Bytes joined(const Bytes& first, const Bytes& second) {
    Bytes all = first;
    all.insert(all.end(), second.begin(), second.end());
    return all;
  }

  void listen(const socklnd::StreamOptions& options = {}) {
    ASSERT_TRUE(device->listen(bench.address(0), 16, options).has_value());
  }
  Peer connect(int receive_buffer_bytes = 0) {
    const unsigned before = events.accepted;
    Peer peer;
    auto opened = open_socket(bench.address(0));
    EXPECT_TRUE(opened.has_value());
    peer.socket = std::move(*opened);
    const int descriptor = peer.socket.get();
    EXPECT_TRUE(set_option(descriptor, IPPROTO_TCP, TCP_NODELAY, 1));
    EXPECT_TRUE(receive_buffer_bytes == 0 ||
                set_option(descriptor, SOL_SOCKET, SO_RCVBUF, receive_buffer_bytes));
    const SystemAddress to(bench.address(0));
    (void)::connect(descriptor, to.get(), to.size);
    EXPECT_TRUE(bench.run([&] { return events.accepted == before + 1; }));
    peer.id = events.last;
    return peer;
  }
  void establish(const socklnd::StreamOptions& options = {}) {
    listen(options);
    source = connect();
    target = connect();
  }

  RelayEvents::Stream& seen(const Peer& peer) { return events.streams[peer.id.index]; }
  std::size_t unread(const Peer& peer) { return device->details(peer.id).unread_bytes; }
  void settle() { bench.run_for(100); }

  void send(const Peer& peer, std::span<const std::byte> bytes) {
    ASSERT_TRUE(bench.run([&] {
      const ssize_t sent =
          ::send(peer.socket.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
      if (sent > 0) bytes = bytes.subspan(static_cast<std::size_t>(sent));
      return bytes.empty();
    }));
  }
  // Reads until this many bytes have arrived in total.
  void receive(Peer& peer, std::size_t total) {
    Bytes some(65'536);
    ASSERT_TRUE(bench.run([&] {
      const ssize_t got = ::recv(peer.socket.get(), some.data(), some.size(), MSG_DONTWAIT);
      if (got > 0) peer.received.insert(peer.received.end(), some.begin(), some.begin() + got);
      return peer.received.size() >= total;
    }));
    ASSERT_EQ(peer.received.size(), total);
  }
  static void reset(Peer& peer) {
    const linger at_once{.l_onoff = 1, .l_linger = 0};
    ASSERT_EQ(::setsockopt(peer.socket.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once), 0);
    peer.socket.reset();
  }
  // The source sends the payload, which the device awaits and leaves in the socket.
  void hold(const Bytes& payload) { hold(source, payload); }
  void hold(const Peer& peer, const Bytes& payload) {
    const unsigned before = seen(peer).awaited;
    ASSERT_TRUE(device->await(peer.id, payload.size()));
    send(peer, payload);
    ASSERT_TRUE(bench.run([&] { return seen(peer).awaited == before + 1; }));
    ASSERT_GE(unread(peer), payload.size());
  }
  std::size_t relay(const Peer& from, const Peer& to, const Bytes& head, std::size_t bytes) {
    const std::array<std::span<const std::byte>, 2> pieces{
        std::span(head).first(head.size() / 2), std::span(head).subspan(head.size() / 2)};
    return device->relay(from.id, to.id, pieces, bytes);
  }
  // Nothing of the previous payload appears in the next relay from `source` to `target`.
  void expect_empty_pipe() {
    const Bytes next = pattern(1000, 2);
    hold(next);
    EXPECT_EQ(relay(source, target, {}, next.size()), next.size());
    device->resume_reading(source.id);
    receive(target, next.size());
    EXPECT_EQ(target.received, next);
  }
  Bytes fetched(const Peer& peer, std::size_t bytes) {
    Bytes all(bytes);
    EXPECT_TRUE(device->fetch(peer.id, std::span(all).first(bytes / 3)).has_value());
    EXPECT_TRUE(device->fetch(peer.id, std::span(all).subspan(bytes / 3)).has_value());
    return all;
  }
  std::size_t write(const Peer& to, std::span<const std::byte> bytes) {
    const std::array<std::span<const std::byte>, 1> pieces{bytes};
    return device->write(to.id, pieces);
  }
  // Sends to the peer, which reads it: as a user of the driver does after a partial relay.
  void write_all(Peer& to, std::span<const std::byte> bytes, std::size_t total) {
    Bytes some(65'536);
    ASSERT_TRUE(bench.run([&] {
      const ssize_t got = ::recv(to.socket.get(), some.data(), some.size(), MSG_DONTWAIT);
      if (got > 0) to.received.insert(to.received.end(), some.begin(), some.begin() + got);
      bytes = bytes.subspan(write(to, bytes));
      return bytes.empty();
    }));
    receive(to, total);
  }
  // Reads SO_RCVLOWAT from the socket. The stream leaves the device for that and returns.
  int low_water(Peer& peer) {
    const auto detached = device->detach(peer.id);
    EXPECT_TRUE(detached.has_value());
    if (!detached) return -1;
    int value = 0;
    socklen_t size = sizeof value;
    EXPECT_EQ(::getsockopt(static_cast<int>(detached->descriptor), SOL_SOCKET, SO_RCVLOWAT, &value,
                           &size),
              0);
    const RelayEvents::Stream so_far = seen(peer);
    peer.id = device->adopt(*detached, {}).value();
    seen(peer) = so_far;
    return value;
  }

  PipeSignal ignored{SIG_IGN};
  StillBench bench;
  RelayEvents events;
  TcpDevice* device = nullptr;
  Peer source;
  Peer target;
};

}  // namespace plnet::drivers
