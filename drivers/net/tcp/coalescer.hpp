// SPDX-License-Identifier: BSD-3-Clause
// How long to leave the sockets alone after reading them. A poller that keeps up with its sockets
// finds one small message in each read and pays the price of two system calls for it. That is right
// while it has time to spare. Once it has none, letting a few come together costs nobody anything:
// who waits behind a busy poller waits in any case, and a batch is cheaper for both ends.
//
// So it is tried, and kept if it is free: when hardly any time is left the pause goes up a step,
// and if less then comes through than before it goes down again and is not tried for a while. A
// conversation of few messages, each of which waits for the last, gives less at once; a crowd does
// not. With a pause there is always time to spare, so that does not tell whether it is needed: for
// that it is left out now and then, and it stays away if there is time without it or if more comes
// through.
//
// A poller that reads one by one has little time left at three quarters of what it can do, and a
// long pause is not free then: each message waits for it. So there are two kinds. Short ones hardly
// show in the time that a message takes. The long one is kept only where more comes through with
// it: then it is the ends of the flow that have no time, and they have less to do if they, too,
// find several messages at once. Where messages come at their own pace nothing is gained by it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "lib/base/clock.hpp"

namespace plnet::drivers {

class Coalescer {
 public:
  // Long enough to tell a rate, short enough to follow a load.
  static constexpr Duration kWindow = std::chrono::milliseconds(2);
  static constexpr std::array<Duration, 4> kPauses{
      std::chrono::microseconds(0), std::chrono::microseconds(5), std::chrono::microseconds(10),
      std::chrono::microseconds(40)};
  static constexpr std::size_t kLongestShort = 2;  // of those
  static constexpr std::size_t kLong = 3;
  // Of a window, in per cent: with so much work a first pause is tried, a longer one, a shorter
  // one. The long one leaves much time to a router that is quick.
  static constexpr std::uint64_t kBusyToBegin = 90;
  static constexpr std::uint64_t kBusyToGoOn = 60;
  static constexpr std::uint64_t kBusyToEnd = 40;
  static constexpr std::uint64_t kBusyToEndLong = 15;
  // With less work than this in the windows without a pause, none is needed.
  static constexpr std::uint64_t kBusyWithout = 85;
  // A rate is the mean of so many.
  static constexpr std::uint32_t kMeanWindows = 16;
  // So many windows in a row must be of one opinion: a machine that stood still for one looks busy.
  static constexpr std::uint32_t kBusyWindows = 3;
  // Of the windows without it so many must agree whether a pause is needed.
  static constexpr std::uint32_t kVotes = 2;
  // What must still come through for a longer pause to be kept, in per cent, in one of two windows:
  // in the other the machine may have stood still.
  static constexpr std::uint64_t kRateKept = 92;
  // What the long pause has to bring to be kept, in per cent of what came through with a short one,
  // in a trial of so many windows. After half of it what is clear is not waited for, and after a
  // quarter what does not look like it. Messages that come at random differ by 2 % in 8 windows.
  static constexpr std::uint32_t kLongWindows = 16;
  static constexpr std::uint64_t kGain = 5;
  static constexpr std::uint64_t kGainCertain = 7;
  static constexpr std::uint64_t kGainLikely = 2;
  static constexpr std::uint64_t kGainGlimpsed = 1;
  // Reads that bring more than this on average are large enough: three quarters of what is staged.
  // What a long pause brings is meant to be large; more than is staged are no small messages.
  static constexpr std::uint64_t kReadIsLarge = std::uint64_t{48} * 1024;
  static constexpr std::uint64_t kReadIsBulk = std::uint64_t{96} * 1024;
  // Windows until a pause that was not free is tried again; doubled each time up to the latter.
  static constexpr std::uint32_t kPatienceMin = 32;
  static constexpr std::uint32_t kLongPatienceMin = 64;
  static constexpr std::uint32_t kPatienceMax = 1024;
  // Windows until a pause is left out to see; doubled each time that it was needed.
  static constexpr std::uint32_t kLookBackMin = 64;
  static constexpr std::uint32_t kLookBackMax = 256;

  explicit Coalescer(bool ever_pauses = true) : ever_pauses_(ever_pauses) {}

  // Once a turn, before the sockets are looked at. True: leave them alone.
  [[nodiscard]] bool holds(Instant now) {
    if (!ever_pauses_) return false;
    note_time(now);
    return now < until_;
  }
  // What this turn's reads have brought.
  void note(Instant now, std::uint64_t reads, std::uint64_t bytes) {
    if (bytes == 0) return;
    worked_ = true;
    reads_ += reads;
    bytes_ += bytes;
    until_ = now + kPauses[step_];
  }
  [[nodiscard]] Duration pause() const { return kPauses[step_]; }
  // Since it has changed; no more are counted than it ever asks for.
  [[nodiscard]] std::uint32_t steady_windows() const { return steady_windows_; }
  // While it holds, when it ends.
  [[nodiscard]] Instant until() const { return until_; }

 private:
  // The time since the last turn was work if that turn has read something.
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
  // Of the windows of a trial.
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
  // How long to leave something alone that was not good.
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
  // Of this window.
  Duration window_{};
  Duration busy_{};
  std::uint64_t reads_ = 0;
  std::uint64_t bytes_ = 0;
  bool settling_ = false;        // the window in which it changed tells nothing
  std::uint64_t rate_mean_ = 0;  // of those since, the last ones above all: one alone may be lucky
  Trial trial_;
  Patience longer_;
  Patience long_;
  std::uint32_t steady_windows_ = 0;  // since the last change; enough are enough
  std::uint32_t busy_windows_ = 0;    // in a row
  std::uint32_t look_back_ = kLookBackMin;
};

}  // namespace plnet::drivers
