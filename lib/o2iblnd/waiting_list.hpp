// SPDX-License-Identifier: BSD-3-Clause
// Objects that wait until a resource comes free (Environment::freed), so that they retry once for
// each free resource and not in each turn.
#pragma once

#include <cstdint>

#include "lib/base/intrusive_list.hpp"

namespace plnet::o2iblnd {

template <class T, class Tag = void>
class WaitingList {
 public:
  void push_back(T& one, std::uint64_t freed) {
    // Others may have waited since an earlier change: they must not miss the next one.
    if (list_.empty()) tried_at_ = freed;
    list_.push_back(one);
  }
  // Retry these.
  [[nodiscard]] bool has_come(std::uint64_t freed) const {
    return !list_.empty() && tried_at_ != freed;
  }
  void take(std::uint64_t freed, IntrusiveList<T, Tag>& out) {
    tried_at_ = freed;
    out.splice_back(list_);
  }
  // Those that were not tried wait further.
  void put_back(IntrusiveList<T, Tag>& rest) { list_.splice_back(rest); }
  [[nodiscard]] bool empty() const { return list_.empty(); }

 private:
  IntrusiveList<T, Tag> list_;
  std::uint64_t tried_at_ = 0;
};

}  // namespace plnet::o2iblnd
