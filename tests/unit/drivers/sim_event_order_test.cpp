// SPDX-License-Identifier: BSD-3-Clause
// The event loop's wheel against a sorted set: the same events in the same order under random
// scheduling and cancelling, near and far.
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "drivers/net/sim/event_loop.hpp"

namespace plnet::drivers::sim_event_order_test {
namespace {

// Schedules and cancels from within events, and predicts the next event.
class Chaos final : public EventSink {
 public:
  Chaos(EventLoop& loop, std::uint64_t seed) : loop_(loop), random_(seed) {}

  void schedule() {
    // From the same instant to half a year ahead, with many events at one instant.
    static constexpr unsigned kBits[] = {0, 1, 3, 4, 5, 9, 10, 14, 15, 20, 24, 25, 34, 44, 53};
    const std::uint64_t span = 1ULL << kBits[random_.below(std::size(kBits))];
    const Instant at = loop_.now() + Duration{static_cast<std::int64_t>(random_.below(span))};
    const std::uint64_t word = next_word_++;
    const EventId id = loop_.schedule(at, *this, word);
    expected_.emplace(std::pair(at, word), id);
  }
  void cancel_one() {
    if (expected_.empty()) return;
    auto victim = expected_.lower_bound(
        {loop_.now() +
             Duration{static_cast<std::int64_t>(random_.below(1ULL << random_.below(50)))},
         0});
    if (victim == expected_.end()) victim = expected_.begin();
    EXPECT_TRUE(loop_.cancel(victim->second));
    EXPECT_FALSE(loop_.cancel(victim->second));
    expected_.erase(victim);
  }
  void on_event(std::uint64_t word) override {
    ASSERT_FALSE(expected_.empty());
    EXPECT_EQ(expected_.begin()->first, std::pair(loop_.now(), word));
    expected_.erase(expected_.begin());
    for (std::uint64_t i = random_.below(budget_ > 0 ? 4 : 1); i > 0; --i, --budget_)
      schedule();
    if (random_.below(3) == 0) cancel_one();
    ++run_;
  }
  [[nodiscard]] std::size_t expected() const { return expected_.size(); }
  [[nodiscard]] Instant first() const {
    return expected_.empty() ? Instant::max() : expected_.begin()->first.first;
  }
  [[nodiscard]] std::uint64_t run() const { return run_; }

 private:
  EventLoop& loop_;
  Random random_;
  std::map<std::pair<Instant, std::uint64_t>, EventId> expected_;
  std::uint64_t next_word_ = 0;
  std::int64_t budget_ = 3000;
  std::uint64_t run_ = 0;
};

TEST(EventOrder, TimeThenSequenceUnderRandomChanges) {
  std::uint64_t run = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    EventLoop loop(seed, TieBreak::kSequence);
    Chaos chaos(loop, seed);
    Random random(seed + 1000);
    for (unsigned i = 0; i < 50; ++i)
      chaos.schedule();
    while (chaos.expected() > 0 && !HasFailure()) {
      ASSERT_EQ(loop.pending(), chaos.expected());
      ASSERT_LE(loop.next(), chaos.first());
      if (random.below(3) == 0) {  // stop short of the next event, then continue
        const Duration span{static_cast<std::int64_t>(random.below(1ULL << random.below(55)))};
        loop.run_for(span);
        if (random.below(2) == 0) chaos.schedule();
      } else {
        loop.step();
      }
    }
    EXPECT_EQ(loop.pending(), 0U);
    EXPECT_EQ(loop.next(), Instant::max());
    run += chaos.run();
    if (HasFailure()) return;
  }
  EXPECT_GT(run, 50'000U);
}

struct Count final : EventSink {
  void on_event(std::uint64_t word) override { words.push_back(word); }
  std::vector<std::uint64_t> words;
};

TEST(EventOrder, TheEndOfTimeIsAMomentLikeOthers) {
  EventLoop loop(1);
  Count count;
  loop.schedule(Instant::max(), count, 2);
  loop.schedule(Instant::max() - Duration{1}, count, 1);
  EXPECT_EQ(loop.next(), Instant::max() - Duration{1});
  EXPECT_EQ(loop.run_until(Instant{Duration{1}}).end, RunEnd::kTime);
  EXPECT_EQ(loop.run_until_idle().events, 2U);
  EXPECT_EQ(count.words, (std::vector<std::uint64_t>{1, 2}));
}

// Far events must not become due early, since everything before them would be inserted one by one.
// The test would take seconds then.
TEST(EventOrder, ManyEventsAtOneInstantAreCheap) {
  EventLoop loop(1, TieBreak::kDrawn);
  Count count;
  loop.schedule(Instant{std::chrono::hours(1)}, count, 0);
  loop.run_until(Instant{std::chrono::seconds(1)});
  constexpr std::uint64_t kMany = 300'000;
  for (std::uint64_t i = 0; i < kMany; ++i)
    loop.schedule_in(Duration::zero(), count, i);
  EXPECT_EQ(loop.run_until(loop.now()).events, kMany);
  EXPECT_EQ(loop.pending(), 1U);
}

}  // namespace
}  // namespace plnet::drivers::sim_event_order_test
