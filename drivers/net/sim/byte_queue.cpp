// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/sim/byte_queue.hpp"

#include <algorithm>
#include <cstring>

#include "lib/base/check.hpp"

namespace plnet::drivers {

using Chunk = ChunkPool::Chunk;

Chunk* ChunkPool::take() {
  if (free_ == nullptr) {
    all_.push_back(std::make_unique_for_overwrite<Chunk>());
    return all_.back().get();
  }
  Chunk* chunk = free_;
  free_ = chunk->next;
  chunk->next = nullptr;
  return chunk;
}

void ChunkPool::give(Chunk* chunk) {
  chunk->next = free_;
  free_ = chunk;
}

void ByteQueue::push(ChunkPool& pool, std::span<const std::byte> bytes) {
  size_ += bytes.size();
  while (!bytes.empty()) {
    if (last_ == nullptr || tail_ == Chunk::kBytes) {
      Chunk* chunk = pool.take();
      (last_ == nullptr ? first_ : last_->next) = chunk;
      last_ = chunk;
      tail_ = 0;
    }
    const std::size_t room = std::min(bytes.size(), Chunk::kBytes - tail_);
    std::memcpy(last_->bytes + tail_, bytes.data(), room);
    tail_ = static_cast<std::uint16_t>(tail_ + room);
    bytes = bytes.subspan(room);
  }
}

template <class Take>
void ByteQueue::consume(ChunkPool& pool, std::size_t count, Take&& take) {
  PLNET_CHECK(count <= size_, "more bytes were asked for than are there");
  size_ -= count;
  while (count > 0) {
    const std::size_t end = first_ == last_ ? tail_ : Chunk::kBytes;
    const std::size_t here = std::min(count, end - head_);
    take(first_->bytes + head_, here);
    head_ = static_cast<std::uint16_t>(head_ + here);
    count -= here;
    if (head_ != end) continue;
    Chunk* done = first_;
    first_ = done->next;
    if (first_ == nullptr) last_ = nullptr;
    head_ = 0;
    pool.give(done);
  }
}

void ByteQueue::copy_out(ChunkPool& pool, std::span<std::byte> out) {
  std::byte* to = out.data();
  consume(pool, out.size(), [&to](const std::byte* from, std::size_t count) {
    std::memcpy(to, from, count);
    to += count;
  });
}

void ByteQueue::drop(ChunkPool& pool, std::size_t count) {
  consume(pool, count, [](const std::byte*, std::size_t) {});
}

void ByteQueue::keep_first(ChunkPool& pool, std::size_t count) {
  PLNET_CHECK(count <= size_, "fewer bytes are there than shall be kept");
  if (count == size_) return;
  ByteQueue kept;
  std::size_t left = count;
  for (const Chunk* chunk = first_; left > 0; chunk = chunk->next) {
    const std::size_t begin = chunk == first_ ? head_ : 0U;
    const std::size_t here = std::min(left, Chunk::kBytes - begin);
    kept.push(pool, {chunk->bytes + begin, here});
    left -= here;
  }
  clear(pool);
  *this = kept;
}

}  // namespace plnet::drivers
