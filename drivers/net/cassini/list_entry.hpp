// SPDX-License-Identifier: BSD-3-Clause
// Buffers that peers may access, as entries of a portal's priority list. An entry is identified by
// its buffer id; a tagged one can be found by its tag.
#pragma once

#include <cstdint>
#include <vector>

#include "drivers/net/cassini/commands.hpp"
#include "drivers/net/cassini/memory.hpp"
#include "lib/base/clock.hpp"
#include "lib/kfilnd/fabric_endpoint.hpp"

namespace plnet::cassini {

inline constexpr unsigned kBufferIdMax = 65535;           // 0 means no buffer
inline constexpr unsigned kMinFreeMax = (1U << 24U) - 1;  // limit of that field of an append

struct ListEntry {
  enum class State : std::uint8_t {
    kFree,
    kWaiting,  // to be appended: the queue, the portal or the NIC's pool had no room
    kLinked,   // as far as known
    kDone,     // reported; waits for the answer to an UNLINK before the id is reused
  };

  State state = State::kFree;
  bool tagged = false;      // else a multi-receive buffer
  bool peer_reads = false;  // of tagged ones
  bool cancelling = false;
  bool unlink_sent = false;
  bool queued = false;  // in the list of pending work
  bool auto_unlinked = false;
  std::uint16_t backoff = 0;  // consecutive failed appends
  unsigned lac = 0;
  std::uint32_t length = 0;
  std::uint32_t tag = 0;
  std::uint32_t match_id = 0;
  std::uint32_t block = BlockPool::kNone;  // of the bounce pool
  std::uint64_t iova = 0;
  std::uint64_t cookie = 0;
  // Bytes of a multi-receive buffer. Events come in any order, so the buffer is finished when the
  // reported bytes reach the end of the message that unlinked it.
  std::uint64_t told = 0;
  std::uint64_t total = 0;
  Instant due{};
  lnet::Payload payload{};

  // An event with these match bits may belong to this entry.
  [[nodiscard]] bool matches(std::uint64_t bits) const;
  [[nodiscard]] TargetCommand append(unsigned portal, unsigned buffer_id, unsigned min_free) const;
  [[nodiscard]] static TargetCommand unlink(unsigned portal, unsigned buffer_id);
};

class ListEntries {
 public:
  explicit ListEntries(unsigned capacity);

  // 0: none free. Ids rotate, so that a late event does not meet a new buffer.
  [[nodiscard]] unsigned take();
  void give(unsigned id);
  // Null: the id is not in use.
  [[nodiscard]] ListEntry* find(unsigned id);
  [[nodiscard]] unsigned in_use() const { return in_use_; }
  [[nodiscard]] unsigned capacity() const { return static_cast<unsigned>(entries_.size()); }

  // 0: no entry has this tag.
  [[nodiscard]] unsigned by_tag(std::uint32_t tag) const;
  void add_tag(unsigned id);
  void remove_tag(unsigned id);

  template <class Visit>
  void each(Visit&& visit) {
    for (unsigned id = 1; id <= entries_.size(); ++id) {
      if (entries_[id - 1].state != ListEntry::State::kFree) visit(id, entries_[id - 1]);
    }
  }

  template <class Visit>
  void each(Visit&& visit) const {
    for (unsigned id = 1; id <= entries_.size(); ++id) {
      if (entries_[id - 1].state != ListEntry::State::kFree) visit(id, entries_[id - 1]);
    }
  }

 private:
  [[nodiscard]] std::size_t home_of(std::uint32_t tag) const;

  std::vector<ListEntry> entries_;
  std::vector<std::uint16_t> free_;  // a ring
  std::size_t free_head_ = 0;
  unsigned in_use_ = 0;
  std::vector<std::uint16_t> tags_;  // ids by tag, open addressing; 0: empty
};

}  // namespace plnet::cassini
