// SPDX-License-Identifier: BSD-3-Clause
// Sites with o2iblnd on simulated queue pairs: each fault of the fabric alone, all together, and
// through routers to TCP. More seeds: lnet-sim run config/sim/routed.yaml --seeds 1..100, and
// bad-day.yaml.
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "apps/lnet-sim/site/site.hpp"
#include "tests/mocks/seeds.hpp"
#include "tests/sim/site_file.hpp"

namespace plnet::sim::o2ib_site_test {
namespace {

using drivers::Direction;
using drivers::Fault;

std::uint64_t counted(const SiteReport& report, std::string_view what) {
  const auto found = report.net_counts.find(what);
  return found == report.net_counts.end() ? 0 : found->second;
}

SiteConfig calm_site() {
  SiteConfig site;
  site.nodes = 6;
  site.shards = {1, 2, 4};
  site.nets = {{.kind = NetKind::kO2ib}};
  site.time = std::chrono::seconds(4);
  site.lnd_timeout_s = 3;
  site.traffic.operations = 150;
  site.traffic.window = 8;
  site.traffic.size_max = 20'000;
  site.traffic.pause = std::chrono::milliseconds(20);
  site.faults.outage = std::chrono::seconds(2);
  return site;
}

void add_rule(SiteConfig& site, const drivers::FaultRule& rule) {
  ASSERT_TRUE(site.nets[0].faults.add(rule));
}

// --- Each alone ---

struct Case {
  const char* name;
  std::function<void(SiteConfig&)> spoil;
  std::vector<const char*> seen;  // evidence that the fault happened
};

void PrintTo(const Case& which, std::ostream* out) {
  *out << which.name;
}

class O2ibSite : public testing::TestWithParam<Case> {};

TEST_P(O2ibSite, IsSurvived) {
  SiteConfig site = calm_site();
  GetParam().spoil(site);
  const SiteReport report = run_site(site);
  EXPECT_EQ(report.violation, "");
  EXPECT_GE(report.operations.begun, 6U * 150);
  EXPECT_GT(report.operations.delivered + report.operations.replies, 500U);
  for (const char* const what : GetParam().seen)
    EXPECT_GT(counted(report, what), 0U) << what;
}

void fail_completions(SiteConfig& site) {
  add_rule(site, {.fault = Fault::kFail, .direction = Direction::kRx, .probability = 0.01});
}

void delay_completions(SiteConfig& site) {
  add_rule(site, {.fault = Fault::kDelay,
                  .direction = Direction::kRx,
                  .probability = 0.2,
                  .delay = std::chrono::milliseconds(2)});
}

void reset_and_stall(SiteConfig& site) {
  add_rule(site, {.fault = Fault::kReset, .direction = Direction::kTx, .probability = 0.005});
  add_rule(site, {.fault = Fault::kReset, .direction = Direction::kRx, .probability = 0.005});
  add_rule(site, {.fault = Fault::kStall, .direction = Direction::kTx, .probability = 0.05});
}

void rough_weather(SiteConfig& site) {
  site.weather = Weather::kRough;
}

void hostile_weather(SiteConfig& site) {
  site.nodes = 12;
  site.weather = Weather::kHostile;
}

// Even seeds have nodes of different releases and queue depths.
void differ(SiteConfig& site) {
  site.seed = 2;
  site.traffic.pause = std::chrono::microseconds(20);
}

// Messages that wait for their match entry hold credits; descriptors for answers are few.
void exhaust(SiteConfig& site) {
  site.nets[0].o2ib = {.answers = 2, .receives = 3};
  site.traffic.put_lazy = 90;
  site.traffic.window = site.traffic.burst = 16;
}

void part(SiteConfig& site) {
  site.faults.partitions = 4;
  site.faults.one_way = 4;
}

void restart(SiteConfig& site) {
  site.faults.kills = 4;
}

INSTANTIATE_TEST_SUITE_P(
    Alone, O2ibSite,
    testing::Values(
        Case{"Calm",
             [](SiteConfig&) {},
             {"lnd_o2ib.sent_immediate", "lnd_o2ib.sent_put_request", "lnd_o2ib.sent_get_request"}},
        Case{"FailedCompletions", fail_completions, {"lnd_o2ib.lost", "lnd_o2ib.quarantined"}},
        Case{"LateCompletions", delay_completions, {"lnd_o2ib.early_receives"}},
        Case{"ResetsAndStalls", reset_and_stall, {"lnd_o2ib.lost", "lnd_o2ib.posts_refused"}},
        Case{"NotReady", rough_weather, {"verbs.not_ready", "lnd_o2ib.posts_refused"}},
        Case{"Rejected", hostile_weather, {"lnd_o2ib.connect_failures", "lnd_o2ib.reconnects"}},
        Case{"UnequalNodes", differ, {"lnd_o2ib.rejected_queue_depth", "lnd_o2ib.races"}},
        Case{"ExhaustedCredits",
             exhaust,
             {"lnd_o2ib.waited_for_credit", "lnd_o2ib.waited_for_descriptor"}},
        Case{"LostPaths", part, {"lnd_o2ib.lost"}},
        Case{"Restarts", restart, {"lnd_o2ib.lost", "lnd_o2ib.rejected_stale"}}),
    [](const auto& which) { return which.param.name; });

// --- Several shards for one peer ---

// Queue pairs break, nodes restart, both sides connect at once. Odd seeds have equal nodes, even
// ones different ones.
TEST(O2ibLanedSite, MessagesOfOnePeerPassOverSeveralShards) {
  for (const std::uint64_t seed : {2U, 3U}) {
    SiteConfig site = calm_site().with_seed(seed);
    site.shards = {4, 2};
    site.weather = Weather::kRough;
    site.faults.kills = 2;
    site.traffic.size_min = 1000;
    reset_and_stall(site);
    const SiteReport report = run_site(site);
    ASSERT_EQ(report.violation, "") << "seed " << seed;
    std::uint64_t crossed_lane = 0;
    for (const auto& [name, count] : report.causes)
      crossed_lane += name == "crossed_lane" ? count : 0;
    EXPECT_GT(crossed_lane, 50U) << "seed " << seed;
    EXPECT_GT(counted(report, "lnd_o2ib.lost"), 0U) << "seed " << seed;
  }
}

// --- All together ---

TEST(O2ibRoutedSite, ABadDayBetweenTcpAndO2ibIsSurvived) {
  const std::uint64_t seeds = mocks::has_few_seeds() ? 1 : 3;
  std::uint64_t flaps = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const SiteReport report = run_site(
        site_in(std::string(PLNET_SOURCE_ROOT) + "/config/sim/routed.yaml").with_seed(seed));
    ASSERT_EQ(report.violation, "")
        << "replay: lnet-sim run config/sim/routed.yaml --seed " << seed;
    EXPECT_GT(report.wire.relayed, 1000U);
    EXPECT_GT(report.routes_changed, 10U);
    EXPECT_GT(report.wire_faults, 0U);
    EXPECT_GT(counted(report, "lnd_o2ib.lost"), 0U);
    flaps += report.flaps;
  }
  EXPECT_GT(flaps, 0U) << "devices were lost";
}

// The same site with clients on kfi, and with two networks of o2ib.
TEST(O2ibRoutedSite, ABadDayOfRoutersToKfiAndToAnotherO2ibIsSurvived) {
  for (const NetKind edge : {NetKind::kKfi, NetKind::kO2ib}) {
    SiteConfig site = site_in(std::string(PLNET_SOURCE_ROOT) + "/config/sim/routed.yaml");
    site.nets[0].kind = edge;
    site.traffic.operations = 80;
    site.traffic.size_max = 20'000;  // payloads exist where a network has NICs that copy
    const SiteReport report = run_site(site.with_seed(1));
    ASSERT_EQ(report.violation, "") << "edge: " << static_cast<int>(edge);
    EXPECT_GT(report.wire.relayed, 500U);
    EXPECT_GT(report.routes_changed, 10U);
    EXPECT_GT(counted(report, "lnd_o2ib.lost"), 0U);
  }
}

TEST(O2ibRoutedSite, TheSameSeedIsTheSameRun) {
  SiteConfig site = calm_site().with_seed(4);
  site.weather = Weather::kHostile;
  site.traffic.operations = 40;
  const SiteReport first = run_site(site);
  const SiteReport second = run_site(site);
  EXPECT_EQ(first.trace, second.trace);
  EXPECT_EQ(first.events, second.events);
  EXPECT_NE(first.trace, run_site(site.with_seed(5)).trace);
}

// --- Late writes ---

// Connections break during transfers; a pending write may land until the queue pair has drained.
SiteConfig site_of_late_writes(std::uint64_t seed) {
  SiteConfig site = calm_site().with_seed(seed);
  site.weather = Weather::kRough;
  site.traffic.put_wildcard = site.traffic.put_lazy = 0;
  site.traffic.size_min = 5000;
  add_rule(site, {.fault = Fault::kReset, .direction = Direction::kRx, .probability = 0.03});
  return site;
}

TEST(O2ibLateWrites, MemoryThatIsUsedAgainTooSoonIsNoticed) {
  constexpr std::uint64_t kSeedsMax = 20;
  std::uint64_t late = 0;
  std::string violation;
  for (std::uint64_t seed = 1; seed <= kSeedsMax && violation.empty(); ++seed) {
    const SiteReport sound = run_site(site_of_late_writes(seed));
    ASSERT_EQ(sound.violation, "") << "seed " << seed;
    late += counted(sound, "verbs.late_writes");
    SiteConfig broken = site_of_late_writes(seed);
    broken.drains_early = true;
    violation = run_site(broken).violation;
  }
  EXPECT_GT(late, 0U) << "also where all is well, but into memory that is in quarantine";
  EXPECT_EQ(violation.substr(0, 22), "memory was written to ") << violation;
}

}  // namespace
}  // namespace plnet::sim::o2ib_site_test
