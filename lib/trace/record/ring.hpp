// SPDX-License-Identifier: BSD-3-Clause
// Rings carry records from a shard to readers in other processes. The memory is shared and readers
// map it read-only, so no reader can harm or delay the writing shard. One capture has one ring for
// each shard.
//
// Positions count bytes since the start and never wrap. A record is written in one piece within a
// block of the ring, so the beginning of each block is the beginning of a record: an overtaken
// reader continues there. Each record has a sequence number; readers count losses by its gaps.
//
// Two policies. kNewest: the writer overwrites the oldest records. kOldest: the writer drops a
// record without room; the reader makes room by its cursor, a word in memory that the reader may
// write. The writer only compares it, so a wrong cursor damages this capture and nothing else.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "lib/base/cache_line.hpp"
#include "lib/base/result.hpp"
#include "lib/trace/record/record.hpp"

namespace plnet::trace {

enum class Keep : std::uint32_t { kNewest, kOldest };

inline constexpr std::uint64_t kRingMagic = 0x31676e6972746c70;  // "pltring1"
inline constexpr std::size_t kRingBytesMin = 64U << 10U;
inline constexpr std::size_t kRingBytesMax = 1U << 30U;
inline constexpr std::size_t kRingBlocks = 16;  // an overtaken reader loses one sixteenth at most
inline constexpr std::uint32_t kRingSnapMax = 4096;  // payload bytes of one record

// The first page of the shared memory. Followed by the words of the ring.
// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): the writer's part lies apart
struct RingControl {
  std::uint64_t magic = 0;
  std::uint64_t bytes = 0;  // of the ring, a power of two
  Keep keep = Keep::kNewest;
  std::uint32_t shard = 0;

  // The writer's part. Readers poll it: it changes once for several records.
  alignas(kNoSharing) std::atomic<std::uint64_t> claimed{0};  // writes happen below this position
  // records are complete below this position
  std::atomic<std::uint64_t> committed{0};
  std::atomic<std::uint64_t> offered{0};  // records that passed the filter
  // of these, dropped for lack of room (kOldest)
  std::atomic<std::uint64_t> dropped{0};
  std::atomic<std::uint32_t> interfaces{0};
  std::array<lnet::Nid, kRecordInterfacesMax> interface{};  // written once, below `interfaces`
};
inline constexpr std::size_t kRingControlBytes = 8192;
static_assert(sizeof(RingControl) <= kRingControlBytes);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

using RingWord = std::atomic<std::uint64_t>;

// In front of each record; a multiple of eight bytes like the record itself.
struct RingSlot {
  std::uint64_t sequence = 0;
  std::uint32_t bytes = 0;   // with this slot and the padding
  std::uint32_t filler = 0;  // 1: no record, the rest of a block
};
static_assert(sizeof(RingSlot) == 16);

// Memory of a ring of this size.
[[nodiscard]] constexpr std::size_t ring_memory_bytes(std::size_t bytes) {
  return kRingControlBytes + bytes;
}

// The shard's end. `memory` is zeroed, aligned to kNoSharing and outlives the writer.
class RingWriter {
 public:
  struct Options {
    Keep keep = Keep::kNewest;
    std::uint32_t shard = 0;
    const RingWord* reader_cursor = nullptr;  // kOldest; without one the ring fills up once
  };
  // kInvalid: the size is no power of two within the bounds.
  [[nodiscard]] static Result<RingWriter> create(std::span<std::byte> memory,
                                                 const Options& options);

  // Adds an NI for the records of this ring. kNoSpace: it has 256 already.
  [[nodiscard]] Result<std::uint8_t> add_interface(const lnet::Nid& nid);

  // False: no room; the loss is counted. Payload beyond kRingSnapMax is cut. Readers see the record
  // after publish(), at the latest when some more have followed. `interface` replaces that of the
  // header.
  bool append(const RecordHeader& header, std::uint8_t interface,
              std::span<const std::byte> payload);
  void publish();
  // append() and publish().
  bool write(const RecordHeader& header, std::span<const std::byte> payload) {
    const bool written = append(header, header.interface, payload);
    publish();
    return written;
  }

 private:
  RingWriter(RingControl* control, std::span<RingWord> words, const RingWord* reader_cursor);
  [[nodiscard]] bool has_room(std::uint64_t end);
  void claim(std::uint64_t end);
  [[nodiscard]] RingWord* at(std::uint64_t position) const {
    return &words_[position / sizeof(RingWord) & (words_.size() - 1)];
  }

  RingControl* control_;
  std::span<RingWord> words_;
  const RingWord* reader_cursor_;
  std::uint64_t block_bytes_;
  std::uint64_t tail_ = 0;
  std::uint64_t claimed_ = 0;
  std::uint64_t published_ = 0;
  std::uint64_t reader_seen_ = 0;
  std::uint64_t sequence_ = 0;
  std::uint64_t sequence_published_ = 0;
  std::uint64_t dropped_ = 0;
};

// The end in another process. It checks everything that it reads.
class RingReader {
 public:
  // kProtocol: the memory is no ring, or its size does not fit.
  [[nodiscard]] static Result<RingReader> attach(std::span<const std::byte> memory);

  // The next record, valid until the next call; nothing if there is none yet. kMalformed: invalid
  // contents (the writer is broken); the reader must stop.
  [[nodiscard]] Result<std::optional<Record>> next();

  // Records before the last one read that were overwritten or dropped. At the end of a capture, all
  // records of offered() that were not read are lost.
  [[nodiscard]] std::uint64_t lost() const { return lost_; }
  // The value that the reader stores into its cursor word, with memory_order_release.
  [[nodiscard]] std::uint64_t position() const { return position_; }
  [[nodiscard]] lnet::Nid interface(std::uint8_t number) const;
  [[nodiscard]] std::uint64_t offered() const;

 private:
  RingReader(const RingControl* control, std::span<const RingWord> words);
  [[nodiscard]] bool overtaken(std::uint64_t position) const;
  void skip_to_block();
  void copy(std::uint64_t position, std::span<std::byte> out) const;
  [[nodiscard]] Result<std::optional<Record>> take(const RingSlot& slot);

  const RingControl* control_;
  std::span<const RingWord> words_;
  std::uint64_t block_bytes_;
  std::uint64_t position_ = 0;
  std::uint64_t committed_ = 0;  // as last read
  std::uint64_t expected_ = 0;   // sequence number
  std::uint64_t lost_ = 0;
  std::vector<std::byte> copy_;
};

}  // namespace plnet::trace
