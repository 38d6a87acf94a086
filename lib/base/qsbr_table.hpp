// SPDX-License-Identifier: BSD-3-Clause
// A hash table that is read often and written rarely: one writer, any number of readers that never
// wait and write nothing. Fixed capacity, allocated at start.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>

#include "lib/base/cache_line.hpp"
#include "lib/base/check.hpp"
#include "lib/base/hash.hpp"
#include "lib/base/prefetch.hpp"
#include "lib/base/qsbr.hpp"
#include "lib/base/result.hpp"

namespace plnet {

// Open addressing over words {part of the hash, number of an entry}. The key and value lie in the
// entry, whose key does not change while a reader may look. Erased entries return through QSBR.
// Erasing leaves tombstones; when too many slots are used up, the words are rewritten into a second
// array, which is then published.
//
// A reader is online in the given Qsbr and may use the values that it found until its next
// quiescent point. Values are pointers or other small objects. The caller owns the objects that
// values point to: retire them with the same Qsbr after erase or replace.
template <class Key, class Value, class Hash = KeyHash<Key>>
class QsbrTable {
  static_assert(std::is_trivially_copyable_v<Key> && std::is_trivially_copyable_v<Value>);
  static_assert(std::atomic<Value>::is_always_lock_free, "readers must not wait");

 public:
  // Room for `capacity` keys. Allocates about 80 bytes a key and two copies of it; start-up only.
  QsbrTable(std::size_t capacity, Qsbr& qsbr, Hash hash = {})
      : capacity_(capacity),
        mask_(std::bit_ceil(capacity * 2) - 1),
        hash_(hash),
        qsbr_(qsbr),
        entries_(std::make_unique<Entry[]>(entries())),
        free_(std::make_unique<std::uint32_t[]>(entries())),
        leaving_(std::make_unique<Leaving[]>(entries())) {
    PLNET_CHECK(capacity > 0 && capacity <= kCapacityMax, "table capacity out of range");
    for (Words& words : words_)
      words = std::make_unique<std::atomic<std::uint64_t>[]>(mask_ + 1);
    for (std::size_t i = 0; i < entries(); ++i)
      free_[i] = static_cast<std::uint32_t>(entries() - 1 - i);
    free_count_ = entries();
    active_.store(words_[0].get(), std::memory_order_release);
  }
  QsbrTable(const QsbrTable&) = delete;
  QsbrTable& operator=(const QsbrTable&) = delete;

  // Reader, wait-free.
  [[nodiscard]] std::optional<Value> lookup(const Key& key) const {
    return lookup(key, hash_(key));
  }
  // For callers that look up many keys at a time and have other work meanwhile: prefetches the
  // cache lines that a lookup needs one after the other. Call prepare() for all keys, then
  // approach() for all, then lookup() with the result of prepare().
  [[nodiscard]] std::uint64_t prepare(const Key& key) const {
    const std::uint64_t hash = hash_(key);
    prefetch(&active_.load(std::memory_order_acquire)[hash & mask_]);
    return hash;
  }
  void approach(std::uint64_t hash) const {
    const std::uint64_t word =
        active_.load(std::memory_order_acquire)[hash & mask_].load(std::memory_order_acquire);
    if (word > kTombstone) prefetch(&entries_[entry_of(word)]);
  }
  [[nodiscard]] std::optional<Value> lookup(const Key& key, std::uint64_t hash) const {
    const std::atomic<std::uint64_t>* words = active_.load(std::memory_order_acquire);
    for (std::size_t at = hash & mask_, steps = 0; steps <= mask_; at = (at + 1) & mask_, ++steps) {
      const std::uint64_t word = words[at].load(std::memory_order_acquire);
      if (word == kEmpty) return std::nullopt;
      if (tag_of(word) != tag_of(hash) || word == kTombstone) continue;
      const Entry& entry = entries_[entry_of(word)];
      if (entry.key == key) return entry.value.load(std::memory_order_acquire);
    }
    return std::nullopt;
  }

  // Writer only from here on.

  // kExists if the key is present; kNoSpace if the table has `capacity` keys; kAgain if room
  // returns only after readers have been quiescent.
  [[nodiscard]] Result<void> insert(const Key& key, Value value) {
    const std::uint64_t hash = hash_(key);
    if (find(hash, key) != kNowhere) return std::unexpected(Errc::kExists);
    if (size_ == capacity_) return std::unexpected(Errc::kNoSpace);
    if (spoilt() > spoilt_max() && !rebuild() && spoilt() == mask_)
      return std::unexpected(Errc::kAgain);  // the last empty slot ends every search
    take_back_entries();
    if (free_count_ == 0) return std::unexpected(Errc::kAgain);
    const std::uint32_t index = free_[--free_count_];
    entries_[index].key = key;
    entries_[index].value.store(value, std::memory_order_relaxed);
    place(active_.load(std::memory_order_relaxed), hash, index);
    ++size_;
    return {};
  }

  // Returns the old value. kNotFound if the key is missing.
  [[nodiscard]] Result<Value> replace(const Key& key, Value value) {
    const std::size_t at = find(hash_(key), key);
    if (at == kNowhere) return std::unexpected(Errc::kNotFound);
    return entry_at(at).value.exchange(value, std::memory_order_acq_rel);
  }

  // Returns the removed value. kNotFound if the key is missing.
  [[nodiscard]] Result<Value> erase(const Key& key) {
    const std::size_t at = find(hash_(key), key);
    if (at == kNowhere) return std::unexpected(Errc::kNotFound);
    auto* words = active_.load(std::memory_order_relaxed);
    const auto index = entry_of(words[at].load(std::memory_order_relaxed));
    const Value old = entries_[index].value.load(std::memory_order_relaxed);
    words[at].store(kTombstone, std::memory_order_release);
    ++tombstones_;
    // Tombstones at the end of a run are not needed: no search continues past them.
    if (words[(at + 1) & mask_].load(std::memory_order_relaxed) == kEmpty) {
      for (std::size_t last = at; words[last].load(std::memory_order_relaxed) == kTombstone;
           last = (last - 1) & mask_) {
        words[last].store(kEmpty, std::memory_order_release);
        --tombstones_;
      }
    }
    leaving_[leaving_tail_++ % entries()] = {index, qsbr_.begin_grace()};
    --size_;
    return old;
  }

  // Calls visit(key, value) for every key, in no order.
  template <class Visit>
  void for_each(Visit&& visit) const {
    const auto* words = active_.load(std::memory_order_relaxed);
    for (std::size_t at = 0; at <= mask_; ++at) {
      const std::uint64_t word = words[at].load(std::memory_order_relaxed);
      if (word == kEmpty || word == kTombstone) continue;
      const Entry& entry = entries_[entry_of(word)];
      visit(entry.key, entry.value.load(std::memory_order_relaxed));
    }
  }

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::size_t capacity() const { return capacity_; }
  [[nodiscard]] std::size_t tombstones() const { return tombstones_; }
  [[nodiscard]] std::size_t rebuilds() const { return rebuilds_; }

 private:
  // Low half: number of the entry plus 2; high half: high half of the hash.
  static constexpr std::uint64_t kEmpty = 0;
  static constexpr std::uint64_t kTombstone = 1;
  static constexpr std::uint32_t kFirstEntry = 2;
  static constexpr std::size_t kNowhere = SIZE_MAX;
  static constexpr std::size_t kCapacityMax = std::size_t{1} << 30;  // entry numbers are 32 bits

  struct Entry {
    Key key{};
    std::atomic<Value> value{};
  };
  struct Leaving {
    std::uint32_t index = 0;
    Qsbr::Grace grace = 0;
  };
  using Words = std::unique_ptr<std::atomic<std::uint64_t>[]>;

  static std::uint64_t tag_of(std::uint64_t hash_or_word) { return hash_or_word >> 32; }
  static std::uint32_t entry_of(std::uint64_t word) {
    return static_cast<std::uint32_t>(word) - kFirstEntry;
  }
  // Twice the capacity: as many entries may wait for readers as are in use.
  [[nodiscard]] std::size_t entries() const { return capacity_ * 2; }
  [[nodiscard]] std::size_t spoilt() const { return size_ + tombstones_; }
  [[nodiscard]] std::size_t spoilt_max() const { return (mask_ + 1) / 4 * 3; }

  [[nodiscard]] Entry& entry_at(std::size_t at) {
    return entries_[entry_of(
        active_.load(std::memory_order_relaxed)[at].load(std::memory_order_relaxed))];
  }

  [[nodiscard]] std::size_t find(std::uint64_t hash, const Key& key) const {
    const auto* words = active_.load(std::memory_order_relaxed);
    for (std::size_t at = hash & mask_;; at = (at + 1) & mask_) {
      const std::uint64_t word = words[at].load(std::memory_order_relaxed);
      if (word == kEmpty) return kNowhere;
      if (word == kTombstone || tag_of(word) != tag_of(hash)) continue;
      if (entries_[entry_of(word)].key == key) return at;
    }
  }

  // The key is not in the table, so the first free slot is right.
  void place(std::atomic<std::uint64_t>* words, std::uint64_t hash, std::uint32_t index) {
    std::size_t at = hash & mask_;
    for (;; at = (at + 1) & mask_) {
      const std::uint64_t word = words[at].load(std::memory_order_relaxed);
      if (word == kTombstone) --tombstones_;
      if (word == kEmpty || word == kTombstone) break;
    }
    words[at].store((tag_of(hash) << 32) | (index + kFirstEntry), std::memory_order_release);
  }

  void take_back_entries() {
    while (leaving_head_ != leaving_tail_) {
      const Leaving& oldest = leaving_[leaving_head_ % entries()];
      if (!qsbr_.passed(oldest.grace)) return;
      free_[free_count_++] = oldest.index;
      ++leaving_head_;
    }
  }

  // False if readers may still use the other array.
  bool rebuild() {
    if (!qsbr_.passed(spare_free_at_)) return false;
    const auto* old = active_.load(std::memory_order_relaxed);
    auto* fresh = words_[old == words_[0].get() ? 1 : 0].get();
    for (std::size_t at = 0; at <= mask_; ++at)
      fresh[at].store(kEmpty, std::memory_order_relaxed);
    tombstones_ = 0;
    for (std::size_t at = 0; at <= mask_; ++at) {
      const std::uint64_t word = old[at].load(std::memory_order_relaxed);
      if (word == kEmpty || word == kTombstone) continue;
      place(fresh, hash_(entries_[entry_of(word)].key), entry_of(word));
    }
    active_.store(fresh, std::memory_order_release);
    spare_free_at_ = qsbr_.begin_grace();
    ++rebuilds_;
    return true;
  }

  const std::size_t capacity_;
  const std::size_t mask_;
  const Hash hash_;
  Qsbr& qsbr_;
  Words words_[2];
  const std::unique_ptr<Entry[]> entries_;
  std::atomic<std::atomic<std::uint64_t>*> active_{nullptr};
  // Used by the writer only.
  alignas(kNoSharing) std::size_t size_ = 0;
  std::size_t tombstones_ = 0;
  std::size_t rebuilds_ = 0;
  Qsbr::Grace spare_free_at_ = 0;
  const std::unique_ptr<std::uint32_t[]> free_;  // a stack of entry numbers
  std::size_t free_count_ = 0;
  const std::unique_ptr<Leaving[]> leaving_;  // erased, readers may still look at them; oldest
                                              // first
  std::size_t leaving_head_ = 0;
  std::size_t leaving_tail_ = 0;
};

}  // namespace plnet
