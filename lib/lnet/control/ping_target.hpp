// SPDX-License-Identifier: BSD-3-Clause
// What this node tells whoever pings it: the buffer, and the descriptor on portal 0 that serves it.
// A new buffer is built beside the one in use, which stays as it is until the last reply from it
// has gone; statuses and features change in place, one word at a time, as in the kernel.
// Checked against lustre-release lnet/lnet/api-ni.c: lnet_ping_target_setup(),
// lnet_ping_target_install_locked(), lnet_ping_target_update(), discovery_set().
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "lib/base/counters.hpp"
#include "lib/lnet/api/data_operations.hpp"
#include "lib/lnet/control/ping_exchanges.hpp"

namespace plnet::lnet {

#define PLNET_PING_TARGET_COUNTERS(X)                                                              \
  X(kAnswered, "pings_answered", "pings", kCount, "pings that found the buffer")                   \
  X(kBuilt, "ping_buffers_built", "buffers", kCount, "buffers built: NIs added or removed")        \
  X(kPutOff, "ping_buffers_put_off", "buffers", kCount, "built later: replies under way from all") \
  X(kStatus, "ping_statuses_changed", "interfaces", kCount, "statuses changed in place")           \
  X(kFailed, "ping_buffers_failed", "buffers", kCount, "no descriptor for a new buffer")

PLNET_COUNTERS(PingTargetTable, PLNET_PING_TARGET_COUNTERS);
using PingTargetCounters = Counters<PingTargetTable>;
using PingTargetCounter = PingTargetTable::Id;

class PingTarget final : public EventHandler {
 public:
  // One in use, and as many old ones from which replies are under way.
  static constexpr std::size_t kBuffers = 4;

  // `memory`: kBuffers slots.
  PingTarget(DataOperations& operations, PingMemory memory);

  // Other interfaces: a new buffer with the next sequence number, now or, when replies are under
  // way from all, by step(). At most kNisMax - 1, the primary one first.
  [[nodiscard]] Result<void> set_interfaces(std::span<const PingEntry> interfaces);
  // The same with the next sequence number, so that who has acknowledged that has this one.
  void renew();
  // In place; the sequence number stays. True if it made a difference.
  bool set_status(const Nid& nid, std::uint32_t status);
  bool set_routing(bool on);
  bool set_discovery(bool on);
  // Nobody is answered any more.
  void close();

  // Builds what was put off. Returns whether there is a new buffer.
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
