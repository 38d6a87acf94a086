// SPDX-License-Identifier: BSD-3-Clause
// The shares of a server's peers in a scarce resource. A peer takes one more unit while it holds at
// most three times the free units. The last eighth is for peers that hold nothing, so that a late
// peer finds a unit. Among the waiting peers, the one that holds least comes first.
#pragma once

#include <bit>
#include <cstdint>
#include <memory>
#include <optional>

#include "lib/base/intrusive_list.hpp"
#include "lib/base/pool.hpp"
#include "lib/lnet/names/nid.hpp"

namespace plnet::selftest {

// A Waiter is in one list at a time.
template <class Waiter>
class PeerShares {
 public:
  PeerShares(std::size_t capacity, std::size_t waiters)
      : reserve_(capacity / kReservePart),
        free_(capacity),
        entries_(capacity + waiters + 1),
        mask_(std::bit_ceil(entries_.capacity()) - 1),
        buckets_(std::make_unique<Entry*[]>(mask_ + 1)) {}

  // False: the peer must wait.
  [[nodiscard]] bool take(const lnet::Nid& peer) {
    Entry& entry = entry_of(peer);
    const bool taken = entry.waiting.empty() && may_take(entry);
    if (taken) hold(entry);
    settle(entry);
    return taken;
  }
  void wait(const lnet::Nid& peer, Waiter& waiter) {
    Entry& entry = entry_of(peer);
    entry.waiting.push_back(waiter);
    if (!entry.linked()) hungry_.push_back(entry);
  }
  void give(const lnet::Nid& peer) {
    Entry& entry = entry_of(peer);
    PLNET_CHECK(entry.held > 0, "given back by a peer that holds nothing");
    --entry.held;
    ++free_;
    settle(entry);
  }
  // A waiter of this peer may have left its list.
  void settle(const lnet::Nid& peer) { settle(entry_of(peer)); }

  // The next waiter; its peer now holds one unit more.
  [[nodiscard]] Waiter* next() {
    Entry* const least = least_of_hungry();
    if (least == nullptr || !may_take(*least)) return nullptr;
    hold(*least);
    Waiter* const waiter = least->waiting.pop_front();
    settle(*least);
    return waiter;
  }
  [[nodiscard]] Waiter* drop_waiting() {
    Entry* const entry = least_of_hungry();
    if (entry == nullptr) return nullptr;
    Waiter* const waiter = entry->waiting.pop_front();
    settle(*entry);
    return waiter;
  }

  [[nodiscard]] bool any_waits() const { return !hungry_.empty(); }
  // The peer that holds most, if a waiting peer holds at least two units less.
  [[nodiscard]] std::optional<lnet::Nid> greediest() {
    const Entry* const least = least_of_hungry();
    if (least == nullptr) return std::nullopt;
    const Entry* most = least;
    entries_.for_each_lent([&](Entry& entry) {
      if (entry.held > most->held) most = &entry;
    });
    if (most->held < least->held + 2) return std::nullopt;
    return most->peer;
  }

 private:
  static constexpr std::size_t kOfFree = 3;
  static constexpr std::size_t kReservePart = 8;

  struct Entry : ListNode<> {
    lnet::Nid peer = lnet::Nid::any();
    std::size_t held = 0;
    IntrusiveList<Waiter> waiting;
    Entry* next_in_bucket = nullptr;
  };

  [[nodiscard]] bool may_take(const Entry& entry) const {
    if (entry.held == 0) return free_ > 0;
    return free_ > reserve_ && entry.held <= kOfFree * free_;
  }
  void hold(Entry& entry) {
    ++entry.held;
    --free_;
  }
  [[nodiscard]] Entry* least_of_hungry() {
    Entry* least = nullptr;
    hungry_.for_each([&](Entry& entry) {
      if (entry.waiting.empty()) return settle(entry);
      if (least == nullptr || entry.held < least->held) least = &entry;
    });
    return least;
  }
  [[nodiscard]] Entry*& bucket(const lnet::Nid& peer) { return buckets_[hash_(peer) & mask_]; }
  [[nodiscard]] Entry& entry_of(const lnet::Nid& peer) {
    Entry*& first = bucket(peer);
    for (Entry* at = first; at != nullptr; at = at->next_in_bucket) {
      if (at->peer == peer) return *at;
    }
    Entry* const fresh = entries_.take();
    PLNET_CHECK(fresh != nullptr, "an entry for each holder and waiter");
    fresh->peer = peer;
    fresh->next_in_bucket = first;
    first = fresh;
    return *fresh;
  }
  void settle(Entry& entry) {
    if (!entry.waiting.empty()) return;
    if (entry.linked()) entry.unlink();
    if (entry.held > 0) return;
    Entry** at = &bucket(entry.peer);
    while (*at != &entry)
      at = &(*at)->next_in_bucket;
    *at = entry.next_in_bucket;
    entries_.give(&entry);
  }

  const std::size_t reserve_;
  std::size_t free_;
  Pool<Entry> entries_;
  std::size_t mask_;
  std::unique_ptr<Entry*[]> buckets_;
  lnet::NidHash hash_;
  IntrusiveList<Entry> hungry_;
};

}  // namespace plnet::selftest
