// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/names/address_text.hpp"

#include <algorithm>

#include <arpa/inet.h>

#include "lib/base/check.hpp"

namespace plnet::lnet {

IpAddress IpAddress::v4(std::uint32_t address) {
  IpAddress result;
  result.size = 4;
  for (std::size_t i = 0; i < 4; ++i)
    result.bytes_be[i] = static_cast<std::uint8_t>(address >> (24 - 8 * i));
  return result;
}

std::uint32_t IpAddress::v4_number() const {
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < 4; ++i)
    number = number << 8 | bytes_be[i];
  return number;
}

std::optional<IpAddress> parse_ip(std::string_view text) {
  if (text.empty() || text.size() >= INET6_ADDRSTRLEN || text.contains('\0')) return std::nullopt;
  std::array<char, INET6_ADDRSTRLEN> terminated{};
  std::ranges::copy(text, terminated.begin());
  IpAddress result;
  const bool v6 = text.contains(':');
  if (inet_pton(v6 ? AF_INET6 : AF_INET, terminated.data(), result.bytes_be.data()) != 1) {
    return std::nullopt;
  }
  result.size = v6 ? 16 : 4;
  return result;
}

std::string text_of(const IpAddress& address) {
  PLNET_CHECK(address.size == 4 || address.size == 16, "an address is of one of two kinds");
  std::array<char, INET6_ADDRSTRLEN> text{};
  const char* printed = inet_ntop(address.is_v6() ? AF_INET6 : AF_INET, address.bytes_be.data(),
                                  text.data(), text.size());
  PLNET_CHECK(printed != nullptr, "the buffer holds the longest address");
  return printed;
}

std::optional<IpAddress> ip_of(const Nid& nid) {
  if (nid.is_any() || (nid.size != 0 && nid.size != Nid::kLargeSize)) return std::nullopt;
  IpAddress address;
  address.size = static_cast<std::uint8_t>(nid.size + 4);
  std::copy_n(nid.address_be.begin(), address.size, address.bytes_be.begin());
  return address;
}

Nid nid_of(NetId net, const IpAddress& address) {
  PLNET_CHECK(address.size == 4 || address.size == 16, "an address is of one of two kinds");
  Nid nid = Nid::of(type_of_net(net), number_of_net(net), 0);
  nid.size = static_cast<std::uint8_t>(address.size - 4);
  nid.address_be = address.bytes_be;
  return nid;
}

bool is_host_local(const IpAddress& address) {
  const auto& bytes = address.bytes_be;
  if (!address.is_v6()) return bytes[0] == 127 || (bytes[0] == 169 && bytes[1] == 254);
  const bool link_local = bytes[0] == 0xfe && (bytes[1] & 0xc0) == 0x80;
  const bool loopback =
      bytes[15] == 1 && std::all_of(bytes.begin(), bytes.end() - 1, [](auto b) { return b == 0; });
  return link_local || loopback;
}

}  // namespace plnet::lnet
