// SPDX-License-Identifier: BSD-3-Clause
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <unistd.h>

#include "apps/lnetctl/lnetctl.hpp"

int main(int argc, char** argv) {
  // A pipe that closes early (| head) is not our failure.
  (void)std::signal(SIGPIPE, SIG_DFL);
  const std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
  plnet::apps::Session session;
  session.live_screen = ::isatty(STDOUT_FILENO) == 1;
  session.look_up = plnet::apps::look_up_host;
  session.pause = [](std::chrono::seconds time) { std::this_thread::sleep_for(time); };
  const int status = plnet::apps::run_lnetctl(words, session, ::isatty(STDIN_FILENO) == 1);
  // Lost output (a full disk) must not look like success.
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return status;
  const int number = errno != 0 ? errno : EIO;
  std::fprintf(stderr, "lnetctl: cannot write to standard output: %s\n",
               std::generic_category().message(number).c_str());
  return status != 0 ? status : -number;
}
