// SPDX-License-Identifier: BSD-3-Clause
// Messages in line, through their own hooks: nothing is allocated.
#pragma once

#include <cstdint>

#include "lib/lnet/api/lnd.hpp"

namespace plnet::socklnd {

// Transmit::lnd_state while it waits for a connection: when it came, in milliseconds, from bit 1
// on.
inline constexpr std::uintptr_t kCancelled = 1;
inline constexpr std::uintptr_t kEnded = std::uintptr_t{1} << 63U;  // the rest says how
inline constexpr unsigned kCameShift = 1;

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
  // Takes out those that `take` says yes to; it may queue them elsewhere. The order of the others
  // stays. The first `keep` are not asked.
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
