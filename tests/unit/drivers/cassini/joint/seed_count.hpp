// SPDX-License-Identifier: BSD-3-Clause
// The number of seeds of a race test: PLNET_CASSINI_SEEDS if set.
#pragma once

#include <cstdint>
#include <cstdlib>

#include "tests/mocks/seeds.hpp"

namespace plnet::cassini {

inline std::uint64_t seed_count(std::uint64_t usual) {
  const char* const given = std::getenv("PLNET_CASSINI_SEEDS");  // NOLINT(concurrency-mt-unsafe)
  const std::uint64_t wanted = given == nullptr ? 0 : std::strtoull(given, nullptr, 10);
  return wanted != 0 ? wanted : mocks::seeds_of(usual);
}

}  // namespace plnet::cassini
