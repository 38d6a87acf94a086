// SPDX-License-Identifier: BSD-3-Clause
// The present distance of two CPUs: the time of a cache line from one to the other. A host that
// moves its virtual CPUs changes it by a factor of ten between two rounds, and with it every figure
// that crosses CPUs; such a figure is worthless without this one.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "lib/base/cache_line.hpp"

namespace plnet::bench {

class LineDistance {
 public:
  // One way, in ns. The other CPU runs answer() meanwhile, once for each call.
  [[nodiscard]] double measure() {
    const std::uint32_t before = line_.load(std::memory_order_acquire);
    const auto start = std::chrono::steady_clock::now();
    for (std::uint32_t turn = 0; turn < 2 * kTrips; turn += 2) {
      line_.store(before + turn + 1, std::memory_order_release);
      while (line_.load(std::memory_order_acquire) != before + turn + 2) {
      }
    }
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
    return took.count() / (2 * kTrips);
  }
  void answer() {
    for (std::uint32_t trip = 0; trip < kTrips; ++trip, answered_ += 2) {
      while (line_.load(std::memory_order_acquire) != answered_ + 1) {
      }
      line_.store(answered_ + 2, std::memory_order_release);
    }
  }

 private:
  static constexpr std::uint32_t kTrips = 1000;

  alignas(kNoSharing) std::atomic<std::uint32_t> line_{0};
  alignas(kNoSharing) std::uint32_t answered_ = 0;
};

}  // namespace plnet::bench
