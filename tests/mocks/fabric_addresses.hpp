// SPDX-License-Identifier: BSD-3-Clause
// Fabric addresses of Slingshot sites: 20 bits, of which the upper 9 are the group, the next 5 the
// switch and the lower 6 its port.
#pragma once

#include <array>
#include <cstdint>
#include <set>
#include <string_view>
#include <vector>

#include "lib/base/random.hpp"
#include "lib/lnet/names/nid.hpp"

namespace plnet::tests {

enum class AddressPattern : std::uint8_t {
  kDense,      // port by port
  kSparse,     // one NIC on each switch
  kGroupwise,  // the first 16 ports of the first switches of each group
  kRandom,
};
inline constexpr auto kAddressPatterns =
    std::to_array<AddressPattern>({AddressPattern::kDense, AddressPattern::kSparse,
                                   AddressPattern::kGroupwise, AddressPattern::kRandom});

constexpr std::string_view name_of(AddressPattern pattern) {
  constexpr auto kNames =
      std::to_array<std::string_view>({"dense", "sparse", "group-wise", "random"});
  return kNames[static_cast<std::size_t>(pattern)];
}

// `count` different addresses, as NIDs of kfi. At most 16384.
inline std::vector<lnet::Nid> fabric_nids(AddressPattern pattern, std::uint32_t count) {
  constexpr std::uint32_t kPortsOfSwitch = 64;
  constexpr std::uint32_t kPortsOfGroup = 2048;
  constexpr std::uint32_t kUsedOfSwitch = 16;
  constexpr std::uint32_t kUsedOfGroup = 128;
  constexpr std::uint32_t kAddresses = 1U << 20U;
  Random random(1);
  std::set<std::uint32_t> drawn;
  std::vector<lnet::Nid> nids;
  for (std::uint32_t n = 0; nids.size() < count; ++n) {
    std::uint32_t address = n;
    if (pattern == AddressPattern::kSparse) address = n * kPortsOfSwitch + 1;
    if (pattern == AddressPattern::kGroupwise) {
      const std::uint32_t in_group = n % kUsedOfGroup;
      address = n / kUsedOfGroup * kPortsOfGroup + in_group / kUsedOfSwitch * kPortsOfSwitch +
                in_group % kUsedOfSwitch;
    }
    if (pattern == AddressPattern::kRandom) {
      address = static_cast<std::uint32_t>(random.below(kAddresses));
      if (!drawn.insert(address).second) continue;
    }
    nids.push_back(lnet::Nid::of(lnet::NetType::kKfi, 0, address));
  }
  return nids;
}

}  // namespace plnet::tests
