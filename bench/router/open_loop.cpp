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
  const bool sends = flow_.begun() < begun_;
  flow_.turn(begun_);
  const bool received = flow_.arrived() > arrived_;
  const Instant end = clock_.now();
  if (received) note_arrivals(end);
  note_turn(end, sends || received);
}

void OpenLoop::note_turn(Instant end, bool worked) {
  (worked ? busy_ : idle_) += end - turn_ended_;
  turn_ended_ = end;
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

double OpenLoop::busy() const {
  const auto all = static_cast<double>((busy_ + idle_).count());
  return all > 0 ? static_cast<double>(busy_.count()) / all : 0;
}

double OpenLoop::percentile_us(double percent) const {
  HistogramSnapshot now;
  latency_ns_.snapshot(now);
  return static_cast<double>(now.percentile(percent)) / 1000;
}

}  // namespace plnet::bench
