// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/sim/byte_queue.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "lib/base/check.hpp"

namespace plnet::drivers {

ByteQueue::Piece* ByteQueue::append(BlockPool& pool, bool described) {
  void* const block = pool.take(described ? kRunShift : kPlainShift);
  auto* const piece = ::new (block) Piece{nullptr, 0, described};
  (last_ == nullptr ? first_ : last_->next) = piece;
  last_ = piece;
  return piece;
}

void ByteQueue::push(BlockPool& pool, std::span<const std::byte> bytes) {
  size_ += static_cast<std::uint32_t>(bytes.size());
  while (!bytes.empty()) {
    Piece* piece = last_;
    if (piece == nullptr || piece->described || piece->length == kPlainBytes)
      piece = append(pool, false);
    const std::size_t count = std::min<std::size_t>(bytes.size(), kPlainBytes - piece->length);
    std::memcpy(bytes_of(piece) + piece->length, bytes.data(), count);
    piece->length += static_cast<std::uint32_t>(count);
    bytes = bytes.subspan(count);
  }
}

void ByteQueue::push(BlockPool& pool, const PatternRun& run) {
  if (run.length == 0) return;
  PLNET_CHECK(run.length <= std::numeric_limits<std::uint32_t>::max() - size_,
              "a stream has taken more than its buffer can hold");
  const auto length = static_cast<std::uint32_t>(run.length);
  size_ += length;
  if (last_ != nullptr && last_->described && run_of(last_)->continued_by(run)) {
    run_of(last_)->length += length;
    last_->length += length;
    return;
  }
  Piece* const piece = append(pool, true);
  ::new (run_of(piece)) PatternRun(run);
  piece->length = length;
}

template <class Visit>
void ByteQueue::consume(BlockPool& pool, std::size_t count, Visit&& visit) {
  PLNET_CHECK(count <= size_, "more bytes were asked for than are there");
  size_ -= static_cast<std::uint32_t>(count);
  while (count > 0) {
    Piece* const piece = first_;
    const auto here =
        static_cast<std::uint32_t>(std::min<std::size_t>(count, piece->length - head_));
    visit(piece, head_, here);
    head_ += here;
    count -= here;
    if (head_ != piece->length) continue;
    first_ = piece->next;
    if (first_ == nullptr) last_ = nullptr;
    head_ = 0;
    pool.give(piece, piece->described ? kRunShift : kPlainShift);
  }
  PLNET_DEBUG_CHECK((size_ == 0) == (first_ == nullptr), "an empty queue has no pieces");
}

void ByteQueue::move_out(BlockPool& pool, LazyMemory* lazy, std::span<std::byte> out) {
  const bool to_lazy = lazy != nullptr && lazy->holds(out.data());
  std::byte* to = out.data();
  consume(pool, out.size(), [&](Piece* piece, std::uint32_t skip, std::uint32_t count) {
    if (!piece->described) {
      const std::span<const std::byte> bytes{bytes_of(piece) + skip, count};
      if (to_lazy) {
        lazy->put(to, bytes);
      } else {
        std::memcpy(to, bytes.data(), count);
      }
    } else {
      const PatternRun run = run_of(piece)->behind(skip).first(count);
      if (to_lazy) {
        lazy->put(to, run);
      } else {
        write_pattern(run, {to, count});
      }
    }
    to += count;
  });
}

void ByteQueue::move_to(BlockPool& pool, ByteQueue& other, std::size_t count) {
  consume(pool, count, [&](Piece* piece, std::uint32_t skip, std::uint32_t here) {
    if (piece->described) {
      other.push(pool, run_of(piece)->behind(skip).first(here));
    } else {
      other.push(pool, std::span<const std::byte>{bytes_of(piece) + skip, here});
    }
  });
}

void ByteQueue::drop(BlockPool& pool, std::size_t count) {
  consume(pool, count, [](Piece*, std::uint32_t, std::uint32_t) {});
}

void ByteQueue::keep_first(BlockPool& pool, std::size_t count) {
  PLNET_CHECK(count <= size_, "fewer bytes are there than shall be kept");
  if (count == size_) return;
  ByteQueue kept;
  move_to(pool, kept, count);
  clear(pool);
  *this = kept;
}

std::size_t ByteQueue::plain_bytes(std::size_t from, std::size_t limit) const {
  std::size_t skip = from + head_;
  std::size_t plain = 0;
  for (const Piece* piece = first_; piece != nullptr && plain < limit; piece = piece->next) {
    if (skip >= piece->length) {
      skip -= piece->length;
      continue;
    }
    if (piece->described) break;
    plain += piece->length - skip;
    skip = 0;
  }
  return std::min(plain, limit);
}

}  // namespace plnet::drivers
