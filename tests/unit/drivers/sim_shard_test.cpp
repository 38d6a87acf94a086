// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "drivers/net/sim/shard.hpp"
#include "tests/unit/drivers/sim_cluster.hpp"

namespace plnet::drivers {
namespace {

using namespace std::chrono_literals;

// Announces when it is due and works when it is told to.
class Worker final : public Pollable {
 public:
  unsigned poll(Instant now) override {
    ++polls;
    if (now < due) return 0;
    due = then;
    return work;
  }
  [[nodiscard]] std::string_view name() const override { return "worker"; }
  [[nodiscard]] Instant next_deadline() const override { return due; }

  Instant due = Instant::max();
  Instant then = Instant::max();
  unsigned work = 0;
  unsigned polls = 0;
};

class SimShardTest : public testing::Test {
 protected:
  SimShardTest() { shard_.add(worker_); }

  SimCluster cluster_{1, {}, 1};
  EventLoop& loop_ = cluster_.loop;
  SimShard& shard_ = *cluster_.shards[0];
  Worker worker_;
};

TEST_F(SimShardTest, SleepsUntilSomethingIsDue) {
  worker_.due = Instant{1ms};
  worker_.work = 1;
  (void)loop_.run_for(2ms);
  EXPECT_EQ(worker_.polls, 3U) << "when it was added, when it was due, and after work";
  EXPECT_EQ(shard_.vain_turns_max(), 0U);
}

TEST_F(SimShardTest, CountsTurnsThatWereDueForNothing) {
  worker_.due = worker_.then = Instant::min();
  (void)loop_.run_for(10us);
  const std::uint64_t vain = shard_.vain_turns_max();
  EXPECT_GT(vain, 5U);
  EXPECT_LE(vain, worker_.polls);
  worker_.work = 1;
  (void)loop_.run_for(100us);
  EXPECT_EQ(shard_.vain_turns_max(), vain) << "with work they are not";
}

}  // namespace
}  // namespace plnet::drivers
