// SPDX-License-Identifier: BSD-3-Clause
// The floor of everything over TCP: two ends of a plain nonblocking loopback connection.
#pragma once

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include "drivers/net/tcp/congestion.hpp"
#include "drivers/net/tcp/socket.hpp"

namespace plnet::baseline {

inline constexpr std::size_t kSmallBytes = 96;  // a frame and an LNet header

inline socklnd::SocketAddress loopback(std::uint16_t port) {
  socklnd::SocketAddress address;
  address.ip = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1};
  address.port = port;
  return address;
}

// Not valid() if this machine does not connect to itself within a second.
struct BarePair {
  static constexpr int kConnectWaitMs = 1000;

  BarePair() {
    const auto listener = drivers::open_socket(loopback(0));
    auto dialed = drivers::open_socket(loopback(0));
    if (!listener || !dialed) return;
    // The same options as the driver's sockets, so that system calls behave equally.
    drivers::TcpStats unread;
    drivers::TcpCongestion congestion{std::string(drivers::TcpCongestion::kAuto), unread};
    congestion.choose(listener->get());
    congestion.choose(dialed->get());
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    const bool bound = ::bind(listener->get(), reinterpret_cast<sockaddr*>(&at), size) == 0 &&
                       ::listen(listener->get(), 1) == 0 &&
                       ::getsockname(listener->get(), reinterpret_cast<sockaddr*>(&at), &size) == 0;
    if (!bound) return;
    const bool under_way = ::connect(dialed->get(), reinterpret_cast<sockaddr*>(&at), size) == 0 ||
                           errno == EINPROGRESS;
    pollfd waiting{.fd = listener->get(), .events = POLLIN, .revents = 0};
    if (!under_way || ::poll(&waiting, 1, kConnectWaitMs) != 1) return;
    near = std::move(*dialed);
    far = drivers::TcpSocket(::accept4(listener->get(), nullptr, nullptr, SOCK_NONBLOCK));
    (void)drivers::set_option(near.get(), IPPROTO_TCP, TCP_NODELAY, 1);
    (void)drivers::set_option(far.get(), IPPROTO_TCP, TCP_NODELAY, 1);
  }
  [[nodiscard]] bool valid() const { return far.valid(); }

  drivers::TcpSocket near;
  drivers::TcpSocket far;
};

// Sends all of `bytes`, spinning; false if told to stop or the other end is gone.
inline bool spin_send(int socket, std::span<const std::byte> bytes, const std::atomic<bool>& stop) {
  while (!bytes.empty() && !stop.load(std::memory_order_relaxed)) {
    const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent > 0) bytes = bytes.subspan(static_cast<std::size_t>(sent));
  }
  return bytes.empty();
}
inline bool spin_receive(int socket, std::span<std::byte> bytes, const std::atomic<bool>& stop) {
  while (!bytes.empty() && !stop.load(std::memory_order_relaxed)) {
    const ssize_t got = ::recv(socket, bytes.data(), bytes.size(), 0);
    if (got == 0) return false;
    if (got > 0) bytes = bytes.subspan(static_cast<std::size_t>(got));
  }
  return bytes.empty();
}

}  // namespace plnet::baseline
