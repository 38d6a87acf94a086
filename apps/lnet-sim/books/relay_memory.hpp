// SPDX-License-Identifier: BSD-3-Clause
// What a node has forwarded of late, to notice when a message comes through it a second time: it
// was doubled somewhere, or routes lead in a circle.
#pragma once

#include <cstdint>
#include <vector>

#include "lib/base/hash.hpp"
#include "lib/lnet/wire/header.hpp"

namespace plnet::sim {

class RelayMemory {
 public:
  // Each has its place, so one of so many others takes it away: who comes twice does so soon.
  static constexpr std::size_t kPlaces = 1U << 14U;

  explicit RelayMemory(bool routes) : places_(routes ? kPlaces : 0) {}

  // False: it was here before.
  [[nodiscard]] bool note(const lnet::MessageHeader& header) {
    if (places_.empty()) return true;
    std::uint64_t name = KeyHash<lnet::Nid>{}(header.source);
    name = mix_words(name ^ static_cast<std::uint64_t>(header.type),
                     KeyHash<decltype(header.type_area)>{}(header.type_area));
    std::uint64_t& place = places_[name % kPlaces];
    if (place == name) return false;
    place = name;
    return true;
  }

 private:
  std::vector<std::uint64_t> places_;  // none: nothing goes through this node
};

}  // namespace plnet::sim
