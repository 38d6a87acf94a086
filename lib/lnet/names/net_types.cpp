// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/names/net_types.hpp"

#include <array>

namespace plnet::lnet {

namespace {

// In the kernel's order of lookup.
constexpr std::array<NetTypeInfo, 9> kNetTypes{{
    {NetType::kLoopback, "lo", AddressStyle::kNone},
    {NetType::kTcp, "tcp", AddressStyle::kIpv4Ipv6},
    {NetType::kO2ib, "o2ib", AddressStyle::kIpv4},
    {NetType::kGni, "gni", AddressStyle::kNumber},
    {NetType::kGip, "gip", AddressStyle::kIpv4},
    {NetType::kPtlf, "ptlf", AddressStyle::kNumber},
    {NetType::kKfi, "kfi", AddressStyle::kNumber},
    {NetType::kEfa, "efa", AddressStyle::kIpv4Ipv6},
    {NetType::kBxi3f, "bxi3f", AddressStyle::kNumber},
}};

}  // namespace

const NetTypeInfo* find_net_type(std::uint8_t type) {
  for (const auto& info : kNetTypes) {
    if (static_cast<std::uint8_t>(info.type) == type) return &info;
  }
  return nullptr;
}

const NetTypeInfo* find_net_type_by_prefix(std::string_view text) {
  for (const auto& info : kNetTypes) {
    if (text.starts_with(info.name)) return &info;
  }
  return nullptr;
}

}  // namespace plnet::lnet
