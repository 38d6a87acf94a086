// SPDX-License-Identifier: BSD-3-Clause
#include "apps/plnet-cxi-lab/system.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace plnet::cxi_lab {
namespace {

constexpr int kIpNotStarted = 127;

// The text goes through a pipe: a command file would have to be removed again.
bool write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t done = ::write(descriptor, text.data(), text.size());
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(done));
  }
  return true;
}

Outcome<void> become_root_of_a_user_namespace() {
  const uid_t user = ::geteuid();
  const gid_t group = ::getegid();
  if (::unshare(CLONE_NEWUSER) != 0)
    return system_failure("a user namespace (without it, the lab needs root)");
  if (auto done = write_file("/proc/self/setgroups", "deny"); !done) return done;
  if (auto done = write_file("/proc/self/uid_map", fmt::format("0 {} 1", user)); !done) return done;
  return write_file("/proc/self/gid_map", fmt::format("0 {} 1", group));
}

}  // namespace

std::unexpected<Error> system_failure(const std::string& what) {
  const int number = errno;
  return failure(errc_of_errno(number), what + ": " + std::generic_category().message(number));
}

Outcome<void> write_file(const std::string& path, const std::string& text) {
  constexpr mode_t kAll = 0644;
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, kAll);
  if (file < 0) return system_failure(path);
  const bool is_written = write_all(file, text);
  if (::close(file) != 0 || !is_written) return system_failure(path);
  return {};
}

Outcome<void> make_folder(const std::string& path, mode_t mode) {
  if (::mkdir(path.c_str(), mode) != 0) return system_failure(path);
  return {};
}

Outcome<void> run_ip(const std::string& commands) {
  std::array<int, 2> input{};
  if (::pipe2(input.data(), O_CLOEXEC) != 0) return system_failure("a pipe");
  const pid_t child = ::fork();
  if (child == 0) {
    (void)::dup2(input[0], STDIN_FILENO);
    (void)::execlp("ip", "ip", "-batch", "-", nullptr);
    std::perror("plnet-cxi-lab: ip (of iproute2)");
    ::_exit(kIpNotStarted);
  }
  (void)::close(input[0]);
  const bool is_written = child > 0 && write_all(input[1], commands);
  (void)::close(input[1]);
  if (child < 0) return system_failure("a process for ip");
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (is_written && WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  return failure(Errc::kIo,
                 "network interfaces: ip -batch has failed, with the commands\n" + commands);
}

Outcome<void> enter_own_namespaces() {
  if (::geteuid() != 0) {
    if (auto done = become_root_of_a_user_namespace(); !done) return done;
  }
  if (::unshare(CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWUTS) != 0)
    return system_failure("mount, network and host name namespaces (CAP_SYS_ADMIN)");
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
    return system_failure("private mounts");
  return {};
}

Outcome<void> mount_empty(const std::string& folder) {
  if (::mount("plnet-cxi-lab", folder.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, "mode=755") != 0)
    return system_failure("a file system in memory on " + folder);
  return {};
}

Error become_command(const std::vector<std::string>& words) {
  std::vector<char*> all;
  all.reserve(words.size() + 1);
  for (const std::string& word : words)
    all.push_back(const_cast<char*>(word.c_str()));
  all.push_back(nullptr);
  (void)::execvp(all.front(), all.data());
  return system_failure(words.front()).error();
}

}  // namespace plnet::cxi_lab
