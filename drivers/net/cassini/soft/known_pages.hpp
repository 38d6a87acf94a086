// SPDX-License-Identifier: BSD-3-Clause
// Parts of a mapping on demand whose pages the NIC knows: it asks for others before it uses them
// (a page request). A fixed number of parts; of too many the shortest one is forgotten, and asked
// for again.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace plnet::cassini::soft {

class KnownPages {
 public:
  static constexpr std::size_t kPartsMax = 32;

  // The length of all parts in the range that are not known.
  [[nodiscard]] std::uint64_t unknown(std::uint64_t begin, std::uint64_t end) const {
    std::uint64_t length = end - begin;
    for (const Part& part : parts()) {
      const std::uint64_t from = std::max(begin, part.begin);
      const std::uint64_t to = std::min(end, part.end);
      if (from < to) length -= to - from;
    }
    return length;
  }
  void add(std::uint64_t begin, std::uint64_t end) {
    // One part with all that it touches.
    std::size_t left = 0;
    for (const Part& part : parts()) {
      if (part.end < begin || part.begin > end) {
        parts_[left++] = part;
      } else {
        begin = std::min(begin, part.begin);
        end = std::max(end, part.end);
      }
    }
    count_ = left;
    if (count_ == kPartsMax) {
      constexpr auto kLength = [](const Part& part) { return part.end - part.begin; };
      *std::ranges::min_element(parts_, {}, kLength) = parts_.back();
      --count_;
    }
    parts_[count_++] = {begin, end};
  }

 private:
  struct Part {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
  };
  [[nodiscard]] std::span<const Part> parts() const { return {parts_.data(), count_}; }

  std::array<Part, kPartsMax> parts_{};
  std::size_t count_ = 0;
};

}  // namespace plnet::cassini::soft
