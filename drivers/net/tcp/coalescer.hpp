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
// long pause is not free then: each message waits for it. So there are two kinds. A short pause
// hardly shows in the time that a message takes. A long one is for pollers which have no time left
// with the longest of the short ones either, and that takes its place to see whether it is needed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "lib/base/clock.hpp"

namespace plnet::drivers {

class Coalescer {
 public:
  // Long enough to tell a rate, short enough to follow a load.
  static constexpr Duration kWindow = std::chrono::milliseconds(2);
  static constexpr std::array<Duration, 5> kPauses{
      std::chrono::microseconds(0), std::chrono::microseconds(5), std::chrono::microseconds(10),
      std::chrono::microseconds(20), std::chrono::microseconds(40)};
  static constexpr std::size_t kLongestShort = 2;  // of those
  // Of a window, in per cent: with so much work a first pause is tried, a first long one, another
  // of the same kind, a shorter one.
  static constexpr std::uint64_t kBusyToBegin = 90;
  static constexpr std::uint64_t kBusyToBeginLong = 91;
  static constexpr std::uint64_t kBusyToGoOn = 60;
  static constexpr std::uint64_t kBusyToEnd = 40;
  // With less work than this in the windows without a pause, none is needed.
  static constexpr std::uint64_t kBusyWithout = 85;
  // So many windows in a row must be of one opinion: a machine that stood still for one looks busy,
  // and at three quarters of what a poller can do one of five is as busy as a long pause asks for.
  static constexpr std::uint32_t kBusyWindows = 3;
  static constexpr std::uint32_t kBusyWindowsToBeginLong = 5;
  // Of the windows without it so many must agree whether a pause is needed.
  static constexpr std::uint32_t kVotes = 2;
  // What must still come through for a longer pause to be kept, in per cent, in one of two windows:
  // in the other the machine may have stood still.
  static constexpr std::uint64_t kRateKept = 92;
  // Reads that bring more than this on average are large enough: three quarters of what is staged.
  static constexpr std::uint64_t kReadIsLarge = std::uint64_t{48} * 1024;
  // Windows until a pause that was not free is tried again; doubled each time up to the latter.
  static constexpr std::uint32_t kPatienceMin = 32;
  static constexpr std::uint32_t kPatienceMax = 1024;
  // Windows until a pause is left out to see; doubled each time that it was needed.
  static constexpr std::uint32_t kLookBackMin = 64;
  static constexpr std::uint32_t kLookBackMax = 256;

  // `longest_step` of kPauses is as far as it goes; 0: never a pause.
  explicit Coalescer(std::size_t longest_step = kPauses.size() - 1) : longest_(longest_step) {}

  // Once a turn, before the sockets are looked at. True: leave them alone.
  [[nodiscard]] bool holds(Instant now) {
    if (longest_ == 0) return false;
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
  enum class Trial : std::uint8_t { kNone, kLonger, kWithout };

  void judge();
  void judge_longer(std::uint64_t rate);
  void judge_without(std::uint64_t rate, std::uint64_t busy);
  [[nodiscard]] bool wants_longer(std::uint64_t busy);
  void change(std::size_t step);
  void begin_trial(Trial trial, std::size_t step);

  const std::size_t longest_;
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
  std::uint64_t rate_mean_ = 0;  // of the others, the last four above all: one alone may be lucky
  Trial trial_ = Trial::kNone;
  std::uint64_t rate_before_ = 0;  // what came through before it
  std::size_t step_before_ = 0;
  bool doubted_ = false;            // less came through in a window of this trial
  std::uint32_t needed_votes_ = 0;  // of the windows without it
  std::uint32_t spare_votes_ = 0;
  std::uint32_t wait_windows_ = 0;    // until a longer one is tried
  std::uint32_t steady_windows_ = 0;  // since the last change
  std::uint32_t busy_windows_ = 0;    // in a row
  std::uint32_t patience_ = kPatienceMin;
  std::uint32_t look_back_ = kLookBackMin;
};

}  // namespace plnet::drivers
