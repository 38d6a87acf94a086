// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/tcp/socket.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <linux/in6.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "drivers/net/tcp/congestion.hpp"

namespace plnet::drivers {

using socklnd::SocketAddress;
using socklnd::StreamAddresses;
using socklnd::StreamDetails;
using socklnd::StreamFacts;
using socklnd::StreamOptions;
using socklnd::StreamProgress;

namespace {

constexpr std::size_t kIpv4At = 12;  // in a v4-mapped address
constexpr std::array<std::uint8_t, kIpv4At> kMappedPrefix{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

std::uint64_t queue_of(int descriptor, unsigned long which) {
  int bytes = 0;
  return ::ioctl(descriptor, which, &bytes) == 0 && bytes > 0 ? static_cast<std::uint64_t>(bytes)
                                                              : 0;
}

std::uint32_t option_of(int descriptor, int level, int name) {
  int value = 0;
  socklen_t size = sizeof value;
  return ::getsockopt(descriptor, level, name, &value, &size) == 0 && value > 0
             ? static_cast<std::uint32_t>(value)
             : 0;
}

// A value that the system does not know yet stays 0.
tcp_info tcp_info_of(int descriptor) {
  tcp_info info{};
  socklen_t size = sizeof info;
  (void)::getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &size);
  return info;
}

}  // namespace

TcpSocket& TcpSocket::operator=(TcpSocket&& other) noexcept {
  if (this != &other) {
    reset();
    descriptor_ = other.release();
  }
  return *this;
}

int TcpSocket::release() {
  return std::exchange(descriptor_, -1);
}

void TcpSocket::reset() {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
}

bool is_ipv4(const SocketAddress& address) {
  return std::equal(kMappedPrefix.begin(), kMappedPrefix.end(), address.ip.begin());
}

bool is_any(const SocketAddress& address) {
  const std::size_t from = is_ipv4(address) ? kIpv4At : 0;
  return std::all_of(address.ip.begin() + from, address.ip.end(),
                     [](std::uint8_t byte) { return byte == 0; });
}

SystemAddress::SystemAddress(const SocketAddress& address) {
  if (is_ipv4(address)) {
    sockaddr_in in{};
    in.sin_family = AF_INET;
    in.sin_port = htons(address.port);
    std::memcpy(&in.sin_addr, address.ip.data() + kIpv4At, sizeof in.sin_addr);
    std::memcpy(&storage, &in, sizeof in);
    size = sizeof in;
  } else {
    sockaddr_in6 in{};
    in.sin6_family = AF_INET6;
    in.sin6_port = htons(address.port);
    std::memcpy(&in.sin6_addr, address.ip.data(), sizeof in.sin6_addr);
    std::memcpy(&storage, &in, sizeof in);
    size = sizeof in;
  }
}

SocketAddress address_of(const sockaddr_storage& storage) {
  SocketAddress address;
  if (storage.ss_family == AF_INET) {
    sockaddr_in in{};
    std::memcpy(&in, &storage, sizeof in);
    std::copy(kMappedPrefix.begin(), kMappedPrefix.end(), address.ip.begin());
    std::memcpy(address.ip.data() + kIpv4At, &in.sin_addr, sizeof in.sin_addr);
    address.port = ntohs(in.sin_port);
  } else if (storage.ss_family == AF_INET6) {
    sockaddr_in6 in{};
    std::memcpy(&in, &storage, sizeof in);
    std::memcpy(address.ip.data(), &in.sin6_addr, sizeof in.sin6_addr);
    address.port = ntohs(in.sin6_port);
  }
  return address;
}

std::string text_of(const SocketAddress& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const bool ipv4 = is_ipv4(address);
  const auto* ip = address.ip.data() + (ipv4 ? kIpv4At : 0);
  if (::inet_ntop(ipv4 ? AF_INET : AF_INET6, ip, text.data(), text.size()) == nullptr) return "?";
  std::string whole;
  if (!ipv4) whole.push_back('[');
  whole.append(text.data());
  if (!ipv4) whole.push_back(']');
  return whole.append(":").append(std::to_string(address.port));
}

Result<TcpSocket> open_socket(const SocketAddress& family_of) {
  const bool ipv4 = is_ipv4(family_of);
  TcpSocket socket(
      ::socket(ipv4 ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP));
  if (!socket.valid()) return std::unexpected(errc_of_errno(errno));
  if (!set_option(socket.get(), SOL_SOCKET, SO_REUSEADDR, 1))
    return std::unexpected(errc_of_errno(errno));
  // Peers know us by our address, so a temporary one is not used.
  if (!ipv4)
    (void)set_option(socket.get(), IPPROTO_IPV6, IPV6_ADDR_PREFERENCES, IPV6_PREFER_SRC_PUBLIC);
  return socket;
}

bool is_address_of_host(const SocketAddress& address) {
  const auto socket = open_socket(address);
  if (!socket) return true;
  // Without a limit by the range of ephemeral ports.
  (void)set_option(socket->get(), IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1);
  SocketAddress any_port = address;
  any_port.port = 0;
  const SystemAddress at(any_port);
  return ::bind(socket->get(), at.get(), at.size) == 0 || errno != EADDRNOTAVAIL;
}

bool is_on_interface(const SocketAddress& address) {
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return false;
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(first, &::freeifaddrs);
  for (const ifaddrs* each = first; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr) continue;
    const int family = each->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    sockaddr_storage storage{};
    std::memcpy(&storage, each->ifa_addr,
                family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
    if (address_of(storage).ip == address.ip) return true;
  }
  return false;
}

bool set_option(int descriptor, int level, int name, int value) {
  return ::setsockopt(descriptor, level, name, &value, sizeof value) == 0;
}

unsigned set_options(int descriptor, bool ipv4, const StreamOptions& options) {
  unsigned refused = 0;
  const auto set = [&](int level, int name, int value) {
    if (!set_option(descriptor, level, name, value)) ++refused;
  };
  set(IPPROTO_TCP, TCP_NODELAY, options.no_delay ? 1 : 0);
  // A closed socket does not linger for the peer (lustre-release socklnd_lib.c:
  // ksocknal_lib_setup_sock()).
  if (options.close_discards_unsent) set(IPPROTO_TCP, TCP_LINGER2, -1);
  if (options.send_buffer_bytes > 0) set(SOL_SOCKET, SO_SNDBUF, options.send_buffer_bytes);
  if (options.receive_buffer_bytes > 0) set(SOL_SOCKET, SO_RCVBUF, options.receive_buffer_bytes);
  if (options.keepalive_idle_s > 0 && options.keepalive_interval_s > 0 &&
      options.keepalive_count > 0) {
    set(SOL_SOCKET, SO_KEEPALIVE, 1);
    set(IPPROTO_TCP, TCP_KEEPIDLE, options.keepalive_idle_s);
    set(IPPROTO_TCP, TCP_KEEPINTVL, options.keepalive_interval_s);
    set(IPPROTO_TCP, TCP_KEEPCNT, options.keepalive_count);
  }
  if (options.type_of_service >= 0) {
    set(ipv4 ? IPPROTO_IP : IPPROTO_IPV6, ipv4 ? IP_TOS : IPV6_TCLASS, options.type_of_service);
  }
  return refused;
}

Result<StreamAddresses> addresses_of(int descriptor) {
  StreamAddresses addresses;
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  if (::getsockname(descriptor, reinterpret_cast<sockaddr*>(&storage), &size) != 0)
    return std::unexpected(errc_of_errno(errno));
  addresses.local = address_of(storage);
  size = sizeof storage;
  if (::getpeername(descriptor, reinterpret_cast<sockaddr*>(&storage), &size) != 0)
    return std::unexpected(errc_of_errno(errno));
  addresses.remote = address_of(storage);
  return addresses;
}

int take_error(int descriptor) {
  int error = 0;
  socklen_t size = sizeof error;
  if (::getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &size) != 0) return errno;
  return error;
}

std::uint64_t unacknowledged_of(int descriptor) {
  return queue_of(descriptor, SIOCOUTQ);
}

std::uint32_t burst_of(int descriptor) {
  // Linux net/ipv4/tcp.c: tcp_xmit_size_goal(), for an interface that takes 64 KiB.
  constexpr int kBurstMax = 65'215;
  int segment = 0;
  socklen_t size = sizeof segment;
  if (::getsockopt(descriptor, IPPROTO_TCP, TCP_MAXSEG, &segment, &size) != 0 || segment <= 0)
    return kUsualBurst;
  return static_cast<std::uint32_t>(std::max(kBurstMax / segment, 1) * segment);
}

Duration round_trip_of(int descriptor) {
  return std::chrono::microseconds(tcp_info_of(descriptor).tcpi_rtt);
}

StreamFacts facts_of(int descriptor) {
  const tcp_info info = tcp_info_of(descriptor);
  return {.unsent_bytes = queue_of(descriptor, SIOCOUTQNSD),
          .unacknowledged_bytes = unacknowledged_of(descriptor),
          .retransmits = info.tcpi_total_retrans,
          .round_trip_usec = info.tcpi_rtt,
          .napi_id = option_of(descriptor, SOL_SOCKET, SO_INCOMING_NAPI_ID)};
}

// Linux net/ipv4/tcp_timer.c: any answer of the peer's TCP resets both.
StreamProgress progress_of(int descriptor) {
  const tcp_info info = tcp_info_of(descriptor);
  return {.unacknowledged_bytes = unacknowledged_of(descriptor),
          .unanswered = std::max<std::uint32_t>(info.tcpi_retransmits, info.tcpi_probes)};
}

StreamDetails details_of(int descriptor) {
  const StreamFacts facts = facts_of(descriptor);
  const tcp_info info = tcp_info_of(descriptor);
  return {.addresses = addresses_of(descriptor).value_or(StreamAddresses{}),
          .unsent_bytes = facts.unsent_bytes,
          .unacknowledged_bytes = facts.unacknowledged_bytes,
          .unread_bytes = queue_of(descriptor, SIOCINQ),
          .send_buffer_bytes = option_of(descriptor, SOL_SOCKET, SO_SNDBUF),
          .receive_buffer_bytes = option_of(descriptor, SOL_SOCKET, SO_RCVBUF),
          .nagle = option_of(descriptor, IPPROTO_TCP, TCP_NODELAY) == 0,
          .retransmits = facts.retransmits,
          .round_trip_usec = facts.round_trip_usec,
          .round_trip_variance_usec = info.tcpi_rttvar,
          .congestion_control = congestion_control_of(descriptor),
          .congestion_window = info.tcpi_snd_cwnd,
          .segment_bytes = info.tcpi_snd_mss,
          .napi_id = facts.napi_id};
}

}  // namespace plnet::drivers
