// SPDX-License-Identifier: BSD-3-Clause
#include "lib/trace/record/ring.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <new>
#include <utility>

#include "lib/base/check.hpp"

namespace plnet::trace {

namespace {

constexpr std::size_t kWord = sizeof(std::uint64_t);
constexpr std::size_t kRecordBytesMax = sizeof(RingSlot) + sizeof(RecordHeader) + kRingSnapMax;
// Small rings have fewer blocks, so that the longest record fits into one.
constexpr std::uint64_t kBlockBytesMin = 8192;
static_assert(kRecordBytesMax <= kBlockBytesMin && kRingBytesMin >= 4 * kBlockBytesMin);
// The further loss of an overtaken reader.
constexpr std::uint64_t kClaimBytes = 4096;
// So that readers need not wait for the end of a long turn.
constexpr std::uint64_t kPublishBytes = 16384;
constexpr std::uint64_t kFiller = std::uint64_t{1} << 32U;  // RingSlot::filler in its word
static_assert(offsetof(RingSlot, bytes) == 8 && offsetof(RingSlot, filler) == 12);
// The ring is larger than a near cache: its lines are prefetched some records ahead.
constexpr std::uint64_t kPrefetchBytes = 1024;
constexpr std::size_t kCacheLineBytes = 64;
constexpr std::size_t kRecordLines =
    (sizeof(RingSlot) + sizeof(RecordHeader) + kCacheLineBytes - 1) / kCacheLineBytes;

constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t to) {
  return (value + to - 1) / to * to;
}

bool is_ring_size(std::uint64_t bytes) {
  return bytes >= kRingBytesMin && bytes <= kRingBytesMax && std::has_single_bit(bytes);
}

std::uint64_t block_bytes_of(std::uint64_t ring_bytes) {
  return std::max(ring_bytes / kRingBlocks, kBlockBytesMin);
}

// GCC knows the instruction only for some processors; all others take it as no operation.
void prefetch_to_write(const RingWord* at) {
#ifdef __x86_64__
  asm volatile("prefetchw %0" : : "m"(*at));
#else
  __builtin_prefetch(at, 1);
#endif
}

RingWord* put_words(RingWord* to, std::span<const std::byte> bytes) {
  std::size_t at = 0;
  for (; at + kWord <= bytes.size(); at += kWord) {
    std::uint64_t word;
    std::memcpy(&word, &bytes[at], kWord);
    (to++)->store(word, std::memory_order_relaxed);
  }
  if (at < bytes.size()) {
    std::uint64_t word = 0;
    std::memcpy(&word, &bytes[at], bytes.size() - at);
    (to++)->store(word, std::memory_order_relaxed);
  }
  return to;
}

}  // namespace

RingWriter::RingWriter(RingControl* control, std::span<RingWord> words,
                       const RingWord* reader_cursor)
    : control_(control),
      words_(words),
      reader_cursor_(reader_cursor),
      block_bytes_(block_bytes_of(words.size_bytes())) {}

Result<RingWriter> RingWriter::create(std::span<std::byte> memory, const Options& options) {
  if (memory.size() < kRingControlBytes) return std::unexpected(Errc::kInvalid);
  const std::size_t bytes = memory.size() - kRingControlBytes;
  if (!is_ring_size(bytes)) return std::unexpected(Errc::kInvalid);
  auto* const control = new (memory.data()) RingControl;
  control->bytes = bytes;
  control->keep = options.keep;
  control->shard = options.shard;
  auto* const words = reinterpret_cast<RingWord*>(memory.data() + kRingControlBytes);
  std::atomic_thread_fence(std::memory_order_release);
  control->magic = kRingMagic;
  return RingWriter(control, {words, bytes / kWord},
                    options.keep == Keep::kOldest ? options.reader_cursor : nullptr);
}

Result<std::uint8_t> RingWriter::add_interface(const lnet::Nid& nid) {
  const std::uint32_t count = control_->interfaces.load(std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < count; ++i) {
    if (control_->interface[i] == nid) return static_cast<std::uint8_t>(i);
  }
  if (count == kRecordInterfacesMax) return std::unexpected(Errc::kNoSpace);
  control_->interface[count] = nid;
  control_->interfaces.store(count + 1, std::memory_order_release);
  return static_cast<std::uint8_t>(count);
}

bool RingWriter::has_room(std::uint64_t end) {
  if (control_->keep == Keep::kNewest || end - reader_seen_ <= words_.size_bytes()) return true;
  if (reader_cursor_ == nullptr) return false;
  // A cursor ahead of the writer, or one that went back, is invalid and has no effect.
  const std::uint64_t cursor = reader_cursor_->load(std::memory_order_acquire);
  if (cursor > reader_seen_ && cursor <= tail_) reader_seen_ = cursor;
  return end - reader_seen_ <= words_.size_bytes();
}

// Claims room for several records. A ring that keeps the oldest never claims unread bytes.
void RingWriter::claim(std::uint64_t end) {
  std::uint64_t ahead = round_up(end, kClaimBytes);
  if (control_->keep == Keep::kOldest) ahead = std::min(ahead, reader_seen_ + words_.size_bytes());
  // Readers check `claimed` after copying: the fence keeps it ahead of the words.
  claimed_ = ahead;
  control_->claimed.store(ahead, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
}

bool RingWriter::append(const RecordHeader& header, std::uint8_t interface,
                        std::span<const std::byte> payload) {
  const std::uint64_t sequence = sequence_++;
  payload = payload.first(std::min<std::size_t>(payload.size(), kRingSnapMax));
  const std::uint64_t bytes =
      round_up(sizeof(RingSlot) + sizeof(RecordHeader) + payload.size(), kWord);
  const std::uint64_t left = block_bytes_ - (tail_ & (block_bytes_ - 1));
  const std::uint64_t filler = left < bytes ? left : 0;
  const std::uint64_t end = tail_ + filler + bytes;
  if (!has_room(end)) {
    ++dropped_;
    return false;
  }
  if (end > claimed_) claim(end);
  if (filler > 0) {
    // Less than a slot may be left: then only its first word is in the ring, and readers skip the
    // rest.
    at(tail_)[0].store(sequence, std::memory_order_relaxed);
    if (filler > kWord) at(tail_)[1].store(filler | kFiller, std::memory_order_relaxed);
    tail_ += filler;
  }
  RingWord* to = at(tail_);  // a record lies within a block
  for (std::size_t line = 0; line < kRecordLines; ++line)
    prefetch_to_write(at(end + kPrefetchBytes + line * kCacheLineBytes));
  (to++)->store(sequence, std::memory_order_relaxed);
  (to++)->store(bytes, std::memory_order_relaxed);
  to = put_words(to, std::as_bytes(std::span(&header, 1)).first(offsetof(RecordHeader, captured)));
  const std::uint64_t flags = std::uint64_t{std::to_underlying(header.direction)} |
                              std::uint64_t{header.type} << 8U |
                              std::uint64_t{header.cause} << 16U | std::uint64_t{interface} << 24U;
  (to++)->store(payload.size() | flags << 32U, std::memory_order_relaxed);
  put_words(to, payload);
  tail_ = end;
  if (tail_ - published_ >= kPublishBytes) publish();
  return true;
}

void RingWriter::publish() {
  if (sequence_ == sequence_published_) return;
  sequence_published_ = sequence_;
  published_ = tail_;
  control_->offered.store(sequence_, std::memory_order_relaxed);
  control_->dropped.store(dropped_, std::memory_order_relaxed);
  control_->committed.store(tail_, std::memory_order_release);
}

RingReader::RingReader(const RingControl* control, std::span<const RingWord> words)
    : control_(control),
      words_(words),
      block_bytes_(block_bytes_of(words.size_bytes())),
      copy_(kRecordBytesMax) {}

Result<RingReader> RingReader::attach(std::span<const std::byte> memory) {
  if (memory.size() < kRingControlBytes) return std::unexpected(Errc::kProtocol);
  const auto* const control = reinterpret_cast<const RingControl*>(memory.data());
  const std::uint64_t bytes = memory.size() - kRingControlBytes;
  if (control->magic != kRingMagic || control->bytes != bytes || !is_ring_size(bytes)) {
    return std::unexpected(Errc::kProtocol);
  }
  const auto* const words = reinterpret_cast<const RingWord*>(memory.data() + kRingControlBytes);
  RingReader reader(control, {words, bytes / kWord});
  if (reader.overtaken(0)) reader.skip_to_block();
  return reader;
}

bool RingReader::overtaken(std::uint64_t position) const {
  std::atomic_thread_fence(std::memory_order_acquire);
  const std::uint64_t claimed = control_->claimed.load(std::memory_order_relaxed);
  return claimed > position + words_.size_bytes();
}

// Continues at the first block that is not being overwritten, plus one block of lead.
void RingReader::skip_to_block() {
  const std::uint64_t claimed = control_->claimed.load(std::memory_order_relaxed);
  const std::uint64_t oldest = claimed - words_.size_bytes();
  position_ = std::max(position_, round_up(oldest, block_bytes_) + block_bytes_);
}

void RingReader::copy(std::uint64_t position, std::span<std::byte> out) const {
  const std::uint64_t mask = words_.size() - 1;
  for (std::size_t at = 0; at < out.size(); at += kWord, position += kWord) {
    const std::uint64_t word = words_[position / kWord & mask].load(std::memory_order_relaxed);
    std::memcpy(&out[at], &word, std::min(kWord, out.size() - at));
  }
}

Result<std::optional<Record>> RingReader::next() {
  for (;;) {
    if (position_ >= committed_) {
      committed_ = control_->committed.load(std::memory_order_acquire);
      if (position_ >= committed_) return std::optional<Record>();
    }
    if (overtaken(position_)) {
      skip_to_block();
      continue;
    }
    const std::uint64_t left = block_bytes_ - position_ % block_bytes_;
    if (left < sizeof(RingSlot)) {
      position_ += left;
      continue;
    }
    RingSlot slot;
    copy(position_, std::as_writable_bytes(std::span(&slot, 1)));
    if (overtaken(position_)) continue;
    if (slot.bytes < sizeof slot || slot.bytes > left || slot.bytes % kWord != 0) {
      return std::unexpected(Errc::kMalformed);
    }
    if (slot.filler != 0) {
      position_ += slot.bytes;
      continue;
    }
    auto record = take(slot);
    if (!record || record->has_value()) return record;
  }
}

// Nothing if the writer overwrote the record meanwhile.
Result<std::optional<Record>> RingReader::take(const RingSlot& slot) {
  if (slot.bytes > copy_.size() || slot.bytes < sizeof slot + sizeof(RecordHeader)) {
    return std::unexpected(Errc::kMalformed);
  }
  const std::span bytes = std::span(copy_).first(slot.bytes);
  copy(position_, bytes);
  if (overtaken(position_)) return std::optional<Record>();
  Record record;
  std::memcpy(&record.header, &bytes[sizeof slot], sizeof record.header);
  const auto rest = bytes.subspan(sizeof slot + sizeof record.header);
  if (record.header.captured > rest.size() || slot.sequence < expected_) {
    return std::unexpected(Errc::kMalformed);
  }
  record.payload = rest.first(record.header.captured);
  lost_ += slot.sequence - expected_;
  expected_ = slot.sequence + 1;
  position_ += slot.bytes;
  return std::optional(record);
}

lnet::Nid RingReader::interface(std::uint8_t number) const {
  if (number >= control_->interfaces.load(std::memory_order_acquire)) return {};
  return control_->interface[number];
}

std::uint64_t RingReader::offered() const {
  return control_->offered.load(std::memory_order_relaxed);
}

}  // namespace plnet::trace
