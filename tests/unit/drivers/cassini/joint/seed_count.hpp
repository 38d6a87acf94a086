// SPDX-License-Identifier: BSD-3-Clause
// How many seeds a test of races runs: few in every check, PLNET_CASSINI_SEEDS of them if that is
// set.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace plnet::cassini {

inline std::uint64_t seed_count(std::uint64_t usual) {
  const char* const given = std::getenv("PLNET_CASSINI_SEEDS");  // NOLINT(concurrency-mt-unsafe)
  const std::uint64_t wanted = given == nullptr ? 0 : std::strtoull(given, nullptr, 10);
  return wanted != 0 ? wanted : usual;
}

}  // namespace plnet::cassini
