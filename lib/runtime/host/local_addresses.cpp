// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/host/local_addresses.hpp"

#include <cstring>
#include <memory>
#include <optional>

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

namespace plnet::runtime {
namespace {

std::optional<LocalAddress> address_of(const ifaddrs& entry) {
  if (entry.ifa_addr == nullptr || (entry.ifa_flags & IFF_LOOPBACK) != 0) return std::nullopt;
  LocalAddress found{.interface = entry.ifa_name,
                     .up = (entry.ifa_flags & IFF_UP) != 0,
                     .running = (entry.ifa_flags & IFF_RUNNING) != 0};
  if (entry.ifa_addr->sa_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, entry.ifa_addr, sizeof v4);
    std::memcpy(found.bytes_be.data(), &v4.sin_addr, sizeof v4.sin_addr);
    return found;
  }
  if (entry.ifa_addr->sa_family != AF_INET6) return std::nullopt;
  sockaddr_in6 v6{};
  std::memcpy(&v6, entry.ifa_addr, sizeof v6);
  if (IN6_IS_ADDR_LINKLOCAL(&v6.sin6_addr)) return std::nullopt;
  found.is_v6 = true;
  std::memcpy(found.bytes_be.data(), &v6.sin6_addr, sizeof v6.sin6_addr);
  return found;
}

}  // namespace

Outcome<std::vector<LocalAddress>> local_addresses(bool also_down) {
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) {
    return failure(Errc::kIo, "the addresses of this machine's interfaces cannot be read");
  }
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(first, &::freeifaddrs);
  std::vector<LocalAddress> addresses;
  for (const ifaddrs* entry = first; entry != nullptr; entry = entry->ifa_next) {
    auto address = address_of(*entry);
    if (address && (address->up || also_down)) addresses.push_back(std::move(*address));
  }
  return addresses;
}

}  // namespace plnet::runtime
