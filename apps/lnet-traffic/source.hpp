// SPDX-License-Identifier: BSD-3-Clause
// The active half of a shard: keeps so many PUTs and GETs of mixed sizes under way, and accounts
// for the end of every one of them.
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
  std::vector<lnet::Nid> targets;  // in turn; none: this shard begins nothing
  std::uint64_t operations = 0;    // then it has done its work; 0: never
  std::uint32_t bytes_max = 0;
  unsigned get_percent = 50;
  std::uint64_t run = 1;  // its name among those who send to the same target; not 0
  // Asked when one has failed: LNet goes down, and that is why. None: it never does.
  std::function<bool()> is_cut_off{};
};

class Source final : public lnet::EventHandler {
 public:
  // One operation at a time in each piece of `memory`. A reply is held against `expected`.
  Source(SourceConfig config, const ArenaTable& arenas, std::span<const Fragment> memory,
         std::span<const std::byte> expected, TrafficCounters& counters);

  // Once a turn. Returns operations begun.
  unsigned step(lnet::DataOperations& lnet, Instant now);
  // LNet is gone; no event will come.
  void let_go();
  // All is begun that there was to begin, and has ended.
  [[nodiscard]] bool done() const;
  [[nodiscard]] Instant next_deadline() const;

  // Of those that were answered, as step() saw it.
  [[nodiscard]] const Pace& pace() const { return pace_; }

  void on_event(const lnet::Event& event) override;

 private:
  struct Operation {
    Fragment room;
    Fragment used;
    std::uint32_t offset = 0;  // GET: in what the target shows
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
  std::vector<Operation*> free_;  // has its full capacity from the start
  std::size_t timed_ = 0;         // of those; the ones behind have ended since the last step
  Pace pace_;
  std::uint64_t begun_ = 0;
  lnet::DataOperations* lnet_ = nullptr;
  bool failed_lately_ = false;
  Instant pause_until_{};
};

}  // namespace plnet::traffic
