// SPDX-License-Identifier: BSD-3-Clause
#include "apps/plnet-cxi-lab/rank.hpp"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "apps/plnet-cxi-lab/rank_sysfs.hpp"
#include "apps/plnet-cxi-lab/system.hpp"

namespace plnet::cxi_lab {
namespace {

constexpr int kNotStarted = 127;

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

Outcome<void> prepare(const Plan& plan, unsigned rank) {
  if (auto done = run_ip(plan.interface_commands(rank)); !done) return done;
  if (auto done = make_rank_folder(plan, rank); !done) return done;
  if (auto done = make_sysfs(plan, rank); !done) return done;
  if (auto done = make_library(plan, rank); !done) return done;
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

[[noreturn]] void become(const Plan& plan, unsigned rank, const std::vector<std::string>& command,
                         const Pipes& pipes) {
  (void)::setpgid(0, 0);
  (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
  wire_up(pipes);
  if (auto done = enter_own_namespaces(); !done) end(done.error());
  char byte = 1;
  (void)!::write(pipes.ready[1], &byte, 1);
  (void)::close(pipes.go_on[1]);
  if (::read(pipes.go_on[0], &byte, 1) != 1) ::_exit(kNotStarted);  // the lab has failed
  if (auto done = prepare(plan, rank); !done) end(done.error());
  reset_signals();
  std::vector<char*> words;
  words.reserve(command.size() + 1);
  for (const std::string& word : command)
    words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  (void)::execvp(words.front(), words.data());
  end(system_failure(command.front()).error());
}

}  // namespace

Outcome<Rank> Rank::start(const Plan& plan, unsigned rank,
                          const std::vector<std::string>& command) {
  Pipes pipes;
  if (!pipes.open()) return system_failure("a pipe");
  const pid_t process = ::fork();
  if (process < 0) return system_failure("a process");
  if (process == 0) become(plan, rank, command, pipes);
  (void)::setpgid(process, process);  // also there: whichever comes first
  for (const int other : {pipes.ready[1], pipes.go_on[0], pipes.out[1], pipes.errors[1]})
    (void)::close(other);
  Rank made(rank);
  made.process = process;
  made.go_on = pipes.go_on[1];
  made.streams = {pipes.out[0], pipes.errors[0]};
  char byte = 0;
  const bool is_ready = ::read(pipes.ready[0], &byte, 1) == 1;
  (void)::close(pipes.ready[0]);
  for (const int stream : made.streams)
    (void)::fcntl(stream, F_SETFL, O_NONBLOCK);
  if (is_ready) return made;
  made.print(1);
  made.print_rest();
  return failure(Errc::kIo, "rank " + std::to_string(rank) + " could not be started");
}

void Rank::go() const {
  const char byte = 1;
  (void)!::write(go_on, &byte, 1);
  (void)::close(go_on);
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
  if (!is_ended) (void)::kill(-process, number);
}

void Rank::kill_group() const {
  (void)::kill(-process, SIGKILL);
}

}  // namespace plnet::cxi_lab
