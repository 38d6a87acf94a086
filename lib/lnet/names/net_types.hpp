// SPDX-License-Identifier: BSD-3-Clause
// The named network types, and the form of their addresses. Checked against lustre-release
// lnet/lnet/nidstrings.c: libcfs_netstrfns[].
#pragma once

#include <cstdint>
#include <string_view>

#include "lib/lnet/names/nid.hpp"

namespace plnet::lnet {

enum class AddressStyle : std::uint8_t {
  kNone,      // loopback: any text means 0
  kIpv4,      // a.b.c.d
  kIpv4Ipv6,  // either
  kNumber,    // decimal, or hexadecimal after 0x
};

struct NetTypeInfo {
  NetType type;
  std::string_view name;
  AddressStyle addresses;
};

// Null for a type without a name. Routers pass such NIDs on unchanged.
[[nodiscard]] const NetTypeInfo* find_net_type(std::uint8_t type);
// The type whose name begins `text`. Names may contain digits (o2ib, bxi3f), so the first digit
// does not mark the network number.
[[nodiscard]] const NetTypeInfo* find_net_type_by_prefix(std::string_view text);

// "tcp, o2ib, …": for messages that name the expected form.
inline constexpr std::string_view kNetTypeNames = "lo, tcp, o2ib, gni, gip, ptlf, kfi, efa, bxi3f";

}  // namespace plnet::lnet
