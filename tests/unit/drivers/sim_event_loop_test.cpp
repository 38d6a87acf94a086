// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "drivers/net/sim/event_loop.hpp"
#include "drivers/net/sim/network.hpp"

namespace plnet::drivers::sim_event_loop_test {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

struct Recorder final : EventSink {
  explicit Recorder(EventLoop& the_loop) : loop(the_loop) {}
  void on_event(std::uint64_t word) override {
    words.push_back(word);
    times.push_back(loop.now());
    if (again) loop.schedule_in(step, *this, word);
  }
  EventLoop& loop;
  std::vector<std::uint64_t> words;
  std::vector<Instant> times;
  bool again = false;
  Duration step{};
};

TEST(EventLoop, RunsEventsInOrderOfTime) {
  EventLoop loop(1);
  Recorder recorder(loop);
  Random random(7);
  for (std::uint64_t i = 0; i < 5000; ++i)
    loop.schedule(Instant{microseconds(random.below(1000))}, recorder, i);
  const RunResult result = loop.run_until_idle();
  EXPECT_EQ(result.end, RunEnd::kIdle);
  EXPECT_EQ(result.events, 5000U);
  EXPECT_TRUE(std::ranges::is_sorted(recorder.times));
  EXPECT_EQ(loop.pending(), 0U);
}

TEST(EventLoop, SequenceKeepsTheOrderOfSchedulingAtOneInstant) {
  EventLoop loop(1, TieBreak::kSequence);
  Recorder recorder(loop);
  for (std::uint64_t i = 0; i < 100; ++i)
    loop.schedule(Instant{microseconds(5)}, recorder, i);
  loop.run_until_idle();
  EXPECT_TRUE(std::ranges::is_sorted(recorder.words));
}

TEST(EventLoop, DrawnTiesDifferBySeedAndRepeatBySeed) {
  const auto order = [](std::uint64_t seed) {
    EventLoop loop(seed);
    Recorder recorder(loop);
    for (std::uint64_t i = 0; i < 100; ++i)
      loop.schedule(Instant{microseconds(5)}, recorder, i);
    loop.run_until_idle();
    return recorder.words;
  };
  EXPECT_EQ(order(3), order(3));
  EXPECT_NE(order(3), order(4));
}

TEST(EventLoop, CancelledEventsDoNotRunAndIdsDoNotComeBack) {
  EventLoop loop(1);
  Recorder recorder(loop);
  std::vector<EventId> ids;
  for (std::uint64_t i = 0; i < 20'000; ++i)
    ids.push_back(loop.schedule(Instant{microseconds(i)}, recorder, i));
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (i % 10 != 0) {
      EXPECT_TRUE(loop.cancel(ids[i]));
      EXPECT_FALSE(loop.cancel(ids[i]));
    }
  }
  EXPECT_EQ(loop.pending(), 2000U);
  loop.run_until_idle();
  EXPECT_EQ(recorder.words.size(), 2000U);
  for (const std::uint64_t word : recorder.words)
    EXPECT_EQ(word % 10, 0U);
  EXPECT_FALSE(loop.cancel(ids[0]));  // it already ran
  const EventId fresh = loop.schedule_in(microseconds(1), recorder, 1);
  for (const EventId old : ids)
    EXPECT_FALSE(loop.cancel(old));
  EXPECT_TRUE(loop.cancel(fresh));
}

TEST(EventLoop, RunUntilStopsTheClockWhereAsked) {
  EventLoop loop(1);
  Recorder recorder(loop);
  loop.schedule(Instant{milliseconds(1)}, recorder, 1);
  loop.schedule(Instant{milliseconds(3)}, recorder, 3);
  EXPECT_EQ(loop.run_until(Instant{milliseconds(2)}).end, RunEnd::kTime);
  EXPECT_EQ(loop.now(), Instant{milliseconds(2)});
  EXPECT_EQ(recorder.words.size(), 1U);
  EXPECT_EQ(loop.next(), Instant{milliseconds(3)});
  // A time in the past means now.
  loop.schedule(Instant{milliseconds(1)}, recorder, 9);
  loop.step();
  EXPECT_EQ(recorder.times.back(), Instant{milliseconds(2)});
}

TEST(EventLoop, ReportsLivelockAndStandstill) {
  EventLoop loop(1, TieBreak::kDrawn, {.events_per_run = 1000, .events_per_instant = 100});
  Recorder recorder(loop);
  recorder.again = true;
  recorder.step = microseconds(1);
  loop.schedule_in({}, recorder, 1);
  const RunResult livelock = loop.run_until_idle();
  EXPECT_EQ(livelock.end, RunEnd::kEventLimit);
  EXPECT_EQ(livelock.events, 1000U);
  recorder.step = {};
  EXPECT_EQ(loop.run_until_idle().end, RunEnd::kStuck);
}

TEST(SimNetwork, LosesUndeliverablePackets) {
  EventLoop loop(1);
  SimNetwork network(loop, {}, 1);
  const HostId a = network.add_host();
  const HostId b = network.add_host();
  ASSERT_TRUE(network.add_address(a, mapped_ipv4(1)).has_value());
  EXPECT_EQ(network.add_address(b, mapped_ipv4(1)).error(), Errc::kExists);
  EXPECT_EQ(network.host_of(mapped_ipv4(1)), a);
  EXPECT_EQ(network.host_of(mapped_ipv4(2)), kNoHost);

  EXPECT_TRUE(network.transit(a, b, 100).has_value());
  network.block(a, b);
  EXPECT_FALSE(network.transit(a, b, 100).has_value());
  EXPECT_TRUE(network.transit(b, a, 100).has_value()) << "a partition in one direction only";
  network.unblock(a, b);
  network.set_present(b, false);
  EXPECT_FALSE(network.transit(a, b, 100).has_value());
  EXPECT_FALSE(network.transit(b, a, 100).has_value());
}

TEST(SimNetwork, OutgoingTrafficOfAHostSharesItsBandwidth) {
  EventLoop loop(1);
  LinkShape shape;
  shape.latency_min = microseconds(10);
  shape.latency_spread = {};
  shape.bytes_per_second = 1'000'000'000;
  SimNetwork network(loop, shape, 1);
  const HostId a = network.add_host();
  const HostId b = network.add_host();
  EXPECT_EQ(network.transit(a, b, 1'000'000), Instant{microseconds(1010)});
  EXPECT_EQ(network.transit(a, b, 1'000'000), Instant{microseconds(2010)});
  EXPECT_EQ(network.transit(b, a, 0), Instant{microseconds(10)}) << "the other path is free";
}

// A host that sends to a slow host sends to others at full speed.
TEST(SimNetwork, ASlowLinkDelaysOnlyItsOwnTraffic) {
  EventLoop loop(1);
  LinkShape shape;
  shape.latency_min = microseconds(10);
  shape.latency_spread = {};
  shape.bytes_per_second = 1'000'000'000;
  SimNetwork network(loop, shape, 1);
  const HostId a = network.add_host();
  const HostId slow = network.add_host();
  const HostId quick = network.add_host();
  LinkShape crawl = shape;
  crawl.latency_min = milliseconds(1);
  crawl.bytes_per_second = 1'000'000;
  network.set_link(a, slow, crawl);
  EXPECT_EQ(network.transit(a, slow, 1000), Instant{microseconds(1 + 1000 + 1000)});
  EXPECT_EQ(network.transit(a, slow, 1000), Instant{microseconds(1 + 2000 + 1000)});
  EXPECT_EQ(network.transit(a, quick, 1000), Instant{microseconds(3 + 10)}) << "behind 3000 bytes";
  EXPECT_EQ(network.transit(slow, a, 1000), Instant{microseconds(1 + 10)}) << "the return path";
  network.reset_link(a, slow);
  EXPECT_EQ(network.transit(a, slow, 1000), Instant{microseconds(4 + 10)});
}

}  // namespace
}  // namespace plnet::drivers::sim_event_loop_test
