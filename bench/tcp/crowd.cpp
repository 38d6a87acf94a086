// SPDX-License-Identifier: BSD-3-Clause
#include "bench/tcp/crowd.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include <sys/resource.h>
#include <sys/socket.h>

namespace plnet::bench {

using namespace socklnd;

namespace {

std::uint32_t address_in(const lnet::Nid& nid) {
  std::uint32_t address = 0;
  for (unsigned i = 0; i < 4; ++i)
    address = address << 8U | nid.address_be[i];
  return address;
}

}  // namespace

// Reset, so that the same ports are free at once.
Crowd::~Crowd() {
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  for (const drivers::TcpSocket& socket : sockets_)
    (void)::setsockopt(socket.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

void Crowd::allow_descriptors() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &limit);
}

bool Crowd::connect(const lnet::Nid& to, std::uint16_t port, std::uint32_t from, unsigned type) {
  const auto reserved = static_cast<std::uint16_t>(kReservedPortMax + 1 - type);
  const drivers::SystemAddress here(socket_address(from, reserved));
  const drivers::SystemAddress there(socket_address(address_in(to), port));
  auto socket = drivers::open_socket(socket_address(from, 0));
  if (!socket) return false;
  if (::bind(socket->get(), here.get(), here.size) != 0) return false;
  if (::connect(socket->get(), there.get(), there.size) != 0 && errno != EINPROGRESS) return false;

  std::array<std::byte, kAcceptorV2Bytes + kHelloV4Bytes> words{};
  const std::size_t request =
      encode_acceptor_request(to, std::span(words).first<kAcceptorV2Bytes>());
  Hello hello{.source = nid_of(from), .destination = to, .source_incarnation = from};
  hello.type = static_cast<std::int32_t>(type);
  std::array<std::byte, kHelloV4Bytes> encoded{};
  const auto length = encode_hello(hello, encoded);
  if (!length) return false;
  std::copy_n(encoded.begin(), *length, words.begin() + static_cast<long>(request));
  const std::size_t all = request + *length;
  const auto sent = ::send(socket->get(), words.data(), all, MSG_NOSIGNAL);
  sockets_.push_back(std::move(*socket));
  return sent == static_cast<ssize_t>(all);
}

}  // namespace plnet::bench
