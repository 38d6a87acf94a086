// SPDX-License-Identifier: BSD-3-Clause
// Names of network interfaces: Linux net/core/dev.c: dev_valid_name(), and labels of addresses
// ("eth0:1"), which LNet accepts in place of interfaces. Letters outside ASCII are refused although
// Linux allows them: tools disagree on how to show them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace plnet {

inline constexpr std::size_t kInterfaceNameMax = 15;  // IFNAMSIZ without the final zero
inline constexpr std::string_view kInterfaceNameExpected =
    "the name of a network interface: 1 to 15 letters, no blank and no '/'";

[[nodiscard]] constexpr bool is_interface_name(std::string_view name) {
  const auto fits = [](char letter) { return letter > ' ' && letter < '\x7f' && letter != '/'; };
  return !name.empty() && name.size() <= kInterfaceNameMax && name != "." && name != ".." &&
         std::ranges::all_of(name, fits);
}

}  // namespace plnet
