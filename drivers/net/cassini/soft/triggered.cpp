// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/cassini/soft/triggered.hpp"

#include <cstring>
#include <utility>

#include "lib/base/check.hpp"

namespace plnet::cassini::soft {

void Triggered::make_room(unsigned entries) {
  PLNET_CHECK(entries < kNone, "entries have numbers of 16 bits");
  if (!entries_.empty()) return;
  entries_.resize(entries);
  waiting_.reserve(first_.size());
  for (unsigned i = entries; i-- > 0;)
    give_back(static_cast<std::uint16_t>(i));
}

void Triggered::give_back(std::uint16_t entry) {
  entries_[entry].next = free_;
  free_ = entry;
}

void Triggered::add(unsigned counter, std::uint64_t threshold, CommandQueue& queue,
                    const CommandView& command) {
  PLNET_CHECK(!full() && command.bytes <= sizeof Entry::command, "there is room for a command");
  const std::uint16_t at = free_;
  Entry& entry = entries_[at];
  free_ = entry.next;
  entry.threshold = threshold;
  entry.queue = &queue;
  entry.type = command.type;
  entry.opcode = command.opcode;
  entry.bytes = command.bytes;
  std::memcpy(entry.command.data(), command.at, command.bytes);
  if (first_[counter] == kNone) waiting_.push_back(static_cast<std::uint16_t>(counter));
  std::uint16_t* link = &first_[counter];
  while (*link != kNone && entries_[*link].threshold <= threshold)
    link = &entries_[*link].next;
  entry.next = *link;
  *link = at;
}

const Triggered::Entry* Triggered::due(unsigned counter, std::uint64_t count) const {
  const std::uint16_t first = first_[counter];
  if (first == kNone || entries_[first].threshold > count) return nullptr;
  return &entries_[first];
}

void Triggered::remove_first(unsigned counter) {
  bool is_first = true;
  remove_if(counter, [&is_first](const Entry&) { return std::exchange(is_first, false); });
}

}  // namespace plnet::cassini::soft
