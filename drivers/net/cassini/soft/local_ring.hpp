// SPDX-License-Identifier: BSD-3-Clause
// A ring of packets in memory that two processes share: one writes, the other reads. Each side
// keeps its own position privately and publishes a copy. A position or length that the other side
// published is read once and checked, so memory that a hostile process overwrites at any moment
// leads to kBroken or to different bytes in a packet, never beyond the ring. No side ever waits for
// the other, and nothing becomes visible before it is complete: either may die at any instruction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace plnet::cassini::soft {

// The two published positions, each on a cache line of its own, are before the data.
inline constexpr std::size_t kLocalRingHeaderBytes = 128;
// Each record begins with its length.
inline constexpr std::size_t kLocalRecordHeaderBytes = 8;

// A ring of `capacity` bytes, a power of two, is in kLocalRingHeaderBytes + `capacity` bytes that
// are aligned to 8.
class LocalRingWriter {
 public:
  enum class Put : std::uint8_t { kDone, kFull, kBroken };

  LocalRingWriter() = default;
  LocalRingWriter(std::byte* memory, std::size_t capacity) : memory_(memory), capacity_(capacity) {}

  // Writes header and payload as one packet. Together they are shorter than half the capacity.
  [[nodiscard]] Put put(std::span<const std::byte> header, std::span<const std::byte> payload);

 private:
  std::byte* memory_ = nullptr;
  std::uint64_t capacity_ = 0;
  std::uint64_t written_ = 0;
  std::uint64_t read_ = 0;  // last value seen
};

class LocalRingReader {
 public:
  enum class Got : std::uint8_t { kPacket, kEmpty, kBroken };

  LocalRingReader() = default;
  LocalRingReader(std::byte* memory, std::size_t capacity) : memory_(memory), capacity_(capacity) {}

  // The next packet, where it lies: a hostile writer may change it at any moment, so that each byte
  // is read once. One that is longer than `longest` is kBroken.
  [[nodiscard]] Got look(std::size_t longest, std::span<const std::byte>& packet);
  // After kPacket: the writer may use the place again.
  void pop();

 private:
  std::byte* memory_ = nullptr;
  std::uint64_t capacity_ = 0;
  std::uint64_t read_ = 0;
  std::uint64_t next_ = 0;  // position after the packet of look()
};

}  // namespace plnet::cassini::soft
