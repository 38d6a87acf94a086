// SPDX-License-Identifier: BSD-3-Clause
// Bytes of an input, read as decisions. Beyond its end every decision is 0.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include <gtest/gtest.h>

namespace plnet::fuzz {

class Script {
 public:
  Script(const std::uint8_t* data, std::size_t size) : rest_(data, size) {}

  [[nodiscard]] bool empty() const { return rest_.empty(); }
  std::uint8_t byte() {
    if (rest_.empty()) return 0;
    const std::uint8_t first = rest_.front();
    rest_ = rest_.subspan(1);
    return first;
  }
  std::uint32_t below(std::uint32_t bound) { return byte() % bound; }
  // The top value of a byte stands for any number.
  template <class T>
  T number() {
    T value = byte();
    if (value != 255) return value;
    for (std::size_t i = 0; i < sizeof(T); ++i)
      value = static_cast<T>(value * 256U + byte());
    return value;
  }
  std::span<const std::byte> bytes(std::size_t count) {
    const auto taken = rest_.first(std::min(count, rest_.size()));
    rest_ = rest_.subspan(taken.size());
    return std::as_bytes(taken);
  }

 private:
  std::span<const std::uint8_t> rest_;
};

// A failed expectation of a fixture ends the run, so that its input is kept.
inline void end_at_failures() {
  GTEST_FLAG_SET(throw_on_failure, true);
}

}  // namespace plnet::fuzz
