// SPDX-License-Identifier: BSD-3-Clause
// The heaviest of many keys in fixed memory: space-saving counting (Metwally, Agrawal, El Abbadi
// 2005) in sets of a few ways, so that a new key costs a look at one set. A key that is not among
// the heaviest of its set is forgotten; the count of the others is at most `error` too high.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "lib/base/check.hpp"
#include "lib/base/hash.hpp"

namespace plnet::lnet {

struct NothingMore {};

// `More`: further data about the messages of a key since it has its place.
template <class Key, class More = NothingMore>
struct Talker {
  Key key{};
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
  std::uint64_t error = 0;  // of the messages: those of the previous keys of this place
  [[no_unique_address]] More more{};
};

template <class Key, class More = NothingMore>
class TalkerTable {
 public:
  static constexpr std::size_t kWays = 4;
  using Entry = Talker<Key, More>;
  using Entries = std::vector<Entry>;

  // Room for this many keys, a power of two.
  explicit TalkerTable(std::size_t talkers)
      : entries_(std::max(talkers, kWays)), sets_(entries_.size() / kWays) {
    PLNET_CHECK(std::has_single_bit(entries_.size()), "sets are found by bits of the hash");
  }

  More& add(const Key& key, std::uint64_t messages, std::uint64_t bytes) {
    PLNET_CHECK(messages > 0, "an entry with a key has messages");
    Entry* const set = &entries_[(KeyHash<Key>{}(key) & (sets_ - 1)) * kWays];
    Entry* least = set;
    for (Entry* at = set; at != set + kWays; ++at) {
      if (at->messages != 0 && at->key == key) {
        at->messages += messages;
        at->bytes += bytes;
        return at->more;
      }
      if (at->messages < least->messages) least = at;
    }
    *least = {.key = key,
              .messages = least->messages + messages,
              .bytes = bytes,
              .error = least->messages,
              .more = {}};
    return least->more;
  }
  void clear() { std::ranges::fill(entries_, Entry{}); }
  // Entries without messages are free.
  [[nodiscard]] const Entries& entries() const { return entries_; }

 private:
  Entries entries_;  // never grows
  const std::size_t sets_;
};

}  // namespace plnet::lnet
