// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>

#include <gtest/gtest.h>
#include <sched.h>

#include "apps/lnet-pin/run/changes.hpp"
#include "apps/lnet-pin/run/child.hpp"
#include "apps/lnet-pin/run/journal.hpp"
#include "apps/lnet-pin/run/lab.hpp"
#include "lib/runtime/files/text_file.hpp"
#include "tests/unit/apps/lnet-pin/scratch.hpp"
#include "tests/unit/apps/lnet-pin/sweep_maker.hpp"

namespace plnet::pin::run_test {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSweep =
    "rounds: {least: 6, most: 8}\nprecision: 50\nfactors: {memory: [local, remote], idle: [yield, "
    "sleep]}\n";

TEST(PinRun, RoundsAreInterleavedInAnOrderOfTheirOwn) {
  Results results = results_of(kSweep);
  ASSERT_EQ(results.plan.placements.size(), 4U);
  MadeUpStage stage;
  EXPECT_EQ(sweep_made_up(results, stage), Ending::kPrecise);
  EXPECT_EQ(stage.measured(), 24U);
  std::set<std::vector<std::size_t>> orders;
  for (std::size_t round = 0; round < 6; ++round) {
    std::set<std::size_t> seen;
    for (std::size_t i = 0; i < 4; ++i) {
      const Entry& entry = results.ledger.entries()[4 * round + i];
      EXPECT_EQ(entry.round, round);
      seen.insert(entry.placement);
    }
    EXPECT_EQ(seen.size(), 4U);
    orders.insert(order_of(results.plan, round));
  }
  EXPECT_GT(orders.size(), 1U);
}

TEST(PinRun, GoesOnUntilIntervalsAreNarrow) {
  Results results =
      results_of("rounds: {least: 2, most: 9}\nprecision: 0.1\nfactors: {idle: [yield, sleep]}\n");
  MadeUpStage stage;
  EXPECT_EQ(sweep_made_up(results, stage), Ending::kRounds);
  EXPECT_EQ(stage.measured(), 18U);
}

TEST(PinRun, APlacementThatAlwaysFailsIsLeftAloneAndTheOthersGoOn) {
  Results results = results_of(kSweep);
  MadeUpStage stage(Speeds{{1, -1}});
  EXPECT_EQ(sweep_made_up(results, stage), Ending::kPrecise);
  EXPECT_EQ(stage.measured(), 3 * 6U + 3);
  EXPECT_TRUE(results.ledger.has_failed(1));
  EXPECT_EQ(results.ledger.why_failed(1), "host has gone");
  const auto gaps = gaps_of(results.plan, results.ledger);
  ASSERT_EQ(gaps.size(), 1U);
  EXPECT_TRUE(gaps[0].failed);
  EXPECT_EQ(text_of(gaps[0], results.plan),
            "p1 (memory=local idle=sleep) has no figures: host has gone");
  Results nothing = results_of(kSweep);
  MadeUpStage broken(Speeds{{0, -1}, {1, -1}, {2, -1}, {3, -1}});
  EXPECT_EQ(sweep_made_up(nothing, broken), Ending::kNothing);
  EXPECT_EQ(broken.measured(), 4 * 3U);
  Results once = results_of("rounds: {least: 1, most: 1}\n");
  MadeUpStage never(Speeds{{0, -1}});
  EXPECT_EQ(sweep_made_up(once, never), Ending::kNothing);
}

TEST(PinRun, AFailedMeasurementIsMadeAgainInItsRound) {
  Results results = results_of("rounds: {least: 2, most: 2}\nfactors: {idle: [yield, sleep]}\n");
  MadeUpStage stage;
  stage.fail_next(2);
  EXPECT_EQ(sweep_made_up(results, stage), Ending::kRounds);
  EXPECT_EQ(stage.measured(), 4U + 2);
  const auto& entries = results.ledger.entries();
  EXPECT_FALSE(entries[0].figures.has_value());
  EXPECT_EQ(entries[1].attempt, 1U);
  EXPECT_EQ(entries[2].attempt, 2U);
  EXPECT_TRUE(entries[2].figures.has_value());
  for (const std::size_t placement : {0U, 1U})
    EXPECT_EQ(results.ledger.throughput(placement).size(), 2U) << "no round is without figures";
  EXPECT_TRUE(gaps_of(results.plan, results.ledger).empty());
}

TEST(PinRun, AKilledSweepGoesOnWithTheRemainingAttempts) {
  Results results = results_of("rounds: {least: 1, most: 1}\n");
  results.ledger.add({.round = 0, .placement = 0, .attempt = 0, .failed = "no huge pages"});
  MadeUpStage stage;
  EXPECT_EQ(sweep_made_up(results, stage), Ending::kRounds);
  EXPECT_EQ(stage.measured(), 1U);
  EXPECT_EQ(results.ledger.entries().back().attempt, 1U);
  Results failed = results_of("rounds: {least: 1, most: 1}\n");
  for (unsigned attempt = 0; attempt < kAttempts; ++attempt)
    failed.ledger.add({.round = 0, .placement = 0, .attempt = attempt, .failed = "no huge pages"});
  MadeUpStage idle;
  EXPECT_EQ(sweep_made_up(failed, idle), Ending::kNothing);
  EXPECT_EQ(idle.measured(), 0U);
}

TEST(PinRun, DisturbedFiguresStayIfTheRepetitionFails) {
  Ledger ledger;
  ledger.add({.figures = Figures{.throughput_mibps = 5}, .disturbed = "steal"});
  ledger.add({.attempt = 1, .failed = "host has gone"});
  ASSERT_NE(ledger.find(0, 0), nullptr);
  EXPECT_EQ(ledger.find(0, 0)->throughput_mibps, 5);
  EXPECT_FALSE(ledger.is_settled(0, 0));
  EXPECT_EQ(ledger.disturbed(0), 1U);
}

TEST(PinRun, PlacementsThatTheBudgetLeavesOutAreNamed) {
  Results results = results_of("rounds: {least: 1, most: 1}\nfactors: {idle: [yield, sleep]}\n");
  MadeUpStage stage;
  stage.stop_after(2);
  EXPECT_EQ(sweep_made_up(results, stage), Ending::kStopped);
  const auto gaps = gaps_of(results.plan, results.ledger);
  ASSERT_EQ(gaps.size(), 1U);
  EXPECT_FALSE(gaps[0].failed);
  EXPECT_NE(text_of(gaps[0], results.plan).find("ended before its first measurement"),
            std::string::npos);
}

TEST(PinRun, OneRoundIsNeverPrecise) {
  Results results = results_of("rounds: {least: 1, most: 7}\nprecision: 50\n");
  MadeUpStage stage;
  EXPECT_EQ(sweep_made_up(results, stage), Ending::kPrecise);
  EXPECT_EQ(stage.measured(), 6U) << "fewer rounds have no interval at 95 %";
}

TEST(PinRun, ADisturbedMeasurementIsMadeAgain) {
  Results results = results_of(kSweep);
  MadeUpStage stage;
  stage.steal_once(40);
  (void)sweep_made_up(results, stage);
  EXPECT_EQ(stage.measured(), 25U);
  EXPECT_FALSE(results.ledger.entries()[0].disturbed.empty());
  EXPECT_EQ(results.ledger.entries()[1].attempt, 1U);
  EXPECT_EQ(results.ledger.disturbed(results.ledger.entries()[0].placement), 0U);
}

TEST(PinRun, AJournalGoesOnWhereItWasCutShort) {
  const Scratch scratch;
  const std::string folder = scratch.at("results");
  Results results = results_of(kSweep);
  {
    auto journal = Journal::begin(folder, results);
    ASSERT_TRUE(journal) << journal.error().what;
    MadeUpStage stage;
    stage.stop_after(11);
    const SweeperHooks hooks{.keep = [&](const Entry& entry) { return journal->add(entry); }};
    const ManualClock clock;
    EXPECT_EQ(*sweep_all(results.plan, results.ledger, stage, hooks, clock), Ending::kStopped);
  }
  EXPECT_FALSE(Journal::begin(folder, results));  // it already exists
  std::ofstream(journal_path(folder), std::ios::app) << R"({"round":2,"placem)";
  auto again = read_journal(folder);
  ASSERT_TRUE(again) << again.error().what;
  EXPECT_EQ(again->ledger.entries().size(), 10U);
  auto journal = Journal::resume(folder);
  ASSERT_TRUE(journal);
  MadeUpStage stage;
  const SweeperHooks hooks{.keep = [&](const Entry& entry) { return journal->add(entry); }};
  const ManualClock clock;
  EXPECT_EQ(*sweep_all(again->plan, again->ledger, stage, hooks, clock), Ending::kPrecise);
  EXPECT_EQ(stage.measured(), 14U);
  EXPECT_EQ(read_journal(folder)->ledger.entries().size(), 24U);
}

TEST(PinRun, GarbageIsNoJournal) {
  const Scratch scratch;
  const auto error_of = [&scratch](const std::string& text) {
    scratch.write("results/journal.jsonl", text);
    const auto read = read_journal(scratch.at("results"));
    return read ? std::string() : read.error().what;
  };
  EXPECT_NE(read_journal(scratch.at("nowhere")).error().what.find("cannot read"),
            std::string::npos);
  EXPECT_NE(error_of("").find("empty"), std::string::npos);
  EXPECT_NE(error_of("\x7f"
                     "ELF\n")
                .find("journal.jsonl:1"),
            std::string::npos);
  EXPECT_NE(error_of("{}\n").find("no journal"), std::string::npos);
  EXPECT_NE(error_of("{\"lnet-pin journal\": 99}\n").find("another version"), std::string::npos);
  const Results results = results_of(kSweep);
  fs::remove_all(scratch.at("results"));
  ASSERT_TRUE(Journal::begin(scratch.at("results"), results));
  const std::string head = *runtime::read_file(journal_path(scratch.at("results")));
  EXPECT_EQ(error_of(head), "");
  EXPECT_NE(error_of(head + "{\"round\":0,\"placement\":99,\"attempt\":0,\"failed\":\"x\"}\n")
                .find("journal.jsonl:2"),
            std::string::npos);
  EXPECT_NE(error_of(head + "{\"round\":0,\"placement\":0,\"attempt\":0}\n").find("neither"),
            std::string::npos);
  EXPECT_NE(error_of(head + "{\"round\":0,\"placement\":0,\"attempt\":0,\"figures\":{}}\n"), "");
  std::string other = head;
  const auto at = other.find("\"fingerprint\":\"") + 15;
  other.replace(at, 4, "0000");
  EXPECT_NE(error_of(other).find("another plan"), std::string::npos);
}

TEST(PinRun, ChangesArePutBackByTheNextStart) {
  const Scratch scratch;
  const std::string path = "/proc/irq/7/smp_affinity_list";
  scratch.write("root" + path, "0-3\n");
  scratch.write("root/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
  const auto now = [&scratch](const std::string& name) {
    return *read_setting(scratch.at("root" + name));
  };
  {
    auto changes = Changes::open(scratch.at("state"), scratch.at("root"));
    ASSERT_TRUE(changes) << changes.error().what;
    ASSERT_TRUE((*changes)->set(path, "1"));
    ASSERT_TRUE((*changes)->set(path, "2"));
    ASSERT_TRUE((*changes)->set("/sys/kernel/mm/transparent_hugepage/enabled", "never"));
    EXPECT_EQ(now(path), "2");
    EXPECT_EQ((*changes)->list().size(), 2U);
    const auto second = Changes::open(scratch.at("state"), scratch.at("root"));
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, Errc::kBusy);
  }  // as if killed
  std::ofstream(scratch.at("state/changes.jsonl"), std::ios::app) << R"({"file":"/proc/ir)";
  auto changes = Changes::open(scratch.at("state"), scratch.at("root"));
  ASSERT_TRUE(changes) << changes.error().what;
  EXPECT_EQ((*changes)->list().front(), path + " was '0-3'");
  EXPECT_TRUE((*changes)->restore().empty());
  EXPECT_EQ(now(path), "0-3");
  EXPECT_EQ(now("/sys/kernel/mm/transparent_hugepage/enabled"), "madvise");
  EXPECT_TRUE((*changes)->empty());
  EXPECT_FALSE(fs::exists(scratch.at("state/changes.jsonl")));
}

TEST(PinRun, AProgramHasASessionItsFilesAndItsCpus) {
  const Scratch scratch;
  cpu_set_t before;
  ASSERT_EQ(::sched_getaffinity(0, sizeof before, &before), 0);
  unsigned first = 0;
  while (!CPU_ISSET(first, &before))
    ++first;
  const auto start = [&](const char* script) {
    return Child::start({.words = {"sh", "-c", script},
                         .output = scratch.at("output"),
                         .errors = scratch.at("errors"),
                         .cpus = {first}});
  };
  auto child = start(
      "read -r line; echo \"$line\"; taskset -cp $$; ps -o sid= -p $$; echo bad >&2; "
      "exit 3");
  ASSERT_TRUE(child) << child.error().what;
  ASSERT_TRUE((*child)->write("some words\n"));
  std::optional<int> status;
  while (!status)
    status = (*child)->ended();
  EXPECT_EQ(*status, 3);
  EXPECT_GE((*child)->cpu_seconds(), 0);
  const std::string said = text_so_far(scratch.at("output"));
  EXPECT_TRUE(said.starts_with("some words\n")) << said;
  EXPECT_NE(said.find("affinity list: " + std::to_string(first) + "\n"), std::string::npos) << said;
  EXPECT_NE(last_line(said).find(std::to_string((*child)->pid())), std::string::npos) << said;
  EXPECT_EQ(last_line(text_so_far(scratch.at("errors"))), "bad");
  cpu_set_t after;
  ASSERT_EQ(::sched_getaffinity(0, sizeof after, &after), 0);
  EXPECT_TRUE(CPU_EQUAL(&before, &after)) << "lnet-pin keeps its own CPUs";
  const auto missing = Child::start({.words = {"/nowhere/program"}});
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().what.find("cannot start '/nowhere/program': No such file"),
            std::string::npos)
      << missing.error().what;
}

TEST(PinRun, ARecordNeverReachesOtherFiles) {
  const Scratch scratch;
  const auto opens = [&scratch](const std::string& record) {
    scratch.write("state/changes.jsonl", record);
    return Changes::open(scratch.at("state"), scratch.at("root")).has_value();
  };
  EXPECT_FALSE(opens("{\"file\":\"/etc/passwd\",\"was\":\"x\"}\n"));
  EXPECT_FALSE(opens("{\"file\":\"/proc/irq/../../etc/passwd\",\"was\":\"x\"}\n"));
  EXPECT_FALSE(opens("{\"namespace\":\"../init\"}\n"));
  EXPECT_FALSE(opens("{\"folder\":\"/home\"}\n"));
  EXPECT_FALSE(opens("garbage\n"));
  EXPECT_TRUE(opens("{\"folder\":\"/tmp/lnet-pin-0\"}\n"));
  fs::remove(scratch.at("state/changes.jsonl"));
  auto changes = Changes::open(scratch.at("state"), scratch.at("root"));
  ASSERT_TRUE(changes);
  EXPECT_EQ((*changes)->set("/etc/hostname", "x").error().code, Errc::kNotPermitted);
  EXPECT_FALSE((*changes)->set("/proc/irq/9/smp_affinity_list", "1"));  // this file does not exist
  EXPECT_TRUE((*changes)->empty());
}

}  // namespace
}  // namespace plnet::pin::run_test
