// SPDX-License-Identifier: BSD-3-Clause
// The result of an allocation: the object's number, or a positive errno.
#pragma once

#include <expected>

namespace plnet::cassini::soft {

template <class T>
using Made = std::expected<T, int>;
inline std::unexpected<int> no(int error) {
  return std::unexpected(error);
}

}  // namespace plnet::cassini::soft
