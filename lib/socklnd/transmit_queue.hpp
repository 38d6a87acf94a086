// SPDX-License-Identifier: BSD-3-Clause
// A queue of messages, linked through their own hooks: nothing is allocated.
#pragma once

#include <cstdint>

#include "lib/lnet/api/lnd.hpp"

namespace plnet::socklnd {

// Transmit::lnd_state of a message that waits for a connection: bit 0 if it is cancelled, from bit
// 1 on its arrival time in milliseconds.
inline constexpr std::uintptr_t kCancelled = 1;
inline constexpr std::uintptr_t kEnded = std::uintptr_t{1} << 63U;  // the rest is the outcome
inline constexpr unsigned kCameShift = 1;

// The arrival time, once it was set.
[[nodiscard]] inline Instant waits_since(const lnet::Transmit& transmit) {
  return Instant{std::chrono::milliseconds(transmit.lnd_state >> kCameShift)};
}

class TransmitQueue {
 public:
  [[nodiscard]] bool empty() const { return first_ == nullptr; }
  [[nodiscard]] lnet::Transmit* front() const { return first_; }
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (lnet::Transmit* at = first_; at != nullptr; at = at->lnd_next)
      visit(*at);
  }

  void push(lnet::Transmit& transmit) {
    transmit.lnd_next = nullptr;
    (first_ == nullptr ? first_ : last_->lnd_next) = &transmit;
    last_ = &transmit;
  }
  // nullptr if empty.
  lnet::Transmit* pop() {
    lnet::Transmit* const front = first_;
    if (front != nullptr) first_ = front->lnd_next;
    return front;
  }
  // Takes out the messages for which `take` returns true; it may queue them elsewhere. The order of
  // the others stays. The first `keep` messages stay.
  template <class Take>
  void take_out(unsigned keep, Take&& take) {
    TransmitQueue all = *this;
    *this = {};
    while (lnet::Transmit* const transmit = all.pop()) {
      if (keep > 0) {
        --keep;
        push(*transmit);
      } else if (!take(*transmit)) {
        push(*transmit);
      }
    }
  }

 private:
  lnet::Transmit* first_ = nullptr;
  lnet::Transmit* last_ = nullptr;
};

}  // namespace plnet::socklnd
