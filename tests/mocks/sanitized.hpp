// SPDX-License-Identifier: BSD-3-Clause
// How often a test repeats what it draws from seeds: less under AddressSanitizer, where all of it
// takes ten to thirty times as long. The build without it runs the whole number in every check.
#pragma once

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
  return kUnderAsan ? usual / 5 : usual;
}

}  // namespace plnet::mocks
