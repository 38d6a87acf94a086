// SPDX-License-Identifier: BSD-3-Clause
// The heaviest of many in fixed memory: space-saving counting (Metwally, Agrawal, El Abbadi 2005)
// in sets of a few ways, so that one more costs a look at one set. Who is not among the heaviest of
// its set is forgotten; who is there is counted at most `error` too much.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "lib/base/hash.hpp"

namespace plnet::lnet {

template <class Key>
struct Talker {
  Key key{};
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
  std::uint64_t error = 0;  // of the messages: those of whoever had the place before
};

template <class Key, std::size_t kSets>
class TalkerTable {
  static_assert((kSets & (kSets - 1)) == 0);

 public:
  static constexpr std::size_t kWays = 4;
  using Entries = std::array<Talker<Key>, kSets * kWays>;

  void add(const Key& key, std::uint64_t messages, std::uint64_t bytes) {
    Talker<Key>* const set = &entries_[(KeyHash<Key>{}(key) & (kSets - 1)) * kWays];
    Talker<Key>* least = set;
    for (Talker<Key>* at = set; at != set + kWays; ++at) {
      if (at->messages != 0 && at->key == key) {
        at->messages += messages;
        at->bytes += bytes;
        return;
      }
      if (at->messages < least->messages) least = at;
    }
    *least = {.key = key,
              .messages = least->messages + messages,
              .bytes = bytes,
              .error = least->messages};
  }
  void clear() { entries_.fill({}); }
  // Those without messages are free.
  [[nodiscard]] const Entries& entries() const { return entries_; }

 private:
  Entries entries_{};
};

}  // namespace plnet::lnet
