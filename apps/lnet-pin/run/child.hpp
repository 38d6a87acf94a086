// SPDX-License-Identifier: BSD-3-Clause
// A program that was started, with a pipe to its standard input and its output in a file. It is in
// a session of its own: a Ctrl-C is for lnet-pin, which ends it in turn.
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

// More of it is not read: nodes and the engine write some kilobytes.
inline constexpr std::size_t kOutputMax = std::size_t{64} << 20U;

struct ChildPlan {
  std::vector<std::string> words{};  // the program is searched in PATH
  std::string output{};              // a file; "": /dev/null
  std::string errors{};              // a file; "": with the output
  std::vector<unsigned> cpus{};      // may run there; empty: as this process was started
};

class Child {
 public:
  [[nodiscard]] static Outcome<std::unique_ptr<Child>> start(const ChildPlan& plan);
  // Ends it with all that it has started.
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // All of it, in time; the pipe holds 64 KiB.
  [[nodiscard]] Outcome<void> write(const std::string& text);
  void close_input() { input_.reset(); }
  void signal(int number) const;
  // Its status once it has ended: an exit code, or 128 and the number of the signal.
  [[nodiscard]] std::optional<int> ended();
  [[nodiscard]] double cpu_seconds() const { return cpu_seconds_; }  // once it has ended
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  Child() = default;

  pid_t pid_ = 0;
  runtime::Descriptor input_{};
  std::optional<int> status_{};
  double cpu_seconds_ = 0;
};

// A short command, to its end. The error has what it said.
[[nodiscard]] Outcome<std::string> run_command(const std::vector<std::string>& words);

// The text of a file that a child has written so far; "" if there is none.
[[nodiscard]] std::string text_so_far(const std::string& path);
// Its last line that says something.
[[nodiscard]] std::string last_line(const std::string& text);

}  // namespace plnet::pin
