// SPDX-License-Identifier: BSD-3-Clause
// Messages for benchmarks: one template header, sent by each of N peers at random.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "drivers/net/null/rx.hpp"
#include "lib/base/random.hpp"

namespace plnet::drivers {

inline constexpr unsigned kSourceBurstMax = 1024;  // keeps a turn short

struct NullSourceConfig {
  lnet::MessageHeader header;  // `source` is set for each message
  lnet::Nid first_peer;        // the address of the first peer; the others count up from it
  unsigned peers = 1;
  unsigned burst = 32;  // messages per flush()
  // If not empty, `destination` is one of these at random. They outlive the source.
  std::span<const lnet::Nid> destinations;
  // If given, the number that may still be offered. Each offered message takes one; the owner fills
  // it up, so that a benchmark has so many messages under way and not as many as there is room for.
  std::uint32_t* allowance = nullptr;
};

class NullSource {
 public:
  // Takes its peers from the pool and keeps them.
  NullSource(const NullSourceConfig& config, Random& random, NullPeers& peers, NullStats& stats);

  // Offers one burst and returns the number of messages. A peer with a parked message is skipped.
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
