// SPDX-License-Identifier: BSD-3-Clause
#include "lib/base/histogram.hpp"

#include <algorithm>
#include <cmath>

namespace plnet {

std::uint64_t HistogramSnapshot::percentile(double percent) const {
  if (count_ == 0) return 0;
  const double share = std::clamp(percent, 0.0, 100.0) / 100.0;
  const double wanted = std::ceil(share * static_cast<double>(count_));
  const auto rank = std::clamp<std::uint64_t>(static_cast<std::uint64_t>(wanted), 1, count_);
  std::uint64_t seen = 0;
  for (std::size_t bucket = 0; bucket < kBuckets; ++bucket) {
    seen += buckets_[bucket];
    if (seen >= rank) return std::min(top_of(bucket), max_);
  }
  return max_;
}

void HistogramSnapshot::merge(const HistogramSnapshot& other) {
  for (std::size_t bucket = 0; bucket < kBuckets; ++bucket)
    buckets_[bucket] += other.buckets_[bucket];
  count_ += other.count_;
  sum_ += other.sum_;
  min_ = std::min(min_, other.min_);
  max_ = std::max(max_, other.max_);
}

void Histogram::reset() {
  for (auto& bucket : buckets_)
    bucket.store(0, std::memory_order_relaxed);
  sum_.store(0, std::memory_order_relaxed);
  min_.store(UINT64_MAX, std::memory_order_relaxed);
  max_.store(0, std::memory_order_relaxed);
}

void Histogram::snapshot(HistogramSnapshot& out) const {
  out.count_ = 0;
  for (std::size_t bucket = 0; bucket < HistogramSnapshot::kBuckets; ++bucket) {
    out.buckets_[bucket] = buckets_[bucket].load(std::memory_order_relaxed);
    out.count_ += out.buckets_[bucket];
  }
  out.sum_ = sum_.load(std::memory_order_relaxed);
  out.min_ = min_.load(std::memory_order_relaxed);
  out.max_ = max_.load(std::memory_order_relaxed);
}

}  // namespace plnet
