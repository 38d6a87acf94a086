// SPDX-License-Identifier: BSD-3-Clause
// Maps a 64-bit key to the number of a record: open addressing in memory that is allocated once.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "lib/base/check.hpp"

namespace plnet::cassini::soft {

class KeyTable {
 public:
  static constexpr std::uint16_t kNone = UINT16_MAX;

  // Start-up only.
  explicit KeyTable(std::size_t entries)
      : places_(std::bit_ceil(entries * 2 + 1)), entries_max_(entries) {}

  [[nodiscard]] std::uint16_t find(std::uint64_t key) const {
    for (std::size_t at = home(key);; at = after(at)) {
      if (places_[at].record == kNone) return kNone;
      if (places_[at].key == key) return places_[at].record;
    }
  }
  // The key is not in the table, and there is room.
  void add(std::uint64_t key, std::uint16_t record) {
    PLNET_CHECK(count_ < entries_max_ && record != kNone, "a table has room for all records");
    std::size_t at = home(key);
    while (places_[at].record != kNone)
      at = after(at);
    places_[at] = {key, record};
    ++count_;
  }
  void remove(std::uint64_t key) {
    std::size_t at = home(key);
    while (places_[at].key != key || places_[at].record == kNone) {
      PLNET_CHECK(places_[at].record != kNone, "only what is in the table is removed");
      at = after(at);
    }
    --count_;
    // Later entries move up, unless that would place them before their home.
    std::size_t hole = at;
    for (at = after(at); places_[at].record != kNone; at = after(at)) {
      const std::size_t mask = places_.size() - 1;
      if (((at - home(places_[at].key)) & mask) < ((at - hole) & mask)) continue;
      places_[hole] = places_[at];
      hole = at;
    }
    places_[hole] = {};
  }
  [[nodiscard]] std::size_t count() const { return count_; }

 private:
  struct Place {
    std::uint64_t key = 0;
    std::uint16_t record = kNone;
  };
  [[nodiscard]] std::size_t home(std::uint64_t key) const {
    return (key * 0x9e3779b97f4a7c15U >> 40U) & (places_.size() - 1);
  }
  [[nodiscard]] std::size_t after(std::size_t at) const { return (at + 1) & (places_.size() - 1); }

  std::vector<Place> places_;
  std::size_t entries_max_;
  std::size_t count_ = 0;
};

}  // namespace plnet::cassini::soft
