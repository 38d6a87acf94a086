// SPDX-License-Identifier: BSD-3-Clause
// List entries: one pool per NIC, lists in the order of appending. A header on the unexpected list
// takes an entry as well, as on the device.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "drivers/net/cassini/soft/codes.hpp"
#include "lib/base/check.hpp"

namespace plnet::cassini::soft {

inline constexpr std::uint32_t kNoEntry = ~0U;

struct Entry {
  std::uint64_t match_bits = 0;
  std::uint64_t ignore_bits = 0;
  std::uint64_t start = 0;
  std::uint64_t length = 0;
  std::uint64_t local_offset = 0;  // manage_local: bytes used so far
  std::uint64_t min_free = 0;      // bytes
  std::uint32_t match_id = 0;      // of a header: its initiator
  std::uint32_t next = kNoEntry;
  std::uint32_t previous = kNoEntry;
  std::uint16_t buffer_id = 0;
  std::uint16_t ct = 0;
  std::uint16_t group = 0;
  std::uint8_t lac = 0;
  bool event_ct_bytes = false, event_ct_overflow = false, event_ct_comm = false;
  bool unlink_disable = false, success_disable = false, comm_disable = false;
  bool link_disable = false, unexpected_header_disable = false;
  bool use_once = false, no_truncate = false, manage_local = false;
  bool op_get = false, op_put = false;
  // Only in a header on the unexpected list:
  bool rendezvous = false;
  std::uint8_t rendezvous_id = 0;
  std::uint16_t vni = 0;
  std::uint32_t rlength = 0;
  std::uint32_t source = 0;  // address of its NIC
  std::uint64_t header_data = 0;
  std::uint64_t remote_offset = 0;
};

class EntryPool {
 public:
  explicit EntryPool(unsigned count)
      : entries_(std::make_unique_for_overwrite<Entry[]>(count)), count_(count) {}

  [[nodiscard]] std::uint32_t take() {  // kNoEntry: none left
    std::uint32_t index = free_;
    if (index != kNoEntry) {
      free_ = entries_[index].next;
    } else if (touched_ < count_) {
      index = touched_++;  // memory stays untouched until it is needed
    } else {
      return kNoEntry;
    }
    entries_[index] = Entry{};
    ++used_;
    return index;
  }
  void give_back(std::uint32_t index) {
    PLNET_CHECK(used_ > 0, "no more entries are returned than were taken");
    entries_[index].next = free_;
    free_ = index;
    --used_;
  }
  [[nodiscard]] Entry& operator[](std::uint32_t index) { return entries_[index]; }
  [[nodiscard]] unsigned used() const { return used_; }
  [[nodiscard]] unsigned count() const { return count_; }

 private:
  std::unique_ptr<Entry[]> entries_;
  unsigned count_;
  unsigned touched_ = 0;
  unsigned used_ = 0;
  std::uint32_t free_ = kNoEntry;
};

struct EntryList {
  std::uint32_t head = kNoEntry;
  std::uint32_t tail = kNoEntry;

  void append(EntryPool& pool, std::uint32_t index) {
    Entry& entry = pool[index];
    entry.next = kNoEntry;
    entry.previous = tail;
    (tail == kNoEntry ? head : pool[tail].next) = index;
    tail = index;
  }
  void remove(EntryPool& pool, std::uint32_t index) {
    const Entry& entry = pool[index];
    (entry.previous == kNoEntry ? head : pool[entry.previous].next) = entry.next;
    (entry.next == kNoEntry ? tail : pool[entry.next].previous) = entry.previous;
  }
};

// A PtlTE.
struct PortalTable {
  bool allocated = false;
  bool matching = false, event_match = false, flow_control = false, use_long_event = false;
  bool clear_remote_offset = false, hybrid = false;
  bool space_check = false;  // what does not fit is refused, not truncated
  PortalState state = PortalState::kReset;
  std::uint16_t group = 0;
  std::uint16_t service = 0;  // row of the service that provides its list entries
  std::uint16_t eq = 0;
  std::uint32_t generation = 0;
  std::uint32_t dropped = 0;
  unsigned maps = 0;     // (domain, index) pairs that map to it
  unsigned entries = 0;  // of all its lists
  std::array<EntryList, kLists> lists;

  [[nodiscard]] EntryList& list(ListKind kind) { return lists[static_cast<unsigned>(kind)]; }
};

}  // namespace plnet::cassini::soft
