// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/host/link_watch.hpp"

#include <array>
#include <cerrno>
#include <cstddef>

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>
#include <unistd.h>

namespace plnet::runtime {
namespace {

// Reads of one drain(); the next call continues.
constexpr unsigned kReadsMax = 1024;

}  // namespace

LinkWatch::~LinkWatch() {
  if (socket_ >= 0) ::close(socket_);
}

Outcome<void> LinkWatch::open() {
  socket_ = ::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
  sockaddr_nl address{};
  address.nl_family = AF_NETLINK;
  address.nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR;
  if (socket_ >= 0 &&
      ::bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
    return {};
  }
  return failure(Errc::kIo, "the system sends no reports about interfaces and addresses");
}

void LinkWatch::drain() const {
  std::array<std::byte, 8192> notes{};
  for (unsigned reads = 0; reads < kReadsMax; ++reads) {
    const auto length = ::recv(socket_, notes.data(), notes.size(), 0);
    if (length < 0 && errno != ENOBUFS && errno != EINTR) return;
  }
}

}  // namespace plnet::runtime
