// SPDX-License-Identifier: BSD-3-Clause
// Leaks objects on purpose, so that no destructor asserts on a state that is known to be wrong.
#pragma once

#include <memory>

#if defined(__SANITIZE_ADDRESS__)
#define PLNET_FINDS_LEAKS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define PLNET_FINDS_LEAKS 1
#endif
#endif
#ifdef PLNET_FINDS_LEAKS
#include <sanitizer/lsan_interface.h>
#endif

namespace plnet::sim {

// The object and its members are no leak for LeakSanitizer.
template <class T>
void leave_for_ever(std::unique_ptr<T>& thing) {
  [[maybe_unused]] const T* const left = thing.release();
#ifdef PLNET_FINDS_LEAKS
  __lsan_ignore_object(left);
#endif
}

}  // namespace plnet::sim
