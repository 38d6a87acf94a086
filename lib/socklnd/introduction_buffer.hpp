// SPDX-License-Identifier: BSD-3-Clause
// Collects the first bytes of a connection, stage by stage: never more than the stage needs, so
// that later bytes stay in the stream.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "lib/base/check.hpp"

namespace plnet::socklnd {

template <std::size_t kBytesMax>
class IntroductionBuffer {
  static_assert(kBytesMax <= UINT8_MAX);

 public:
  explicit IntroductionBuffer(std::size_t wanted) { want(wanted); }

  // The number of bytes from the first one on.
  void want(std::size_t bytes) {
    PLNET_CHECK(bytes <= kBytesMax && bytes >= have_, "a stage begins where the last one ended");
    wanted_ = static_cast<std::uint8_t>(bytes);
  }
  // Takes the bytes that the stages need and returns their number. `advance` is called at the end
  // of each stage; it wants more, or makes `reading` false.
  template <class Reading, class Advance>
  std::size_t take(std::span<const std::byte> bytes, Reading&& reading, Advance&& advance) {
    std::size_t used = 0;
    while (reading()) {
      PLNET_DEBUG_CHECK(have_ <= wanted_, "a stage reads no more than it needs");
      const std::size_t count = std::min<std::size_t>(wanted_ - have_, bytes.size() - used);
      if (count > 0) std::memcpy(bytes_.data() + have_, bytes.data() + used, count);
      have_ = static_cast<std::uint8_t>(have_ + count);
      used += count;
      if (have_ < wanted_) break;
      advance();
    }
    return used;
  }
  [[nodiscard]] bool empty() const { return have_ == 0; }
  [[nodiscard]] std::span<const std::byte> bytes() const { return std::span(bytes_).first(have_); }

 private:
  std::array<std::byte, kBytesMax> bytes_;
  std::uint8_t have_ = 0;
  std::uint8_t wanted_ = 0;
};

}  // namespace plnet::socklnd
