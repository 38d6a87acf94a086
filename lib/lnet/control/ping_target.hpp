// SPDX-License-Identifier: BSD-3-Clause
// The answer of this node to pings: the buffer, and the descriptor on portal 0 that serves it. A
// new buffer is built beside the one in use, which stays until the last reply from it has left;
// statuses and features change in place, one word at a time, as in the kernel. Checked against
// lustre-release lnet/lnet/api-ni.c: lnet_ping_target_setup(), lnet_ping_target_install_locked(),
// lnet_ping_target_update(), discovery_set().
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "lib/base/counters.hpp"
#include "lib/lnet/api/data_operations.hpp"
#include "lib/lnet/control/ping_exchanges.hpp"

namespace plnet::lnet {

#define PLNET_PING_TARGET_COUNTERS(X)                                                       \
  X(kAnswered, "pings_answered", "pings", kCount, "pings that matched the ping buffer")     \
  X(kBuilt, "ping_buffers_built", "buffers", kCount,                                        \
    "ping buffers rebuilt because NIs were added or removed")                               \
  X(kPutOff, "ping_buffers_put_off", "buffers", kCount,                                     \
    "ping buffers rebuilt later: replies still read all of them")                           \
  X(kStatus, "ping_statuses_changed", "interfaces", kCount, "NI statuses changed in place") \
  X(kFailed, "ping_buffers_failed", "buffers", kCount,                                      \
    "no memory descriptor was free for a new ping buffer")

PLNET_COUNTERS(PingTargetTable, PLNET_PING_TARGET_COUNTERS);
using PingTargetCounters = Counters<PingTargetTable>;
using PingTargetCounter = PingTargetTable::Id;

class PingTarget final : public EventHandler {
 public:
  // One in use, and the rest for old ones with replies under way.
  static constexpr std::size_t kBuffers = 4;
  static_assert(kBuffers >= 2, "a new buffer is built beside the one in use");

  // `memory`: kBuffers slots.
  PingTarget(DataOperations& operations, PingMemory memory);

  // Builds a buffer with these interfaces and the next sequence number, now or, while replies use
  // all buffers, by step(). At most kNisMax - 1, the primary one first.
  [[nodiscard]] Result<void> set_interfaces(std::span<const PingEntry> interfaces);
  // The same interfaces with the next sequence number, so that an acknowledgement of it refers to
  // this buffer.
  void renew();
  // In place; the sequence number stays. True if it changed.
  bool set_status(const Nid& nid, std::uint32_t status);
  bool set_routing(bool on);
  bool set_discovery(bool on);
  // Answers no more pings.
  void close();

  // Builds a postponed buffer. True: there is a new buffer.
  bool step();

  [[nodiscard]] std::uint32_t sequence() const { return sequence_; }
  // Empty before the first set_interfaces().
  [[nodiscard]] std::span<const std::byte> bytes() const;
  [[nodiscard]] const PingTargetCounters& counters() const { return counters_; }

  void on_event(const Event& event) override;

 private:
  struct Buffer {
    Fragment fragment;
    std::span<std::byte> room;
    MdHandle md;
    bool linked = false;
  };

  [[nodiscard]] Result<void> build();
  [[nodiscard]] Buffer* free_buffer();
  bool set_feature(PingFeature feature, bool on);

  DataOperations& operations_;
  std::array<Buffer, kBuffers> buffers_;
  Buffer* current_ = nullptr;
  std::vector<PingEntry> entries_;
  bool routing_ = false;
  bool discovery_ = true;
  bool put_off_ = false;
  bool closed_ = false;
  std::uint32_t sequence_ = 0;
  PingTargetCounters counters_;
};

}  // namespace plnet::lnet
