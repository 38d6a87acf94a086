// SPDX-License-Identifier: BSD-3-Clause
// The number of seeds of a test: a fifth in `./check --quick`, which sets PLNET_FEW_SEEDS, and
// under AddressSanitizer, where a seed takes ten to thirty times as long. `./check --all` runs all
// of them in the build without sanitizers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>

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

[[nodiscard]] inline bool has_few_seeds() {
  return kUnderAsan || std::getenv("PLNET_FEW_SEEDS") != nullptr;  // NOLINT(concurrency-mt-unsafe)
}

[[nodiscard]] inline std::uint64_t seeds_of(std::uint64_t usual) {
  return has_few_seeds() ? std::max((usual + 4) / 5, std::min<std::uint64_t>(usual, 3)) : usual;
}

}  // namespace plnet::mocks
