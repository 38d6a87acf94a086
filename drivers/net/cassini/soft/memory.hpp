// SPDX-License-Identifier: BSD-3-Clause
// The address contexts of one resource group: what a device address means. Addresses of the device
// lie far from those of the process on purpose, so that one taken for the other is found.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "drivers/net/cassini/soft/codes.hpp"
#include "lib/base/random.hpp"

namespace plnet::cassini::soft {

enum class Access : std::uint8_t { kRead = 1, kWrite = 2 };  // by the device

struct Translated {
  std::byte* memory = nullptr;
  ReturnCode code = ReturnCode::kOk;
};

class AddressSpace {
 public:
  explicit AddressSpace(Random random) : random_(random) {}

  // A fresh range of device addresses in one of the contexts; a page's offset stays as it is.
  struct Place {
    unsigned lac = 0;
    std::uint64_t iova = 0;
  };
  [[nodiscard]] Place add(std::byte* memory, std::size_t length, bool read, bool write);
  void remove(unsigned lac, std::uint64_t iova);
  // Other memory behind the same device addresses.
  void replace(unsigned lac, std::uint64_t iova, std::byte* memory, std::size_t length);
  // Contexts that have a mapping.
  [[nodiscard]] unsigned contexts() const;
  [[nodiscard]] bool has(unsigned lac) const {
    return lac < kAddressContextsPerGroup && !contexts_[lac].empty();
  }
  // Where the device's bytes are. Length 0 is nowhere, and that is all right.
  [[nodiscard]] Translated translate(unsigned lac, std::uint64_t iova, std::uint64_t length,
                                     Access access) const {
    if (length == 0) return {};
    const std::vector<Piece>& pieces = contexts_[lac % kAddressContextsPerGroup];
    const std::size_t last = last_[lac % kAddressContextsPerGroup];
    if (last < pieces.size() && holds(pieces[last], iova, length, access))
      return {pieces[last].memory + (iova - pieces[last].iova), ReturnCode::kOk};
    return search(lac, iova, length, access);
  }

 private:
  struct Piece {
    std::uint64_t iova = 0;
    std::uint64_t length = 0;
    std::byte* memory = nullptr;
    unsigned allowed = 0;  // of Access
  };
  static bool holds(const Piece& piece, std::uint64_t iova, std::uint64_t length, Access access) {
    const std::uint64_t offset = iova - piece.iova;
    return iova >= piece.iova && offset <= piece.length && length <= piece.length - offset &&
           (piece.allowed & static_cast<unsigned>(access)) != 0;
  }
  [[nodiscard]] Translated search(unsigned lac, std::uint64_t iova, std::uint64_t length,
                                  Access access) const;

  Random random_;
  std::array<std::vector<Piece>, kAddressContextsPerGroup> contexts_;  // each sorted by iova
  mutable std::array<std::size_t, kAddressContextsPerGroup> last_{};   // where the last one was
};

}  // namespace plnet::cassini::soft
