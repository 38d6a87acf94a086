// SPDX-License-Identifier: BSD-3-Clause
// The content of tests' bulk data: a word of 8 bytes, at both ends of every page or everywhere. The
// source writes it; the sink first writes another word and then compares. Checked against
// lustre-release v2_17_0 lnet/selftest/brw_test.c: brw_fill_page(), brw_check_page().
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "lib/selftest/srpc_tests.hpp"

namespace plnet::selftest {

inline constexpr std::uint64_t kDataMagic = 0xeeb0eeb1eeb2eeb3;  // in the source's byte order
// content of a sink before the transfer
inline constexpr std::uint64_t kDataPoison = 0xbeefbeefbeefbeef;
inline constexpr std::uint32_t kPatternPageBytes = 4096;
inline constexpr std::size_t kPatternWordBytes = 8;

// The word in the sink's byte order.
[[nodiscard]] constexpr std::uint64_t magic_of(bool swapped) {
  return swapped ? std::byteswap(kDataMagic) : kDataMagic;
}

// Lengths and offsets are whole words: kernels crash on others, so all checks refuse them.
[[nodiscard]] constexpr bool is_whole_words(std::uint64_t bytes) {
  return bytes % kPatternWordBytes == 0;
}

// `page_offset`: of the first byte in its page; the data continues at the start of the next pages.
// kNone and kDiscard write nothing.
void fill_data(std::span<std::byte> data, Check check, std::uint32_t page_offset,
               std::uint64_t word);

// The offset of the first wrong word among those that `check` covers; nothing: no error found.
[[nodiscard]] std::optional<std::size_t> first_wrong_word(std::span<const std::byte> data,
                                                          Check check, std::uint32_t page_offset,
                                                          std::uint64_t word);

}  // namespace plnet::selftest
