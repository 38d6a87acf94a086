// SPDX-License-Identifier: BSD-3-Clause
// The health of an interface by LNet's rules: lustre-release lnet/include/lnet/lib-lnet.h:
// lnet_dec_healthv_locked(), lnet_inc_healthv().
#pragma once

#include <algorithm>
#include <cstdint>

#include "lib/base/check.hpp"
#include "lib/base/relaxed.hpp"

namespace plnet::lnet {

inline constexpr std::int32_t kHealthMax = 1000;

// Several shards may write: rarely, since success leaves a healthy interface unchanged.
class HealthValue {
 public:
  [[nodiscard]] std::int32_t get() const { return value_.get(); }
  void set(std::int32_t value) { value_.set(std::clamp(value, 0, kHealthMax)); }
  // The values before and after a change.
  struct Change {
    std::int32_t from = kHealthMax;
    std::int32_t to = kHealthMax;
  };
  Change raise(std::int32_t step) { return change(step); }
  Change lower(std::int32_t step) { return change(-step); }

 private:
  Change change(std::int32_t step) {
    PLNET_DEBUG_CHECK(value_.get() >= 0 && value_.get() <= kHealthMax, "health stays in its range");
    for (;;) {
      const std::int32_t old = value_.get();
      const std::int32_t fresh = std::clamp(old + step, 0, kHealthMax);
      if (fresh == old || value_.compare_exchange(old, fresh)) return {old, fresh};
    }
  }

  Relaxed<std::int32_t> value_{kHealthMax};
};

}  // namespace plnet::lnet
