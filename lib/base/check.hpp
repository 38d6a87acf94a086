// SPDX-License-Identifier: BSD-3-Clause
// Assertions for bugs of ours, never for bad input. PLNET_CHECK stays in every build.
// PLNET_DEBUG_CHECK is for checks that cost too much on the message path; sanitizer builds enable
// it.
#pragma once

namespace plnet {

// Prints one line (place, expression, reason) and aborts.
[[noreturn]] void check_failed(const char* file, int line, const char* expression,
                               const char* why) noexcept;

}  // namespace plnet

#define PLNET_CHECK(expression, why) \
  ((expression) ? (void)0 : ::plnet::check_failed(__FILE__, __LINE__, #expression, why))

#ifdef PLNET_DEBUG_CHECKS
#define PLNET_DEBUG_CHECK(expression, why) PLNET_CHECK(expression, why)
#else
#define PLNET_DEBUG_CHECK(expression, why) ((void)sizeof(expression))
#endif
