// SPDX-License-Identifier: BSD-3-Clause
// Bytes on their way: taken by a stream and not read yet. They lie in small blocks of the
// simulation's pool, so memory follows the bytes in flight and not the number of streams. Payload
// that is only described (see lazy_memory.hpp) travels as its description.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "drivers/net/sim/block_pool.hpp"
#include "drivers/net/sim/lazy_memory.hpp"
#include "drivers/net/sim/pattern.hpp"

namespace plnet::drivers {

class ByteQueue {
 public:
  [[nodiscard]] std::size_t size() const { return size_; }

  void push(BlockPool& pool, std::span<const std::byte> bytes);
  void push(BlockPool& pool, const PatternRun& run);
  // Moves bytes from the front to `out`, which may be lazy; so many must be there.
  void move_out(BlockPool& pool, LazyMemory* lazy, std::span<std::byte> out);
  // Moves bytes from the front to the end of `other`; so many must be there.
  void move_to(BlockPool& pool, ByteQueue& other, std::size_t count);
  void drop(BlockPool& pool, std::size_t count);
  // Drops bytes at the end.
  void keep_first(BlockPool& pool, std::size_t count);
  void clear(BlockPool& pool) { drop(pool, size_); }

  // The number of bytes from place `from` on before the next described one, `limit` at most.
  [[nodiscard]] std::size_t plain_bytes(std::size_t from, std::size_t limit) const;
  // The number of bytes of a described piece at the front.
  [[nodiscard]] std::size_t described_bytes() const {
    return first_ != nullptr && first_->described ? first_->length - head_ : 0;
  }

 private:
  struct Piece {
    Piece* next;
    std::uint32_t length;
    bool described;  // a PatternRun follows, else bytes
  };
  static constexpr unsigned kPlainShift = 8;  // room for two headers of LNet and some
  static constexpr unsigned kRunShift = 6;
  static constexpr std::uint32_t kPlainBytes = (1U << kPlainShift) - sizeof(Piece);
  static_assert(sizeof(Piece) + sizeof(PatternRun) <= 1U << kRunShift);

  [[nodiscard]] static std::byte* bytes_of(Piece* piece) {
    return reinterpret_cast<std::byte*>(piece + 1);
  }
  [[nodiscard]] static PatternRun* run_of(Piece* piece) {
    return reinterpret_cast<PatternRun*>(piece + 1);
  }
  [[nodiscard]] Piece* append(BlockPool& pool, bool described);
  // Takes `count` bytes off the front, piece by piece: visit(piece, bytes to skip, bytes to take).
  template <class Visit>
  void consume(BlockPool& pool, std::size_t count, Visit&& visit);

  Piece* first_ = nullptr;
  Piece* last_ = nullptr;
  std::uint32_t size_ = 0;
  std::uint32_t head_ = 0;  // bytes of the first piece that have left
};

}  // namespace plnet::drivers
