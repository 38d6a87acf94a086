// SPDX-License-Identifier: BSD-3-Clause
#include "lib/base/timer_wheel.hpp"

#include <algorithm>
#include <deque>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "lib/base/random.hpp"

namespace plnet::timer_wheel_test {
namespace {

using namespace std::chrono_literals;

constexpr Instant kStart{5s + 300us};  // not a round number, on purpose

struct Log {
  std::vector<Timer*> fired;
  void on_timer(Timer& timer, Instant /*now*/) { fired.push_back(&timer); }
};

TEST(TimerWheel, FiresAtItsTickAndNeverEarly) {
  TimerWheel wheel(kStart, 1ms);
  Log log;
  Timer timer = Timer::calling<&Log::on_timer>(log);
  wheel.start(timer, kStart + 10ms + 1ns);
  EXPECT_EQ(wheel.advance(kStart + 10ms), 0U);
  EXPECT_EQ(wheel.advance(kStart + 11ms - 1ns), 0U);
  EXPECT_TRUE(timer.running());
  EXPECT_EQ(wheel.next_deadline(), kStart + 11ms);
  EXPECT_EQ(wheel.advance(kStart + 11ms), 1U);
  EXPECT_FALSE(timer.running());
  EXPECT_EQ(log.fired, std::vector{&timer});
  EXPECT_EQ(wheel.next_deadline(), Instant::max());
}

TEST(TimerWheel, DaysAndForever) {
  TimerWheel wheel(kStart, 1ms);
  Log log;
  Timer days = Timer::calling<&Log::on_timer>(log);
  Timer forever = Timer::calling<&Log::on_timer>(log);
  wheel.start(days, kStart + 24h * 30);
  wheel.start(forever, Instant::max());
  Instant now = kStart;
  int wakes = 0;
  while (wheel.running() == 2) {
    now = wheel.next_deadline();
    ASSERT_LE(now, kStart + 24h * 30);
    wheel.advance(now);
    ASSERT_LT(++wakes, 12) << "at most once per level";
  }
  EXPECT_EQ(now, kStart + 24h * 30);
  EXPECT_TRUE(forever.running());
  EXPECT_TRUE(wheel.cancel(forever));
}

TEST(TimerWheel, APastDeadlineMeansTheNextTick) {
  TimerWheel wheel(kStart, 1ms);
  wheel.advance(kStart + 100ms);
  Log log;
  Timer timer = Timer::calling<&Log::on_timer>(log);
  wheel.start(timer, Instant{});
  EXPECT_EQ(wheel.advance(kStart + 100ms), 0U);
  EXPECT_EQ(wheel.advance(kStart + 101ms), 1U);
}

TEST(TimerWheel, CancelAndRestart) {
  TimerWheel wheel(kStart, 1ms);
  Log log;
  Timer timer = Timer::calling<&Log::on_timer>(log);
  EXPECT_FALSE(wheel.cancel(timer));
  wheel.start(timer, kStart + 5ms);
  EXPECT_TRUE(wheel.cancel(timer));
  EXPECT_EQ(wheel.next_deadline(), Instant::max());
  wheel.start(timer, kStart + 5ms);
  wheel.start(timer, kStart + 500ms);
  EXPECT_EQ(wheel.running(), 1U);
  wheel.advance(kStart + 499ms);
  EXPECT_TRUE(log.fired.empty());
  wheel.advance(kStart + 500ms);
  EXPECT_EQ(log.fired.size(), 1U);
}

TEST(TimerWheel, RestartedWithinItsTickItFiresOnceAtItsTick) {
  TimerWheel wheel(kStart, 1ms);
  Log log;
  Timer timer = Timer::calling<&Log::on_timer>(log);
  wheel.start(timer, kStart + 200ms - 500us);
  wheel.start(timer, kStart + 200ms);
  EXPECT_EQ(timer.deadline(), kStart + 200ms);
  EXPECT_EQ(wheel.running(), 1U);
  wheel.advance(kStart + 150ms);  // moved down a level meanwhile
  wheel.start(timer, kStart + 199ms + 1ns);
  wheel.advance(kStart + 200ms - 1ns);
  EXPECT_TRUE(log.fired.empty());
  wheel.advance(kStart + 200ms);
  EXPECT_EQ(log.fired, std::vector{&timer});
  EXPECT_FALSE(timer.running());
}

TEST(TimerWheel, ABudgetLeavesTheRestForNextTime) {
  TimerWheel wheel(kStart, 1ms);
  Log log;
  std::deque<Timer> timers;
  for (int i = 0; i < 10; ++i) {
    timers.emplace_back([](void* context, Timer& timer,
                           Instant now) { static_cast<Log*>(context)->on_timer(timer, now); },
                        &log);
    wheel.start(timers.back(), kStart + 3ms);
  }
  EXPECT_EQ(wheel.advance(kStart + 10ms, 4), 4U);
  EXPECT_EQ(log.fired.size(), 4U);
  EXPECT_LE(wheel.next_deadline(), kStart + 10ms) << "there is more to do at once";
  EXPECT_TRUE(wheel.cancel(timers[5]));
  EXPECT_EQ(wheel.advance(kStart + 10ms, 4), 4U);
  EXPECT_EQ(wheel.advance(kStart + 10ms, 4), 1U);
  EXPECT_EQ(log.fired.size(), 9U);
  EXPECT_EQ(wheel.running(), 0U);
}

// A callback that uses every call that callbacks may make.
struct Meddler {
  TimerWheel& wheel;
  Timer self = Timer::calling<&Meddler::on_timer>(*this);
  Timer* victim = nullptr;
  int fired = 0;

  void on_timer(Timer& timer, Instant now) {
    ++fired;
    EXPECT_FALSE(timer.running());
    if (victim != nullptr) wheel.cancel(*victim);
    wheel.start(timer, now + 2ms);
  }
};

TEST(TimerWheel, CallbacksRestartThemselvesAndCancelOthers) {
  TimerWheel wheel(kStart, 1ms);
  Log log;
  Timer victim = Timer::calling<&Log::on_timer>(log);
  Meddler meddler{wheel};
  meddler.victim = &victim;
  wheel.start(meddler.self, kStart + 2ms);
  wheel.start(victim, kStart + 2ms);
  EXPECT_EQ(wheel.advance(kStart + 2ms), 1U) << "the victim was due and is not called";
  EXPECT_TRUE(log.fired.empty());
  EXPECT_EQ(wheel.advance(kStart + 3ms), 0U);
  EXPECT_EQ(wheel.advance(kStart + 4ms), 1U);
  EXPECT_EQ(meddler.fired, 2);
  EXPECT_TRUE(wheel.cancel(meddler.self));
}

TEST(TimerWheel, ACallbackThatIsAlwaysLateDoesNotHoldUpATurn) {
  TimerWheel wheel(kStart, 1ms);
  struct Late {
    TimerWheel& wheel;
    Timer self = Timer::calling<&Late::on_timer>(*this);
    void on_timer(Timer& timer, Instant /*now*/) { wheel.start(timer, kStart); }
  } late{wheel};
  wheel.start(late.self, kStart);
  EXPECT_EQ(wheel.advance(kStart + 1h, 100), 100U);
  EXPECT_TRUE(wheel.cancel(late.self));
}

// All operations at random, compared with a model that examines every timer each time.
class Model {
 public:
  explicit Model(std::uint64_t seed) : random_(seed) {
    for (std::size_t i = 0; i < kTimers; ++i)
      entries_.push_back(std::make_unique<Entry>(*this));
  }
  ~Model() {
    for (auto& entry : entries_)
      wheel_.cancel(entry->timer);
  }

  void step() {
    switch (random_.below(4)) {
      case 0:
      case 1: start(pick()); break;
      case 2: cancel(pick()); break;
      default: advance();
    }
    ASSERT_LE(wheel_.next_deadline(), earliest());
  }

 private:
  static constexpr std::size_t kTimers = 40;
  static constexpr Duration kTick = 700us;

  struct Entry {
    explicit Entry(Model& owner) : model(owner) {}
    Model& model;
    Timer timer = Timer::calling<&Entry::on_timer>(*this);
    bool running = false;
    Instant due{};  // the moment of its tick
    void on_timer(Timer& /*timer*/, Instant now) { model.on_fire(*this, now); }
  };

  static Instant round_up(Instant deadline) {
    const auto after = (deadline - kStart).count();
    return kStart + Duration((after + kTick.count() - 1) / kTick.count() * kTick.count());
  }
  static Instant round_down(Instant now) {
    return kStart + Duration((now - kStart).count() / kTick.count() * kTick.count());
  }

  Entry& pick() { return *entries_[random_.below(kTimers)]; }

  void start(Entry& entry) {
    // Near, far and very far deadlines alike.
    const auto ahead = static_cast<std::int64_t>(random_.next() >> (14 + random_.below(50)));
    const Instant deadline = now_ + Duration(ahead / 4);
    // The current tick has already run for timers started now.
    entry.due = std::max(round_up(deadline), reached_ + kTick);
    entry.running = true;
    wheel_.start(entry.timer, deadline);
  }
  void cancel(Entry& entry) {
    ASSERT_EQ(wheel_.cancel(entry.timer), entry.running);
    entry.running = false;
  }
  void advance() {
    // Often exactly the instant at which a timer is due, so that a tick of delay is noticed.
    const Instant first = earliest();
    if (random_.chance(0.5) && first != Instant::max()) {
      now_ = std::max(now_, first);
    } else {
      now_ += Duration(static_cast<std::int64_t>(random_.next() >> (20 + random_.below(44))) / 8);
    }
    last_due_ = Instant{};
    unsigned done = 0;
    const auto budget = static_cast<unsigned>(random_.between(1, 20));
    do {
      done = wheel_.advance(now_, budget);
      ASSERT_LE(done, budget);
    } while (done == budget);
    reached_ = round_down(now_);
    for (const auto& entry : entries_) {
      ASSERT_EQ(entry->timer.running(), entry->running);
      // All due timers were called, including those of this tick.
      if (entry->running) {
        ASSERT_GT(entry->due, reached_);
      }
    }
  }
  void on_fire(Entry& entry, Instant now) {
    ASSERT_TRUE(entry.running) << "was cancelled or has fired already";
    ASSERT_EQ(now, now_);
    ASSERT_LE(entry.due, now) << "early";
    ASSERT_GE(entry.due, last_due_) << "earlier ticks come first";
    last_due_ = entry.due;
    reached_ = entry.due;
    entry.running = false;
    if (random_.chance(0.3)) start(entry);
    if (random_.chance(0.3)) start(pick());
    if (random_.chance(0.3)) cancel(pick());
  }
  [[nodiscard]] Instant earliest() const {
    Instant first = Instant::max();
    for (const auto& entry : entries_) {
      if (entry->running) first = std::min(first, entry->due);
    }
    return first;
  }

  Random random_;
  TimerWheel wheel_{kStart, kTick};
  Instant now_ = kStart;
  Instant reached_ = kStart;  // the last tick that ran
  Instant last_due_{};
  std::vector<std::unique_ptr<Entry>> entries_;
};

TEST(TimerWheel, AgreesWithTheObviousModel) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(seed);
    Model model(seed);
    for (int step = 0; step < 2000; ++step) {
      model.step();
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(TimerWheelDeathTest, TicksAreAsLongAsThereAreLevels) {
  EXPECT_DEATH(TimerWheel(kStart, 0ns), "a tick is at least kTickMin");
  EXPECT_DEATH(TimerWheel(kStart, TimerWheel::kTickMin - 1ns), "a tick is at least kTickMin");
  const TimerWheel shortest(kStart, TimerWheel::kTickMin);
}

}  // namespace
}  // namespace plnet::timer_wheel_test
