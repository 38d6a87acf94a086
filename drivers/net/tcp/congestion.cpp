// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/tcp/congestion.hpp"

#include <array>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "drivers/net/tcp/socket.hpp"

namespace plnet::drivers {
namespace {

using Id = TcpTable::Id;

constexpr std::size_t kNameBytesMax = 16;  // TCP_CA_NAME_MAX in linux net/tcp.h
// Each Linux has the last one.
constexpr std::array<std::string_view, 2> kUnpaced{"cubic", "reno"};

bool paces(std::string_view name) {
  return name.starts_with("bbr");
}

bool set_congestion_control(int descriptor, std::string_view name) {
  return ::setsockopt(descriptor, IPPROTO_TCP, TCP_CONGESTION, name.data(),
                      static_cast<socklen_t>(name.size())) == 0;
}

}  // namespace

std::string congestion_control_of(int descriptor) {
  std::array<char, kNameBytesMax + 1> name{};
  socklen_t size = kNameBytesMax;
  if (::getsockopt(descriptor, IPPROTO_TCP, TCP_CONGESTION, name.data(), &size) != 0) return {};
  return name.data();
}

Outcome<void> try_congestion_control(std::string_view wanted) {
  if (wanted == TcpCongestion::kAuto || wanted == TcpCongestion::kSystem) return {};
  const TcpSocket socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP));
  if (!socket.valid() || set_congestion_control(socket.get(), wanted)) return {};
  return failure(Errc::kOutOfRange,
                 "tcp: congestion control `" + std::string(wanted) +
                     "` is not to be had, expected auto, system or one that `sysctl "
                     "net.ipv4.tcp_available_congestion_control` lists");
}

void TcpCongestion::choose(int descriptor) {
  if (wanted_ == kSystem) return;
  if (wanted_ != kAuto) {
    if (!set_congestion_control(descriptor, wanted_)) stats_.add(Id::kOptionFailures);
    return;
  }
  overruled_.clear();
  std::string given = congestion_control_of(descriptor);
  if (!paces(given)) return;
  for (const std::string_view name : kUnpaced) {
    if (!set_congestion_control(descriptor, name)) continue;
    overruled_ = std::move(given);
    return;
  }
  stats_.add(Id::kOptionFailures);
}

void TcpCongestion::settle(int descriptor) {
  if (overruled_.empty() || round_trip_of(descriptor) <= kNear) return;
  if (!set_congestion_control(descriptor, overruled_)) stats_.add(Id::kOptionFailures);
}

}  // namespace plnet::drivers
