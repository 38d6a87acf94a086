// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/poll/poller.hpp"

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/membarrier.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace plnet::runtime {
namespace {

using std::chrono::microseconds;
using std::chrono::nanoseconds;

// A device whose answers the test sets.
class FakeDevice final : public Pollable {
 public:
  explicit FakeDevice(ManualClock* clock = nullptr) : clock_(clock) {}
  unsigned poll(Instant now) override {
    last = now;
    ++polls;
    if (clock_ != nullptr) clock_->advance(takes);
    if (on_poll) on_poll();
    const unsigned found = work;
    work = 0;
    return found;
  }
  [[nodiscard]] std::string_view name() const override { return "fake"; }
  [[nodiscard]] int wake_descriptor() const override { return descriptor; }
  [[nodiscard]] bool woken_by_doorbell() const override { return by_doorbell; }
  [[nodiscard]] Instant next_deadline() const override { return deadline; }

  unsigned work = 0;
  unsigned polls = 0;
  Instant last{};
  Duration takes{};
  int descriptor = -1;
  bool by_doorbell = true;
  Instant deadline = Instant::max();
  std::function<void()> on_poll;

 private:
  ManualClock* clock_;
};

class RecordingHook final : public QuiescenceHook {
 public:
  void quiescent() override { log += 'q'; }
  void online() override { log += '+'; }
  void offline() override { log += '-'; }
  std::string log;
};

class PollerTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::uint64_t count(PollerCounter id) const { return poller_.counters().get(id); }
  // Makes the poller idle long enough to sleep.
  void grow_tired() {
    poller_.turn(clock_.now());
    clock_.advance(std::chrono::seconds(1));
  }

  ManualClock clock_;
  RecordingHook hook_;
  std::atomic<bool> stop_{false};
  Poller poller_{clock_, {.name = "shard 0", .idle = IdlePolicy::kSleep}, &hook_};
};

TEST_F(PollerTest, TurnsGoRoundAllInOrder) {
  std::vector<int> order;
  FakeDevice first;
  FakeDevice second;
  first.on_poll = [&] { order.push_back(1); };
  second.on_poll = [&] { order.push_back(2); };
  ASSERT_TRUE(poller_.add_owner(first));
  ASSERT_TRUE(poller_.add_owner(second));
  first.work = 2;
  second.work = 3;
  clock_.advance(nanoseconds(7));
  EXPECT_EQ(poller_.turn(clock_.now()), 5U);
  EXPECT_EQ(poller_.turn(clock_.now()), 0U);
  EXPECT_EQ(order, (std::vector<int>{1, 2, 1, 2}));
  EXPECT_EQ(first.last, clock_.now());
  EXPECT_EQ(count(PollerCounter::kTurns), 2U);
  EXPECT_EQ(count(PollerCounter::kTurnsWithWork), 1U);
  EXPECT_EQ(count(PollerCounter::kWork), 5U);
  EXPECT_EQ(hook_.log, "qq");
}

TEST_F(PollerTest, TheListIsBoundedAndWithoutDoubles) {
  std::vector<std::unique_ptr<FakeDevice>> devices;
  for (std::size_t i = 0; i < Poller::kPollablesMax; ++i) {
    devices.push_back(std::make_unique<FakeDevice>());
    ASSERT_TRUE(poller_.add_owner(*devices.back()));
  }
  FakeDevice extra;
  EXPECT_EQ(poller_.add_owner(extra).error(), Errc::kNoSpace);
  EXPECT_EQ(poller_.add_owner(*devices[3]).error(), Errc::kExists);
  EXPECT_EQ(poller_.remove_owner(extra).error(), Errc::kNotFound);
  ASSERT_TRUE(poller_.remove_owner(*devices[3]));
  ASSERT_TRUE(poller_.add_owner(extra));
  EXPECT_EQ(poller_.pollables_owner()[3], devices[4].get());
  EXPECT_EQ(poller_.pollables_owner().back(), &extra);
}

TEST_F(PollerTest, TimeIsBookedAsBusyOrIdle) {
  FakeDevice device(&clock_);
  ASSERT_TRUE(poller_.add_owner(device));
  device.takes = microseconds(30);
  device.work = 1;
  poller_.turn(clock_.now());
  device.takes = microseconds(10);
  poller_.turn(clock_.now());
  poller_.turn(clock_.now());  // completes the second
  EXPECT_EQ(count(PollerCounter::kBusyNsec), 30'000U);
  EXPECT_EQ(count(PollerCounter::kIdleNsec), 10'000U);
  EXPECT_EQ(count(PollerCounter::kLongestTurnNsec), 30'000U);
  poller_.reset_high_water_owner();
  EXPECT_EQ(count(PollerCounter::kLongestTurnNsec), 0U);
}

TEST_F(PollerTest, LongTurnsAreCountedAgainstALiveLimit) {
  FakeDevice device(&clock_);
  ASSERT_TRUE(poller_.add_owner(device));
  device.takes = microseconds(500);
  poller_.turn(clock_.now());
  poller_.turn(clock_.now());
  EXPECT_EQ(count(PollerCounter::kLongTurns), 0U);
  poller_.set_turn_limit(microseconds(499));
  poller_.turn(clock_.now());
  EXPECT_EQ(count(PollerCounter::kLongTurns), 1U);
  EXPECT_EQ(poller_.long_turns(), 1U);
  poller_.reset_high_water_owner();
  EXPECT_EQ(poller_.long_turns(), 0U);
  poller_.set_turn_limit(Duration::zero());
  poller_.turn(clock_.now());
  EXPECT_EQ(count(PollerCounter::kLongTurns), 1U) << "a scrape never sees it go back";
}

TEST_F(PollerTest, OrdersRunBetweenTurnsAndComeHome) {
  int ran = 0;
  int completed = 0;
  ASSERT_TRUE(poller_.commands().submit(make_command([&] { ++ran; }, [&] { ++completed; })));
  EXPECT_EQ(ran, 0);
  EXPECT_EQ(poller_.turn(clock_.now()), 0U);
  EXPECT_EQ(ran, 1);
  EXPECT_EQ(completed, 0);
  EXPECT_EQ(poller_.commands().outstanding(), 1U);
  EXPECT_TRUE(poller_.commands().wait(Duration::zero()));
  EXPECT_EQ(completed, 1);
  EXPECT_EQ(poller_.commands().outstanding(), 0U);
  EXPECT_EQ(count(PollerCounter::kCommands), 1U);
}

TEST_F(PollerTest, OrdersAreBoundedAndSurviveGivingUp) {
  int ran = 0;
  for (std::size_t i = 0; i < CommandChannel::kCommandsMax; ++i)
    ASSERT_TRUE(poller_.commands().submit(make_command([&] { ++ran; })));
  EXPECT_EQ(poller_.commands().submit(make_command([] {})).error(), Errc::kAgain);
  EXPECT_FALSE(poller_.commands().wait(Duration::zero()));
  poller_.turn(clock_.now());
  EXPECT_EQ(ran, static_cast<int>(CommandChannel::kCommandsMax));
  EXPECT_EQ(poller_.commands().drain(), CommandChannel::kCommandsMax);
  // A command that never runs is destroyed with the poller.
  ASSERT_TRUE(poller_.commands().submit(make_command([&] { ++ran; })));
}

TEST_F(PollerTest, OnlySleepsAfterAWhileWithoutWork) {
  FakeDevice device;
  ASSERT_TRUE(poller_.add_owner(device));
  device.work = 1;
  poller_.step(stop_);
  clock_.advance(microseconds(99));
  poller_.step(stop_);
  EXPECT_EQ(count(PollerCounter::kSleeps), 0U);
  EXPECT_EQ(hook_.log, "qq");
}

TEST_F(PollerTest, ARingBeforeTheSleepEndsItAtOnce) {
  FakeDevice device;
  ASSERT_TRUE(poller_.add_owner(device));
  grow_tired();
  // During the second check, after arming, the doorbell must write to the eventfd.
  device.on_poll = [&] {
    if (poller_.doorbell().armed()) poller_.wake();
  };
  poller_.step(stop_);
  EXPECT_EQ(count(PollerCounter::kSleeps), 1U);
  EXPECT_EQ(count(PollerCounter::kWakesByDoorbell), 1U);
  EXPECT_FALSE(poller_.doorbell().armed());
  EXPECT_EQ(hook_.log, "qqq-+");
}

TEST_F(PollerTest, WorkFoundInTheLastLookKeepsItAwake) {
  FakeDevice device;
  ASSERT_TRUE(poller_.add_owner(device));
  grow_tired();
  device.on_poll = [&] {
    if (poller_.doorbell().armed()) device.work = 1;
  };
  poller_.step(stop_);
  EXPECT_EQ(count(PollerCounter::kSleeps), 0U);
  EXPECT_FALSE(poller_.doorbell().armed());
  EXPECT_EQ(count(PollerCounter::kWork), 1U);
}

TEST_F(PollerTest, AnOrderOrTheEndKeepsItAwake) {
  FakeDevice device;
  ASSERT_TRUE(poller_.add_owner(device));
  grow_tired();
  bool ran = false;
  device.on_poll = [&] {
    ASSERT_TRUE(poller_.commands().submit(make_command([&] { ran = true; })));
    device.on_poll = nullptr;  // destroys this closure: nothing of it may be used below
  };
  poller_.step(stop_);
  EXPECT_TRUE(ran);
  EXPECT_EQ(count(PollerCounter::kSleeps), 0U);
  grow_tired();
  stop_ = true;
  poller_.step(stop_);
  EXPECT_EQ(count(PollerCounter::kSleeps), 0U);
}

TEST_F(PollerTest, AReadableDescriptorWakes) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  ASSERT_EQ(::write(ends[1], "x", 1), 1);
  FakeDevice device;
  device.by_doorbell = false;
  device.descriptor = ends[0];
  ASSERT_TRUE(poller_.add_owner(device));
  grow_tired();
  poller_.step(stop_);
  EXPECT_EQ(count(PollerCounter::kSleeps), 1U);
  EXPECT_EQ(count(PollerCounter::kWakesByDescriptor), 1U);
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_F(PollerTest, ADeadlineBoundsTheSleep) {
  FakeDevice device;
  ASSERT_TRUE(poller_.add_owner(device));
  grow_tired();
  device.deadline = clock_.now() + nanoseconds(1000);
  poller_.step(stop_);
  EXPECT_EQ(count(PollerCounter::kSleeps), 1U);
  EXPECT_EQ(count(PollerCounter::kWakesByTimer), 1U);
  device.deadline = Instant::min();  // long past: no sleep
  poller_.step(stop_);
  EXPECT_EQ(count(PollerCounter::kSleeps), 1U);
}

TEST_F(PollerTest, ADeviceWithoutWakeUpLimitsTheSleep) {
  FakeDevice device;
  device.by_doorbell = false;
  ASSERT_TRUE(poller_.add_owner(device));
  grow_tired();
  poller_.step(stop_);
  poller_.step(stop_);
  EXPECT_EQ(count(PollerCounter::kNaps), 2U);
  EXPECT_EQ(count(PollerCounter::kSleeps), 0U);
  EXPECT_EQ(count(PollerCounter::kWakesByTimer), 0U);
}

// From here on membarrier() fails for the rest of the process, as when the kernel lacks memory.
// Only for a process that exits soon.
bool fences_fail_from_now() {
  std::array program{
      sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 3),
      sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args)),
      sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 1),
      sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOMEM),
      sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog filter{.len = program.size(), .filter = program.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

TEST_F(PollerTest, AFenceThatTheKernelRefusesKeepsItAwakeForAWhile) {
  if (poller_.doorbell().fenced_by() != Doorbell::FencedBy::kSleeper)
    GTEST_SKIP() << "each side fences here: no membarrier(), or a build for ThreadSanitizer";
  constexpr int kNoFilter = 77;
  const auto doze = [this] {
    FakeDevice device;
    if (!poller_.add_owner(device)) std::_Exit(1);
    if (!fences_fail_from_now()) std::_Exit(kNoFilter);
    grow_tired();
    poller_.step(stop_);
    if (poller_.doorbell().armed() || count(PollerCounter::kSleeps) != 0) std::_Exit(2);
    if (count(PollerCounter::kSleepsRefused) != 1) std::_Exit(3);
    poller_.step(stop_);  // no immediate retry: the kernel gets time to find memory
    if (count(PollerCounter::kSleepsRefused) != 1) std::_Exit(4);
    clock_.advance(microseconds(100));
    poller_.step(stop_);
    if (count(PollerCounter::kSleepsRefused) != 2) std::_Exit(5);
    std::_Exit(0);
  };
  bool filtered = true;
  EXPECT_EXIT(
      doze(),
      [&filtered](int status) {
        filtered = WEXITSTATUS(status) != kNoFilter;
        return WIFEXITED(status) && (WEXITSTATUS(status) == 0 || !filtered);
      },
      "");
  if (!filtered) GTEST_SKIP() << "no seccomp filter may be set here";
}

TEST_F(PollerTest, OtherPoliciesNeverEnterTheKernelToWait) {
  FakeDevice device;
  ASSERT_TRUE(poller_.add_owner(device));
  for (const IdlePolicy policy : {IdlePolicy::kBusy, IdlePolicy::kPause, IdlePolicy::kYield}) {
    poller_.set_idle_policy(policy);
    grow_tired();
    for (int i = 0; i < 20; ++i)
      poller_.step(stop_);
  }
  EXPECT_EQ(count(PollerCounter::kSleeps) + count(PollerCounter::kNaps), 0U);
  EXPECT_EQ(count(PollerCounter::kAsleepNsec), 0U);
  EXPECT_EQ(hook_.log.find('-'), std::string::npos);
}

TEST_F(PollerTest, RunIsOnlineAndRunsTheLastOrders) {
  bool ran = false;
  ASSERT_TRUE(poller_.commands().submit(make_command([&] { ran = true; })));
  stop_ = true;
  poller_.run(stop_);
  EXPECT_TRUE(ran);
  EXPECT_EQ(hook_.log, "+-");
}

}  // namespace
}  // namespace plnet::runtime
