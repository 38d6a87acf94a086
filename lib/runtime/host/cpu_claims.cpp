// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/host/cpu_claims.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

namespace plnet::runtime {
namespace {

int operation_of(ClaimMode mode) {
  return (mode == ClaimMode::kExclusive ? LOCK_EX : LOCK_SH) | LOCK_NB;
}

// One line written by the holder. Only printable characters pass, since the text comes from
// outside.
std::string holder(int file) {
  std::array<char, 128> text{};
  const ssize_t size = ::pread(file, text.data(), text.size(), 0);
  std::string line;
  for (ssize_t i = 0; i < size && text[static_cast<std::size_t>(i)] != '\n'; ++i) {
    const char c = text[static_cast<std::size_t>(i)];
    if (c >= ' ' && c <= '~') line += c;
  }
  return line.empty() ? "another process" : line;
}

Outcome<void> taken(unsigned cpu, std::string_view by) {
  return failure(
      Errc::kBusy,
      fmt::format("cpu {} is taken by {}: choose other CPUs (plnet: cpts), stop that instance, "
                  "or let both idle with `plnet: pollers: idle: sleep`",
                  cpu, by));
}

}  // namespace

std::string read_proc_locks() {
  const std::ifstream file("/proc/locks");
  std::ostringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

// "1: FLOCK  ADVISORY  WRITE 812 00:19:1234 0 EOF"; waiting processes have "->" behind the
// number. Linux fs/locks.c: lock_get_status()
std::vector<FileLock> locks_of(std::string_view proc_locks, dev_t device, ino_t inode) {
  const std::string wanted = fmt::format("{:02x}:{:02x}:{}", major(device), minor(device), inode);
  std::vector<FileLock> found;
  std::istringstream lines{std::string(proc_locks)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string number, kind, strictness, access, file;
    pid_t holder = 0;
    if (!(words >> number >> kind >> strictness >> access >> holder >> file)) continue;
    if (kind != "FLOCK" || file != wanted) continue;
    found.push_back({holder, access == "WRITE" ? ClaimMode::kExclusive : ClaimMode::kShared});
  }
  return found;
}

std::string usual_claim_directory() {
  return std::string(::geteuid() == 0 ? kRootClaimDirectory : kClaimDirectory);
}

void make_claim_directory(const std::string& directory) {
  const bool is_open = directory == kClaimDirectory;
  if (!is_open && directory != kRootClaimDirectory) return;
  // The mode of /run/lock lets every user claim CPUs; only its owner may remove a claim.
  if (::mkdir(directory.c_str(), 0700) == 0)
    (void)::chmod(directory.c_str(), is_open ? 01777 : 0755);
}

CpuClaims::CpuClaims(std::string directory, std::string instance)
    : directory_(std::move(directory)), instance_(std::move(instance)) {}

CpuClaims::~CpuClaims() {
  release_all();
}

void CpuClaims::release_all() {
  release_from(0);
}

void CpuClaims::release_from(std::size_t first) {
  while (held_.size() > first) {
    ::close(held_.back().file);
    held_.pop_back();
  }
}

std::string CpuClaims::path_of(unsigned cpu) const {
  return fmt::format("{}/plnet-cpu-{}.{}.lock", directory_, cpu, ::geteuid());
}

// In a directory that all users may write, another user may have made the file before.
Outcome<int> CpuClaims::open(unsigned cpu) const {
  const std::string path = path_of(cpu);
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  struct stat about{};
  const bool is_there = ::lstat(path.c_str(), &about) == 0;
  if (is_there && about.st_uid != ::geteuid()) {
    if (file >= 0) ::close(file);
    return failure(Errc::kNotPermitted,
                   fmt::format("cpu {}: {} belongs to user {}: remove it, or name a directory of "
                               "your own with --lock-dir",
                               cpu, path, about.st_uid));
  }
  if (file >= 0) return file;
  const Errc code = errc_of_errno(errno);
  return failure(code, fmt::format("cpu {}: cannot open {}: {}; expected a directory in which "
                                   "this user may create files",
                                   cpu, path, text_of(code)));
}

Outcome<void> CpuClaims::check_others(unsigned cpu, ClaimMode mode) const {
  if (::geteuid() == 0) return {};
  const std::string begin = fmt::format("plnet-cpu-{}.", cpu);
  const std::string roots(directory_ == kClaimDirectory ? kRootClaimDirectory : directory_);
  std::error_code ignored;
  for (const std::string& directory : {directory_, roots}) {
    for (const auto& entry : std::filesystem::directory_iterator(directory, ignored)) {
      struct stat about{};
      if (!entry.path().filename().string().starts_with(begin) ||
          ::lstat(entry.path().c_str(), &about) != 0 || about.st_uid == ::geteuid())
        continue;
      for (const FileLock& lock : locks_of(read_proc_locks(), about.st_dev, about.st_ino)) {
        if (mode == ClaimMode::kExclusive || lock.mode == ClaimMode::kExclusive)
          return taken(cpu, fmt::format("pid {} of user {}", lock.holder, about.st_uid));
      }
    }
  }
  return {};
}

Outcome<void> CpuClaims::lock(unsigned cpu, ClaimMode mode, int file) const {
  if (::flock(file, operation_of(mode)) != 0) {
    const int number = errno;
    if (number == EWOULDBLOCK) return taken(cpu, holder(file));
    const Errc code = errc_of_errno(number);
    return failure(code, fmt::format("cpu {}: cannot lock {}: {}; expected a file system that "
                                     "knows flock()",
                                     cpu, path_of(cpu), text_of(code)));
  }
  // Checked after taking the own lock: of two that start together, at least one sees the other.
  if (auto free = check_others(cpu, mode); !free) {
    (void)::flock(file, LOCK_UN);
    return free;
  }
  // Other instances name this holder in their messages.
  const std::string line = fmt::format("pid {} instance {}\n", ::getpid(), instance_);
  if (::ftruncate(file, 0) == 0) {
    [[maybe_unused]] const ssize_t written = ::pwrite(file, line.data(), line.size(), 0);
  }
  return {};
}

// flock() releases the old lock before it requests the new one, so a failed request loses it. The
// old lock can be taken again, since the conflicting holder shares the CPU.
Outcome<void> CpuClaims::convert(Held& held, ClaimMode mode) const {
  auto locked = lock(held.cpu, mode, held.file);
  if (locked) {
    held.mode = mode;
  } else {
    (void)::flock(held.file, operation_of(held.mode));
  }
  return locked;
}

Outcome<void> CpuClaims::change_all(ClaimMode mode) {
  std::vector<ClaimMode> before;
  for (Held& held : held_) {
    before.push_back(held.mode);
    if (held.mode == mode) continue;
    auto changed = convert(held, mode);
    if (changed) continue;
    for (std::size_t i = 0; i + 1 < before.size(); ++i)
      (void)convert(held_[i], before[i]);  // back to the mode that was granted a moment ago
    return changed;
  }
  return {};
}

Outcome<void> CpuClaims::claim(unsigned cpu, ClaimMode mode) {
  const auto held = std::ranges::find(held_, cpu, &Held::cpu);
  if (held != held_.end()) {
    if (held->mode == ClaimMode::kExclusive || held->mode == mode) return {};
    return convert(*held, mode);
  }
  const auto file = open(cpu);
  if (!file) return std::unexpected(file.error());
  auto locked = lock(cpu, mode, *file);
  if (!locked) {
    ::close(*file);
    return locked;
  }
  held_.push_back({.cpu = cpu, .mode = mode, .file = *file});
  return {};
}

Outcome<void> CpuClaims::claim_all(std::span<const unsigned> cpus, ClaimMode mode) {
  const std::size_t before = held_.size();
  for (const unsigned cpu : cpus) {
    if (auto claimed = claim(cpu, mode); !claimed) {
      release_from(before);
      return claimed;
    }
  }
  return {};
}

}  // namespace plnet::runtime
