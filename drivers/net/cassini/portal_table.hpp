// SPDX-License-Identifier: BSD-3-Clause
// One portal table entry and its state. The NIC may disable it (flow control, an error); it is
// enabled again with the count of messages dropped meanwhile.
#pragma once

#include <cstdint>

#include "drivers/net/cassini/backend.hpp"
#include "drivers/net/cassini/codes.hpp"
#include "drivers/net/cassini/command_queue.hpp"
#include "drivers/net/cassini/events.hpp"
#include "drivers/net/cassini/stats.hpp"
#include "lib/base/clock.hpp"

namespace plnet::cassini {

class PortalTable {
 public:
  PortalTable() = default;
  PortalTable(const Portal& portal, Backend& backend, Stats& stats)
      : portal_(portal), backend_(&backend), stats_(&stats) {}

  void on_state_change(const StateChangeEvent& event, Instant now);
  // Sends SETSTATE if the portal must be enabled and no recent request is pending.
  void poll(CommandQueue& targets, Instant now);

  [[nodiscard]] bool enabled() const { return state_ == PortalState::kEnabled; }
  [[nodiscard]] PortalState state() const { return state_; }
  [[nodiscard]] unsigned number() const { return portal_.number; }
  [[nodiscard]] PortalHandle handle() const { return portal_.handle; }

 private:
  // Between two tries: drops continue while the portal is disabled, so a try may have an outdated
  // count.
  static constexpr Duration kRetry = std::chrono::microseconds(50);

  // Time after which an answer is regarded as lost. A second request is harmless.
  static constexpr Duration kAnswerTime = std::chrono::seconds(1);

  void read_drops();

  Portal portal_;
  Backend* backend_ = nullptr;
  Stats* stats_ = nullptr;
  PortalState state_ = PortalState::kReset;
  bool asked_ = false;
  std::uint32_t drop_count_ = kIgnoreDrops;  // of the first enabling
  Instant due_{};                            // of the next try
};

}  // namespace plnet::cassini
