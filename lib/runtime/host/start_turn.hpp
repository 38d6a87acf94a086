// SPDX-License-Identifier: BSD-3-Clause
// Only one start at a time counts the free hugepages and takes them: two instances that start
// together would otherwise count the same pages.
//
// Each user has a lock file of its own, which nobody else can open, and sees the locks of other
// users in /proc/locks. A user who holds a lock for no reason delays each start by its patience and
// does no other harm.
#pragma once

#include <string>

#include "lib/base/clock.hpp"

namespace plnet::runtime {

class StartTurn {
 public:
  // Waits for other starts, but not longer than `patience`, and not without a lock file. The start
  // then goes on with the hugepages that are left.
  StartTurn(const std::string& directory, Duration patience);
  ~StartTurn();
  StartTurn(const StartTurn&) = delete;
  StartTurn& operator=(const StartTurn&) = delete;

  [[nodiscard]] bool is_ours() const { return file_ >= 0; }

 private:
  [[nodiscard]] bool take(const std::string& directory, bool heeds_others);

  int file_ = -1;
};

}  // namespace plnet::runtime
