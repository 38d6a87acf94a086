// SPDX-License-Identifier: BSD-3-Clause
// The pause between a read of the sockets and the next one. A poller that keeps up with its sockets
// finds one small message in each read and pays two system calls for it. That is right while it has
// idle time. Without idle time a pause that lets a few messages come together costs nothing: a
// message behind a busy poller waits anyway, and a batch is cheaper for both ends.
//
// So a pause is tried, and kept if it is free. If hardly any time is left, the pause goes up a
// step; if less comes through than before, it goes down again and is not tried for a while. A
// conversation of few messages, each of which waits for the last, gets slower at once; a crowd does
// not. With a pause there is always idle time, which does not tell whether the pause is needed. So
// it is left out now and then, and for good if there is idle time without it or if more comes
// through.
//
// A poller that reads messages one by one has little time left at three quarters of its capacity,
// and a long pause is not free then: each message waits for it. So there are two kinds of pauses.
// Short ones hardly show in the latency of a message. The long one is kept only where more comes
// through with it: then the ends of the flow have no idle time, and do less if they, too, find
// several messages at once. Where messages come at their own pace, nothing is gained by it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "lib/base/clock.hpp"

namespace plnet::drivers {

class Coalescer {
 public:
  // Long enough to measure a rate, short enough to follow a load.
  static constexpr Duration kWindow = std::chrono::milliseconds(2);
  static constexpr std::array<Duration, 4> kPauses{
      std::chrono::microseconds(0), std::chrono::microseconds(5), std::chrono::microseconds(10),
      std::chrono::microseconds(40)};
  static constexpr std::size_t kLongestShort = 2;  // the index of the longest short pause
  static constexpr std::size_t kLong = 3;
  static_assert(kLongestShort < kLong && kLong + 1 == kPauses.size());
  // Shares of a window, in per cent: with so much work a first, a longer, or a shorter pause is
  // tried. The long pause leaves much time to a fast router.
  static constexpr std::uint64_t kBusyToBegin = 90;
  static constexpr std::uint64_t kBusyToGoOn = 60;
  static constexpr std::uint64_t kBusyToEnd = 40;
  static constexpr std::uint64_t kBusyToEndLong = 15;
  static_assert(kBusyToEndLong < kBusyToEnd && kBusyToEnd < kBusyToGoOn &&
                kBusyToGoOn < kBusyToBegin);
  // With less work than this in the windows without a pause, no pause is needed.
  static constexpr std::uint64_t kBusyWithout = 85;
  // A rate is the mean of so many windows.
  static constexpr std::uint32_t kMeanWindows = 16;
  // So many windows in a row must agree: a machine that stood still for one window looks busy.
  static constexpr std::uint32_t kBusyWindows = 3;
  // So many of the windows without a pause must agree whether one is needed.
  static constexpr std::uint32_t kVotes = 2;
  // The rate, in per cent, that is enough to keep a longer pause, in one of two windows: in the
  // other one the machine may have stood still.
  static constexpr std::uint64_t kRateKept = 92;
  // The rate, in per cent of that with a short pause, that is enough to keep the long pause, in a
  // trial of so many windows. After half of the trial a clear result ends it; after a quarter a
  // result that is unlikely to improve. Messages that come at random differ by 2 % in 8 windows.
  static constexpr std::uint32_t kLongWindows = 16;
  static constexpr std::uint64_t kGain = 5;
  static constexpr std::uint64_t kGainCertain = 7;
  static constexpr std::uint64_t kGainLikely = 2;
  static constexpr std::uint64_t kGainGlimpsed = 1;
  static_assert(kLongWindows % 4 == 0 && kGainGlimpsed < kGainLikely && kGainLikely < kGain &&
                kGain < kGainCertain);
  // Reads with a larger mean are large enough: three quarters of the staging buffer. A long pause
  // is meant to make reads large; messages larger than the staging buffer are not small.
  static constexpr std::uint64_t kReadIsLarge = std::uint64_t{48} * 1024;
  static constexpr std::uint64_t kReadIsBulk = std::uint64_t{96} * 1024;
  // Windows until a pause that was not free is tried again; doubled each time, up to the second
  // value.
  static constexpr std::uint32_t kPatienceMin = 32;
  static constexpr std::uint32_t kLongPatienceMin = 64;
  static constexpr std::uint32_t kPatienceMax = 1024;
  static_assert(kPatienceMin < kLongPatienceMin && kLongPatienceMin < kPatienceMax);
  // Windows until a pause is left out as a trial; doubled each time that it was needed.
  static constexpr std::uint32_t kLookBackMin = 64;
  static constexpr std::uint32_t kLookBackMax = 256;
  static_assert(kMeanWindows < kLookBackMin && kLookBackMin < kLookBackMax);

  explicit Coalescer(bool ever_pauses = true) : ever_pauses_(ever_pauses) {}

  // Called once a turn, before the sockets are read. True: do not read them now.
  [[nodiscard]] bool holds(Instant now) {
    if (!ever_pauses_) return false;
    note_time(now);
    return now < until_;
  }
  // The bytes that the reads of this turn have returned.
  void note(Instant now, std::uint64_t reads, std::uint64_t bytes) {
    if (bytes == 0) return;
    worked_ = true;
    reads_ += reads;
    bytes_ += bytes;
    until_ = now + kPauses[step_];
  }
  [[nodiscard]] Duration pause() const { return kPauses[step_]; }
  // The windows since the last change; counted only as far as needed.
  [[nodiscard]] std::uint32_t steady_windows() const { return steady_windows_; }
  // The end of a running pause.
  [[nodiscard]] Instant until() const { return until_; }

 private:
  // The time since the last turn was work if that turn has read anything.
  void note_time(Instant now) {
    if (last_ != Instant{}) {
      const Duration passed = now - last_;
      window_ += passed;
      if (worked_) busy_ += passed;
    }
    worked_ = false;
    last_ = now;
    if (window_ >= kWindow) [[unlikely]]
      judge();
  }
  // The windows of a trial.
  struct Trial {
    enum class Of : std::uint8_t { kNothing, kLongerShort, kNoPause, kLong, kShortForLong };
    Of of = Of::kNothing;
    std::size_t step_before = 0;
    std::uint64_t rate_before = 0;
    std::uint64_t rates = 0;  // their sum
    std::uint32_t windows = 0;
    std::uint32_t needed_votes = 0;
    std::uint32_t spare_votes = 0;
    bool doubted = false;  // less came through in one of them
  };
  // The windows for which a pause that was not good is not tried.
  struct Patience {
    std::uint32_t wait_windows = 0;
    std::uint32_t next = 0;
    void turn_down(std::uint32_t least) {
      wait_windows = next = next == 0 ? least : std::min(next * 2, kPatienceMax);
    }
    void pass() {
      if (wait_windows > 0) --wait_windows;
    }
  };

  void judge();
  void judge_trial(std::uint64_t rate, std::uint64_t busy);
  void judge_longer(std::uint64_t rate);
  void judge_no_pause(std::uint64_t rate, std::uint64_t busy);
  void judge_long();
  void give_up_long();
  void judge_short_for_long();
  [[nodiscard]] bool wants_longer(std::uint64_t busy);
  [[nodiscard]] bool wants_long(std::uint64_t busy) const;
  void change(std::size_t step);
  void begin_trial(Trial::Of of, std::size_t step);
  void end_trial() { trial_ = {}; }

  const bool ever_pauses_;
  std::size_t step_ = 0;
  Instant last_{};
  Instant until_{};
  bool worked_ = false;
  // Sums of this window.
  Duration window_{};
  Duration busy_{};
  std::uint64_t reads_ = 0;
  std::uint64_t bytes_ = 0;
  bool settling_ = false;  // the window of a change is not counted
  std::uint64_t rate_mean_ =
      0;  // a moving mean since the change: one window alone may be an exception
  Trial trial_;
  Patience longer_;
  Patience long_;
  std::uint32_t steady_windows_ = 0;  // since the last change; counted up to a limit
  std::uint32_t busy_windows_ = 0;    // in a row
  std::uint32_t look_back_ = kLookBackMin;
};

}  // namespace plnet::drivers
