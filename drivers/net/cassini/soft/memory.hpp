// SPDX-License-Identifier: BSD-3-Clause
// The address contexts of one resource group: translation of device addresses. They differ strongly
// from process addresses on purpose, so that a mix-up is found.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "drivers/net/cassini/soft/codes.hpp"
#include "drivers/net/cassini/soft/known_pages.hpp"
#include "lib/base/random.hpp"

namespace plnet::cassini::soft {

enum class Access : std::uint8_t { kRead = 1, kWrite = 2 };  // by the device

struct Translated {
  std::byte* memory = nullptr;
  ReturnCode code = ReturnCode::kOk;
  unsigned requests = 0;  // for pages that were not known
};

struct MapRequest {
  bool read = false;
  bool write = false;
  // Nothing is pinned: pages may be missing until the device needs them.
  bool on_demand = false;
  // Mappings of the same kind share a context while it has room, as on hardware (cass_atu.c:
  // cass_iova_alloc()).
  // Nothing: any context, so that a process that mixes up contexts is found.
  std::optional<std::uint64_t> kind{};
};

class AddressSpace {
 public:
  explicit AddressSpace(Random random) : random_(random) {}

  // A new range of device addresses in one of the contexts; the offset within the page is kept.
  // kNoContext: all of them are for mappings of other kinds.
  static constexpr unsigned kNoContext = kAddressContextsPerGroup;
  // Room of a context; a longer mapping has one of its own (cass_nta.c: ac_size_dbl).
  static constexpr std::uint64_t kContextBytes = std::uint64_t{32} << 30U;
  struct Place {
    unsigned lac = 0;
    std::uint64_t iova = 0;
  };
  [[nodiscard]] Place add(std::byte* memory, std::size_t length, const MapRequest& request);
  void remove(unsigned lac, std::uint64_t iova);
  // The pages of a part of a mapping on demand are known from now on.
  void know(unsigned lac, std::uint64_t iova, std::uint64_t length);
  // Contexts that have a mapping.
  [[nodiscard]] unsigned contexts() const;
  [[nodiscard]] bool has(unsigned lac) const {
    return lac < kAddressContextsPerGroup && !contexts_[lac].empty();
  }
  // The memory of device addresses. Length 0 needs none and succeeds.
  [[nodiscard]] Translated translate(unsigned lac, std::uint64_t iova, std::uint64_t length,
                                     Access access) const {
    if (length == 0) return {};
    const std::vector<Piece>& pieces = contexts_[lac % kAddressContextsPerGroup];
    const std::size_t last = last_[lac % kAddressContextsPerGroup];
    if (last < pieces.size() && holds(pieces[last], iova, length, access))
      return {pieces[last].memory + (iova - pieces[last].iova)};
    return search(lac, iova, length, access);
  }

 private:
  struct Piece {
    std::uint64_t iova = 0;
    std::uint64_t length = 0;
    std::byte* memory = nullptr;
    unsigned allowed = 0;               // of Access
    std::unique_ptr<KnownPages> known;  // of a mapping on demand, else null
  };
  static bool holds(const Piece& piece, std::uint64_t iova, std::uint64_t length, Access access) {
    const std::uint64_t offset = iova - piece.iova;
    return iova >= piece.iova && offset <= piece.length && length <= piece.length - offset &&
           (piece.allowed & static_cast<unsigned>(access)) != 0 && piece.known == nullptr;
  }
  [[nodiscard]] Translated search(unsigned lac, std::uint64_t iova, std::uint64_t length,
                                  Access access) const;
  [[nodiscard]] unsigned context_for(const MapRequest& request, std::uint64_t length);

  Random random_;
  std::array<std::vector<Piece>, kAddressContextsPerGroup> contexts_;  // each sorted by iova
  std::array<std::optional<std::uint64_t>, kAddressContextsPerGroup> kinds_;
  std::array<std::uint64_t, kAddressContextsPerGroup> mapped_{};      // bytes
  mutable std::array<std::size_t, kAddressContextsPerGroup> last_{};  // index of the last hit
};

}  // namespace plnet::cassini::soft
