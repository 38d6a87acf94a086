// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/poll/idle.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace plnet::runtime {
namespace {

IdlePolicy automatic(std::vector<unsigned> cpus, unsigned usable) {
  return choose_idle_policy(IdlePolicy::kAuto, {.poller_cpus = cpus, .usable_cpus = usable});
}

TEST(Idle, NamesGoThereAndBack) {
  for (const IdlePolicy policy : {IdlePolicy::kAuto, IdlePolicy::kBusy, IdlePolicy::kPause,
                                  IdlePolicy::kYield, IdlePolicy::kSleep}) {
    EXPECT_EQ(parse_idle_policy(name_of(policy)), policy);
  }
  EXPECT_EQ(name_of(static_cast<IdlePolicy>(99)), "unknown");
  EXPECT_FALSE(parse_idle_policy("unknown"));
  EXPECT_FALSE(parse_idle_policy(""));
  EXPECT_FALSE(parse_idle_policy("Busy"));
  EXPECT_FALSE(parse_idle_policy("busy "));
}

TEST(Idle, AnExplicitPolicyIsUsed) {
  const std::vector<unsigned> cpus = {0, 1};
  for (const IdlePolicy policy :
       {IdlePolicy::kBusy, IdlePolicy::kPause, IdlePolicy::kYield, IdlePolicy::kSleep}) {
    EXPECT_EQ(choose_idle_policy(policy, {.poller_cpus = cpus, .usable_cpus = 2}), policy);
  }
}

TEST(Idle, BusyOnlyWithACpuEachAndOneLeft) {
  EXPECT_EQ(automatic({1}, 2), IdlePolicy::kBusy);
  EXPECT_EQ(automatic({1, 2, 3}, 4), IdlePolicy::kBusy);
  EXPECT_EQ(automatic({4, 9}, 16), IdlePolicy::kBusy);
}

TEST(Idle, SleepsWhenPollersCoverTheMachine) {
  EXPECT_EQ(automatic({0}, 1), IdlePolicy::kSleep);
  EXPECT_EQ(automatic({0, 1}, 2), IdlePolicy::kSleep);
  EXPECT_EQ(automatic({0, 1, 0, 1}, 2), IdlePolicy::kSleep);
  EXPECT_EQ(automatic({0, 0, 0}, 1), IdlePolicy::kSleep);
  EXPECT_EQ(automatic({0, 1, 2, 3}, 4), IdlePolicy::kSleep);
}

TEST(Idle, YieldsWhenPollersShareButOneCpuIsLeft) {
  EXPECT_EQ(automatic({1, 1}, 2), IdlePolicy::kYield);
  EXPECT_EQ(automatic({1, 2, 2}, 4), IdlePolicy::kYield);
}

// Every placement of up to four pollers on up to four CPUs: a poller never spins if no CPU is left
// for the system.
TEST(Idle, NeverSpinsWhereTheSystemHasNoCpu) {
  for (unsigned usable = 1; usable <= 4; ++usable) {
    for (unsigned code = 0; code < 256; ++code) {
      for (unsigned pollers = 1; pollers <= 4; ++pollers) {
        std::vector<unsigned> cpus;
        std::vector<bool> used(usable, false);
        for (unsigned i = 0; i < pollers; ++i) {
          cpus.push_back((code >> (2 * i)) % usable);
          used[cpus.back()] = true;
        }
        unsigned taken = 0;
        for (const bool one : used)
          taken += one ? 1 : 0;
        const IdlePolicy chosen = automatic(cpus, usable);
        if (taken == usable) {
          EXPECT_EQ(chosen, IdlePolicy::kSleep);
        } else {
          EXPECT_EQ(chosen, taken == pollers ? IdlePolicy::kBusy : IdlePolicy::kYield);
        }
      }
    }
  }
}

}  // namespace
}  // namespace plnet::runtime
