// SPDX-License-Identifier: BSD-3-Clause
// Maps a NIC address to the number of a record, bounded: open addressing in twice as many places.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "drivers/net/cassini/soft/wire.hpp"
#include "lib/base/check.hpp"

namespace plnet::cassini::soft::link {

class AddressTable {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  // Start-up only.
  explicit AddressTable(std::size_t entries)
      : places_(std::bit_ceil(entries * 2)), entries_max_(entries) {}

  [[nodiscard]] std::uint32_t find(NicAddress address) const {
    for (std::size_t at = home(address);; at = after(at)) {
      if (places_[at].record == kNone) return kNone;
      if (places_[at].address == address) return places_[at].record;
    }
  }
  // The address is not in the table, and there is room.
  void add(NicAddress address, std::uint32_t record) {
    PLNET_CHECK(count_ < entries_max_ && find(address) == kNone, "one record an address");
    std::size_t at = home(address);
    while (places_[at].record != kNone)
      at = after(at);
    places_[at] = {address, record};
    ++count_;
  }
  void remove(NicAddress address) {
    std::size_t at = home(address);
    while (places_[at].address != address || places_[at].record == kNone) {
      PLNET_CHECK(places_[at].record != kNone, "not in the table");
      at = after(at);
    }
    --count_;
    // Later entries move up, unless that would place them before their home.
    std::size_t hole = at;
    for (at = after(at); places_[at].record != kNone; at = after(at)) {
      const std::size_t mask = places_.size() - 1;
      const std::size_t from_home = (at - home(places_[at].address)) & mask;
      if (from_home < ((at - hole) & mask)) continue;
      places_[hole] = places_[at];
      hole = at;
    }
    places_[hole] = {};
  }

 private:
  struct Place {
    NicAddress address = 0;
    std::uint32_t record = kNone;
  };
  [[nodiscard]] std::size_t home(NicAddress address) const {
    return (address * 0x9e3779b1U >> 8U) & (places_.size() - 1);
  }
  [[nodiscard]] std::size_t after(std::size_t at) const { return (at + 1) & (places_.size() - 1); }

  std::vector<Place> places_;
  std::size_t entries_max_;
  std::size_t count_ = 0;
};

}  // namespace plnet::cassini::soft::link
