// SPDX-License-Identifier: BSD-3-Clause
// Spoils the frames that a port of DPDK receives, from a seed: what a bad cable does to whatever
// runs on it. For tests and measurements: it hangs itself into the port from outside.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "lib/base/result.hpp"

namespace plnet::cassini::soft {

struct FrameFaultOptions {
  std::uint64_t seed = 0;
  // Shares of the frames that come.
  double drop = 0;
  double duplicate = 0;
  double late = 0;    // comes behind the next burst
  double damage = 0;  // one bit
};

struct FrameFaultCounts {
  std::uint64_t passed = 0;
  std::uint64_t dropped = 0;
  std::uint64_t duplicated = 0;
  std::uint64_t late = 0;
  std::uint64_t damaged = 0;
};

class FrameFaults {
 public:
  // A port that was configured and is polled by the thread that calls this. Let go of it before
  // the port is closed.
  [[nodiscard]] static plnet::Outcome<std::unique_ptr<FrameFaults>> attach(
      const std::string& port, const FrameFaultOptions& options);
  ~FrameFaults();
  FrameFaults(const FrameFaults&) = delete;
  FrameFaults& operator=(const FrameFaults&) = delete;

  void set(const FrameFaultOptions& options);
  [[nodiscard]] FrameFaultCounts counts() const;

 private:
  struct State;
  explicit FrameFaults(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace plnet::cassini::soft
