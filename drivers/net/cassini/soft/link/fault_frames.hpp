// SPDX-License-Identifier: BSD-3-Clause
// Disturbs the frames that a DPDK port receives, from a seed, like a bad cable. For tests and
// measurements: it attaches to the port from outside.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "lib/base/result.hpp"

namespace plnet::cassini::soft {

struct FrameFaultOptions {
  std::uint64_t seed = 0;
  // Shares of the received frames.
  double drop = 0;
  double duplicate = 0;
  double late = 0;    // delivered after the next burst
  double damage = 0;  // one bit flipped
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
  // The port is configured, and the calling thread polls it. Destroy this before closing the port.
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
