// SPDX-License-Identifier: BSD-3-Clause
// One simulated lcore: polls the same objects as a real shard, on virtual time. A turn costs drawn
// time; a shard without work sleeps until a device rings its doorbell or a deadline comes, so an
// idle node costs no events.
#pragma once

#include <cstdint>
#include <vector>

#include "drivers/net/sim/event_loop.hpp"
#include "drivers/net/sim/network.hpp"
#include "drivers/net/sim/shape.hpp"
#include "lib/base/doorbell.hpp"
#include "lib/base/pollable.hpp"
#include "lib/base/random.hpp"

namespace plnet::drivers {

class SimShard final : public Doorbell, private EventSink {
 public:
  // `label` separates this shard's draws from those of others: use numbers.
  SimShard(SimNetwork& network, HostId host, const ShardShape& shape, std::uint64_t seed,
           std::uint64_t label);
  ~SimShard() override;
  SimShard(const SimShard&) = delete;
  SimShard& operator=(const SimShard&) = delete;

  // Polled in the order added. Start-up only.
  void add(Pollable& pollable);
  // Power off, or back on.
  void set_running(bool running);

  [[nodiscard]] HostId host() const { return host_; }
  // The longest sequence of turns that were due and found no work: a shard that could sleep spins.
  [[nodiscard]] std::uint64_t vain_turns_max() const { return vain_turns_max_; }

 protected:
  void wake() override;

 private:
  void on_event(std::uint64_t word) override;
  void on_event_soon(std::uint64_t word, unsigned step) const override;
  void schedule_turn(Instant when);
  [[nodiscard]] Duration turn_time();

  // In the order in which wake() and a turn use them.
  EventLoop& loop_;
  Instant turn_at_ = Instant::max();  // when the next turn is due, if one is
  Instant busy_until_{};
  EventId turn_{};
  bool running_ = true;
  HostId host_;
  std::vector<Pollable*> pollables_;
  const ShardShape shape_;
  Random random_;
  std::uint64_t vain_turns_ = 0;
  std::uint64_t vain_turns_max_ = 0;
};

}  // namespace plnet::drivers
