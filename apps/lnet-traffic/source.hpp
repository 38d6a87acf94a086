// SPDX-License-Identifier: BSD-3-Clause
// The active half of a shard: keeps a number of PUTs and GETs of mixed sizes under way, and
// accounts for the end of each.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "apps/lnet-traffic/pace.hpp"
#include "apps/lnet-traffic/traffic_counters.hpp"
#include "lib/base/arena.hpp"
#include "lib/base/clock.hpp"
#include "lib/base/random.hpp"
#include "lib/lnet/api/data_operations.hpp"

namespace plnet::traffic {

struct SourceConfig {
  std::vector<lnet::Nid> targets;  // in rotation; none: this shard begins nothing
  std::uint64_t operations = 0;    // after which it is done; 0: unlimited
  std::uint32_t bytes_max = 0;
  unsigned get_percent = 50;
  std::uint64_t run = 1;  // identifies this source among the senders to a target; not 0
  // Checked after a failure: true if LNet going down is the reason. None: it never does.
  std::function<bool()> is_cut_off{};
};

class Source final : public lnet::EventHandler {
 public:
  // One operation at a time in each piece of `memory`. Replies are compared with `expected`.
  Source(SourceConfig config, const ArenaTable& arenas, std::span<const Fragment> memory,
         std::span<const std::byte> expected, TrafficCounters& counters);

  // Call once a turn. Returns the number of operations begun.
  unsigned step(lnet::DataOperations& lnet, Instant now);
  // LNet has gone down; no event will come.
  void let_go();
  // All operations have begun and ended.
  [[nodiscard]] bool done() const;
  [[nodiscard]] Instant next_deadline() const;

  // The pace of the answered operations, in the time of step().
  [[nodiscard]] const Pace& pace() const { return pace_; }

  void on_event(const lnet::Event& event) override;

 private:
  struct Operation {
    Fragment room;
    Fragment used;
    std::uint32_t offset = 0;  // GET: in the target's data
    Instant begun{};
    bool is_get = false;
    bool answered = false;
  };

  [[nodiscard]] bool has_more() const;
  [[nodiscard]] std::uint32_t pick_length();
  void begin(Operation& operation, lnet::DataOperations& lnet, Instant now);
  void time_the_ended(Instant now);
  void end(Operation& operation);

  const SourceConfig config_;
  const ArenaTable& arenas_;
  const std::span<const std::byte> expected_;
  TrafficCounters& counters_;
  Random random_;
  std::vector<Operation> operations_;
  std::vector<Operation*> free_;  // its full capacity is allocated at the start
  std::size_t timed_ = 0;         // of these; the ones after it have ended since the last step
  Pace pace_;
  std::uint64_t begun_ = 0;
  lnet::DataOperations* lnet_ = nullptr;
  bool failed_lately_ = false;
  Instant pause_until_{};
};

}  // namespace plnet::traffic
