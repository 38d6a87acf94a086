// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/tcp/coalescer.hpp"

#include <algorithm>
#include <utility>

namespace plnet::drivers {

void Coalescer::change(std::size_t step) {
  step_ = step;
  settling_ = true;
  steady_windows_ = busy_windows_ = 0;
}

void Coalescer::begin_trial(Trial trial, std::size_t step) {
  trial_ = trial;
  rate_before_ = rate_mean_;
  step_before_ = step_;
  doubted_ = false;
  needed_votes_ = spare_votes_ = 0;
  change(step);
}

void Coalescer::judge_longer(std::uint64_t rate) {
  const bool kept = rate >= rate_before_ / 100 * kRateKept;
  if (!kept && !std::exchange(doubted_, true)) return;
  trial_ = Trial::kNone;
  if (kept) {
    patience_ = kPatienceMin;
    return;
  }
  wait_windows_ = patience_;
  patience_ = std::min(patience_ * 2, kPatienceMax);
  change(step_before_);
}

void Coalescer::judge_without(std::uint64_t rate, std::uint64_t busy) {
  const bool more = rate_before_ < rate / 100 * kRateKept;
  const bool spare = busy < (step_ == 0 ? kBusyWithout : kBusyToBeginLong);
  std::uint32_t& votes = spare || more ? spare_votes_ : needed_votes_;
  if (++votes < kVotes) return;
  trial_ = Trial::kNone;
  if (spare || more) {
    look_back_ = kLookBackMin;
    if (more) wait_windows_ = patience_;
    return;
  }
  look_back_ = std::min(look_back_ * 2, kLookBackMax);
  change(step_before_);
}

bool Coalescer::wants_longer(std::uint64_t busy) {
  const bool first = step_ == 0;
  if (!first && step_ != kLongestShort) return busy >= kBusyToGoOn;
  busy_windows_ = busy >= (first ? kBusyToBegin : kBusyToBeginLong) ? busy_windows_ + 1 : 0;
  return busy_windows_ >= (first ? kBusyWindows : kBusyWindowsToBeginLong);
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
  if (trial_ == Trial::kLonger) judge_longer(rate);
  if (trial_ == Trial::kWithout) judge_without(rate, busy);
  if (settling_) return;
  ++steady_windows_;
  rate_mean_ = rate_mean_ == 0 ? rate : (rate_mean_ * 3 + rate) / 4;
  if (trial_ != Trial::kNone) return;
  if (step_ > 0 && (busy < kBusyToEnd || large)) return change(step_ - 1);
  if (step_ > 0 && steady_windows_ >= look_back_)
    return begin_trial(Trial::kWithout, step_ > kLongestShort ? kLongestShort : 0);
  if (wants_longer(busy) && !large && step_ < longest_ && wait_windows_ == 0)
    begin_trial(Trial::kLonger, step_ + 1);
}

}  // namespace plnet::drivers
