// SPDX-License-Identifier: BSD-3-Clause
// Only one start at a time counts the free hugepages and takes them: two instances of a user that
// start together would otherwise count the same pages.
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
  int file_ = -1;
};

}  // namespace plnet::runtime
