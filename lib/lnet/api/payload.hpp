// SPDX-License-Identifier: BSD-3-Clause
// Bytes of a scattered buffer: a list of fragments and the window of it that a message uses.
#pragma once

#include <cstdint>
#include <span>

#include "lib/base/arena.hpp"

namespace plnet::lnet {

// The owner of the memory (an MD, a router buffer) owns the list, which outlives the message.
struct Payload {
  std::span<const Fragment> fragments;
  std::uint32_t offset = 0;  // bytes of the list to skip
  std::uint32_t length = 0;  // bytes that the message uses; 0 is possible and common

  [[nodiscard]] bool empty() const { return length == 0; }
};

// Calls visit(Fragment) for each contiguous piece of the window, in order.
template <class Visit>
void for_each_piece(const Payload& payload, Visit&& visit) {
  std::uint32_t skip = payload.offset;
  std::uint32_t left = payload.length;
  for (const Fragment& fragment : payload.fragments) {
    if (left == 0) return;
    if (skip >= fragment.length) {
      skip -= fragment.length;
      continue;
    }
    const std::uint32_t here = fragment.length - skip;
    const std::uint32_t take = here < left ? here : left;
    visit(Fragment{{fragment.at.arena, fragment.at.offset + skip}, take});
    skip = 0;
    left -= take;
  }
  PLNET_CHECK(left == 0, "payload window reaches past its fragments");
}

}  // namespace plnet::lnet
