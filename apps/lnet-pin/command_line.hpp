// SPDX-License-Identifier: BSD-3-Clause
// The commands of lnet-pin and their flags.
#pragma once

#include <string>

namespace plnet::pin {

struct CommandLine {
  std::string command;    // "probe", "plan", "run", "report", "recommend", "check", "restore"
  std::string sweep{};    // a file
  std::string results{};  // a folder
  std::string synthetic{};
  std::string xml{};
  std::string programs{};
  std::string state{};
  std::string socket{};
  std::string aim = "throughput";
  std::string target = "plnet";
  double seconds = 60;
  bool draw = false;
  bool json = false;
};

// The exit status; text for people goes to standard output and errors.
[[nodiscard]] int run_command_line(int count, const char* const* words);

}  // namespace plnet::pin
