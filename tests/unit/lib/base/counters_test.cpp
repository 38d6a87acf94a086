// SPDX-License-Identifier: BSD-3-Clause
#include "lib/base/counters.hpp"

#include <gtest/gtest.h>

namespace plnet::counters_test {
namespace {

#define TEST_LIST(X)                                                    \
  X(kSent, "sent", "messages", kCount, "messages handed to the device") \
  X(kQueued, "queued", "messages", kGauge, "messages that wait")        \
  X(kQueuedMost, "queued_most", "messages", kHighWater, "most that ever waited")
PLNET_COUNTERS(TestTable, TEST_LIST);
using Id = TestTable::Id;

TEST(Counters, CountGaugeAndHighWater) {
  Counters<TestTable> counters;
  counters.add(Id::kSent);
  counters.add(Id::kSent, 41);
  counters.set(Id::kQueued, 7);
  counters.subtract(Id::kQueued, 2);
  counters.raise_to(Id::kQueuedMost, 7);
  counters.raise_to(Id::kQueuedMost, 3);
  EXPECT_EQ(counters.get(Id::kSent), 42U);
  EXPECT_EQ(counters.get(Id::kQueued), 5U);
  EXPECT_EQ(counters.get(Id::kQueuedMost), 7U);
  counters.reset();
  EXPECT_EQ(counters.get(Id::kSent), 0U);
}

TEST(Counters, TheTableSpeaksForItself) {
  Counters<TestTable> counters;
  counters.add(Id::kQueued, 3);
  const CounterView view = counters.view();
  ASSERT_EQ(view.info.size(), 3U);
  ASSERT_EQ(view.values.size(), 3U);
  EXPECT_EQ(view.info[1].name, "queued");
  EXPECT_EQ(view.info[1].unit, "messages");
  EXPECT_EQ(view.info[1].kind, CounterKind::kGauge);
  EXPECT_EQ(view.info[1].help, "messages that wait");
  EXPECT_EQ(view.value(1), 3U);
  EXPECT_EQ(view.value(0), 0U);
}

TEST(Counters, SetsOfDifferentShardsShareNoLine) {
  EXPECT_EQ(alignof(Counters<TestTable>) % kNoSharing, 0U);
  EXPECT_EQ(sizeof(Counters<TestTable>) % kNoSharing, 0U);
}

}  // namespace
}  // namespace plnet::counters_test
