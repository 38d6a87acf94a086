// SPDX-License-Identifier: BSD-3-Clause
// A histogram of latencies and sizes in fixed memory, after HdrHistogram: each power of two is
// divided into equal parts, so the error is relative. Debian has no C++ HdrHistogram.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "lib/base/cache_line.hpp"

namespace plnet {

// The figures of one moment. The sum of snapshots is a snapshot.
class HistogramSnapshot {
 public:
  // 32 parts per power of two: any figure read back is at most 1/32 above what was recorded and
  // never below it; up to 63 every value has its own bucket.
  static constexpr unsigned kPartBits = 5;
  static constexpr std::uint64_t kParts = 1U << kPartBits;
  static constexpr std::size_t kBuckets = (64 - kPartBits + 1) * kParts;

  [[nodiscard]] static constexpr std::size_t bucket_of(std::uint64_t value) {
    if (value < kParts) return static_cast<std::size_t>(value);
    const auto shift = static_cast<unsigned>(std::bit_width(value)) - kPartBits - 1;
    return static_cast<std::size_t>(shift * kParts + (value >> shift));
  }
  // The largest value that falls into the bucket.
  [[nodiscard]] static constexpr std::uint64_t top_of(std::size_t bucket) {
    if (bucket < 2 * kParts) return bucket;
    const std::size_t shift = bucket / kParts - 1;
    const std::uint64_t part = bucket - shift * kParts;
    return ((part + 1) << shift) - 1;  // wraps to the very last value in the very last bucket
  }

  // The smallest recorded value that at least `percent` percent of all values do not exceed, with
  // the error of a bucket: at least the exact value, at most 1/32 above, never above max(). 0 if
  // nothing was recorded.
  [[nodiscard]] std::uint64_t percentile(double percent) const;
  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] std::uint64_t min() const { return count_ == 0 ? 0 : min_; }
  [[nodiscard]] std::uint64_t max() const { return max_; }
  [[nodiscard]] std::uint64_t sum() const { return sum_; }  // modulo 2^64
  [[nodiscard]] double mean() const {
    return count_ == 0 ? 0 : static_cast<double>(sum_) / static_cast<double>(count_);
  }
  [[nodiscard]] std::uint64_t in_bucket(std::size_t bucket) const { return buckets_[bucket]; }

  void merge(const HistogramSnapshot& other);

 private:
  friend class Histogram;

  std::array<std::uint64_t, kBuckets> buckets_{};
  std::uint64_t count_ = 0;
  std::uint64_t sum_ = 0;
  std::uint64_t min_ = UINT64_MAX;
  std::uint64_t max_ = 0;
};

// One writer (the owner of the shard), readers take snapshots at any time. About 15 KiB.
class alignas(kNoSharing) Histogram {
 public:
  // Owner only. Plain loads and stores: there is one writer.
  void record(std::uint64_t value) {
    bump(buckets_[HistogramSnapshot::bucket_of(value)], 1);
    bump(sum_, value);
    if (value < min_.load(std::memory_order_relaxed)) min_.store(value, std::memory_order_relaxed);
    if (value > max_.load(std::memory_order_relaxed)) max_.store(value, std::memory_order_relaxed);
  }
  // Owner only; readers ask the owner to reset.
  void reset();

  // Any thread. A concurrent record may be included in part; count() is always the sum of the
  // buckets.
  void snapshot(HistogramSnapshot& out) const;

 private:
  static void bump(std::atomic<std::uint64_t>& cell, std::uint64_t amount) {
    cell.store(cell.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
  }

  std::atomic<std::uint64_t> sum_{0};
  std::atomic<std::uint64_t> min_{UINT64_MAX};
  std::atomic<std::uint64_t> max_{0};
  std::array<std::atomic<std::uint64_t>, HistogramSnapshot::kBuckets> buckets_{};
};

}  // namespace plnet
