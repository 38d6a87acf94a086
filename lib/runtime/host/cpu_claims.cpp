// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/host/cpu_claims.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

namespace plnet::runtime {
namespace {

// Readable by all, so that other users' instances can lock and name us. Files of others in a
// sticky directory open only without O_CREAT and for reading; flock() asks for no more.
int open_lock(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (file >= 0 || errno != EACCES) return file;
  return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
}

int operation_of(ClaimMode mode) {
  return (mode == ClaimMode::kExclusive ? LOCK_EX : LOCK_SH) | LOCK_NB;
}

// What the holder wrote, one line; it came from outside, so only plain characters pass.
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

}  // namespace

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

Outcome<void> CpuClaims::lock(unsigned cpu, ClaimMode mode, int file) const {
  if (::flock(file, operation_of(mode)) != 0) {
    const int number = errno;
    if (number != EWOULDBLOCK) {
      const Errc code = errc_of_errno(number);
      return failure(code, fmt::format("cpu {}: cannot lock {}/plnet-cpu-{}.lock: {}; expected a "
                                       "file system that knows flock()",
                                       cpu, directory_, cpu, text_of(code)));
    }
    return failure(
        Errc::kBusy,
        fmt::format("cpu {} is taken by {}: choose other CPUs (plnet: cpts), stop that instance, "
                    "or let both idle with `plnet: pollers: idle: sleep`",
                    cpu, holder(file)));
  }
  // For the message that others get; a file of another user cannot be written and that is fine.
  const std::string line = fmt::format("pid {} instance {}\n", ::getpid(), instance_);
  if (::ftruncate(file, 0) == 0) {
    [[maybe_unused]] const ssize_t written = ::pwrite(file, line.data(), line.size(), 0);
  }
  return {};
}

// flock() lets the old lock go before it asks for the new one, and one that fails has lost it. It
// is there to be taken again: who stood in the way shares the CPU.
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
      (void)convert(held_[i], before[i]);  // back to what was granted a moment ago
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
  const std::string path = fmt::format("{}/plnet-cpu-{}.lock", directory_, cpu);
  const int file = open_lock(path);
  if (file < 0) {
    const Errc code = errc_of_errno(errno);
    return failure(code, fmt::format("cpu {}: cannot open {}: {}; expected a directory in which "
                                     "this user may create files",
                                     cpu, path, text_of(code)));
  }
  auto locked = lock(cpu, mode, file);
  if (!locked) {
    ::close(file);
    return locked;
  }
  held_.push_back({.cpu = cpu, .mode = mode, .file = file});
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
