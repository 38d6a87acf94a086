// SPDX-License-Identifier: BSD-3-Clause
// Messages made up for benchmarks: one template header, as if sent by each of N peers at random.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "drivers/net/null/rx.hpp"
#include "lib/base/random.hpp"

namespace plnet::drivers {

inline constexpr unsigned kSourceBurstMax = 1024;  // keeps a turn short

struct NullSourceConfig {
  lnet::MessageHeader header;  // `source` is filled in for each message
  lnet::Nid first_peer;        // address of the first; the others count on from it
  unsigned peers = 1;
  unsigned burst = 32;  // messages per flush()
  // Not empty: `destination` is one of these at random, who outlive the source.
  std::span<const lnet::Nid> destinations;
  // If given: how many may still be offered. Each that is takes one; its owner fills it up, so that
  // a benchmark has so many under way and not as many as there is room for.
  std::uint32_t* allowance = nullptr;
};

class NullSource {
 public:
  // Takes its peers from the pool and keeps them.
  NullSource(const NullSourceConfig& config, Random& random, NullPeers& peers, NullStats& stats);

  // Offers one burst. A peer whose message is parked is passed over. Returns messages offered.
  unsigned run(NullRx& rx);

 private:
  static constexpr unsigned kTogether = 16;

  unsigned run_together(NullRx& rx, unsigned count);

  std::array<lnet::MessageHeader, kTogether> headers_;
  Random& random_;
  NullPeers& peers_;
  NullStats& stats_;
  const unsigned count_;
  const unsigned burst_;
  const std::span<const lnet::Nid> destinations_;
  std::uint32_t* const allowance_;
};

}  // namespace plnet::drivers
