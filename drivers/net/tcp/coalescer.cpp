// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/tcp/coalescer.hpp"

#include <algorithm>
#include <utility>

#include "lib/base/check.hpp"

namespace plnet::drivers {

void Coalescer::change(std::size_t step) {
  PLNET_DEBUG_CHECK(step < kPauses.size(), "each step has its pause");
  step_ = step;
  settling_ = true;
  steady_windows_ = busy_windows_ = 0;
}

void Coalescer::begin_trial(Trial::Of of, std::size_t step) {
  PLNET_DEBUG_CHECK(trial_.of == Trial::Of::kNothing, "one trial at a time");
  trial_ = {.of = of, .step_before = step_, .rate_before = rate_mean_};
  change(step);
}

void Coalescer::judge_trial(std::uint64_t rate, std::uint64_t busy) {
  trial_.rates += rate;
  ++trial_.windows;
  switch (trial_.of) {
    case Trial::Of::kNothing: return;
    case Trial::Of::kLongerShort: return judge_longer(rate);
    case Trial::Of::kNoPause: return judge_no_pause(rate, busy);
    case Trial::Of::kLong: return judge_long();
    case Trial::Of::kShortForLong: return judge_short_for_long();
  }
}

void Coalescer::judge_longer(std::uint64_t rate) {
  PLNET_DEBUG_CHECK(step_ > trial_.step_before, "the trial is one of a longer pause");
  const bool kept = rate >= trial_.rate_before / 100 * kRateKept;
  if (!kept && !std::exchange(trial_.doubted, true)) return;
  if (kept) {
    longer_ = {};
  } else {
    longer_.turn_down(kPatienceMin);
    change(trial_.step_before);
  }
  end_trial();
}

void Coalescer::judge_no_pause(std::uint64_t rate, std::uint64_t busy) {
  const bool more = trial_.rate_before < rate / 100 * kRateKept;
  const bool spare = busy < kBusyWithout;
  std::uint32_t& votes = spare || more ? trial_.spare_votes : trial_.needed_votes;
  if (++votes < kVotes) return;
  if (spare || more) {
    look_back_ = kLookBackMin;
    if (more) longer_.turn_down(kPatienceMin);
  } else {
    look_back_ = std::min(look_back_ * 2, kLookBackMax);
    change(trial_.step_before);
  }
  end_trial();
}

void Coalescer::judge_long() {
  const std::uint64_t mean = trial_.rates / trial_.windows;
  const auto gains = [&](std::uint64_t per_cent) {
    return mean >= trial_.rate_before / 100 * (100 + per_cent);
  };
  switch (trial_.windows) {
    case kLongWindows / 4:
      if (!gains(kGainGlimpsed)) give_up_long();
      return;
    case kLongWindows / 2:
      if (!gains(kGainLikely)) return give_up_long();
      if (!gains(kGainCertain)) return;
      break;
    case kLongWindows:
      if (!gains(kGain)) return give_up_long();
      break;
    default: return;
  }
  long_ = {};
  look_back_ = kLookBackMin;
  end_trial();
}

void Coalescer::give_up_long() {
  long_.turn_down(kLongPatienceMin);
  change(trial_.step_before);
  end_trial();
}

void Coalescer::judge_short_for_long() {
  if (trial_.windows < kLongWindows / 2) return;
  const std::uint64_t mean = trial_.rates / trial_.windows;
  if (trial_.rate_before >= mean / 100 * (100 + kGainLikely)) {
    look_back_ = std::min(look_back_ * 2, kLookBackMax);
    change(trial_.step_before);
  } else {
    look_back_ = kLookBackMin;
    long_.turn_down(kLongPatienceMin);
  }
  end_trial();
}

bool Coalescer::wants_longer(std::uint64_t busy) {
  if (step_ >= kLongestShort || longer_.wait_windows > 0) return false;
  if (step_ > 0) return busy >= kBusyToGoOn;
  busy_windows_ = busy >= kBusyToBegin ? busy_windows_ + 1 : 0;
  return busy_windows_ >= kBusyWindows;
}

bool Coalescer::wants_long(std::uint64_t busy) const {
  return step_ == kLongestShort && busy >= kBusyToGoOn && long_.wait_windows == 0 &&
         steady_windows_ >= kMeanWindows;
}

void Coalescer::judge() {
  PLNET_DEBUG_CHECK(window_ >= kWindow && busy_ <= window_, "a window has passed");
  constexpr std::uint64_t kNsPerUs = 1000;
  const auto window_us = static_cast<std::uint64_t>(window_.count()) / kNsPerUs;
  const std::uint64_t busy = static_cast<std::uint64_t>(busy_.count()) / kNsPerUs * 100 / window_us;
  const std::uint64_t rate = bytes_ * 1000 / window_us;  // bytes in a millisecond
  const bool large = bytes_ > reads_ * (step_ == kLong ? kReadIsBulk : kReadIsLarge);
  window_ = busy_ = {};
  reads_ = bytes_ = 0;
  longer_.pass();
  long_.pass();
  if (std::exchange(settling_, false)) return;
  judge_trial(rate, busy);
  if (settling_) return;
  steady_windows_ = std::min(steady_windows_ + 1, kLookBackMax);
  const std::uint64_t weight = std::min(steady_windows_, kMeanWindows);
  rate_mean_ = (rate_mean_ * (weight - 1) + rate) / weight;
  if (trial_.of != Trial::Of::kNothing) return;
  const bool idle = busy < (step_ == kLong ? kBusyToEndLong : kBusyToEnd);
  if (step_ > 0 && (idle || large)) return change(step_ - 1);
  if (step_ > 0 && steady_windows_ >= look_back_) {
    if (step_ == kLong) return begin_trial(Trial::Of::kShortForLong, kLongestShort);
    return begin_trial(Trial::Of::kNoPause, 0);
  }
  if (large) return;
  if (wants_longer(busy)) return begin_trial(Trial::Of::kLongerShort, step_ + 1);
  if (wants_long(busy)) begin_trial(Trial::Of::kLong, kLong);
}

}  // namespace plnet::drivers
