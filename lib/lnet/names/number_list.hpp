// SPDX-License-Identifier: BSD-3-Clause
// Sets of numbers in LNet's notation: "7", "*", "[1-3,7]", "[0-254/2]". They are parts of an
// address, network numbers or CPTs. Checked against lustre-release lnet/lnet/nidstrings.c:
// cfs_expr_list_parse(), cfs_range_expr_parse(), cfs_expr_list_print().
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/base/result.hpp"
#include "lib/lnet/names/text_part.hpp"

namespace plnet::lnet {

// low, low + stride, … up to high.
struct NumberRange {
  std::uint32_t low = 0;
  std::uint32_t high = 0;
  std::uint32_t stride = 1;

  [[nodiscard]] bool contains(std::uint32_t value) const {
    return value >= low && value <= high && (value - low) % stride == 0;
  }
  [[nodiscard]] std::uint64_t count() const {
    return (static_cast<std::uint64_t>(high) - low) / stride + 1;
  }
  friend bool operator==(const NumberRange&, const NumberRange&) = default;
};

struct NumberList {
  // An octet has 256 values, so more ranges are useless.
  static constexpr std::size_t kRangesMax = 256;

  std::vector<NumberRange> ranges;  // in the order written, which is the order of expansion

  [[nodiscard]] static NumberList of(std::uint32_t low, std::uint32_t high) {
    return {.ranges = {{.low = low, .high = high, .stride = 1}}};
  }
  [[nodiscard]] bool contains(std::uint32_t value) const;
  // The length of the expansion; a number written twice counts twice.
  [[nodiscard]] std::uint64_t count() const;
  // Each number once, at its first place. For lists of CPTs, which are short: their order matters,
  // since the hash of a NID is an index into it (cfs_expr_list_values()).
  [[nodiscard]] std::vector<std::uint16_t> expand() const;

  friend bool operator==(const NumberList&, const NumberList&) = default;
};

// `what` names the numbers in errors ("an address part"). Numbers that begin with 0x are
// hexadecimal and those that begin with 0 octal, as in the kernel.
[[nodiscard]] Outcome<NumberList> parse_number_list(const TextPart& part, std::uint32_t max,
                                                    std::string_view what);
[[nodiscard]] std::string text_of(const NumberList& list);

}  // namespace plnet::lnet
