// SPDX-License-Identifier: BSD-3-Clause
// Limit of packets in flight to one peer: grows while the cable carries them, shrinks by three
// tenths when more than a sixteenth is lost. A smaller share indicates a bad cable, not a full one,
// and a slower pace would not help (BBR version 2 uses such a threshold, too).
#pragma once

#include <algorithm>

namespace plnet::cassini::soft::link {

class Congestion {
 public:
  static constexpr unsigned kStart = 32;
  static constexpr unsigned kLeast = 4;
  static constexpr unsigned kRoundLeast = 128;  // fewer packets give no reliable share
  static constexpr unsigned kStep = 4;

  void reset(unsigned most) {
    *this = Congestion{};
    most_ = most;
    window_ = std::min(kStart, most);
  }

  [[nodiscard]] unsigned window() const { return window_; }
  // A packet was held back by this window alone.
  void held_back() { limited_ = true; }
  // True: the window has become smaller.
  bool on_delivered(unsigned packets) {
    delivered_ += packets;
    return delivered_ + lost_ >= std::max(window_, kRoundLeast) && end_round();
  }
  void on_lost(unsigned packets) { lost_ += packets; }
  // A timeout without any answer to `flying` packets, the `times`th in a row.
  bool on_timeout(unsigned flying, unsigned times) {
    const unsigned before = window_;
    if (times > 1) window_ = std::min(kLeast, most_);
    if (times == 1 && flying >= kCrowd) window_ = std::max(window_ / 2, std::min(kLeast, most_));
    is_doubling_ = false;
    delivered_ = lost_ = 0;
    return window_ < before;
  }

 private:
  static constexpr unsigned kCrowd = 8;  // fewer may have been lost by chance

  bool end_round() {
    const unsigned total = delivered_ + lost_;
    const unsigned before = window_;
    if (lost_ * 16 > total) {
      window_ = std::max(window_ * 7 / 10, std::min(kLeast, most_));
      is_doubling_ = false;
    } else if (limited_) {
      window_ = std::min(is_doubling_ ? window_ * 2 : window_ + kStep, most_);
    }
    delivered_ = lost_ = 0;
    limited_ = false;
    return window_ < before;
  }

  unsigned most_ = kLeast;
  unsigned window_ = kLeast;
  unsigned delivered_ = 0;  // in this round
  unsigned lost_ = 0;
  bool limited_ = false;
  bool is_doubling_ = true;
};

}  // namespace plnet::cassini::soft::link
