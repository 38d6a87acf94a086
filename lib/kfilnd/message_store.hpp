// SPDX-License-Identifier: BSD-3-Clause
// The store for payloads of received messages that wait: the receive buffer in which the message
// arrived, or a copy, so that the NIC gets the buffer back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "lib/kfilnd/environment.hpp"
#include "lib/kfilnd/multi_receive.hpp"
#include "lib/kfilnd/transaction.hpp"

namespace plnet::kfilnd {

class MessageStore {
 public:
  explicit MessageStore(Environment& environment);

  // The payload stays in the receive buffer, which is not posted again meanwhile.
  void hold(Transaction& one, std::uint32_t buffer, std::span<const std::byte> payload);
  // Copies the payload, if there is any, out of the receive buffer. False: no place is free, and
  // the payload stays where it is.
  [[nodiscard]] bool copy_out(Transaction& one);
  // The transaction needs its receive buffer no more.
  void leave_buffer(Transaction& one) {
    if (one.buffer != 0) buffers_.let_go(std::exchange(one.buffer, 0) - 1);
  }
  // The transaction is over.
  void free(Transaction& one) {
    leave_buffer(one);
    if (one.copy_slot != 0) free_copy(one);
  }

  // Posts receive buffers that the driver has refused, if it is time.
  void repost();
  // The time of the next repost(); Instant::max(): all buffers are posted or in use.
  [[nodiscard]] Instant repost_at() const {
    return buffers_.missing() > 0 && !environment_.shutting_down ? repost_at_ : Instant::max();
  }

  [[nodiscard]] MultiReceive& buffers() { return buffers_; }
  [[nodiscard]] const MultiReceive& buffers() const { return buffers_; }

 private:
  void free_copy(Transaction& one);

  static constexpr Duration kRepostInterval = std::chrono::milliseconds(100);

  Environment& environment_;
  MultiReceive buffers_;
  std::vector<std::byte> copies_;
  std::vector<std::uint32_t> free_copies_;  // Transaction::copy_slot of each
  Instant repost_at_ = Instant::min();
};

}  // namespace plnet::kfilnd
