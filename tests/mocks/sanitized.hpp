// SPDX-License-Identifier: BSD-3-Clause
// The number of seeds of a test: a fifth under AddressSanitizer, where a seed takes ten to thirty
// times as long. `./check --all` runs all of them in the build without sanitizers.
#pragma once

#include <algorithm>
#include <cstdint>

namespace plnet::mocks {

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kUnderAsan = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
inline constexpr bool kUnderAsan = true;
#else
inline constexpr bool kUnderAsan = false;
#endif
#else
inline constexpr bool kUnderAsan = false;
#endif

[[nodiscard]] constexpr std::uint64_t fewer_under_asan(std::uint64_t usual) {
  return kUnderAsan ? std::max((usual + 4) / 5, std::min<std::uint64_t>(usual, 3)) : usual;
}

}  // namespace plnet::mocks
