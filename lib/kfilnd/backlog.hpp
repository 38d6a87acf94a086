// SPDX-License-Identifier: BSD-3-Clause
// Messages that wait in their receive buffers, in order of arrival, until they can be received. A
// ring of fixed size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lib/base/check.hpp"
#include "lib/base/clock.hpp"

namespace plnet::kfilnd {

class Backlog {
 public:
  struct Entry {
    std::uint32_t buffer = 0;
    std::uint32_t offset = 0;
    std::uint32_t length = 0;
    Instant until = Instant::max();  // then it is dropped
  };

  explicit Backlog(std::size_t entries_max) : entries_(entries_max) {}

  [[nodiscard]] bool full() const { return count_ == entries_.size(); }
  [[nodiscard]] std::size_t size() const { return count_; }
  void push(const Entry& entry) {
    PLNET_CHECK(!full(), "the caller has looked for room");
    entries_[(first_ + count_++) % entries_.size()] = entry;
  }
  [[nodiscard]] Entry pop() {
    PLNET_CHECK(count_ > 0, "the caller has looked for an entry");
    const Entry entry = entries_[first_];
    first_ = (first_ + 1) % entries_.size();
    --count_;
    return entry;
  }

 private:
  std::vector<Entry> entries_;
  std::size_t first_ = 0;
  std::size_t count_ = 0;
};

}  // namespace plnet::kfilnd
