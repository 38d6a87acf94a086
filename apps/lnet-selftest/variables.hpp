// SPDX-License-Identifier: BSD-3-Clause
// Environment variables of this program.
#pragma once

#include <cstdlib>
#include <string>
#include <utility>

namespace plnet::lst {

// Null: not set.
[[nodiscard]] inline const char* variable(const char* name) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): there is no other thread yet, and nobody sets one.
  return std::getenv(name);
}

// Also for an empty one.
[[nodiscard]] inline std::string variable_or(const char* name, std::string otherwise) {
  const char* const value = variable(name);
  return value != nullptr && *value != '\0' ? value : std::move(otherwise);
}

}  // namespace plnet::lst
