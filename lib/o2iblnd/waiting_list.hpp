// SPDX-License-Identifier: BSD-3-Clause
// Those that wait until something is given back (Environment::freed), so that the attempts are as
// many as the gifts and not as the turns.
#pragma once

#include <cstdint>

#include "lib/base/intrusive_list.hpp"

namespace plnet::o2iblnd {

template <class T, class Tag = void>
class WaitingList {
 public:
  void push_back(T& one, std::uint64_t freed) {
    // Others may wait since an earlier gift: they must not miss the next one.
    if (list_.empty()) tried_at_ = freed;
    list_.push_back(one);
  }
  // They are worth another attempt.
  [[nodiscard]] bool has_come(std::uint64_t freed) const {
    return !list_.empty() && tried_at_ != freed;
  }
  void take(std::uint64_t freed, IntrusiveList<T, Tag>& out) {
    tried_at_ = freed;
    out.splice_back(list_);
  }
  // Those that were not tried wait on.
  void put_back(IntrusiveList<T, Tag>& rest) { list_.splice_back(rest); }
  [[nodiscard]] bool empty() const { return list_.empty(); }

 private:
  IntrusiveList<T, Tag> list_;
  std::uint64_t tried_at_ = 0;
};

}  // namespace plnet::o2iblnd
