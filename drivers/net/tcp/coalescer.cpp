// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/tcp/coalescer.hpp"

#include <algorithm>
#include <utility>

namespace plnet::drivers {

void Coalescer::change(std::size_t step) {
  step_ = step;
  settling_ = true;
  steady_windows_ = 0;
}

void Coalescer::begin_trial(Trial trial, std::uint64_t rate) {
  trial_ = trial;
  rate_before_ = rate;
  change(trial == Trial::kLonger ? step_ + 1 : step_ - 1);
}

void Coalescer::end_trial(std::uint64_t rate) {
  const bool less = rate < rate_before_ / 100 * kRateKept;
  const bool more = rate_before_ < rate / 100 * kRateKept;
  const Trial trial = std::exchange(trial_, Trial::kNone);
  if (trial == Trial::kLonger && less) {
    wait_windows_ = patience_;
    patience_ = std::min(patience_ * 2, kPatienceMax);
    change(step_ - 1);
  } else if (trial == Trial::kLonger) {
    patience_ = kPatienceMin;
  } else if (!more) {
    change(step_ + 1);
  } else {
    wait_windows_ = patience_;
  }
}

void Coalescer::judge() {
  constexpr std::uint64_t kNsPerUs = 1000;
  const auto window_us = static_cast<std::uint64_t>(window_.count()) / kNsPerUs;
  const std::uint64_t busy = static_cast<std::uint64_t>(busy_.count()) / kNsPerUs * 100 / window_us;
  const std::uint64_t rate = bytes_ * 1000 / window_us;  // bytes in a millisecond
  const bool large = bytes_ > reads_ * kReadIsLarge;
  window_ = busy_ = {};
  reads_ = bytes_ = 0;
  if (wait_windows_ > 0) --wait_windows_;
  if (std::exchange(settling_, false)) return;
  if (trial_ != Trial::kNone) end_trial(rate);
  if (settling_) return;
  ++steady_windows_;
  if (step_ > 0 && (busy < kBusyToEnd || large)) return change(step_ - 1);
  if (step_ > 0 && steady_windows_ >= kLookBack) return begin_trial(Trial::kShorter, rate);
  const bool wanted = busy >= (step_ == 0 ? kBusyToBegin : kBusyToGoOn) && !large;
  if (wanted && step_ < longest_ && wait_windows_ == 0) begin_trial(Trial::kLonger, rate);
}

}  // namespace plnet::drivers
