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
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/joined.hpp"

namespace plnet::pin {
namespace {

constexpr mode_t kMode = 0600;
constexpr int kSignalled = 128;
constexpr auto kChildLook = std::chrono::milliseconds(5);

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

std::string spoken(const std::vector<std::string>& words) {
  return fmt::format("'{}'", joined(words, " "));
}

// The CPUs of this thread while a program starts: it inherits them.
class CpusOfStart {
 public:
  explicit CpusOfStart(const std::vector<unsigned>& cpus) {
    if (cpus.empty() || ::sched_getaffinity(0, sizeof before_, &before_) != 0) return;
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const unsigned cpu : cpus) {
      if (cpu < CPU_SETSIZE) CPU_SET(cpu, &set);
    }
    changed_ = ::sched_setaffinity(0, sizeof set, &set) == 0;
  }
  ~CpusOfStart() {
    if (changed_) (void)::sched_setaffinity(0, sizeof before_, &before_);
  }
  CpusOfStart(const CpusOfStart&) = delete;
  CpusOfStart& operator=(const CpusOfStart&) = delete;

 private:
  cpu_set_t before_{};
  bool changed_ = false;
};

// The files of a program: `input`, and those of its plan.
class FilesOfStart {
 public:
  FilesOfStart(const ChildPlan& plan, int input) {
    (void)::posix_spawn_file_actions_init(&actions_);
    (void)::posix_spawn_file_actions_adddup2(&actions_, input, STDIN_FILENO);
    open(plan.output, STDOUT_FILENO);
    if (plan.errors.empty())
      (void)::posix_spawn_file_actions_adddup2(&actions_, STDOUT_FILENO, STDERR_FILENO);
    else
      open(plan.errors, STDERR_FILENO);
  }
  ~FilesOfStart() { (void)::posix_spawn_file_actions_destroy(&actions_); }
  FilesOfStart(const FilesOfStart&) = delete;
  FilesOfStart& operator=(const FilesOfStart&) = delete;
  [[nodiscard]] const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  void open(const std::string& path, int number) {
    (void)::posix_spawn_file_actions_addopen(&actions_, number,
                                             path.empty() ? "/dev/null" : path.c_str(),
                                             O_WRONLY | O_CREAT | O_APPEND, kMode);
  }
  posix_spawn_file_actions_t actions_{};
};

// A session of its own, and no signal ignored.
class MannersOfStart {
 public:
  MannersOfStart() {
    (void)::posix_spawnattr_init(&manners_);
    sigset_t signals;
    (void)::sigemptyset(&signals);
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE})
      (void)::sigaddset(&signals, number);
    (void)::posix_spawnattr_setsigdefault(&manners_, &signals);
    (void)::posix_spawnattr_setflags(&manners_, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGDEF);
  }
  ~MannersOfStart() { (void)::posix_spawnattr_destroy(&manners_); }
  MannersOfStart(const MannersOfStart&) = delete;
  MannersOfStart& operator=(const MannersOfStart&) = delete;
  [[nodiscard]] const posix_spawnattr_t* get() const { return &manners_; }

 private:
  posix_spawnattr_t manners_{};
};

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
  // Unlike fork(), this copies no page tables: they cost more CPU time than the rest of a start.
  pid_t pid = 0;
  const CpusOfStart cpus(plan.cpus);
  const FilesOfStart files(plan, theirs.get());
  const MannersOfStart manners;
  const int wrong =
      ::posix_spawnp(&pid, words.front(), files.get(), manners.get(), words.data(), environ);
  if (wrong != 0) {
    return failure(errc_of_errno(wrong), fmt::format("cannot start '{}': {}", plan.words.front(),
                                                     std::generic_category().message(wrong)));
  }
  child->pid_ = pid;
  return child;
}

Child::~Child() {
  close_input();
  if (pid_ == 0) return;  // not started; the signal would reach this process
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
