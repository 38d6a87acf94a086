// SPDX-License-Identifier: BSD-3-Clause
// One rank of a lab: a process with namespaces of its own, which becomes the command.
#pragma once

#include <array>
#include <string>
#include <vector>

#include <sys/types.h>

#include "apps/plnet-cxi-lab/plan.hpp"
#include "apps/plnet-cxi-lab/prefixed_lines.hpp"
#include "lib/base/result.hpp"

namespace plnet::cxi_lab {

class Rank {
 public:
  // Starts its process, which waits in its namespaces.
  [[nodiscard]] static Outcome<Rank> start(const Plan& plan, unsigned rank,
                                           const std::vector<std::string>& command);
  // Its cables are there: it goes on and becomes the command.
  void go() const;

  // Reads and prints the available output of stream 0 or 1 (standard output and error). At its end
  // the descriptor is closed and becomes -1.
  void print(unsigned stream);
  void print_rest();
  // The process group, if the process has not ended.
  void signal(int number) const;
  // Everything that the command has left behind.
  void kill_group() const;

  static constexpr unsigned kStreams = 2;
  pid_t process = -1;
  bool is_ended = false;
  int go_on = -1;  // a pipe: one byte lets the process go on
  std::array<int, kStreams> streams{-1, -1};

 private:
  explicit Rank(unsigned rank)
      : lines_{PrefixedLines(std::to_string(rank) + ": "),
               PrefixedLines(std::to_string(rank) + ": ")} {}
  std::array<PrefixedLines, kStreams> lines_;
};

}  // namespace plnet::cxi_lab
