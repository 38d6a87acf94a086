// SPDX-License-Identifier: BSD-3-Clause
#include "lib/base/check.hpp"

#include <cstdio>
#include <cstdlib>

namespace plnet {

void check_failed(const char* file, int line, const char* expression, const char* why) noexcept {
  std::fprintf(stderr, "plnet: bug at %s:%d: %s (%s)\n", file, line, why, expression);
  std::fflush(stderr);
  std::abort();
}

}  // namespace plnet
