// SPDX-License-Identifier: BSD-3-Clause
// A started program, with a pipe to its standard input and its output in a file. It has a session
// of its own, so that Ctrl-C reaches only lnet-pin, which then ends it.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "lib/base/clock.hpp"
#include "lib/base/result.hpp"
#include "lib/runtime/admin/descriptor.hpp"

namespace plnet::pin {

// Limit of reading: nodes and the engine write some kilobytes.
inline constexpr std::size_t kOutputMax = std::size_t{64} << 20U;

struct ChildPlan {
  std::vector<std::string> words{};  // the program is found by PATH
  std::string output{};              // a file; "": /dev/null
  std::string errors{};              // a file; "": with the output
  std::vector<unsigned> cpus{};      // CPUs that it may use; empty: those of this process
};

class Child {
 public:
  [[nodiscard]] static Outcome<std::unique_ptr<Child>> start(const ChildPlan& plan);
  // Ends it and its children.
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Writes all of it; the pipe holds 64 KiB.
  [[nodiscard]] Outcome<void> write(const std::string& text);
  void close_input() { input_.reset(); }
  void signal(int number) const;
  // The status after its end: an exit code, or 128 and the number of the signal.
  [[nodiscard]] std::optional<int> ended();
  [[nodiscard]] double cpu_seconds() const { return cpu_seconds_; }  // valid after its end
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  Child() = default;

  pid_t pid_ = 0;
  runtime::Descriptor input_{};
  std::optional<int> status_{};
  double cpu_seconds_ = 0;
};

// Runs a short command to its end. The error has its output.
[[nodiscard]] Outcome<std::string> run_command(const std::vector<std::string>& words);

// The text of a file that a child has written so far; "" if there is none.
[[nodiscard]] std::string text_so_far(const std::string& path);
// Its last non-empty line.
[[nodiscard]] std::string last_line(const std::string& text);

}  // namespace plnet::pin
