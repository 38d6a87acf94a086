// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/admin/event_loop.hpp"

#include <array>
#include <csignal>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace plnet::runtime {
namespace {

using namespace std::chrono_literals;

class EventLoopTest : public testing::Test {
 protected:
  void SetUp() override {
    auto created = EventLoop::create(clock_);
    ASSERT_TRUE(created) << created.error().what;
    loop_ = std::move(*created);
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe2(ends.data(), O_NONBLOCK | O_CLOEXEC), 0);
    reader_ = Descriptor(ends[0]);
    writer_ = Descriptor(ends[1]);
  }
  void write_byte() { ASSERT_EQ(::write(writer_.get(), "x", 1), 1); }

  ManualClock clock_;
  std::unique_ptr<EventLoop> loop_;
  Descriptor reader_;
  Descriptor writer_;
};

TEST_F(EventLoopTest, CallsTheHandlerOfAReadableDescriptor) {
  unsigned calls = 0;
  ASSERT_TRUE(loop_->add(reader_.get(), EPOLLIN, [&](std::uint32_t events) {
    EXPECT_TRUE(events & EPOLLIN);
    ++calls;
  }));
  EXPECT_EQ(loop_->run_once(0ns), 0U);
  write_byte();
  EXPECT_EQ(loop_->run_once(0ns), 1U);
  EXPECT_EQ(loop_->run_once(0ns), 1U) << "level-triggered";
  loop_->remove(reader_.get());
  EXPECT_EQ(loop_->run_once(0ns), 0U);
  EXPECT_EQ(calls, 2U);
}

TEST_F(EventLoopTest, AHandlerMayRemoveItselfAndOthers) {
  unsigned calls = 0;
  const Descriptor other(::dup(reader_.get()));
  const auto remove_both = [&](std::uint32_t) {
    ++calls;
    loop_->remove(reader_.get());
    loop_->remove(other.get());
  };
  ASSERT_TRUE(loop_->add(reader_.get(), EPOLLIN, remove_both));
  ASSERT_TRUE(loop_->add(other.get(), EPOLLIN, remove_both));
  write_byte();
  loop_->run_once(0ns);
  loop_->run_once(0ns);
  EXPECT_EQ(calls, 1U) << "the second was removed by the first within the round";
}

TEST_F(EventLoopTest, ModifyChangesWhatIsWatched) {
  unsigned calls = 0;
  ASSERT_TRUE(loop_->add(writer_.get(), 0, [&](std::uint32_t) { ++calls; }));
  loop_->run_once(0ns);
  EXPECT_EQ(calls, 0U);
  ASSERT_TRUE(loop_->modify(writer_.get(), EPOLLOUT));
  loop_->run_once(0ns);
  EXPECT_EQ(calls, 1U);
}

TEST_F(EventLoopTest, RefusesADescriptorThatCannotBeWatched) {
  const auto refused = loop_->add(1 << 20, EPOLLIN, [](std::uint32_t) {});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().what.find("event loop"), std::string::npos);
}

TEST_F(EventLoopTest, TimersFollowTheClockThatWasHandedIn) {
  std::string order;
  loop_->add_timer(20ms, 0ns, [&] { order += 'b'; });
  loop_->add_timer(10ms, 0ns, [&] { order += 'a'; });
  const auto cancelled = loop_->add_timer(15ms, 0ns, [&] { order += '!'; });
  loop_->cancel_timer(cancelled);
  loop_->run_once(0ns);
  EXPECT_EQ(order, "");
  clock_.advance(30ms);
  EXPECT_EQ(loop_->run_once(0ns), 2U);
  EXPECT_EQ(order, "ab");
  clock_.advance(30ms);
  EXPECT_EQ(loop_->run_once(0ns), 0U);
}

TEST_F(EventLoopTest, APeriodicTimerThatIsLateFiresOnceAndCanCancelItself) {
  unsigned fired = 0;
  EventLoop::TimerId id{};
  id = loop_->add_timer(10ms, 10ms, [&] {
    if (++fired == 3) loop_->cancel_timer(id);
  });
  clock_.advance(95ms);
  loop_->run_once(0ns);
  EXPECT_EQ(fired, 1U);
  for (int i = 0; i < 5; ++i) {
    clock_.advance(10ms);
    loop_->run_once(0ns);
  }
  EXPECT_EQ(fired, 3U);
}

TEST_F(EventLoopTest, ATimerOfZeroAddedByATimerWaitsForTheNextRound) {
  unsigned fired = 0;
  std::function<void()> again = [&] {
    ++fired;
    loop_->add_timer(0ns, 0ns, again);
  };
  loop_->add_timer(0ns, 0ns, again);
  loop_->run_once(0ns);
  EXPECT_EQ(fired, 1U);
  loop_->run_once(0ns);
  EXPECT_EQ(fired, 2U);
}

TEST_F(EventLoopTest, PostedCallsRunInOrderAndAreBounded) {
  std::string order;
  ASSERT_TRUE(loop_->post([&] { order += 'a'; }));
  ASSERT_TRUE(loop_->post([&] { order += 'b'; }));
  EXPECT_EQ(loop_->run_once(0ns), 2U);
  EXPECT_EQ(order, "ab");
  for (std::size_t i = 0; i < EventLoop::kCallsMax; ++i)
    ASSERT_TRUE(loop_->post([] {}));
  EXPECT_FALSE(loop_->post([] {}));
  loop_->run_once(0ns);
  EXPECT_TRUE(loop_->post([] {}));
}

TEST_F(EventLoopTest, StopEndsRun) {
  ASSERT_TRUE(loop_->post([&] { loop_->stop(); }));
  loop_->run();
  SUCCEED() << "run() returned";
}

TEST_F(EventLoopTest, SignalsArriveAsEvents) {
  std::string seen;
  ASSERT_TRUE(loop_->watch_signals(std::array{SIGHUP, SIGTERM}, [&](int signal) {
    seen += signal == SIGHUP ? "hup " : signal == SIGTERM ? "term " : "? ";
  }));
  ASSERT_EQ(::raise(SIGHUP), 0);
  loop_->run_once(0ns);
  EXPECT_EQ(seen, "hup ");
  ASSERT_EQ(::raise(SIGTERM), 0);
  loop_->run_once(0ns);
  EXPECT_EQ(seen, "hup term ");
}

}  // namespace
}  // namespace plnet::runtime
