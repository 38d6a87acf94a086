// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace plnet::cassini::soft {

// The first row that is free, from `first` on; `end`: none is.
template <class Rows, class Free>
[[nodiscard]] unsigned first_free(const Rows& rows, unsigned first, unsigned end, Free free) {
  while (first < end && !free(rows[first]))
    ++first;
  return first;
}

}  // namespace plnet::cassini::soft
