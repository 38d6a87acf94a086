// SPDX-License-Identifier: BSD-3-Clause
// Real threads that sleep. A lost wake-up shows as a test that never ends, which meson's timeout
// reports.
#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "lib/base/ring.hpp"
#include "lib/runtime/poll/exchange.hpp"
#include "lib/runtime/poll/poller.hpp"
#include "lib/runtime/poll/qsbr_hook.hpp"
#include "lib/runtime/poll/tsc_clock.hpp"

namespace plnet::runtime {
namespace {

constexpr unsigned kBalls = 3000;

// Returns each ball to the other side, whose shard sleeps meanwhile.
class Player final : public Pollable {
 public:
  Player(SpscRing<unsigned>& in, SpscRing<unsigned>& out, Doorbell& other)
      : in_(in), out_(out), other_(other) {}
  unsigned poll(Instant) override {
    unsigned ball = 0;
    if (!in_.pop(ball)) return 0;
    last.store(ball, std::memory_order_release);
    if (ball < kBalls) {
      EXPECT_TRUE(out_.push(ball + 1));
      other_.ring();
    }
    return 1;
  }
  [[nodiscard]] std::string_view name() const override { return "player"; }
  [[nodiscard]] bool woken_by_doorbell() const override { return true; }

  std::atomic<unsigned> last{0};

 private:
  SpscRing<unsigned>& in_;
  SpscRing<unsigned>& out_;
  Doorbell& other_;
};

PollerOptions eager_sleeper(const char* name) {
  return {.name = name, .idle = IdlePolicy::kSleep, .sleep_after = Duration::zero()};
}

TEST(PollerThreads, NoWakeUpIsLost) {
  const TscClock clock;
  Poller left(clock, eager_sleeper("left"));
  Poller right(clock, eager_sleeper("right"));
  SpscRing<unsigned> to_left(4);
  SpscRing<unsigned> to_right(4);
  Player left_player(to_left, to_right, right.doorbell());
  Player right_player(to_right, to_left, left.doorbell());
  ASSERT_TRUE(left.add_owner(left_player));
  ASSERT_TRUE(right.add_owner(right_player));
  ASSERT_TRUE(to_left.push(1U));

  std::atomic<bool> stop{false};
  std::thread left_thread([&] { left.run(stop); });
  std::thread right_thread([&] { right.run(stop); });
  while (std::max(left_player.last.load(), right_player.last.load()) < kBalls)
    std::this_thread::yield();
  stop = true;
  left.wake();
  right.wake();
  left_thread.join();
  right_thread.join();
  EXPECT_EQ(std::max(left_player.last.load(), right_player.last.load()), kBalls);
  EXPECT_GT(left.counters().get(PollerCounter::kSleeps), 0U);
  EXPECT_GT(right.counters().get(PollerCounter::kSleeps), 0U);
}

// A sleeping shard is offline: retired objects are reclaimed although it does not turn.
TEST(PollerThreads, ASleeperDoesNotDelayGracePeriods) {
  const TscClock clock;
  Qsbr qsbr(1, 1);
  const auto reader = qsbr.register_reader();
  ASSERT_TRUE(reader);
  QsbrHook hook(qsbr, *reader);
  Poller poller(clock, eager_sleeper("sleeper"), &hook);
  std::atomic<bool> stop{false};
  std::thread thread([&] { poller.run(stop); });
  for (int i = 0; i < 100; ++i) {
    const Qsbr::Grace grace = qsbr.begin_grace();
    while (!qsbr.passed(grace))
      std::this_thread::yield();
  }
  stop = true;
  poller.wake();
  thread.join();
  EXPECT_TRUE(qsbr.passed(qsbr.begin_grace()));
}

TEST(PollerThreads, OrdersReachASleeper) {
  const TscClock clock;
  Poller poller(clock, eager_sleeper("sleeper"));
  std::atomic<bool> stop{false};
  std::thread thread([&] { poller.run(stop); });
  unsigned ran = 0;  // used by the shard while a command is in flight, else by this thread
  for (unsigned i = 1; i <= 1000; ++i) {
    ASSERT_TRUE(poller.commands().submit(make_command([&] { ++ran; })));
    ASSERT_TRUE(poller.commands().wait(std::chrono::seconds(30)));
    ASSERT_EQ(ran, i);
  }
  stop = true;
  poller.wake();
  thread.join();
  EXPECT_EQ(poller.counters().get(PollerCounter::kCommands), 1000U);
}

class NamedDevice final : public Pollable {
 public:
  explicit NamedDevice(std::string_view name) : name_(name) {}
  unsigned poll(Instant) override { return 0; }
  [[nodiscard]] std::string_view name() const override { return name_; }
  [[nodiscard]] bool woken_by_doorbell() const override { return true; }

 private:
  std::string name_;
};

TEST(PollerThreads, NamesAreReadWhileDevicesComeAndGo) {
  const TscClock clock;
  Poller poller(clock, eager_sleeper("shard"));
  NamedDevice stays("stays");
  ASSERT_TRUE(poller.add_owner(stays));
  std::atomic<bool> stop{false};
  std::thread thread([&] { poller.run(stop); });
  for (unsigned i = 0; i < 300; ++i) {
    auto comes = std::make_unique<NamedDevice>("comes " + std::to_string(i));
    ASSERT_TRUE(
        poller.commands().submit(make_command([&] { EXPECT_TRUE(poller.add_owner(*comes)); })));
    // Meanwhile either list is complete.
    const auto between = poller.pollable_names();
    ASSERT_TRUE(between.size() == 1 || between.size() == 2);
    EXPECT_EQ(between[0], "stays");
    ASSERT_TRUE(poller.commands().wait(std::chrono::seconds(30)));
    EXPECT_EQ(poller.pollable_names(),
              (std::vector<std::string>{"stays", "comes " + std::to_string(i)}));
    ASSERT_TRUE(
        poller.commands().submit(make_command([&] { EXPECT_TRUE(poller.remove_owner(*comes)); })));
    const auto after = poller.pollable_names();
    EXPECT_EQ(after[0], "stays");
    ASSERT_TRUE(poller.commands().wait(std::chrono::seconds(30)));
    comes.reset();
    EXPECT_EQ(poller.pollable_names(), std::vector<std::string>{"stays"});
  }
  stop = true;
  poller.wake();
  thread.join();
}

TEST(PollerThreads, ExchangeDrainsUnderEveryPolicy) {
  const TscClock clock;
  constexpr unsigned kShards = 3;
  std::vector<std::unique_ptr<Poller>> pollers;
  std::vector<Poller*> raw;
  std::vector<Exchange::Place> places;
  for (unsigned i = 0; i < kShards; ++i) {
    pollers.push_back(std::make_unique<Poller>(clock, eager_sleeper("shard")));
    raw.push_back(pollers.back().get());
    places.push_back({&raw[i]->doorbell(), &raw[i]->counters_owner()});
  }
  Exchange exchange(clock, places);
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < kShards; ++i) {
    ASSERT_TRUE(raw[i]->add_owner(exchange.shard(i)));
    threads.emplace_back([poller = raw[i], &stop] { poller->run(stop); });
  }
  const auto orders_done = [&] {
    for (Poller* poller : raw)
      ASSERT_TRUE(poller->commands().wait(std::chrono::seconds(30)));
  };
  for (const IdlePolicy policy :
       {IdlePolicy::kSleep, IdlePolicy::kYield, IdlePolicy::kPause, IdlePolicy::kBusy}) {
    for (Poller* poller : raw)
      poller->set_idle_policy(policy);
    const std::uint64_t hops = exchange.summary()[0].hops;
    ASSERT_TRUE(exchange.apply({.enable = true, .in_flight = 2}, raw));
    orders_done();
    while (exchange.summary()[0].hops < hops + 100)
      std::this_thread::yield();
    ASSERT_TRUE(exchange.apply({}, raw));
    orders_done();
    while (!exchange.drained())
      std::this_thread::yield();
  }
  stop = true;
  for (Poller* poller : raw)
    poller->wake();
  for (std::thread& thread : threads)
    thread.join();
  const TokenCensus census = exchange.census();
  EXPECT_EQ(census.at_home, census.made);
}

}  // namespace
}  // namespace plnet::runtime
