// SPDX-License-Identifier: BSD-3-Clause
// The CPUs of this host that other instances use: a lock file per CPU and user. The kernel drops
// the lock when the process ends, in any way, so that no stale lock blocks a start.
//
// Only the owner of such a file can open and lock it; other users see the lock in /proc/locks.
// Root heeds claims of root alone, so that no other user can keep it from a CPU.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "lib/base/result.hpp"

namespace plnet::runtime {

enum class ClaimMode : std::uint8_t {
  kExclusive,  // a poller that never leaves the CPU
  kShared,     // pollers that yield or sleep can share a CPU
};

// Every user may create files in the first directory, only root in the second one.
inline constexpr std::string_view kClaimDirectory = "/run/lock";
inline constexpr std::string_view kRootClaimDirectory = "/run/plnet";
// The default directory for the user of this process.
[[nodiscard]] std::string usual_claim_directory();
// Minimal systems lack these two. Does not create other directories. A claim reports a failure.
void make_claim_directory(const std::string& directory);

// A lock on a file, as /proc/locks lists it.
struct FileLock {
  pid_t holder = 0;  // 0 or less: in another PID namespace
  ClaimMode mode = ClaimMode::kShared;
};
// The text of /proc/locks; empty if this system has no such file.
[[nodiscard]] std::string read_proc_locks();
// Locks of flock() on the file with this device and inode, in that text.
[[nodiscard]] std::vector<FileLock> locks_of(std::string_view proc_locks, dev_t device,
                                             ino_t inode);

// The claims of one instance; dropped with it.
class CpuClaims {
 public:
  // `directory` exists; `instance` is the name in messages of other instances.
  CpuClaims(std::string directory, std::string instance);
  ~CpuClaims();
  CpuClaims(const CpuClaims&) = delete;
  CpuClaims& operator=(const CpuClaims&) = delete;

  // kBusy if another instance holds the CPU in a mode that conflicts with `mode`: the message names
  // it. kNotPermitted: another user has made a file of this name. A CPU claimed twice by this
  // object (two pollers on it) is one claim, in the stricter mode.
  [[nodiscard]] Outcome<void> claim(unsigned cpu, ClaimMode mode);
  // Claims all CPUs or none.
  [[nodiscard]] Outcome<void> claim_all(std::span<const unsigned> cpus, ClaimMode mode);
  // Changes all held claims to `mode`: all or none, kBusy as above; refused claims keep their mode.
  [[nodiscard]] Outcome<void> change_all(ClaimMode mode);
  void release_all();

  [[nodiscard]] std::size_t count() const { return held_.size(); }

 private:
  struct Held {
    unsigned cpu;
    ClaimMode mode;
    int file;
  };

  [[nodiscard]] std::string path_of(unsigned cpu) const;
  [[nodiscard]] Outcome<int> open(unsigned cpu) const;
  [[nodiscard]] Outcome<void> lock(unsigned cpu, ClaimMode mode, int file) const;
  // Fails if a claim of another user conflicts.
  [[nodiscard]] Outcome<void> check_others(unsigned cpu, ClaimMode mode) const;
  [[nodiscard]] Outcome<void> convert(Held& held, ClaimMode mode) const;
  void release_from(std::size_t first);

  const std::string directory_;
  const std::string instance_;
  std::vector<Held> held_;
};

}  // namespace plnet::runtime
