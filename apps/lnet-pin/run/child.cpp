// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-pin/run/child.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <fstream>
#include <iterator>
#include <optional>
#include <system_error>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/joined.hpp"

namespace plnet::pin {
namespace {

constexpr mode_t kMode = 0600;
constexpr int kNotStarted = 127;
constexpr int kSignalled = 128;
constexpr auto kChildLook = std::chrono::milliseconds(5);

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

std::string spoken(const std::vector<std::string>& words) {
  return fmt::format("'{}'", joined(words, " "));
}

[[noreturn]] void become(const ChildPlan& plan, std::vector<char*>& words, int input) {
  (void)::setsid();
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE})
    (void)::signal(number, SIG_DFL);
  const auto file = [](const std::string& path) {
    const char* const name = path.empty() ? "/dev/null" : path.c_str();
    return ::open(name, O_WRONLY | O_CREAT | O_APPEND, kMode);
  };
  const int output = file(plan.output);
  const int errors = plan.errors.empty() ? output : file(plan.errors);
  if (output < 0 || errors < 0) ::_exit(kNotStarted);
  (void)::dup2(input, STDIN_FILENO);
  (void)::dup2(output, STDOUT_FILENO);
  (void)::dup2(errors, STDERR_FILENO);
  if (!plan.cpus.empty()) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const unsigned cpu : plan.cpus) {
      if (cpu < CPU_SETSIZE) CPU_SET(cpu, &set);
    }
    (void)::sched_setaffinity(0, sizeof set, &set);
  }
  (void)::execvp(words.front(), words.data());
  std::perror(words.front());
  ::_exit(kNotStarted);
}

}  // namespace

Outcome<std::unique_ptr<Child>> Child::start(const ChildPlan& plan) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0)
    return failure(errc_of_errno(errno), "no pipe to another program can be had");
  const runtime::Descriptor theirs(ends[0]);
  std::unique_ptr<Child> child(new Child());
  child->input_ = runtime::Descriptor(ends[1]);
  std::vector<char*> words;
  words.reserve(plan.words.size() + 1);
  for (const std::string& word : plan.words)
    words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  const pid_t pid = ::fork();
  if (pid < 0) return failure(Errc::kNoMemory, "cannot start another process");
  if (pid == 0) become(plan, words, theirs.get());
  child->pid_ = pid;
  return child;
}

Child::~Child() {
  close_input();
  if (ended()) {
    (void)::kill(-pid_, SIGKILL);  // children of a killed shell may be left
    return;
  }
  (void)::kill(-pid_, SIGKILL);
  (void)::waitpid(pid_, nullptr, 0);
}

Outcome<void> Child::write(const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const auto done = ::write(input_.get(), text.data() + at, text.size() - at);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return failure(errc_of_errno(errno), "the program has ended");
    at += static_cast<std::size_t>(done);
  }
  return {};
}

void Child::signal(int number) const {
  if (!status_) (void)::kill(-pid_, number);
}

std::optional<int> Child::ended() {
  if (status_) return status_;
  int status = 0;
  rusage used{};
  if (::wait4(pid_, &status, WNOHANG, &used) != pid_) return std::nullopt;
  cpu_seconds_ = seconds_of(used.ru_utime) + seconds_of(used.ru_stime);
  status_ = WIFEXITED(status) ? WEXITSTATUS(status) : kSignalled + WTERMSIG(status);
  return status_;
}

Outcome<std::string> run_command(const std::vector<std::string>& words) {
  std::string path = "/tmp/lnet-pin-XXXXXX";
  const runtime::Descriptor file(::mkostemp(path.data(), O_CLOEXEC));
  if (!file.valid()) return failure(Errc::kIo, "no file can be made in /tmp");
  auto child = Child::start({.words = words, .output = path});
  if (!child) return std::unexpected(std::move(child.error()));
  (*child)->close_input();
  std::optional<int> status = (*child)->ended();
  for (; !status; status = (*child)->ended())
    std::this_thread::sleep_for(kChildLook);
  std::string said = text_so_far(path);
  (void)::unlink(path.c_str());
  if (*status != 0) {
    return failure(Errc::kIo,
                   fmt::format("{} ended with {}: {}", spoken(words), *status, last_line(said)));
  }
  return said;
}

std::string text_so_far(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text;
  std::array<char, 65536> block{};
  while (file && text.size() < kOutputMax) {
    file.read(block.data(), block.size());
    text.append(block.data(), static_cast<std::size_t>(file.gcount()));
  }
  return text;
}

std::string last_line(const std::string& text) {
  const auto end = text.find_last_not_of("\n\r ");
  if (end == std::string::npos) return "nothing was said";
  const auto begin = text.find_last_of('\n', end);
  return text.substr(begin == std::string::npos ? 0 : begin + 1, end - (begin + 1) + 1);
}

}  // namespace plnet::pin
