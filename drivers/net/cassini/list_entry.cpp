// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/cassini/list_entry.hpp"

#include <algorithm>
#include <bit>

#include "drivers/net/cassini/address.hpp"
#include "drivers/net/cassini/codes.hpp"
#include "lib/base/check.hpp"

namespace plnet::cassini {

// Flags of kfi_cxi's receives, except op_get: kfilnd never reads messages remotely, so no peer may
// read what others have sent.
TargetCommand ListEntry::append(unsigned portal, unsigned buffer_id, unsigned min_free) const {
  TargetCommand command{
      .command = command_byte(CommandType::kQueue, SizeCode::k64, opcode::kAppend),
      .ptl_list = static_cast<std::uint8_t>(PortalList::kPriority),
      .ptlte_index = static_cast<std::uint16_t>(portal),
      .event_unlink_disable = 1,
      .event_link_disable = 1,
      .unrestricted_end_ro = 1,
      .unrestricted_body_ro = 1,
      .op_get = static_cast<std::uint8_t>(tagged ? 1 : 0),
      .op_put = 1,
      .buffer_id = static_cast<std::uint16_t>(buffer_id),
      .lac = static_cast<std::uint8_t>(lac),
      .start = iova,
      .length = length,
      .match_id = match_id,
  };
  if (tagged) {
    command.use_once = 1;
    command.match_bits = match_bits::tagged(tag);
    command.ignore_bits = match_bits::kTaggedIgnore;
  } else {
    command.manage_local = 1;
    command.min_free = min_free;
    command.match_bits = match_bits::kMessage;
    command.ignore_bits = match_bits::kMessageIgnore;
  }
  return command;
}

bool ListEntry::matches(std::uint64_t bits) const {
  return tagged ? (bits & ~match_bits::kTaggedIgnore) == match_bits::tagged(tag)
                : (bits & ~match_bits::kMessageIgnore) == match_bits::kMessage;
}

TargetCommand ListEntry::unlink(unsigned portal, unsigned buffer_id) {
  return {.command = command_byte(CommandType::kQueue, SizeCode::k64, opcode::kUnlink),
          .ptl_list = static_cast<std::uint8_t>(PortalList::kPriority),
          .ptlte_index = static_cast<std::uint16_t>(portal),
          .buffer_id = static_cast<std::uint16_t>(buffer_id)};
}

ListEntries::ListEntries(unsigned capacity)
    : entries_(capacity), free_(capacity), tags_(std::bit_ceil(2ULL * capacity)) {
  PLNET_CHECK(capacity > 0 && capacity <= kBufferIdMax, "buffer ids have 16 bits, 0 is none");
  for (unsigned i = 0; i < capacity; ++i)
    free_[i] = static_cast<std::uint16_t>(i + 1);
}

unsigned ListEntries::take() {
  if (in_use_ == entries_.size()) return 0;
  const unsigned id = free_[free_head_];
  PLNET_DEBUG_CHECK(entries_[id - 1].state == ListEntry::State::kFree,
                    "a free entry is in no list");
  free_head_ = (free_head_ + 1) % free_.size();
  ++in_use_;
  entries_[id - 1] = {};
  entries_[id - 1].state = ListEntry::State::kWaiting;
  return id;
}

void ListEntries::give(unsigned id) {
  PLNET_CHECK(find(id) != nullptr, "an entry in use is released");
  entries_[id - 1].state = ListEntry::State::kFree;
  free_[(free_head_ + free_.size() - in_use_) % free_.size()] = static_cast<std::uint16_t>(id);
  PLNET_DEBUG_CHECK(in_use_ > 0, "an entry in use is counted");
  --in_use_;
}

ListEntry* ListEntries::find(unsigned id) {
  if (id == 0 || id > entries_.size()) return nullptr;
  ListEntry& entry = entries_[id - 1];
  return entry.state == ListEntry::State::kFree ? nullptr : &entry;
}

std::size_t ListEntries::home_of(std::uint32_t tag) const {
  return (tag * 0x9e37'79b9'7f4a'7c15ULL) >> 32U & (tags_.size() - 1);
}

unsigned ListEntries::by_tag(std::uint32_t tag) const {
  for (std::size_t i = home_of(tag); tags_[i] != 0; i = (i + 1) & (tags_.size() - 1)) {
    if (entries_[tags_[i] - 1U].tag == tag) return tags_[i];
  }
  return 0;
}

void ListEntries::add_tag(unsigned id) {
  PLNET_DEBUG_CHECK(by_tag(entries_[id - 1].tag) == 0, "a tag names one entry");
  std::size_t i = home_of(entries_[id - 1].tag);
  while (tags_[i] != 0)
    i = (i + 1) & (tags_.size() - 1);
  tags_[i] = static_cast<std::uint16_t>(id);
}

void ListEntries::remove_tag(unsigned id) {
  const std::size_t mask = tags_.size() - 1;
  std::size_t hole = home_of(entries_[id - 1].tag);
  while (tags_[hole] != id) {
    PLNET_CHECK(tags_[hole] != 0, "a removed tag exists");
    hole = (hole + 1) & mask;
  }
  // Entries after the hole that may stand there move up, so that searches need no tombstones.
  for (std::size_t i = (hole + 1) & mask; tags_[i] != 0; i = (i + 1) & mask) {
    const std::size_t home = home_of(entries_[tags_[i] - 1U].tag);
    if (((i - home) & mask) < ((i - hole) & mask)) continue;
    tags_[hole] = tags_[i];
    hole = i;
  }
  tags_[hole] = 0;
}

}  // namespace plnet::cassini
