// SPDX-License-Identifier: BSD-3-Clause
// What a network interface may be called: Linux net/core/dev.c: dev_valid_name(), and the labels of
// addresses ("eth0:1"), which LNet takes where it takes an interface. Of what Linux allows, names
// with letters outside ASCII are left out: no tool that shows them agrees on what they look like.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace plnet {

inline constexpr std::size_t kInterfaceNameMax = 15;  // IFNAMSIZ less the zero
inline constexpr std::string_view kInterfaceNameExpected =
    "the name of a network interface: 1 to 15 letters, no blank and no '/'";

[[nodiscard]] constexpr bool is_interface_name(std::string_view name) {
  const auto fits = [](char letter) { return letter > ' ' && letter < '\x7f' && letter != '/'; };
  return !name.empty() && name.size() <= kInterfaceNameMax && name != "." && name != ".." &&
         std::ranges::all_of(name, fits);
}

}  // namespace plnet
