// SPDX-License-Identifier: BSD-3-Clause
#include "bench/router/open_loop.hpp"

#include <chrono>

namespace plnet::bench {

void OpenLoop::turn() {
  const Instant now = clock_.now();
  while (due_ <= now) {
    waiting_for_.push_back(due_);
    ++begun_;
    due_ += Duration(static_cast<std::int64_t>(random_.exponential(mean_ns_)));
  }
  flow_.turn(begun_);
  if (flow_.arrived() > arrived_) note_arrivals(clock_.now());
}

void OpenLoop::settle() {
  while (!waiting_for_.empty() && !flow_.broken()) {
    flow_.turn(begun_);
    note_arrivals(clock_.now());
  }
}

void OpenLoop::note_arrivals(Instant now) {
  for (; arrived_ < flow_.arrived(); ++arrived_) {
    const auto late = std::chrono::nanoseconds(now - waiting_for_.front());
    latency_ns_.record(static_cast<std::uint64_t>(late.count()));
    waiting_for_.pop_front();
  }
}

double OpenLoop::percentile_us(double percent) const {
  HistogramSnapshot now;
  latency_ns_.snapshot(now);
  return static_cast<double>(now.percentile(percent)) / 1000;
}

}  // namespace plnet::bench
