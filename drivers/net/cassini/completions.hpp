// SPDX-License-Identifier: BSD-3-Clause
// Completions not yet reported: a ring with room for all operations that can end at the same time.
#pragma once

#include <bit>
#include <cstddef>
#include <vector>

#include "lib/base/check.hpp"
#include "lib/kfilnd/fabric_endpoint.hpp"

namespace plnet::cassini {

class CompletionRing {
 public:
  explicit CompletionRing(std::size_t capacity) : ring_(std::bit_ceil(capacity)) {}

  void push(const kfilnd::FabricCompletion& completion) {
    PLNET_CHECK(size() < ring_.size(), "more completions than operations");
    ring_[tail_++ & (ring_.size() - 1)] = completion;
  }
  [[nodiscard]] kfilnd::FabricCompletion pop() { return ring_[head_++ & (ring_.size() - 1)]; }
  [[nodiscard]] std::size_t size() const { return tail_ - head_; }
  [[nodiscard]] bool empty() const { return head_ == tail_; }

 private:
  std::vector<kfilnd::FabricCompletion> ring_;
  std::size_t head_ = 0;
  std::size_t tail_ = 0;
};

}  // namespace plnet::cassini
