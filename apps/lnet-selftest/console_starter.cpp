// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-selftest/console_starter.hpp"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <fstream>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/runtime/admin/descriptor.hpp"

namespace plnet::lst {
namespace {

constexpr auto kLookPeriod = std::chrono::milliseconds(20);
// Enough for memory without hugepages on a busy machine.
constexpr unsigned kLooksMax = 3000;
constexpr mode_t kFolderMode = 0755;
constexpr mode_t kLogMode = 0600;

// The last line of a file with short lines.
std::string last_line(const std::string& path) {
  std::ifstream file(path);
  std::string last;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty()) last = line;
  }
  return last;
}

// In the child: async-signal-safe until exec.
[[noreturn]] void become_console(int log, const std::vector<char*>& words) {
  leave_terminal(log);
  ::execv("/proc/self/exe", words.data());
  ::_exit(127);
}

std::unexpected<Refusal> failed(int number, std::string why) {
  return std::unexpected(Refusal{number, std::move(why)});
}

}  // namespace

void leave_terminal(int log) {
  (void)::setsid();
  const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (null >= 0) (void)::dup2(null, STDIN_FILENO);
  if (log < 0) return;
  (void)::dup2(log, STDOUT_FILENO);
  (void)::dup2(log, STDERR_FILENO);
}

std::expected<FoundConsole, Refusal> await_console(const Consoles& consoles,
                                                   const std::string& socket, pid_t child,
                                                   const std::string& log_path) {
  for (unsigned looks = 0; looks < kLooksMax; ++looks) {
    auto found = consoles.look_at(socket);
    if (found && found->silent) break;  // it has had enough time to answer
    if (found) return std::move(*found);
    int status = 0;
    if (::waitpid(child, &status, WNOHANG) == child) {
      const std::string why = last_line(log_path);
      return failed(EIO, why.empty() ? "it ended without a message" : why);
    }
    std::this_thread::sleep_for(kLookPeriod);
  }
  (void)::kill(child, SIGKILL);
  (void)::waitpid(child, nullptr, 0);
  return failed(ETIMEDOUT, fmt::format("it has not started to serve; see '{}'", log_path));
}

std::expected<FoundConsole, Refusal> start_console(const Consoles& consoles, std::uint32_t key,
                                                   const ConsoleStart& start) {
  const std::string name = fmt::format("lst-{}", key);
  const std::string socket = fmt::format("{}/{}.sock", consoles.folder(), name);
  const std::string log_path = fmt::format("{}/{}.log", consoles.folder(), name);
  (void)::mkdir(consoles.folder().c_str(), kFolderMode);
  const runtime::Descriptor log(
      ::open(log_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC | O_NOFOLLOW,
             kLogMode));
  if (!log.valid()) return failed(errno, fmt::format("cannot write '{}'", log_path));

  std::vector<std::string> line{"lnet-selftest", "console",    "--background",
                                "--instance",    name,         "--socket",
                                socket,          "--lock-dir", start.lock_directory};
  if (!start.config.empty()) line.insert(line.end(), {"--config", start.config});
  if (!start.options.empty()) line.insert(line.end(), {"--options", start.options});
  std::vector<char*> words;
  words.reserve(line.size() + 1);
  for (std::string& word : line)
    words.push_back(word.data());
  words.push_back(nullptr);

  const pid_t child = ::fork();
  if (child < 0) return failed(errno, "cannot start a console");
  if (child == 0) become_console(log.get(), words);
  auto found = await_console(consoles, socket, child, log_path);
  if (found) return found;
  // An ended console has reported its reason, and its log is not needed any more.
  if (found.error().number != ETIMEDOUT) (void)::unlink(log_path.c_str());
  return found;
}

Shell::Asked begin_session(Consoles& consoles, const ConsoleStart& start,
                           const std::string& instance, const Shell::Args& args, bool& started) {
  const auto key = args.value("key", std::uint32_t{0});
  auto found = console_for(consoles.look(), key, instance);
  if (!found) return std::unexpected(found.error());
  std::optional<FoundConsole>& console = *found;
  if (!console) {
    if (start.config.empty()) {
      return failed(ENODEV, fmt::format("no node with selftest runs here, and there is no "
                                        "configuration to start one with: lst --config FILE, "
                                        "LST_CONFIG or {}",
                                        kDefaultConfig));
    }
    auto made = start_console(consoles, key, start);
    if (!made) return std::unexpected(std::move(made.error()));
    console = std::move(*made);
    started = true;
  }
  auto begun = consoles.ask(console->socket, "lst new_session", args);
  if (!begun && begun.error().number == EEXIST && console->host.has_session) {
    begun.error().why = fmt::format(
        "the node '{}' has the session '{}' (LST_SESSION={}), which ends in {} s unless a command "
        "comes; --force ends it now",
        console->host.instance, console->host.session, console->host.key, console->host.left_s);
  }
  return begun;
}

}  // namespace plnet::lst
