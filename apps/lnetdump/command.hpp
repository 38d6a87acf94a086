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
  // Ends it and waits for it, if necessary.
  ~Command();
  Command(Command&& other) noexcept;
  Command& operator=(Command&&) = delete;

  // As in a shell: 128 and the signal number if a signal ended it. Nothing: it still runs.
  [[nodiscard]] std::optional<int> status();
  [[nodiscard]] int wait();

 private:
  explicit Command(pid_t process) : process_(process) {}

  pid_t process_;
  std::optional<int> status_;
};

}  // namespace plnet::lnetdump
