// SPDX-License-Identifier: BSD-3-Clause
// Internet addresses as text. The C library functions behind it are pure and look nothing up.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lib/lnet/names/nid.hpp"

namespace plnet::lnet {

struct IpAddress {
  std::uint8_t size = 0;  // 4 or 16
  std::array<std::uint8_t, 16> bytes_be{};

  [[nodiscard]] static IpAddress v4(std::uint32_t address);
  [[nodiscard]] bool is_v6() const { return size == 16; }
  [[nodiscard]] std::uint32_t v4_number() const;

  friend bool operator==(const IpAddress&, const IpAddress&) = default;
};

// Four decimal parts, or IPv6 in any of its notations; no names, no %scope, no leading zeros in
// IPv4 (they mean octal to some and nothing to others).
[[nodiscard]] std::optional<IpAddress> parse_ip(std::string_view text);
// IPv6 in compressed form, as LNet prints it: no brackets.
[[nodiscard]] std::string text_of(const IpAddress& address);

// The address of a NID that is 4 or 16 bytes long. Not every such NID holds an Internet address.
[[nodiscard]] std::optional<IpAddress> ip_of(const Nid& nid);
[[nodiscard]] Nid nid_of(NetId net, const IpAddress& address);

// 127.0.0.0/8, ::1, 169.254.0.0/16, fe80::/10. Such an address means nothing to other hosts; LNet's
// tools refuse it, its kernel part accepts it.
[[nodiscard]] bool is_host_local(const IpAddress& address);

}  // namespace plnet::lnet
