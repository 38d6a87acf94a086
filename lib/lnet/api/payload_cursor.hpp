// SPDX-License-Identifier: BSD-3-Clause
// The position of a transfer in a scattered buffer: the next contiguous piece, step by step.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "lib/base/check.hpp"
#include "lib/lnet/api/payload.hpp"

namespace plnet::lnet {

class PayloadCursor {
 public:
  PayloadCursor() = default;
  // The first `length` bytes of the window.
  PayloadCursor(const Payload& payload, std::uint32_t length)
      : fragments_(payload.fragments), at_(payload.offset), left_(length) {
    PLNET_CHECK(length <= payload.length, "a cursor stays in its window");
    skip_used_up();
  }

  [[nodiscard]] std::uint32_t left() const { return left_; }
  // Not at the end.
  [[nodiscard]] Fragment piece() const {
    PLNET_DEBUG_CHECK(left_ > 0 && at_ < fragments_.front().length,
                      "a cursor at its end has no piece");
    const Fragment& fragment = fragments_.front();
    return {{fragment.at.arena, fragment.at.offset + at_}, std::min(fragment.length - at_, left_)};
  }
  void advance(std::uint32_t count) {
    PLNET_CHECK(count <= left_, "a cursor stays in its window");
    left_ -= count;
    at_ += count;
    skip_used_up();
  }

 private:
  void skip_used_up() {
    while (left_ > 0 && at_ >= fragments_.front().length) {
      at_ -= fragments_.front().length;
      fragments_ = fragments_.subspan(1);
      PLNET_CHECK(!fragments_.empty(), "the window reaches past its fragments");
    }
  }

  std::span<const Fragment> fragments_;
  std::uint32_t at_ = 0;
  std::uint32_t left_ = 0;
};

}  // namespace plnet::lnet
