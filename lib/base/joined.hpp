// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>
#include <type_traits>

namespace plnet {

// Texts or whole numbers with `gap` between them. Replaces fmt::join(), for which gcc 12 warns at
// -O3 of an overflow that cannot happen.
template <class Items>
[[nodiscard]] std::string joined(const Items& items, std::string_view gap) {
  std::string text;
  bool first = true;
  for (const auto& item : items) {
    if (!first) text += gap;
    first = false;
    if constexpr (std::is_integral_v<std::remove_cvref_t<decltype(item)>>) {
      text += std::to_string(item);
    } else {
      text += item;
    }
  }
  return text;
}

}  // namespace plnet
