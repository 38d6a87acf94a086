// SPDX-License-Identifier: BSD-3-Clause
#include "lib/selftest/data_pattern.hpp"

#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/lib/lnet/vectors.hpp"

namespace plnet::selftest::data_pattern_test {
namespace {

namespace vectors = lnet::vectors;
using vectors::Json;

class Buffer {
 public:
  explicit Buffer(std::size_t length, std::uint64_t background = kDataPoison)
      : words_(length / kPatternWordBytes, background) {}

  [[nodiscard]] std::span<std::byte> bytes() { return std::as_writable_bytes(std::span(words_)); }
  [[nodiscard]] std::set<std::size_t> places_of(std::uint64_t word) const {
    std::set<std::size_t> places;
    for (std::size_t i = 0; i < words_.size(); ++i) {
      if (words_[i] == word) places.insert(i * kPatternWordBytes);
    }
    return places;
  }
  std::uint64_t& word_at(std::size_t offset) { return words_[offset / kPatternWordBytes]; }

 private:
  std::vector<std::uint64_t> words_;
};

TEST(DataPattern, EveryVector) {
  std::size_t seen = 0;
  for (const Json& vector : vectors::load("selftest")) {
    if (vector["struct"].get<std::string>() != "data_pattern") continue;
    SCOPED_TRACE(vectors::name(vector));
    ++seen;
    const auto check = static_cast<Check>(vectors::word(vector, "pattern"));
    const auto offset = vectors::word(vector, "first_fragment_offset");
    ASSERT_EQ(vectors::word(vector, "fragment_size"), kPatternPageBytes);
    Buffer buffer(vectors::word(vector, "length"), vectors::number(vector, "background"));
    fill_data(buffer.bytes(), check, offset, vectors::number(vector, "magic"));
    const auto places = buffer.places_of(kDataMagic);
    EXPECT_EQ(places.size(), vectors::number(vector, "magic_words"));
    if (vector["fields"].contains("magic_offsets")) {
      EXPECT_EQ(places, vector["fields"]["magic_offsets"].get<std::set<std::size_t>>());
    }
    if (vector["fields"].contains("magic_offsets_rule")) {
      for (const std::size_t place : places)
        EXPECT_TRUE(place % kPatternPageBytes == 0 || place % kPatternPageBytes == 4088);
    }
    const std::string hex = vectors::hex(vector);
    if (!hex.empty()) {
      EXPECT_EQ(vectors::to_hex(buffer.bytes()), hex);
    }
    EXPECT_EQ(first_wrong_word(buffer.bytes(), check, offset, kDataMagic), std::nullopt);
  }
  EXPECT_EQ(seen, 18U);
}

TEST(DataPattern, TheWordsOfBothByteOrders) {
  const std::map<std::string, std::uint64_t> words = {{"pattern/word", magic_of(false)},
                                                      {"pattern/word-swapped-peer", magic_of(true)},
                                                      {"pattern/poison", kDataPoison}};
  std::size_t seen = 0;
  for (const Json& vector : vectors::load("selftest")) {
    if (!words.contains(vectors::name(vector))) continue;
    EXPECT_EQ(vectors::hex_of(words.at(vectors::name(vector))), vectors::hex(vector));
    ++seen;
  }
  EXPECT_EQ(seen, words.size());
}

TEST(DataPattern, EveryWrongCheckedWordIsFound) {
  constexpr std::size_t kLength = 20'000;
  Buffer filled(kLength);
  for (const auto check : {Check::kSimple, Check::kFull}) {
    fill_data(filled.bytes(), check, 64, kDataMagic);
    const auto places = filled.places_of(kDataMagic);
    for (std::size_t at = 0; at < kLength; at += kPatternWordBytes) {
      const std::uint64_t before = filled.word_at(at);
      filled.word_at(at) ^= std::uint64_t{1} << (at % 64);
      const auto wrong = first_wrong_word(filled.bytes(), check, 64, kDataMagic);
      if (places.contains(at)) {
        EXPECT_EQ(wrong, at);
      } else {
        EXPECT_EQ(wrong, std::nullopt);
      }
      filled.word_at(at) = before;
    }
  }
}

TEST(DataPattern, TheFirstOfSeveralIsNamed) {
  Buffer buffer(1U << 16);
  fill_data(buffer.bytes(), Check::kFull, 0, kDataMagic);
  buffer.word_at(40'000) = kDataPoison;
  buffer.word_at(30'000) = 0;
  EXPECT_EQ(first_wrong_word(buffer.bytes(), Check::kFull, 0, kDataMagic), 30'000U);
}

TEST(DataPattern, WithoutACheckDataIsNeitherWrittenNorRead) {
  Buffer buffer(8192);
  for (const auto check : {Check::kNone, Check::kDiscard, static_cast<Check>(9)}) {
    fill_data(buffer.bytes(), check, 0, kDataMagic);
    EXPECT_TRUE(buffer.places_of(kDataMagic).empty());
    EXPECT_EQ(first_wrong_word(buffer.bytes(), check, 0, kDataMagic), std::nullopt);
  }
  fill_data({}, Check::kFull, 0, kDataMagic);
  EXPECT_EQ(first_wrong_word({}, Check::kSimple, 0, kDataMagic), std::nullopt);
}

TEST(DataPattern, FullyFilledPassesEveryCheck) {
  Buffer buffer(12'344);
  fill_data(buffer.bytes(), Check::kFull, 0, magic_of(true));
  for (const std::uint32_t offset : {0U, 8U, 4088U, 4096U, 5000U}) {
    EXPECT_EQ(first_wrong_word(buffer.bytes(), Check::kSimple, offset, magic_of(true)),
              std::nullopt);
    EXPECT_EQ(first_wrong_word(buffer.bytes(), Check::kSimple, offset, magic_of(false)), 0U);
  }
}

}  // namespace
}  // namespace plnet::selftest::data_pattern_test
