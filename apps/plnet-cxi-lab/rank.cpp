// SPDX-License-Identifier: BSD-3-Clause
#include "apps/plnet-cxi-lab/rank.hpp"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "apps/plnet-cxi-lab/rank_sysfs.hpp"
#include "apps/plnet-cxi-lab/system.hpp"

namespace plnet::cxi_lab {
namespace {

constexpr const char* kHosts = "/etc/hosts";

// The rank writes a byte to `ready` at each of its stages, and waits for one of `go_on` behind it.
struct Pipes {
  std::array<int, 2> ready{-1, -1}, go_on{-1, -1}, out{-1, -1}, errors{-1, -1};

  [[nodiscard]] bool open() {
    for (auto* const one : {&ready, &go_on, &out, &errors})
      if (::pipe2(one->data(), O_CLOEXEC) != 0) return false;
    return true;
  }
};

// Other ranks do not see into it.
Outcome<void> make_rank_folder(const Plan& plan, unsigned rank) {
  const std::string folder = plan.rank_folder(rank);
  if (auto done = make_folder(folder); !done) return done;
  return mount_empty(folder);
}

Outcome<void> make_library(const Plan& plan, unsigned rank) {
  const std::string folder = plan.rank_folder(rank);
  for (const char* const name : {"/libcxi.so.1", "/libcxi.so"}) {
    if (::symlink(plan.library.c_str(), (folder + name).c_str()) != 0)
      return system_failure(folder + name);
  }
  return write_file(folder + "/libcxi.so.1.conf", plan.library_config(rank));
}

// Launchers such as mpirun tell hosts apart by their names.
Outcome<void> make_host(const Plan& plan, unsigned rank) {
  const std::string name = Plan::host_name(rank);
  if (::sethostname(name.c_str(), name.size()) != 0) return system_failure("host name " + name);
  std::ostringstream known;
  known << std::ifstream(kHosts).rdbuf();
  const std::string own = plan.rank_folder(rank) + "/hosts";
  if (auto done = write_file(own, known.str() + plan.host_lines()); !done) return done;
  if (::access(kHosts, F_OK) == 0 && ::mount(own.c_str(), kHosts, nullptr, MS_BIND, nullptr) != 0)
    return system_failure(kHosts);
  return {};
}

Outcome<void> prepare(const Plan& plan, unsigned rank) {
  if (auto done = run_ip(plan.interface_commands(rank)); !done) return done;
  if (auto done = make_rank_folder(plan, rank); !done) return done;
  if (auto done = make_sysfs(plan, rank); !done) return done;
  if (auto done = make_library(plan, rank); !done) return done;
  if (auto done = make_host(plan, rank); !done) return done;
  // NOLINTBEGIN(concurrency-mt-unsafe): a rank has one thread
  const char* const library_path = std::getenv("LD_LIBRARY_PATH");
  for (const auto& [name, value] :
       plan.environment(rank, library_path == nullptr ? "" : library_path)) {
    if (::setenv(name.c_str(), value.c_str(), 1) != 0) return system_failure(name);
  }
  // NOLINTEND(concurrency-mt-unsafe)
  return {};
}

void wire_up(const Pipes& pipes) {
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  (void)::dup2(nothing, STDIN_FILENO);
  (void)::dup2(pipes.out[1], STDOUT_FILENO);
  (void)::dup2(pipes.errors[1], STDERR_FILENO);
}

void reset_signals() {
  sigset_t none;
  sigemptyset(&none);
  (void)::pthread_sigmask(SIG_SETMASK, &none, nullptr);
  (void)std::signal(SIGPIPE, SIG_DFL);
}

[[noreturn]] void end(const Error& error) {
  (void)std::fprintf(stderr, "plnet-cxi-lab: %s\n", error.what.c_str());
  ::_exit(kNotStarted);
}

// Returns when the lab lets the rank go on.
void meet_lab(const Pipes& pipes) {
  char byte = 1;
  (void)!::write(pipes.ready[1], &byte, 1);
  if (::read(pipes.go_on[0], &byte, 1) != 1) ::_exit(kNotStarted);  // the lab has failed
}

// Until the lab kills the process.
[[noreturn]] void wait_for_ever() {
  sigset_t all;
  sigfillset(&all);
  (void)::pthread_sigmask(SIG_SETMASK, &all, nullptr);
  while (true)
    (void)::pause();
}

[[noreturn]] void become(const Plan& plan, unsigned rank, const RankTask& task,
                         const Pipes& pipes) {
  const bool is_head = task.kind == RankTask::kHead;
  if (!is_head) (void)::setpgid(0, 0);
  (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (!is_head) wire_up(pipes);
  if (auto done = enter_own_namespaces(); !done) end(done.error());
  (void)::close(pipes.go_on[1]);
  meet_lab(pipes);
  if (auto done = prepare(plan, rank); !done) end(done.error());
  meet_lab(pipes);
  if (task.kind == RankTask::kWait) wait_for_ever();
  reset_signals();
  end(become_command(task.command));
}

}  // namespace

Outcome<Rank> Rank::start(const Plan& plan, unsigned rank, const RankTask& task) {
  Pipes pipes;
  if (!pipes.open()) return system_failure("a pipe");
  const pid_t process = ::fork();
  if (process < 0) return system_failure("a process");
  if (process == 0) become(plan, rank, task, pipes);
  Rank made(rank);
  made.has_group_ = task.kind != RankTask::kHead;
  if (made.has_group_) (void)::setpgid(process, process);  // also there: whichever comes first
  for (const int other : {pipes.ready[1], pipes.go_on[0], pipes.out[1], pipes.errors[1]})
    (void)::close(other);
  made.process = process;
  made.go_on = pipes.go_on[1];
  made.ready = pipes.ready[0];
  made.streams = {pipes.out[0], pipes.errors[0]};
  for (const int stream : made.streams)
    (void)::fcntl(stream, F_SETFL, O_NONBLOCK);
  if (made.is_ready()) return made;
  made.print(1);
  made.print_rest();
  return failure(Errc::kIo, "rank " + std::to_string(rank) + " could not be started");
}

bool Rank::is_ready() const {
  char byte = 0;
  return ::read(ready, &byte, 1) == 1;
}

void Rank::go() const {
  const char byte = 1;
  (void)!::write(go_on, &byte, 1);
}

void Rank::print(unsigned stream) {
  constexpr std::size_t kPart = 65536;
  int& from = streams.at(stream);
  std::string text(kPart, '\0');
  const ssize_t got = ::read(from, text.data(), text.size());
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  std::FILE* const to = stream == 0 ? stdout : stderr;
  if (got > 0) {
    text.resize(static_cast<std::size_t>(got));
    const std::string lines = lines_.at(stream).add(text);
    (void)std::fwrite(lines.data(), 1, lines.size(), to);
    (void)std::fflush(to);
    return;
  }
  (void)::close(from);
  from = -1;
}

void Rank::print_rest() {
  for (unsigned stream = 0; stream < kStreams; ++stream) {
    const std::string lines = lines_.at(stream).rest();
    std::FILE* const to = stream == 0 ? stdout : stderr;
    (void)std::fwrite(lines.data(), 1, lines.size(), to);
    (void)std::fflush(to);
  }
}

void Rank::signal(int number) const {
  if (!is_ended) (void)::kill(has_group_ ? -process : process, number);
}

void Rank::kill_group() const {
  (void)::kill(has_group_ ? -process : process, SIGKILL);
}

}  // namespace plnet::cxi_lab
