// SPDX-License-Identifier: BSD-3-Clause
// A writer that never waits, and readers that it overtakes.
#include <atomic>
#include <cstring>
#include <new>
#include <span>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "lib/trace/record/ring.hpp"

namespace plnet::trace::ring_concurrent_test {
namespace {

TEST(TraceRingConcurrent, ReadersSeeWholeRecordsOrCountThem) {
  constexpr std::uint64_t kRecords = 100'000;
  const std::size_t bytes = ring_memory_bytes(kRingBytesMin);
  std::byte* const memory = new (std::align_val_t{kNoSharing}) std::byte[bytes];
  std::memset(memory, 0, bytes);
  auto writer = RingWriter::create({memory, bytes}, {}).value();
  std::atomic<bool> done{false};
  std::vector<std::uint64_t> seen(2);
  std::vector<std::jthread> readers;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    readers.emplace_back([&, i] {
      auto reader = RingReader::attach({memory, bytes}).value();
      for (bool last = false; !last;) {
        last = done.load(std::memory_order_acquire);
        for (;;) {
          const auto record = reader.next().value();
          if (!record) break;
          ++seen[i];
          for (const std::byte byte : record->payload)
            ASSERT_EQ(byte, static_cast<std::byte>(record->header.time_ns));
          ASSERT_EQ(record->header.time_ns, seen[i] + reader.lost() - 1);
        }
        std::this_thread::yield();
      }
      seen[i] += reader.lost();
    });
  }
  std::vector<std::byte> payload;
  for (std::uint64_t i = 0; i < kRecords; ++i) {
    payload.assign(i % 200, static_cast<std::byte>(i));
    EXPECT_TRUE(writer.write({.time_ns = i}, payload));
  }
  done.store(true, std::memory_order_release);
  readers.clear();
  for (const std::uint64_t count : seen)
    EXPECT_EQ(count, kRecords);
  operator delete[](memory, std::align_val_t{kNoSharing});
}

}  // namespace
}  // namespace plnet::trace::ring_concurrent_test
