// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/cassini/soft/local_ring.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "lib/base/check.hpp"

namespace plnet::cassini::soft {
namespace {

constexpr std::size_t kWrittenAt = 0;
constexpr std::size_t kReadAt = 64;
// Records are multiples of 8 bytes and never wrap.
constexpr std::size_t kLengthBytes = kLocalRecordHeaderBytes;
constexpr std::uint64_t kSkipToEnd = ~std::uint64_t{0};

std::atomic_ref<std::uint64_t> word_at(std::byte* memory, std::size_t at) {
  return std::atomic_ref<std::uint64_t>(*reinterpret_cast<std::uint64_t*>(memory + at));
}

constexpr std::uint64_t record_bytes(std::uint64_t length) {
  return kLengthBytes + (length + 7) / 8 * 8;
}

}  // namespace

LocalRingWriter::Put LocalRingWriter::put(std::span<const std::byte> header,
                                          std::span<const std::byte> payload) {
  const std::uint64_t length = header.size() + payload.size();
  const std::uint64_t wanted = record_bytes(length);
  PLNET_CHECK(wanted <= capacity_ / 2, "a packet is shorter than half the ring");
  const std::uint64_t to_end = capacity_ - (written_ & (capacity_ - 1));
  const std::uint64_t skipped = to_end < wanted ? to_end : 0;
  if (written_ + skipped + wanted - read_ > capacity_) {
    const std::uint64_t read = word_at(memory_, kReadAt).load(std::memory_order_acquire);
    // The reader's position only grows, and never beyond ours.
    if (read - read_ > written_ - read_) return Put::kBroken;
    read_ = read;
    if (written_ + skipped + wanted - read_ > capacity_) return Put::kFull;
  }
  std::byte* const data = memory_ + kLocalRingHeaderBytes;
  if (skipped != 0) {
    word_at(data, written_ & (capacity_ - 1)).store(kSkipToEnd, std::memory_order_relaxed);
    written_ += skipped;
  }
  const std::uint64_t at = written_ & (capacity_ - 1);
  word_at(data, at).store(length, std::memory_order_relaxed);
  std::byte* const place = data + at + kLengthBytes;
  if (!header.empty()) std::memcpy(place, header.data(), header.size());
  if (!payload.empty()) std::memcpy(place + header.size(), payload.data(), payload.size());
  written_ += wanted;
  word_at(memory_, kWrittenAt).store(written_, std::memory_order_release);
  return Put::kDone;
}

LocalRingReader::Got LocalRingReader::look(std::size_t longest,
                                           std::span<const std::byte>& packet) {
  const std::uint64_t written = word_at(memory_, kWrittenAt).load(std::memory_order_acquire);
  std::uint64_t available = written - read_;
  if (available == 0) return Got::kEmpty;
  if (available > capacity_ || available % 8 != 0) return Got::kBroken;
  std::byte* const data = memory_ + kLocalRingHeaderBytes;
  std::uint64_t at = read_ & (capacity_ - 1);
  std::uint64_t length = word_at(data, at).load(std::memory_order_relaxed);
  if (length == kSkipToEnd) {
    const std::uint64_t skipped = capacity_ - at;
    // A record follows, since the writer publishes both together.
    if (available <= skipped) return Got::kBroken;
    available -= skipped;
    read_ += skipped;
    at = 0;
    length = word_at(data, at).load(std::memory_order_relaxed);
  }
  if (length > longest) return Got::kBroken;
  const std::uint64_t used = record_bytes(length);
  if (used > available || used > capacity_ - at) return Got::kBroken;
  packet = {data + at + kLengthBytes, length};
  next_ = read_ + used;
  return Got::kPacket;
}

void LocalRingReader::pop() {
  PLNET_CHECK(next_ > read_, "a packet was looked at");
  read_ = next_;
  word_at(memory_, kReadAt).store(read_, std::memory_order_release);
}

}  // namespace plnet::cassini::soft
