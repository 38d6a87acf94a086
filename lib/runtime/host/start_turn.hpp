// SPDX-License-Identifier: BSD-3-Clause
// One start at a time between the look at the free hugepages and their use: two instances of a user
// that start together would both count on the same pages.
#pragma once

#include <string>

#include "lib/base/clock.hpp"

namespace plnet::runtime {

class StartTurn {
 public:
  // Waits for the others, but not longer than `patience`, nor if there is no lock file to be had:
  // the start goes on then, and takes what is left.
  StartTurn(const std::string& directory, Duration patience);
  ~StartTurn();
  StartTurn(const StartTurn&) = delete;
  StartTurn& operator=(const StartTurn&) = delete;

  [[nodiscard]] bool is_ours() const { return file_ >= 0; }

 private:
  int file_ = -1;
};

}  // namespace plnet::runtime
