// SPDX-License-Identifier: BSD-3-Clause
// Simulated loads on a simulated clock: a turn that reads costs a call and a constant for each
// message.
#include <algorithm>
#include <cstdint>

#include <gtest/gtest.h>

#include "drivers/net/tcp/coalescer.hpp"
#include "lib/base/random.hpp"
#include "tests/mocks/seeds.hpp"

namespace plnet::drivers {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr Duration kCall = nanoseconds(3000);
constexpr Duration kEach = nanoseconds(1000);
constexpr Duration kIdleTurn = nanoseconds(200);

struct Price {
  Duration call = kCall;
  Duration each = kEach;
};

// Expensive messages: batching saves little, so the pause stays short.
constexpr Price kDear{.call = nanoseconds(1000), .each = nanoseconds(4000)};
constexpr Duration kLongestShort = Coalescer::kPauses[Coalescer::kLongestShort];

class Load {
 public:
  Load(Coalescer& coalescer, std::uint64_t message_bytes, const Price& price = {})
      : coalescer_(coalescer), message_bytes_(message_bytes), price_(price) {}

  // `come` returns the number of messages that have arrived by a time; it receives the number of
  // those served so far.
  template <class Come>
  std::uint64_t run(Duration long_, Come&& come) {
    Instant last = now_;
    const Instant end = now_ + long_;
    const std::uint64_t before = served_;
    while (now_ < end) {
      if (coalescer_.pause() > kLongestShort) long_paused_ += now_ - last;
      last = now_;
      if (coalescer_.holds(now_)) {
        now_ += kIdleTurn;
        continue;
      }
      const std::uint64_t there = come(now_, served_) - served_;
      if (there == 0) {
        coalescer_.note(now_, 0, 0);
        now_ += kIdleTurn;
        continue;
      }
      served_ += there;
      const Instant begun = now_;
      now_ += price_.call + price_.each * static_cast<Duration::rep>(there);
      coalescer_.note(begun, 1, there * message_bytes_);
      longest_ = std::max(longest_, coalescer_.pause());
    }
    return served_ - before;
  }
  [[nodiscard]] Duration longest() const { return longest_; }
  // The share of the time so far in which the pause was a long one.
  [[nodiscard]] Duration long_paused() const { return long_paused_; }
  void becomes(const Price& price) { price_ = price; }
  void messages_become(std::uint64_t message_bytes) { message_bytes_ = message_bytes; }
  // A turn that reads one message and takes this long, as when another process has the CPU.
  void stand_still(Duration long_) {
    coalescer_.note(now_, 1, message_bytes_);
    now_ += long_;
    (void)coalescer_.holds(now_);
  }

 private:
  Coalescer& coalescer_;
  std::uint64_t message_bytes_;
  Price price_;
  Instant now_{milliseconds(1)};
  std::uint64_t served_ = 0;
  Duration longest_{};
  Duration long_paused_{};
};

// One message in each such interval, independent of the others.
auto open_loop(Duration apart) {
  return [apart](Instant now, std::uint64_t /*served*/) {
    return static_cast<std::uint64_t>(now.time_since_epoch() / apart);
  };
}

// At random moments, with this average interval.
class AtRandom {
 public:
  AtRandom(std::uint64_t seed, double apart_ns) : random_(seed), apart_ns_(apart_ns) {}
  std::uint64_t operator()(Instant now, std::uint64_t /*served*/) {
    for (; next_ <= now; ++come_)
      next_ += Duration(static_cast<Duration::rep>(random_.exponential(apart_ns_)));
    return come_;
  }

 private:
  Random random_;
  const double apart_ns_;
  Instant next_{milliseconds(1)};
  std::uint64_t come_ = 0;
};

// 64 messages in flight of a sender short of CPU time: each message costs it some time, and so does
// each served batch; batching therefore raises its rate.
class Crowd {
 public:
  std::uint64_t operator()(Instant now, std::uint64_t served) {
    if (served != served_) free_at_ += kBatch;
    served_ = served;
    for (; free_at_ <= now && made_ < served + 64; ++made_)
      free_at_ += kMessage;
    if (made_ == served + 64) free_at_ = std::max(free_at_, now);
    return made_;
  }

 private:
  static constexpr Duration kBatch = nanoseconds(3800);
  static constexpr Duration kMessage = nanoseconds(1800);
  Instant free_at_{milliseconds(1)};
  std::uint64_t served_ = 0;
  std::uint64_t made_ = 0;
};

TEST(Coalescer, LetsAPollerWithTimeToSpareAlone) {
  Coalescer coalescer;
  Load load(coalescer, 4096);
  load.run(milliseconds(200), open_loop(microseconds(6)));  // 4 of 6: two thirds
  EXPECT_EQ(load.longest(), Duration{});
}

TEST(Coalescer, LetsMessagesComeTogetherWhenThereIsNoTime) {
  Coalescer coalescer;
  Load load(coalescer, 4096);
  // Messages arrive as fast as single ones can be served; batched they need less than half of that
  // time.
  const std::uint64_t served = load.run(milliseconds(200), open_loop(kCall + kEach));
  EXPECT_GE(load.longest(), microseconds(5));
  EXPECT_GE(served, 45'000U);  // of 50 000: none is held back for good
}

TEST(Coalescer, APauseThatCostsMessagesIsNotKept) {
  Coalescer coalescer;
  Load load(coalescer, 4096);
  // Two messages in flight, and the next follows the last: any pause is lost time.
  const auto conversation = [](Instant, std::uint64_t served) { return served + 2; };
  const std::uint64_t served = load.run(milliseconds(1000), conversation);
  const auto turns = static_cast<std::uint64_t>(milliseconds(1000) / (kCall + 2 * kEach));
  EXPECT_GT(load.longest(), Duration{});    // a pause was tried
  EXPECT_GE(served, 2 * turns * 97 / 100);  // and its cost was small
}

TEST(Coalescer, AMachineThatStandsStillDuringATrialDoesNotEndIt) {
  Coalescer coalescer;
  Load load(coalescer, 4096);
  // Eight in flight: a turn with all of them takes longer than the shortest pause.
  const auto crowd = [](Instant, std::uint64_t served) { return served + 8; };
  for (unsigned i = 0; coalescer.pause() == Duration{} && i < 1000; ++i)
    load.run(microseconds(100), crowd);
  ASSERT_GT(coalescer.pause(), Duration{});
  load.run(Coalescer::kWindow, crowd);  // no result: it has just begun
  load.stand_still(milliseconds(5));    // the next turn finds one message
  EXPECT_GT(coalescer.pause(), Duration{});
  load.run(milliseconds(10), crowd);
  EXPECT_GT(coalescer.pause(), Duration{});
}

TEST(Coalescer, ASingleFastWindowBeforeATrialDoesNotEndIt) {
  Coalescer coalescer;
  Load load(coalescer, 4096);
  const auto crowd = [](Instant, std::uint64_t served) { return served + 8; };
  load.run(2 * Coalescer::kWindow, crowd);
  load.becomes({.call = kCall, .each = nanoseconds(800)});  // a sixth more messages are served
  for (unsigned i = 0; coalescer.pause() == Duration{} && i < 1000; ++i)
    load.run(microseconds(100), crowd);
  load.becomes({});
  load.run(5 * Coalescer::kWindow, crowd);
  EXPECT_GT(coalescer.pause(), Duration{});
}

TEST(Coalescer, EndsWhenThereIsTimeAgain) {
  Coalescer coalescer;
  Load load(coalescer, 4096);
  load.run(milliseconds(100), open_loop(kCall + kEach));
  ASSERT_GT(coalescer.pause(), Duration{});
  load.run(milliseconds(100), open_loop(microseconds(50)));
  EXPECT_EQ(coalescer.pause(), Duration{});
}

TEST(Coalescer, IsNotMissedWhereThereWouldBeTimeWithoutIt) {
  Coalescer coalescer;
  // Even with the longest pause more than half of the time is work.
  Load load(coalescer, 4096, kDear);
  load.run(milliseconds(100), open_loop(kDear.call + kDear.each));
  ASSERT_GT(coalescer.pause(), Duration{});
  load.run(milliseconds(400), open_loop(nanoseconds(6500)));  // 5 of 6.5: three quarters
  EXPECT_EQ(coalescer.pause(), Duration{});
  load.run(milliseconds(200), open_loop(nanoseconds(6500)));
  EXPECT_EQ(coalescer.pause(), Duration{}) << "and does not come back";
}

TEST(Coalescer, AShortPauseIsAllWhereNoMoreComesThroughWithALongOne) {
  Coalescer coalescer;
  Load load(coalescer, 4096, kDear);
  load.run(milliseconds(2000), open_loop(nanoseconds(5300)));  // 94 % one by one, else four fifths
  EXPECT_GT(load.longest(), Duration{});
  EXPECT_LE(load.long_paused(), milliseconds(60)) << "of 2 s: to try it";
}

TEST(Coalescer, ChanceIsNotTakenForGain) {
  Duration long_paused{};
  const auto seeds = mocks::seeds_of(50);
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    Coalescer coalescer;
    Load load(coalescer, 4096, kDear);
    load.run(milliseconds(1000), AtRandom(seed, 5300));
    long_paused += load.long_paused();
  }
  EXPECT_GT(long_paused, Duration{});
  EXPECT_LE(long_paused, milliseconds(1000) * seeds / 12) << "of " << seeds << " s";
}

constexpr Price kQuick{.call = nanoseconds(4600), .each = nanoseconds(1000)};

TEST(Coalescer, ALongPauseIsKeptWhereMoreComesThroughWithIt) {
  Coalescer coalescer;
  Load load(coalescer, 4096, kQuick);
  Crowd crowd;
  load.run(milliseconds(200), crowd);
  EXPECT_EQ(coalescer.pause(), Coalescer::kPauses.back());
  const Duration before = load.long_paused();
  load.run(milliseconds(2000), crowd);
  EXPECT_GE(load.long_paused() - before, milliseconds(1850)) << "of 2 s: to look costs little";
}

TEST(Coalescer, ALongPauseBecomesAShortOneWhenThatIsEnough) {
  Coalescer coalescer;
  Load load(coalescer, 4096, kQuick);
  load.run(milliseconds(200), Crowd{});
  ASSERT_GT(coalescer.pause(), kLongestShort);
  load.becomes(kDear);
  load.run(milliseconds(400), open_loop(nanoseconds(5300)));
  const Duration before = load.long_paused();
  load.run(milliseconds(1000), open_loop(nanoseconds(5300)));
  EXPECT_LE(load.long_paused() - before, milliseconds(30)) << "of 1 s: to try it again";
}

TEST(Coalescer, IsKeptWhereThereWouldBeNoTimeWithoutIt) {
  Coalescer coalescer;
  Load load(coalescer, 4096);
  load.run(milliseconds(200), open_loop(kCall + kEach));
  Duration paused{};
  for (unsigned i = 0; i < 1000; ++i) {
    load.run(milliseconds(2), open_loop(kCall + kEach));
    if (coalescer.pause() > Duration{}) paused += milliseconds(2);
  }
  EXPECT_GE(paused, milliseconds(1900)) << "of 2 s: to look whether it is needed costs little";
}

TEST(Coalescer, AMachineThatStandsStillIsNotBusy) {
  Coalescer coalescer;
  Load load(coalescer, 4096);
  for (unsigned i = 0; i < 20; ++i) {
    load.run(milliseconds(20), open_loop(microseconds(8)));
    load.stand_still(milliseconds(30));
  }
  EXPECT_EQ(load.longest(), Duration{});
}

TEST(Coalescer, CountsNoFurtherThanItLooksBack) {
  static_assert(Coalescer::kMeanWindows <= Coalescer::kLookBackMax);
  Coalescer coalescer;
  Load load(coalescer, 4096);
  for (unsigned i = 0; i < 3 * Coalescer::kLookBackMax; ++i)
    load.run(Coalescer::kWindow, open_loop(microseconds(50)));
  EXPECT_EQ(coalescer.steady_windows(), Coalescer::kLookBackMax) << "a router runs for years";
}

TEST(Coalescer, LargeReadsAreLeftAlone) {
  Coalescer coalescer;
  Load load(coalescer, std::uint64_t{64} * 1024);
  load.run(milliseconds(100), open_loop(kCall + kEach));
  EXPECT_EQ(load.longest(), Duration{});
}

TEST(Coalescer, BulkThatComesDuringALongPauseEndsIt) {
  Coalescer coalescer;
  Load load(coalescer, 4096, kQuick);
  load.run(milliseconds(200), Crowd{});
  ASSERT_GT(coalescer.pause(), kLongestShort);
  load.messages_become(std::uint64_t{128} * 1024);
  load.run(milliseconds(50), open_loop(microseconds(60)));
  EXPECT_EQ(coalescer.pause(), Duration{});
}

TEST(Coalescer, NeverIsNever) {
  Coalescer coalescer(false);
  Load load(coalescer, 4096);
  load.run(milliseconds(100), open_loop(kCall + kEach));
  EXPECT_EQ(load.longest(), Duration{});
}

}  // namespace
}  // namespace plnet::drivers
