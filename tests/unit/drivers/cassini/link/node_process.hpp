// SPDX-License-Identifier: BSD-3-Clause
// Starts nodes of ethdev_node.cpp and reads their output.
#pragma once

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

namespace plnet::cassini::soft {

inline constexpr int kNodeCannotRun = 77;

// True if the EAL could not start for want of a PMD or of memory; the test is skipped then. A port
// that does not open is our own failure.
inline bool has_no_eal(const std::string& said) {
  return said.find("cannot eal:") != std::string::npos;
}

class NodeProcess {
 public:
  // The program, optionally behind `ip netns exec NAME`, and its options as key=value.
  explicit NodeProcess(std::vector<std::string> words) {
    std::vector<char*> argv;
    argv.reserve(words.size() + 1);
    for (std::string& word : words)
      argv.push_back(word.data());
    argv.push_back(nullptr);
    int ends[2] = {-1, -1};
    if (::pipe2(ends, O_CLOEXEC) != 0) return;
    pid_ = ::fork();
    if (pid_ == 0) {
      (void)::dup2(ends[1], STDOUT_FILENO);
      ::execvp(argv[0], argv.data());
      ::_exit(kNodeCannotRun);
    }
    (void)::close(ends[1]);
    said_ = ends[0];
  }
  ~NodeProcess() {
    kill();
    if (said_ >= 0) (void)::close(said_);
  }
  NodeProcess(const NodeProcess&) = delete;
  NodeProcess& operator=(const NodeProcess&) = delete;

  // Appends its output to `text`; true as soon as the text contains `word`. A node exits when its
  // time is over, so this ends, too.
  bool wait_for(const std::string& word) {
    while (text.find(word) == std::string::npos) {
      if (!hear()) return false;
    }
    return true;
  }
  // Waits for its exit code.
  int wait() {
    while (hear()) {
    }
    return reap();
  }
  // True if its output has ended; reads the output so far.
  bool is_over() {
    ::pollfd entry{.fd = said_, .events = POLLIN, .revents = 0};
    return ::poll(&entry, 1, 0) == 1 && !hear();
  }
  void kill() {
    if (pid_ <= 0) return;
    (void)::kill(pid_, SIGKILL);
    (void)reap();
  }

  std::string text;

 private:
  bool hear() {
    char part[4096];
    const ssize_t got = ::read(said_, part, sizeof part);
    if (got > 0) text.append(part, static_cast<std::size_t>(got));
    return got > 0 || (got < 0 && errno == EINTR);
  }
  int reap() {
    int status = 0;
    if (pid_ > 0) (void)::waitpid(std::exchange(pid_, -1), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  pid_t pid_ = -1;
  int said_ = -1;
};

}  // namespace plnet::cassini::soft
