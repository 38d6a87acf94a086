// SPDX-License-Identifier: BSD-3-Clause
// Tagged buffers that are laid open, found by tag.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "drivers/net/ofi/context.hpp"
#include "drivers/net/ofi/memory.hpp"
#include "lib/lnet/api/payload.hpp"

namespace plnet::ofi {

struct TaggedBuffer {
  enum class State : std::uint8_t { kFree, kOpen, kGranted, kFetching, kConfirming };

  State state = State::kFree;
  bool peer_reads = false;
  kfilnd::Tag tag = 0;
  std::uint32_t generation = 0;
  std::uint32_t link = kNone;  // of the peer that may use it, then of the one that uses it
  std::uint32_t block = kNone;
  std::uint32_t next = kNone;  // in its bucket
  std::uint32_t length = 0;    // that was requested
  std::uint64_t cookie = 0;
  std::uint64_t operation = 0;  // of the peer that uses it
  lnet::Payload buffer;
  Place place;
  Instant deadline{};
};

class TaggedBuffers {
 public:
  TaggedBuffers(unsigned count, std::uint32_t first_generation)
      : entries_(count), buckets_(std::bit_ceil(std::size_t{count}), kNone) {
    free_.reserve(count);
    for (std::uint32_t i = count; i-- > 0;) {
      free_.push_back(i);
      entries_[i].generation = first_generation;
    }
  }

  [[nodiscard]] std::uint32_t find(kfilnd::Tag tag) const {
    std::uint32_t entry = buckets_[bucket(tag)];
    while (entry != kNone && entries_[entry].tag != tag)
      entry = entries_[entry].next;
    return entry;
  }
  [[nodiscard]] std::uint32_t take(kfilnd::Tag tag) {
    if (free_.empty()) return kNone;
    const std::uint32_t entry = free_.back();
    free_.pop_back();
    PLNET_CHECK(entries_[entry].state == TaggedBuffer::State::kFree, "a free buffer is not open");
    std::uint32_t& head = buckets_[bucket(tag)];
    entries_[entry] = {.state = TaggedBuffer::State::kOpen,
                       .tag = tag,
                       .generation = entries_[entry].generation,
                       .next = head};
    head = entry;
    return entry;
  }
  void give(std::uint32_t entry) {
    TaggedBuffer& gone = entries_[entry];
    PLNET_CHECK(gone.state != TaggedBuffer::State::kFree, "a buffer ends once");
    std::uint32_t* at = &buckets_[bucket(gone.tag)];
    while (*at != entry)
      at = &entries_[*at].next;
    *at = gone.next;
    gone.state = TaggedBuffer::State::kFree;
    ++gone.generation;
    free_.push_back(entry);
  }
  // The peers' name for a buffer that they use.
  [[nodiscard]] std::uint64_t name(std::uint32_t entry) const {
    return std::uint64_t{entries_[entry].generation} << 32U | entry;
  }
  // kNone: it has ended.
  [[nodiscard]] std::uint32_t named(std::uint64_t name) const {
    const auto entry = static_cast<std::uint32_t>(name);
    if (entry >= entries_.size() || entries_[entry].state == TaggedBuffer::State::kFree ||
        entries_[entry].generation != name >> 32U)
      return kNone;
    return entry;
  }
  [[nodiscard]] TaggedBuffer& at(std::uint32_t entry) { return entries_[entry]; }
  [[nodiscard]] const TaggedBuffer& at(std::uint32_t entry) const { return entries_[entry]; }
  [[nodiscard]] std::uint32_t count() const { return static_cast<std::uint32_t>(entries_.size()); }
  [[nodiscard]] std::size_t in_use() const { return entries_.size() - free_.size(); }

 private:
  [[nodiscard]] std::size_t bucket(kfilnd::Tag tag) const {
    return (tag * 0x9e3779b1U >> 7U ^ tag) & (buckets_.size() - 1);
  }

  std::vector<TaggedBuffer> entries_;
  std::vector<std::uint32_t> free_;
  std::vector<std::uint32_t> buckets_;
};

}  // namespace plnet::ofi
