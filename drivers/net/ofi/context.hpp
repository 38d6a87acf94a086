// SPDX-License-Identifier: BSD-3-Clause
// The state that the parts of one shard's endpoint share.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "drivers/net/ofi/address.hpp"
#include "drivers/net/ofi/stats.hpp"
#include "lib/base/check.hpp"
#include "lib/base/clock.hpp"
#include "lib/kfilnd/fabric_endpoint.hpp"

namespace plnet::ofi {

inline constexpr std::uint32_t kNone = ~0U;

struct EndpointConfig {
  kfilnd::EndpointLimits limits{.operations_max = 1024};
  unsigned tagged_max = 1024;
  unsigned buffers_max = 64;      // multi-receive; kfilnd posts 8
  unsigned receive_slots = 256;   // receives that the provider may fill between two turns
  unsigned record_packets = 256;  // answers that wait for the provider
  unsigned links_max = 4096;      // remote contexts that are known at once
  unsigned strangers_max = 1024;  // of these: known only because they have written to us
  unsigned bulk_blocks = 8;       // for bulk that is scattered or in memory of no arena
  std::uint32_t bulk_bytes_max = 1U << 20U;
  Duration connect_time = std::chrono::seconds(5);     // until the provider has taken a packet
  Duration operation_time = std::chrono::seconds(20);  // until a peer answers; the lease of a grant
  Duration not_ready_time = std::chrono::milliseconds(500);  // a peer without a buffer
  std::uint64_t seed = 1;  // of the incarnation and operation numbers: differs at each start
};

// Completions that have not been reported yet: room for everything that can end at once.
class CompletionRing {
 public:
  explicit CompletionRing(std::size_t capacity) : ring_(std::bit_ceil(capacity)) {}
  void push(const kfilnd::FabricCompletion& completion) {
    PLNET_CHECK(size() < ring_.size(), "all operations together have room to end");
    ring_[tail_++ & (ring_.size() - 1)] = completion;
  }
  [[nodiscard]] kfilnd::FabricCompletion pop() {
    PLNET_CHECK(size() > 0, "the caller has counted the completions");
    return ring_[head_++ & (ring_.size() - 1)];
  }
  [[nodiscard]] std::size_t size() const { return tail_ - head_; }

 private:
  std::vector<kfilnd::FabricCompletion> ring_;
  std::size_t head_ = 0;
  std::size_t tail_ = 0;
};

// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): counters are aligned on purpose
struct Context {
  explicit Context(const EndpointConfig& the_config)
      : config(the_config),
        completions(2 * (std::size_t{the_config.limits.operations_max} + the_config.tagged_max +
                         the_config.buffers_max) +
                    the_config.receive_slots) {}

  EndpointConfig config;
  CompletionRing completions;
  Stats stats;
  Process own;
  std::uint32_t incarnation = 1;
  Instant now{};  // of the latest turn
  bool shut_down = false;
};

}  // namespace plnet::ofi
