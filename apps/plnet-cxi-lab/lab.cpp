// SPDX-License-Identifier: BSD-3-Clause
#include "apps/plnet-cxi-lab/lab.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "apps/plnet-cxi-lab/plan.hpp"
#include "apps/plnet-cxi-lab/rank.hpp"
#include "apps/plnet-cxi-lab/system.hpp"

namespace plnet::cxi_lab {
namespace {

constexpr int kSignalled = 128;  // and the number of the signal, as of a shell
constexpr std::array kPassedOn{SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};  // to all ranks

std::string real_path(const std::string& path) {
  char* const found = ::realpath(path.c_str(), nullptr);
  if (found == nullptr) return {};
  std::string text = found;
  std::free(found);  // NOLINT(cppcoreguidelines-no-malloc): of realpath()
  return text;
}

// Beside this program in a tree that was built, then at its place in an installation.
Outcome<std::string> find_library(const std::string& wanted) {
  if (!wanted.empty()) {
    if (std::string path = real_path(wanted); !path.empty()) return path;
    return system_failure("--library " + wanted);
  }
  const std::string own = real_path("/proc/self/exe");
  const std::string folder = own.substr(0, own.rfind('/'));
  for (const std::string& place :
       {folder + "/../../drivers/net/cassini/soft/libcxi.so.1",
        folder + "/../" PLNET_CXI_LIBRARY_FROM_PREFIX, std::string(PLNET_CXI_LIBRARY)}) {
    if (std::string path = real_path(place); !path.empty()) return path;
  }
  return failure(Errc::kNotFound, "libcxi.so.1 is not at its place, " PLNET_CXI_LIBRARY
                                  "; name it with --library FILE");
}

// The folder of the lab: an empty one in /tmp, on which a file system in memory is mounted that
// ends with the last process of the lab. A killed lab leaves the empty one, and another process may
// get its number: the name has a random part, too.
class Folder {
 public:
  Folder() : path_(fmt::format("/tmp/plnet-cxi-lab-{}-XXXXXX", ::getpid())) {}
  ~Folder() {
    if (!is_made_) return;
    (void)::umount2(path_.c_str(), MNT_DETACH);
    (void)::rmdir(path_.c_str());
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] Outcome<void> make() {
    if (::mkdtemp(path_.data()) == nullptr) return system_failure(path_);
    is_made_ = true;
    return mount_empty(path_);
  }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
  bool is_made_ = false;
};

std::vector<pid_t> children() {
  std::ifstream file(fmt::format("/proc/self/task/{}/children", ::getpid()));
  return {std::istream_iterator<pid_t>(file), {}};
}

// Children of a killed process become children of the lab, so that several rounds are needed.
void kill_orphans() {
  constexpr unsigned kRoundsMax = 1000;  // against a process that makes others all the time
  for (unsigned round = 0; round < kRoundsMax; ++round) {
    const std::vector<pid_t> all = children();
    if (all.empty()) return;
    for (const pid_t one : all)
      (void)::kill(one, SIGKILL);
    for (const pid_t one : all)
      (void)::waitpid(one, nullptr, 0);
  }
}

// A killed command prints nothing itself. The sender of a signal to the lab knows of that one.
void tell_death(unsigned rank, int signal) {
  if (std::ranges::find(kPassedOn, signal) != kPassedOn.end()) return;
  const char* const text = ::sigdescr_np(signal);
  (void)std::fprintf(stderr, "plnet-cxi-lab: rank %u was killed by signal %d (%s)\n", rank, signal,
                     text == nullptr ? "without a name" : text);
}

class Lab {
 public:
  Lab(Plan plan, std::vector<std::string> command, bool head)
      : plan_(std::move(plan)), command_(std::move(command)), head_(head) {}
  ~Lab() {
    for (const Rank& rank : ranks_)
      rank.kill_group();
    kill_orphans();
    if (signals_ >= 0) (void)::close(signals_);
  }
  Lab(const Lab&) = delete;
  Lab& operator=(const Lab&) = delete;

  Outcome<void> start();
  int run();

 private:
  Outcome<void> take_signals();
  void read_signals();
  [[nodiscard]] RankTask task_of(unsigned rank) const;
  [[nodiscard]] Outcome<void> make_ranks();
  void reap();
  void reap_orphans() const;
  [[nodiscard]] bool is_running() const;
  void print_available();

  Plan plan_;
  std::vector<std::string> command_;
  bool head_ = false;
  std::vector<Rank> ranks_;
  int signals_ = -1;
  int status_ = 0;
};

Outcome<void> Lab::take_signals() {
  sigset_t taken;
  sigemptyset(&taken);
  sigaddset(&taken, SIGCHLD);
  for (const int one : kPassedOn)
    sigaddset(&taken, one);
  if (::pthread_sigmask(SIG_BLOCK, &taken, nullptr) != 0) return system_failure("signals");
  signals_ = ::signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK);
  if (signals_ < 0) return system_failure("signals");
  return {};
}

RankTask Lab::task_of(unsigned rank) const {
  if (!head_) return {.kind = RankTask::kCommand, .command = command_};
  if (rank == 0) return {.kind = RankTask::kHead, .command = command_};
  return {.kind = RankTask::kWait, .command = {}};
}

// Interfaces and files of all ranks are there before the first command begins.
Outcome<void> Lab::make_ranks() {
  for (unsigned rank = 0; rank < plan_.nodes; ++rank) {
    auto done = run_ip(plan_.cable_commands(rank, ranks_[rank].process));
    if (!done) return done;
  }
  for (const Rank& rank : ranks_)
    rank.go();
  std::vector<const Rank*> ready;
  for (unsigned rank = 0; rank < plan_.nodes; ++rank) {
    if (!ranks_[rank].is_ready()) continue;  // its end shows its reason
    auto done = write_file(plan_.process_file(rank), fmt::format("{}\n", ranks_[rank].process));
    if (!done) return done;
    ready.push_back(&ranks_[rank]);
  }
  for (const Rank* const rank : ready)
    rank->go();
  return {};
}

Outcome<void> Lab::start() {
  // Processes that leave their parents become children of the lab, which ends them.
  if (::prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) return system_failure("a reaper of processes");
  if (auto done = make_folder(plan_.fabric()); !done) return done;
  if (auto done = run_ip(plan_.bridge_commands()); !done) return done;
  ranks_.reserve(plan_.nodes);
  for (unsigned rank = 0; rank < plan_.nodes; ++rank) {
    auto started = Rank::start(plan_, rank, task_of(rank));
    if (!started) return std::unexpected(std::move(started.error()));
    ranks_.push_back(std::move(*started));
  }
  if (auto done = take_signals(); !done) return done;
  return make_ranks();
}

bool Lab::is_running() const {
  if (head_) return !ranks_.front().is_ended;
  return std::ranges::any_of(ranks_, [](const Rank& rank) { return !rank.is_ended; });
}

// The ended processes stay until the lab ends, so that no other one gets their numbers: those name
// the groups that are killed then.
void Lab::reap() {
  for (unsigned number = 0; number < ranks_.size(); ++number) {
    Rank& rank = ranks_[number];
    siginfo_t ended{};
    constexpr int kLook = WEXITED | WNOHANG | WNOWAIT;
    if (rank.is_ended || ::waitid(P_PID, static_cast<id_t>(rank.process), &ended, kLook) != 0 ||
        ended.si_pid == 0)
      continue;
    rank.is_ended = true;
    const bool has_exited = ended.si_code == CLD_EXITED;
    if (!has_exited) tell_death(number, ended.si_status);
    if (status_ == 0) status_ = has_exited ? ended.si_status : kSignalled + ended.si_status;
  }
}

void Lab::reap_orphans() const {
  for (const pid_t child : children()) {
    if (std::ranges::find(ranks_, child, &Rank::process) == ranks_.end())
      (void)::waitpid(child, nullptr, WNOHANG);
  }
}

void Lab::read_signals() {
  signalfd_siginfo one{};
  while (::read(signals_, &one, sizeof one) == static_cast<ssize_t>(sizeof one)) {
    // The terminal sends its signals to the command of rank 0, too.
    if (one.ssi_signo == SIGCHLD || (head_ && one.ssi_code == SI_KERNEL)) continue;
    for (const Rank& rank : ranks_)
      rank.signal(static_cast<int>(one.ssi_signo));
  }
  reap();
  reap_orphans();
}

// A process that the command left behind may hold the output open for ever.
void Lab::print_available() {
  for (Rank& rank : ranks_) {
    for (unsigned stream = 0; stream < Rank::kStreams; ++stream) {
      pollfd available{.fd = rank.streams.at(stream), .events = POLLIN, .revents = 0};
      while (rank.streams.at(stream) >= 0 && ::poll(&available, 1, 0) > 0)
        rank.print(stream);
    }
    rank.print_rest();
  }
}

int Lab::run() {
  reap();  // those that ended before their signals were taken
  while (is_running()) {
    std::vector<pollfd> all{{.fd = signals_, .events = POLLIN, .revents = 0}};
    for (const Rank& rank : ranks_) {
      for (const int stream : rank.streams)
        all.push_back({.fd = stream, .events = POLLIN, .revents = 0});  // negative: ignored
    }
    if (::poll(all.data(), all.size(), -1) < 0 && errno != EINTR) break;
    for (std::size_t i = 1; i < all.size(); ++i) {
      if (all[i].revents != 0) ranks_[(i - 1) / Rank::kStreams].print((i - 1) % Rank::kStreams);
    }
    if (all.front().revents != 0) read_signals();
  }
  print_available();
  return status_;
}

}  // namespace

Outcome<int> run_lab(const CommandLine& line) {
  auto library = find_library(line.library);
  if (!library) return std::unexpected(std::move(library.error()));
  if (auto done = enter_own_namespaces(); !done) return std::unexpected(std::move(done.error()));
  Folder folder;
  if (auto done = folder.make(); !done) return std::unexpected(std::move(done.error()));
  Lab lab({.nodes = line.nodes,
           .nics_per_rank = line.nics_per_rank,
           .folder = folder.path(),
           .library = std::move(*library)},
          line.command, line.head);
  if (auto done = lab.start(); !done) return std::unexpected(std::move(done.error()));
  return lab.run();
}

}  // namespace plnet::cxi_lab
