// SPDX-License-Identifier: BSD-3-Clause
// Tests with requests at scheduled times.
#include "lib/selftest/pace.hpp"

#include <chrono>

#include <gtest/gtest.h>

#include "tests/unit/lib/selftest/tests_fixture.hpp"

namespace plnet::selftest::pace_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(SelftestArrivals, AreAsManyAsTheRateSays) {
  for (const Arrivals how : {Arrivals::kPoisson, Arrivals::kConstant}) {
    for (const double rate : {0.5, 300.0, 3e6}) {
      ArrivalTimes times;
      const Instant start{seconds(7)};
      times.begin({.rate = rate, .arrivals = how}, start);
      Instant last = start;
      for (int i = 0; i < 20'000; ++i) {
        EXPECT_GE(times.due(), last);
        last = times.due();
        times.take();
      }
      const double taken = std::chrono::duration<double>(last - start).count();
      EXPECT_NEAR(taken * rate / 20'000, 1, how == Arrivals::kPoisson ? 0.03 : 0.0001) << rate;
    }
  }
}

class PaceTest : public TestsTest {
 protected:
  explicit PaceTest(std::size_t units = kUnits) : TestsTest(Wire::kStream, units) {}
  void begin_paced(double rate, std::uint32_t concurrency) {
    begin();
    TestRequest test = ping_test();
    test.loop = ~0U;
    test.concurrency = concurrency;
    test.stop_on_error = 0;
    EXPECT_EQ(add_client(1, test, {2}), Status::kOk);
    EXPECT_TRUE(
        hosts[0]->node.set_pace({.rate = rate, .arrivals = Arrivals::kConstant, .seed = 1}));
    EXPECT_EQ(batch(1, BatchOperation::kRun).status, Status::kOk);
  }
  [[nodiscard]] std::uint64_t counted(PaceCount what) const {
    return hosts[0]->shared.paced.get(what);
  }
  [[nodiscard]] HistogramSnapshot pings() const {
    HistogramSnapshot snapshot;
    hosts[0]->shared.latency.ping.snapshot(snapshot);
    return snapshot;
  }
};

TEST_F(PaceTest, RequestsBeginWhenTheyAreDue) {
  begin_paced(10'000, 4);
  const Instant from = nodes.now();
  settle(50'000);
  const auto took = std::chrono::duration<double>(nodes.now() - from).count();
  EXPECT_NEAR(static_cast<double>(counted(PaceCount::kBegun)), took * 10'000, 8);
  EXPECT_EQ(counted(PaceCount::kWaited), 0U);
  EXPECT_EQ(counted(PaceCount::kDropped), 0U);
  EXPECT_LE(hosts[0]->node.next_deadline(), nodes.now() + std::chrono::microseconds(101));
  EXPECT_EQ(batch(1, BatchOperation::kQuery, 1).active, 4U);
  // Units that wait for their start time only end at once.
  EXPECT_EQ(batch(1, BatchOperation::kStop).status, Status::kOk);
  settle();
  EXPECT_EQ(batch(1, BatchOperation::kQuery).active, 0U);
  const auto begun = counted(PaceCount::kBegun);
  settle(1000);
  EXPECT_GT(hosts[0]->node.next_deadline(), nodes.now() + milliseconds(1));
  EXPECT_EQ(counted(PaceCount::kBegun), begun);
  expect_no_errors();
  end();
}

TEST_F(PaceTest, LatencyIsFromWhenARequestWasDue) {
  begin_paced(10'000, 1);
  settle(10'000);
  const auto before = pings();
  EXPECT_LT(before.max(), 1'000'000U);
  turn(milliseconds(10));  // nothing turned meanwhile: a hundred are due, and one unit is free
  settle(10'000);
  const auto after = pings();
  EXPECT_GT(after.max(), 9'000'000U);
  std::uint64_t late = 0;
  for (std::size_t i = HistogramSnapshot::bucket_of(2'000'000); i < HistogramSnapshot::kBuckets;
       ++i) {
    late += after.in_bucket(i);
  }
  EXPECT_GT(late, 50U);
  EXPECT_GT(counted(PaceCount::kWaited), 50U);
  EXPECT_EQ(counted(PaceCount::kDropped), 0U);
  batch(1, BatchOperation::kStop);
  settle();
  end();
}

class PaceOfManyUnits : public PaceTest {
 protected:
  static constexpr std::uint32_t kMany = 300;
  PaceOfManyUnits() : PaceTest(kMany) {}
};

// A turn starts at most a burst of them, which is not a lack of units.
TEST_F(PaceOfManyUnits, RequestsWaitingForTheNextTurnHaveAUnit) {
  begin_paced(10'000, kMany);
  settle(10'000);
  const auto begun = counted(PaceCount::kBegun);
  turn(milliseconds(28));
  EXPECT_EQ(counted(PaceCount::kBegun), begun + 256);
  turn();
  EXPECT_GE(counted(PaceCount::kBegun), begun + 280);
  EXPECT_EQ(counted(PaceCount::kWaited), 0U);
  batch(1, BatchOperation::kStop);
  settle(5000);
}

TEST_F(PaceTest, RequestsWithoutAUnitForTooLongNeverBegin) {
  begin();
  hosts[1]->server.close();
  settle();
  TestRequest test = ping_test();
  test.loop = ~0U;
  test.concurrency = 2;
  EXPECT_EQ(add_client(1, test, {2}), Status::kOk);
  EXPECT_TRUE(hosts[0]->node.set_pace({.rate = 1000, .arrivals = Arrivals::kConstant, .seed = 1}));
  batch(1, BatchOperation::kRun);
  pass(seconds(4));
  EXPECT_EQ(counted(PaceCount::kBegun), 2U);
  EXPECT_GT(counted(PaceCount::kDropped), 2000U);
  EXPECT_LT(counted(PaceCount::kDropped), 4000U);
  // A forced stop while both wait for an answer.
  batch(1, BatchOperation::kStop, 0, 1);
  settle();
  EXPECT_EQ(batch(1, BatchOperation::kQuery).active, 0U);
  EXPECT_EQ(remove_session(1, session).status, Status::kOk);
  expect_clean(1);
}

TEST_F(PaceTest, APaceIsOfASession) {
  EXPECT_FALSE(hosts[0]->node.set_pace({.rate = 5}));
  begin_paced(1000, 2);
  settle(5000);
  EXPECT_EQ(remove_session(1, session).status, Status::kOk);
  EXPECT_EQ(remove_session(2, session).status, Status::kOk);
  settle();
  const auto begun = counted(PaceCount::kBegun);
  EXPECT_GT(begun, 0U);
  begin();
  TestRequest test = ping_test();
  test.loop = 5;
  EXPECT_EQ(add_client(1, test, {2}), Status::kOk);
  EXPECT_TRUE(run_to_its_end(1));
  EXPECT_EQ(counted(PaceCount::kBegun), begun);
  end();
}

TEST_F(PaceTest, ATestWithIterationsEnds) {
  begin();
  TestRequest test = ping_test();
  test.loop = 3;
  test.concurrency = 2;
  EXPECT_EQ(add_client(1, test, {2}), Status::kOk);
  EXPECT_TRUE(hosts[0]->node.set_pace({.rate = 50'000}));
  EXPECT_TRUE(run_to_its_end(1));
  EXPECT_EQ(counted(PaceCount::kBegun), 6U);
  EXPECT_EQ(hosts[0]->node.next_deadline() > nodes.now() + milliseconds(1), true);
  end();
}

TEST_F(PaceTest, ANodeMayGoInTheMiddle) {
  begin_paced(10'000, 4);
  settle(1000);
  hosts.clear();
}

}  // namespace
}  // namespace plnet::selftest::pace_test
