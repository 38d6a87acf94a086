// SPDX-License-Identifier: BSD-3-Clause
// Which CPUs of this host other instances use: a lock file per CPU. The kernel drops the lock with
// the process, however that ends, so that nothing stale ever blocks a start.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.hpp"

namespace plnet::runtime {

enum class ClaimMode : std::uint8_t {
  kExclusive,  // a poller that never leaves the CPU
  kShared,     // pollers that yield or sleep get along with each other
};

inline constexpr std::string_view kClaimDirectory = "/run/lock";

// The claims of one instance; dropped with it.
class CpuClaims {
 public:
  // `directory` exists; `instance` is a name for the message that others get.
  CpuClaims(std::string directory, std::string instance);
  ~CpuClaims();
  CpuClaims(const CpuClaims&) = delete;
  CpuClaims& operator=(const CpuClaims&) = delete;

  // kBusy if another instance holds the CPU in a way that does not go with `mode`: the words name
  // it. A CPU claimed twice by this object (two pollers on it) is one claim, in the stricter mode.
  [[nodiscard]] Outcome<void> claim(unsigned cpu, ClaimMode mode);
  // All or none.
  [[nodiscard]] Outcome<void> claim_all(std::span<const unsigned> cpus, ClaimMode mode);
  // Everything that is held, in `mode` from now on. All or none, kBusy as above; what is refused
  // stays held as it was.
  [[nodiscard]] Outcome<void> change_all(ClaimMode mode);
  void release_all();

  [[nodiscard]] std::size_t count() const { return held_.size(); }

 private:
  struct Held {
    unsigned cpu;
    ClaimMode mode;
    int file;
  };

  [[nodiscard]] Outcome<void> lock(unsigned cpu, ClaimMode mode, int file) const;
  [[nodiscard]] Outcome<void> convert(Held& held, ClaimMode mode) const;
  void release_from(std::size_t first);

  const std::string directory_;
  const std::string instance_;
  std::vector<Held> held_;
};

}  // namespace plnet::runtime
