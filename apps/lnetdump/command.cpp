// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnetdump/command.hpp"

#include <cerrno>
#include <csignal>
#include <system_error>
#include <utility>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;  // NOLINT: POSIX declares it nowhere

namespace plnet::lnetdump {

namespace {

constexpr int kSignalled = 128;

int status_of(int waited) {
  return WIFSIGNALED(waited) ? kSignalled + WTERMSIG(waited) : WEXITSTATUS(waited);
}

}  // namespace

Outcome<Command> Command::start(const std::vector<std::string>& words, int stdout_to) {
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (const std::string& word : words)
    arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  if (stdout_to >= 0) ::posix_spawn_file_actions_adddup2(&actions, stdout_to, STDOUT_FILENO);
  pid_t process = -1;
  const int error =
      ::posix_spawnp(&process, arguments[0], &actions, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    return failure(errc_of_errno(error), words[0] + ": " + std::generic_category().message(error));
  }
  return Command(process);
}

Command::Command(Command&& other) noexcept
    : process_(std::exchange(other.process_, -1)), status_(other.status_) {}

Command::~Command() {
  if (process_ < 0 || status_) return;
  ::kill(process_, SIGTERM);
  (void)wait();
}

std::optional<int> Command::status() {
  int waited = 0;
  if (!status_ && ::waitpid(process_, &waited, WNOHANG) == process_) status_ = status_of(waited);
  return status_;
}

int Command::wait() {
  int waited = 0;
  while (!status_) {
    const pid_t got = ::waitpid(process_, &waited, 0);
    if (got == process_) {
      status_ = status_of(waited);
    } else if (errno != EINTR) {
      status_ = kSignalled;
    }
  }
  return *status_;
}

}  // namespace plnet::lnetdump
