// SPDX-License-Identifier: BSD-3-Clause
#include "lib/base/link_hold.hpp"

#include <algorithm>

namespace plnet {

bool LinkHold::see(bool up, Instant now) {
  if (up_ && !up) {
    falls_[next_] = now;
    next_ = (next_ + 1) % kFalls;
    count_ = std::min(count_ + 1, kFalls);
    // falls_[next_] is now the oldest of the last kFalls.
    if (count_ == kFalls && now - falls_[next_] <= kWindow) held_ = true;
  }
  if (!up_ && up) up_since_ = now;
  up_ = up;
  if (held() && now >= release_at()) held_ = false;
  return up_ && !held_;
}

}  // namespace plnet
