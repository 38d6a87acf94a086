// SPDX-License-Identifier: BSD-3-Clause
#include "lib/selftest/data_pattern.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "lib/base/check.hpp"

namespace plnet::selftest {

namespace {

std::uint64_t word_at(std::span<const std::byte> data, std::size_t at) {
  std::uint64_t word = 0;
  std::memcpy(&word, data.data() + at, sizeof word);
  return word;
}

// Calls visit(offset, length) for the data in each page, until it returns false.
template <class Visit>
void for_each_page(std::size_t length, std::uint32_t page_offset, Visit&& visit) {
  PLNET_CHECK(is_whole_words(length) && is_whole_words(page_offset), "made of whole words");
  std::size_t room = kPatternPageBytes - page_offset % kPatternPageBytes;
  for (std::size_t at = 0; at < length; room = kPatternPageBytes) {
    const std::size_t here = std::min(room, length - at);
    if (!visit(at, here)) return;
    at += here;
  }
}

// Compares all words without branches, at the speed of memory. A cache line at a time, each word
// into a result of its own, so that no comparison waits for another.
bool all_words_are(std::span<const std::byte> data, std::uint64_t word) {
  constexpr std::size_t kWords = 8;
  std::array<std::uint64_t, kWords> difference{};
  std::size_t at = 0;
  for (; at + kWords * kPatternWordBytes <= data.size(); at += kWords * kPatternWordBytes) {
    for (std::size_t i = 0; i < kWords; ++i)
      difference[i] |= word_at(data, at + i * kPatternWordBytes) ^ word;
  }
  for (; at < data.size(); at += kPatternWordBytes)
    difference[0] |= word_at(data, at) ^ word;
  return std::ranges::all_of(difference, [](std::uint64_t one) { return one == 0; });
}

std::optional<std::size_t> first_wrong_of_all(std::span<const std::byte> data, std::uint64_t word) {
  // A block stays in the first-level cache for a second, detailed search.
  constexpr std::size_t kBlock = 8192;
  for (std::size_t from = 0; from < data.size(); from += kBlock) {
    const auto block = data.subspan(from, std::min(kBlock, data.size() - from));
    if (all_words_are(block, word)) [[likely]]
      continue;
    std::size_t at = 0;
    while (word_at(block, at) == word)
      at += kPatternWordBytes;
    return from + at;
  }
  return std::nullopt;
}

}  // namespace

void fill_data(std::span<std::byte> data, Check check, std::uint32_t page_offset,
               std::uint64_t word) {
  const auto write = [&](std::size_t at) { std::memcpy(data.data() + at, &word, sizeof word); };
  if (check == Check::kFull) {
    PLNET_CHECK(is_whole_words(data.size()), "made of whole words");
    for (std::size_t at = 0; at < data.size(); at += kPatternWordBytes)
      write(at);
  } else if (check == Check::kSimple) {
    for_each_page(data.size(), page_offset, [&](std::size_t at, std::size_t length) {
      write(at);
      write(at + length - kPatternWordBytes);
      return true;
    });
  }
}

std::optional<std::size_t> first_wrong_word(std::span<const std::byte> data, Check check,
                                            std::uint32_t page_offset, std::uint64_t word) {
  if (check == Check::kFull) {
    PLNET_CHECK(is_whole_words(data.size()), "made of whole words");
    return first_wrong_of_all(data, word);
  }
  std::optional<std::size_t> wrong;
  if (check != Check::kSimple) return wrong;
  for_each_page(data.size(), page_offset, [&](std::size_t at, std::size_t length) {
    const std::size_t last = at + length - kPatternWordBytes;
    if (word_at(data, at) != word) {
      wrong = at;
    } else if (word_at(data, last) != word) {
      wrong = last;
    }
    return !wrong.has_value();
  });
  return wrong;
}

}  // namespace plnet::selftest
