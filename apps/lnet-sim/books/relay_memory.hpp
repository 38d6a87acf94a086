// SPDX-License-Identifier: BSD-3-Clause
// Recently forwarded messages of a node, to detect a message that passes it twice: it was
// duplicated, or routes lead in a circle.
#pragma once

#include <cstdint>
#include <vector>

#include "lib/base/hash.hpp"
#include "lib/lnet/wire/header.hpp"

namespace plnet::sim {

class RelayMemory {
 public:
  // A hash table without chains: one of this many other messages replaces an entry. A second pass
  // comes soon.
  static constexpr std::size_t kPlaces = 1U << 14U;

  explicit RelayMemory(bool routes) : places_(routes ? kPlaces : 0) {}

  // False: the message has passed before.
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
  std::vector<std::uint64_t> places_;  // empty: no message passes this node
};

}  // namespace plnet::sim
