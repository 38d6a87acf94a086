// SPDX-License-Identifier: BSD-3-Clause
// One rank of a lab: a process with namespaces of its own, which becomes the command.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <sys/types.h>

#include "apps/plnet-cxi-lab/plan.hpp"
#include "apps/plnet-cxi-lab/prefixed_lines.hpp"
#include "lib/base/result.hpp"

namespace plnet::cxi_lab {

struct RankTask {
  enum Kind : std::uint8_t {
    kCommand,  // in a process group of its own, without input; its lines get a number
    kHead,     // in the group of the lab, with its input and output
    kWait      // no command: until the lab ends
  };
  Kind kind = kCommand;
  std::vector<std::string> command;
};

class Rank {
 public:
  // Starts its process, which waits in its namespaces.
  [[nodiscard]] static Outcome<Rank> start(const Plan& plan, unsigned rank, const RankTask& task);
  // The first time: its cables are there, and it makes interfaces and files. The second time: it
  // becomes the command.
  void go() const;
  // Waits until those files are there; false: it has failed, and has told why.
  [[nodiscard]] bool is_ready() const;

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
  int go_on = -1;  // a pipe: a byte lets the process go on
  int ready = -1;  // a pipe: a byte of the process before it waits
  std::array<int, kStreams> streams{-1, -1};

 private:
  explicit Rank(unsigned rank)
      : lines_{PrefixedLines(std::to_string(rank) + ": "),
               PrefixedLines(std::to_string(rank) + ": ")} {}
  std::array<PrefixedLines, kStreams> lines_;
  bool has_group_ = true;
};

}  // namespace plnet::cxi_lab
