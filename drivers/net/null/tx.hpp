// SPDX-License-Identifier: BSD-3-Clause
// Messages on their way out. The core lends them to the driver, so they are linked through their
// own hooks: no memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "lib/base/check.hpp"
#include "lib/lnet/api/lnd.hpp"

namespace plnet::drivers {

// Values of Transmit::lnd_state while the null driver has the message.
enum class NullTxState : std::uintptr_t { kQueued, kCancelled };

class TxQueue {
 public:
  [[nodiscard]] bool empty() const { return head_ == nullptr; }
  [[nodiscard]] lnet::Transmit* front() const { return head_; }

  void push(lnet::Transmit& transmit) {
    transmit.lnd_next = nullptr;
    (head_ == nullptr ? head_ : tail_->lnd_next) = &transmit;
    tail_ = &transmit;
  }
  lnet::Transmit& pop() {
    PLNET_CHECK(head_ != nullptr, "pop from an empty queue");
    lnet::Transmit& transmit = *head_;
    head_ = transmit.lnd_next;
    return transmit;
  }
  // Moves all of `other` in front of these; `other` is empty afterwards.
  void prepend(TxQueue& other) {
    if (other.empty()) return;
    other.tail_->lnd_next = head_;
    if (head_ == nullptr) tail_ = other.tail_;
    head_ = other.head_;
    other.head_ = nullptr;
  }

 private:
  lnet::Transmit* head_ = nullptr;
  lnet::Transmit* tail_ = nullptr;  // valid only while head_ is not null
};

// Completions for the core, a burst at a time.
class CompletionBurst {
 public:
  // When these end, the core looks at the same data as when their ACKs came: for no more than so
  // many it is still in the first-level cache.
  static constexpr std::size_t kCapacity = 16;

  [[nodiscard]] bool full() const { return count_ == kCapacity; }
  [[nodiscard]] bool empty() const { return count_ == 0; }
  void add(const lnet::Completion& completion) {
    PLNET_CHECK(!full(), "deliver a full burst first");
    std::construct_at(&completions_[count_++], completion);  // an assignment would compare first
  }
  void deliver(lnet::LndUpcalls& core) {
    if (count_ == 0) return;
    const std::size_t count = count_;
    count_ = 0;
    core.on_sent({completions_.data(), count});
  }

 private:
  std::array<lnet::Completion, kCapacity> completions_{};
  std::size_t count_ = 0;
};

}  // namespace plnet::drivers
