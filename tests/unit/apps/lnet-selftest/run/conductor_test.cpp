// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-selftest/run/conductor.hpp"

#include <algorithm>
#include <cerrno>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/apps/lnet-selftest/run/stat_maker.hpp"

namespace plnet::run::conductor_test {
namespace {

using selftest::TransactionResult;
using std::chrono::seconds;

// A console whose clients write 10 MiB and 100 RPCs a second while they run.
class FakeDesk final : public Desk {
 public:
  explicit FakeDesk(ManualClock& clock) : clock_(clock) {}

  Asked begin_session(const Args& args) override {
    asked.emplace_back("begin");
    if (refuse_session != 0)
      return std::unexpected(lst::Refusal{refuse_session, "somebody else's"});
    key = args["key"];
    forced = args["force"];
    ++sessions;
    ++open;
    return lst::Json::object();
  }
  Asked ask(std::string_view verb, const Args& args) override {
    asked.emplace_back(verb);
    EXPECT_EQ(args.at("key"), key) << verb;
    if (const auto found = refuse.find(verb); found != refuse.end())
      return std::unexpected(found->second);
    if (verb == "lst add_group") return lst::Json::object();
    if (verb == "lst run") {
      clock_.set(clock_.now() + run_takes);
      running_since = clock_.now();
    }
    TransactionResult result;
    if (verb == "lst stat") result = stat();
    if (verb == "lst query") result.running = drains > 0 ? drains-- : 0;
    if (verb == "lst end_session") --open;
    if (const auto found = fails_on.find(verb); found != fails_on.end()) {
      result = stat();
      result.nodes[0].rpc_errno = result.rpc_errno = found->second;
    }
    return lst::to_json(result);
  }
  CpuTimes cpu_times() override { return {}; }
  void begin_latency(const Point& /*point*/) override {
    ++latencies_begun;
    warm_for = clock_.now() - running_since;
    latency_since = clock_.now();
  }
  Latencies end_latency() override {
    const double p99 = pace > capable ? 5000 : 50;
    const std::chrono::duration<double> past = clock_.now() - latency_since;
    const auto begun = static_cast<std::uint64_t>(pace * past.count());
    return {.all = Latency{.count = 7, .p99_us = p99}, .nodes = {}, .pace = {.begun = begun}};
  }
  std::optional<Floor> measure_floor(const Point& /*point*/) override {
    ++floors;
    return Floor{.exchange_rate = 200, .throughput_mibps = 50, .copy_mibps = 10'000};
  }
  Asked set_pace(const Point& point) override {
    asked.emplace_back("pace");
    if (refuse_pace) return std::unexpected(lst::Refusal{EIO, "gone"});
    pace = point.rate;
    return lst::Json::object();
  }

  TransactionResult stat() const {
    const auto ms =
        std::chrono::duration_cast<std::chrono::milliseconds>(clock_.now().time_since_epoch());
    const auto past = static_cast<std::uint32_t>(ms.count());
    return stat_of(
        {{.running_ms = past,
          // A console on the same node also sends some.
          .rpcs = pace > 0 ? static_cast<std::uint32_t>(pace * past / 1000 + past / 50) : past / 10,
          .sent_bytes = (std::uint64_t{past} * 10 << 20) / 1000,
          .brw_errors = brw_errors}});
  }
  [[nodiscard]] std::ptrdiff_t times(std::string_view verb) const {
    return std::ranges::count(asked, verb);
  }

  bool forced = false;
  std::vector<std::string> asked;
  std::map<std::string, lst::Refusal, std::less<>> refuse;
  std::map<std::string, int, std::less<>> fails_on;  // the verb fails on a node
  int refuse_session = 0;
  unsigned drains = 2;
  unsigned sessions = 0;
  int open = 0;
  std::uint32_t key = 0;
  std::uint32_t brw_errors = 0;
  unsigned latencies_begun = 0;
  Duration run_takes{};
  Instant running_since;
  Instant latency_since;
  Duration warm_for{};  // before the last measurement
  unsigned floors = 0;
  double pace = 0;
  double capable = 41'000;  // requests a second
  bool refuse_pace = false;

 private:
  ManualClock& clock_;
};

class Heard final : public Watcher {
 public:
  void on_begin(const Point& /*point*/, unsigned /*repeat*/, std::size_t number,
                std::size_t total) override {
    begun.emplace_back(number, total);
  }
  void on_sample(double throughput_mibps, double /*rpc_rate*/, bool warming_up) override {
    warm += warming_up ? 1 : 0;
    throughputs.push_back(throughput_mibps);
  }
  void on_end(const Measurement& /*measurement*/) override { ++ended; }

  std::vector<std::pair<std::size_t, std::size_t>> begun;
  std::vector<double> throughputs;
  unsigned warm = 0;
  unsigned ended = 0;
};

class SelftestConductor : public ::testing::Test {
 protected:
  SelftestConductor() {
    plan_.from_words = {"10.0.0.1@tcp"};
    plan_.to_words = {"10.0.0.2@tcp"};
    plan_.tests = {Operation::kWrite};
    plan_.sizes = {4096};
    plan_.concurrencies = {1, 8};
    plan_.duration = seconds(3);
    plan_.repeats = 2;
    EXPECT_TRUE(finish_plan(plan_));
  }
  // Runs until the conductor has finished or `until` returns true.
  template <class Until>
  void conduct(Conductor& conductor, Until until) {
    for (unsigned steps = 0; steps < 1000 && !conductor.over() && !until(); ++steps) {
      const Instant before = clock_.now();
      const Instant next = conductor.step(before);
      ASSERT_GE(next, before);
      clock_.set(std::max(next, clock_.now()));
    }
  }
  void conduct(Conductor& conductor) {
    conduct(conductor, [] { return false; });
    EXPECT_TRUE(conductor.over());
    EXPECT_EQ(desk_.open, 0);
  }

  ManualClock clock_;
  Plan plan_;
  FakeDesk desk_{clock_};
  Heard heard_;
};

TEST_F(SelftestConductor, DropsSessionsOfOthersOnlyIfAsked) {
  for (const bool force : {false, true}) {
    plan_.force = force;
    FakeDesk desk(clock_);
    Heard heard;
    Conductor conductor(plan_, {}, desk, heard);
    conduct(conductor, [] { return false; });
    EXPECT_EQ(desk.forced, force);
  }
}

TEST(SelftestConductorFailures, ANodeNamesTheSessionThatItHas) {
  TransactionResult result;
  const auto nid = lnet::parse_nid("10.0.0.9@tcp");
  ASSERT_TRUE(nid);
  result.nodes.push_back(
      {.id = {.nid = *nid, .pid = 12345},
       .status = EBUSY,
       .refused = true,
       .session = {.nid = lnet::to_nid64(*nid).value, .stamp = 7},
       .when = {},
       .seen = selftest::PingSeen{.timeout_s = 100, .session_name = selftest::name_from("night")}});
  const std::string text = failures_of(result);
  EXPECT_NE(text.find("it has the session 'night' of 10.0.0.9@tcp, until 100 s after"),
            std::string::npos)
      << text;
}

TEST_F(SelftestConductor, GoesThroughAllOfAPlan) {
  Conductor conductor(plan_, {.key = 5}, desk_, heard_);
  conduct(conductor);
  EXPECT_TRUE(conductor.complete());
  EXPECT_EQ(conductor.failure(), "");
  ASSERT_EQ(conductor.measurements().size(), 4U);
  // One session and one test for each point.
  EXPECT_EQ(desk_.sessions, 2U);
  EXPECT_EQ(desk_.times("lst add_test"), 2);
  EXPECT_EQ(desk_.times("lst run"), 4);
  EXPECT_EQ(desk_.latencies_begun, 4U);
  EXPECT_EQ(heard_.begun.back(), (std::pair<std::size_t, std::size_t>{4, 4}));
  EXPECT_EQ(heard_.ended, 4U);
  const Measurement& last = conductor.measurements().back();
  EXPECT_EQ(last.point.concurrency, 8U);
  EXPECT_EQ(last.repeat, 1U);
  EXPECT_FALSE(last.cut_short);
  EXPECT_NEAR(last.seconds, 3, 0.001);
  EXPECT_NEAR(last.throughput_mibps, 10, 0.01);
  EXPECT_NEAR(last.rpc_rate, 100, 0.1);
  EXPECT_EQ(last.series_mibps.size(), 3U);
  EXPECT_DOUBLE_EQ(last.latency.value_or(Latency{}).p99_us, 50);
}

// lnet-pin shows no progress, and reads counters as seldom as it can.
TEST_F(SelftestConductor, ReadsCountersAsOftenAsItIsTold) {
  Conductor conductor(plan_, {.key = 5, .sample_period = seconds(10)}, desk_, heard_);
  conduct(conductor);
  ASSERT_EQ(conductor.measurements().size(), 4U);
  // Clients and servers are read before the test, at both ends of the measurement, and after it.
  EXPECT_EQ(desk_.times("lst stat"), 4 * 2 * 4);
  const Measurement& last = conductor.measurements().back();
  EXPECT_NEAR(last.seconds, 3, 0.001);
  EXPECT_NEAR(last.throughput_mibps, 10, 0.01);
}

TEST_F(SelftestConductor, WarmingUpBeginsWhenAllClientsRun) {
  plan_.warm_up = seconds(2);
  desk_.run_takes = seconds(5);
  Conductor conductor(plan_, {.key = 5}, desk_, heard_);
  conduct(conductor);
  EXPECT_TRUE(conductor.complete());
  EXPECT_EQ(desk_.warm_for, seconds(2));
  EXPECT_NEAR(conductor.measurements().back().seconds, 3, 0.001);
}

TEST_F(SelftestConductor, AnInterruptKeepsMeasurementsAndEndsTheSession) {
  Conductor conductor(plan_, {.key = 5}, desk_, heard_);
  // In the middle of the second measurement.
  conduct(conductor, [&] { return heard_.begun.size() == 2 && heard_.throughputs.size() == 7; });
  ASSERT_FALSE(conductor.over());
  conductor.interrupt();
  conduct(conductor);
  EXPECT_TRUE(conductor.interrupted());
  EXPECT_FALSE(conductor.complete());
  ASSERT_EQ(conductor.measurements().size(), 2U);
  EXPECT_TRUE(conductor.measurements()[1].cut_short);
}

TEST_F(SelftestConductor, AnInterruptAtAnyStepLeavesNoSession) {
  for (unsigned at = 0; at < 60; ++at) {
    Conductor conductor(plan_, {.key = 5}, desk_, heard_);
    unsigned steps = 0;
    conduct(conductor, [&] { return steps++ == at; });
    conductor.interrupt();
    conduct(conductor);
  }
}

TEST_F(SelftestConductor, AFailureNamesTheNodeAndEndsTheSession) {
  for (const char* const verb :
       {"lst add_nodes", "lst add_test", "lst run", "lst stat", "lst stop", "lst query"}) {
    desk_.fails_on = {{verb, ETIMEDOUT}};
    Conductor conductor(plan_, {.key = 5}, desk_, heard_);
    conduct(conductor);
    EXPECT_FALSE(conductor.complete()) << verb;
    EXPECT_NE(conductor.failure().find("12345-10.0.0.1@tcp: Connection timed out"),
              std::string::npos)
        << verb << ": " << conductor.failure();
    EXPECT_EQ(conductor.failure().find("write 4k, concurrency 1: "), 0U);
  }
}

TEST_F(SelftestConductor, ARefusalOfTheConsoleIsReported) {
  desk_.refuse_session = EEXIST;
  Conductor refused(plan_, {.key = 5}, desk_, heard_);
  conduct(refused);
  EXPECT_NE(refused.failure().find("File exists: somebody else's"), std::string::npos);
  EXPECT_EQ(desk_.times("lst end_session"), 0);

  desk_.refuse_session = 0;
  desk_.refuse = {{"lst run", {EINVAL, "no such batch"}}};
  Conductor conductor(plan_, {.key = 5}, desk_, heard_);
  conduct(conductor);
  EXPECT_NE(conductor.failure().find("running the test: no such batch"), std::string::npos);
}

TEST_F(SelftestConductor, NodesThatDoNotConfirmTheEndAreNamed) {
  desk_.fails_on = {{"lst end_session", ETIMEDOUT}};
  Conductor conductor(plan_, {.key = 5}, desk_, heard_);
  conduct(conductor);
  EXPECT_TRUE(conductor.complete());
  EXPECT_NE(conductor.left_behind().find("10.0.0.1@tcp"), std::string::npos);
}

TEST_F(SelftestConductor, AConsoleThatCannotEndASessionIsAskedAFewTimes) {
  desk_.refuse = {{"lst end_session", {EAGAIN, "busy"}}};
  Conductor conductor(plan_, {.key = 5}, desk_, heard_);
  conductor.interrupt();
  EXPECT_TRUE(conductor.over());
  Conductor another(plan_, {.key = 5}, desk_, heard_);
  (void)another.step(clock_.now());
  another.interrupt();
  conduct(another, [] { return false; });
  EXPECT_TRUE(another.over());
  EXPECT_EQ(desk_.times("lst end_session"), 10);
  EXPECT_NE(another.left_behind().find("busy"), std::string::npos);
}

TEST_F(SelftestConductor, ErrorsAreThoseOfTheMeasurement) {
  desk_.brw_errors = 3;
  plan_.concurrencies = {1};
  plan_.repeats = 1;
  Conductor conductor(plan_, {.key = 5}, desk_, heard_);
  conduct(conductor, [&] { return heard_.throughputs.size() == 2; });
  desk_.brw_errors = 5;
  conduct(conductor);
  ASSERT_EQ(conductor.measurements().size(), 1U);
  // Both groups report it; each has one node here.
  EXPECT_EQ(conductor.measurements()[0].errors.brw, 4U);
}

TEST_F(SelftestConductor, AnOpenLoopHasItsPaceSetInEverySession) {
  plan_.concurrencies = {8};
  plan_.rates = {500, 2000};
  Conductor conductor(plan_, {.key = 5}, desk_, heard_);
  conduct(conductor);
  EXPECT_TRUE(conductor.complete()) << conductor.failure();
  EXPECT_EQ(desk_.sessions, 2U);
  EXPECT_EQ(desk_.times("pace"), 2);
  ASSERT_EQ(conductor.measurements().size(), 4U);
  EXPECT_NEAR(conductor.measurements()[3].rpc_rate, 2000, 2);
  EXPECT_NEAR(conductor.measurements()[3].from.sum().rpc_rate, 2020, 2);
  EXPECT_TRUE(conductor.highest_rates().empty());

  desk_.refuse_pace = true;
  Conductor refused(plan_, {.key = 5}, desk_, heard_);
  conduct(refused);
  EXPECT_NE(refused.failure().find("setting the pace: gone"), std::string::npos);
}

TEST_F(SelftestConductor, FloorsAreInTurnWithTheRepeats) {
  plan_.baseline = true;
  Conductor conductor(plan_, {.key = 5}, desk_, heard_);
  conduct(conductor);
  EXPECT_EQ(desk_.floors, 4U);
  const auto points = figures_of(conductor.measurements());
  ASSERT_EQ(points.size(), 2U);
  EXPECT_NEAR(points[1].percent_of_floor.value_or(Spread{}).median, 50, 0.1);
  plan_.rates = {10};
  Conductor open(plan_, {.key = 5}, desk_, heard_);
  conduct(open);
  EXPECT_EQ(desk_.floors, 4U);
}

TEST_F(SelftestConductor, ASearchEndsCloseToTheHighestKeptRate) {
  plan_.concurrencies = {1, 8};
  plan_.repeats = 1;
  plan_.highest_rate = RateGoal{Percentile::kP99, 200};
  Conductor conductor(plan_, {.key = 5}, desk_, heard_);
  conduct(conductor);
  EXPECT_TRUE(conductor.complete()) << conductor.failure();
  ASSERT_EQ(conductor.highest_rates().size(), 2U);
  for (const HighestRate& each : conductor.highest_rates()) {
    EXPECT_LE(each.rate.value_or(1e9), desk_.capable);
    EXPECT_GE(each.rate.value_or(0), desk_.capable / RateSearch::kEnough);
  }
  EXPECT_EQ(conductor.highest_rates()[1].point.concurrency, 8U);
  EXPECT_LE(conductor.measurements().size(), 2U * RateSearch::kTriesMax);
  EXPECT_EQ(heard_.begun.back().first, heard_.begun.back().second);
}

}  // namespace
}  // namespace plnet::run::conductor_test
