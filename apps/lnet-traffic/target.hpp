// SPDX-License-Identifier: BSD-3-Clause
// The passive half of a shard: memory for PUTs and GETs of others. Each buffer receives one PUT, is
// checked, and attached again.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "apps/lnet-traffic/seen.hpp"
#include "apps/lnet-traffic/traffic_counters.hpp"
#include "lib/base/arena.hpp"
#include "lib/lnet/api/data_operations.hpp"

namespace plnet::traffic {

class Target final : public lnet::EventHandler {
 public:
  // `memory`: a piece for each simultaneous PUT, and one for GETs.
  Target(const ArenaTable& arenas, std::span<const Fragment> put_memory, Fragment get_memory,
         Seen& seen, TrafficCounters& counters);

  // Attaches all memory at a new node.
  [[nodiscard]] Result<void> attach_memory(lnet::DataOperations& lnet);
  // LNet has gone down, and with it all attached memory.
  void let_go() { lnet_ = nullptr; }

  void on_event(const lnet::Event& event) override;

 private:
  [[nodiscard]] Result<void> attach_memory(Fragment& buffer);
  void look_at(const lnet::Event& event, const Fragment& buffer);

  const ArenaTable& arenas_;
  std::vector<Fragment> buffers_;
  const Fragment read_;
  Seen& seen_;
  TrafficCounters& counters_;
  lnet::DataOperations* lnet_ = nullptr;
};

}  // namespace plnet::traffic
