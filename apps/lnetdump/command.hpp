// SPDX-License-Identifier: BSD-3-Clause
// A command that runs while messages are captured.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "lib/base/result.hpp"

namespace plnet::lnetdump {

class Command {
 public:
  // `stdout_to`: a descriptor that becomes its standard output; -1: ours.
  [[nodiscard]] static Outcome<Command> start(const std::vector<std::string>& words,
                                              int stdout_to = -1);
  // Ended and waited for, if it has not been.
  ~Command();
  Command(Command&& other) noexcept;
  Command& operator=(Command&&) = delete;

  // As a shell has it: 128 and the signal if one ended it. Nothing: it runs.
  [[nodiscard]] std::optional<int> status();
  [[nodiscard]] int wait();

 private:
  explicit Command(pid_t process) : process_(process) {}

  pid_t process_;
  std::optional<int> status_;
};

}  // namespace plnet::lnetdump
