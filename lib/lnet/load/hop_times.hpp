// SPDX-License-Identifier: BSD-3-Clause
// The times of messages in few bytes: each power of two of microseconds has two buckets, which
// tells a slow next hop from a fast one.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <numeric>

#include "lib/base/check.hpp"
#include "lib/base/clock.hpp"

namespace plnet::lnet {

class HopTimes {
 public:
  static constexpr std::size_t kBuckets = 54;  // the last one ends after 134 seconds

  [[nodiscard]] static constexpr std::size_t bucket_of(Duration took) {
    const std::int64_t ns = std::max<std::int64_t>(took.count(), 0);
    const auto us = static_cast<std::uint64_t>(ns) / 1000;
    if (us < 2) return static_cast<std::size_t>(us);
    const auto octave = static_cast<std::size_t>(std::bit_width(us)) - 1;
    return std::min(2 * octave + (us >> (octave - 1) & 1U), kBuckets - 1);
  }
  // Times in the bucket are shorter than this.
  [[nodiscard]] static constexpr Duration end_of(std::size_t bucket) {
    PLNET_CHECK(bucket < kBuckets, "the bucket exists");
    const std::uint64_t us = bucket < 2 ? bucket + 1 : (3 + (bucket & 1U)) << (bucket / 2 - 1);
    return std::chrono::microseconds(us);
  }

  void record(Duration took) {
    const Duration known = std::max(took, Duration{});
    ++counts_[bucket_of(known)];
    sum_ += known;
  }
  void merge(const HopTimes& other) {
    for (std::size_t i = 0; i < kBuckets; ++i)
      counts_[i] += other.counts_[i];
    sum_ += other.sum_;
  }
  [[nodiscard]] std::uint64_t in_bucket(std::size_t bucket) const { return counts_[bucket]; }
  [[nodiscard]] std::uint64_t count() const {
    return std::accumulate(counts_.begin(), counts_.end(), std::uint64_t{0});
  }
  [[nodiscard]] Duration sum() const { return sum_; }
  // `percent` percent of the times are at most this long, rounded up to the end of a bucket; 0:
  // none was recorded.
  [[nodiscard]] Duration percentile(unsigned percent) const {
    PLNET_CHECK(percent <= 100, "a share of the times is at most all of them");
    const std::uint64_t all = count();
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < kBuckets; ++i) {
      seen += counts_[i];
      if (seen != 0 && seen * 100 >= all * percent) return end_of(i);
    }
    return {};
  }

 private:
  std::array<std::uint64_t, kBuckets> counts_{};  // of months
  Duration sum_{};
};

}  // namespace plnet::lnet
