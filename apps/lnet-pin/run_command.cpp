// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-pin/run_command.hpp"

#include <csignal>
#include <cstdio>
#include <ctime>
#include <filesystem>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sched.h>

#include "apps/lnet-pin/exit_status.hpp"
#include "apps/lnet-pin/report/report.hpp"
#include "apps/lnet-pin/run/journal.hpp"
#include "apps/lnet-pin/run/lab.hpp"
#include "apps/lnet-pin/run/stage.hpp"
#include "apps/lnet-selftest/run/environment.hpp"
#include "lib/runtime/admin/system_clock.hpp"
#include "lib/runtime/files/text_file.hpp"

namespace plnet::pin {
namespace {

volatile std::sig_atomic_t stop_asked = 0;
void on_signal(int /*number*/) {
  stop_asked = 1;
}

struct Begun {
  Results results;
  Journal journal;
};

bool is_same_machine(const Machine& one, const Machine& other) {
  return json_of(one) == json_of(other);
}

// Continues the results in the folder if they are of the same sweep and machine.
Outcome<Begun> go_on(const CommandLine& line, const Machine& machine, const std::string& text) {
  auto results = read_journal(line.results);
  if (!results) return std::unexpected(std::move(results.error()));
  if (!text.empty() && text != results->sweep_text) {
    return failure(Errc::kExists, fmt::format("'{}' has results of another sweep ('{}'); name "
                                              "another folder",
                                              line.results, results->plan.sweep.name));
  }
  if (!is_same_machine(results->machine, machine)) {
    return failure(Errc::kExists,
                   fmt::format("'{}' has results of another machine, {} with {} CPUs; this is {} "
                               "with {}",
                               line.results, results->machine.topology.name,
                               results->machine.topology.threads.size(), machine.topology.name,
                               machine.topology.threads.size()));
  }
  auto journal = Journal::resume(line.results);
  if (!journal) return std::unexpected(std::move(journal.error()));
  std::printf("continuing after %zu measurements\n", results->ledger.entries().size());
  return Begun{std::move(*results), std::move(*journal)};
}

Outcome<Begun> begin(const CommandLine& line, Machine machine) {
  std::string text;
  if (!line.sweep.empty()) {
    auto file = runtime::read_file(line.sweep);
    if (!file) return std::unexpected(std::move(file.error()));
    text = std::move(*file);
  }
  std::error_code error;
  if (std::filesystem::exists(journal_path(line.results), error)) return go_on(line, machine, text);
  if (text.empty()) text = default_sweep(machine.topology.threads.size());
  auto sweep = read_sweep(text, line.sweep.empty() ? "the first look" : line.sweep);
  if (!sweep) return std::unexpected(std::move(sweep.error()));
  auto plan = make_plan(std::move(*sweep), machine);
  if (!plan) return std::unexpected(std::move(plan.error()));
  const std::string now = fmt::format(
      "{:%Y-%m-%dT%H:%M:%SZ}",
      fmt::gmtime(std::chrono::system_clock::to_time_t(runtime::SystemWallClock().now())));
  Results results{.version = PLNET_VERSION,
                  .begun = now,
                  .sweep_text = text,
                  .machine = std::move(machine),
                  .plan = std::move(*plan)};
  results.environment =
      run::environment_of({.version = fmt::format("lnet-pin {} (plnet)", PLNET_VERSION),
                           .date = now,
                           .interfaces = run::interfaces_of_machine(),
                           .nids = {},
                           .root = {}});
  auto journal = Journal::begin(line.results, results);
  if (!journal) return std::unexpected(std::move(journal.error()));
  return Begun{std::move(results), std::move(*journal)};
}

void show(const Plan& plan, const Entry& entry) {
  const std::string head =
      fmt::format("round {:>3}  {:>5}  {}", entry.round + 1, name_of_placement(entry.placement),
                  plan.level_text(plan.placements[entry.placement].levels));
  std::string tail;
  if (entry.figures) {
    tail = fmt::format("{:.1f} MiB/s, {:.0f} RPC/s", entry.figures->throughput_mibps,
                       entry.figures->rpc_rate);
    if (entry.figures->p99_us) tail += fmt::format(", p99 {:.0f} µs", *entry.figures->p99_us);
    if (!entry.disturbed.empty()) tail += "; disturbed: " + entry.disturbed;
  } else {
    tail = "failed: " + entry.failed;
  }
  std::printf("%s: %s\n", head.c_str(), tail.c_str());
  std::fflush(stdout);
}

// Moves lnet-pin off the measured CPUs as far as possible; nodes get all of them back.
void stand_aside(const std::vector<unsigned>& cpus) {
  if (cpus.empty()) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const unsigned cpu : cpus) {
    if (cpu < CPU_SETSIZE) CPU_SET(cpu, &set);
  }
  (void)::sched_setaffinity(0, sizeof set, &set);
}

Outcome<Ending> measure(const CommandLine& line, Begun& begun, Changes& changes) {
  const runtime::SystemClock clock;
  auto lab = Lab::set_up(begun.results.plan.sweep, changes);
  if (!lab) return std::unexpected(std::move(lab.error()));
  stand_aside(begun.results.plan.others);
  LabStage stage(begun.results.plan, begun.results.machine, **lab, changes,
                 {.programs = line.programs}, clock, is_stopped);
  const SweeperHooks hooks{
      .keep = [&begun](const Entry& entry) { return begun.journal.add(entry); },
      .show = [&begun](const Entry& entry) { show(begun.results.plan, entry); }};
  auto ending = sweep_all(begun.results.plan, begun.results.ledger, stage, hooks, clock);
  if (ending && stage.counters_note() != begun.results.counters_note) {
    begun.results.counters_note = stage.counters_note();
    if (auto noted = begun.journal.note_counters(stage.counters_note()); !noted)
      return std::unexpected(std::move(noted.error()));
  }
  return ending;
}

// Names each placement without figures, and the ending. Returns the exit status.
int summarise(const Results& results, Ending ending, const std::string& folder, int status) {
  bool failed = false;
  for (const Gap& gap : gaps_of(results.plan, results.ledger)) {
    failed = failed || gap.failed;
    std::fprintf(stderr, "lnet-pin: %s\n", text_of(gap, results.plan).c_str());
  }
  const std::string what(text_of(ending));
  if (ending == Ending::kNothing) return complain(what);
  std::printf("%s%s\nreport: %s/report.html\n", what.c_str(),
              failed ? "; some placements failed" : "", folder.c_str());
  if (ending == Ending::kStopped) return kInterrupted;
  return status == kGood && failed ? kIncomplete : status;
}

}  // namespace

void record_signals() {
  struct sigaction action{};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  for (const int number : {SIGINT, SIGTERM, SIGHUP})
    (void)::sigaction(number, &action, nullptr);
  (void)::signal(SIGPIPE, SIG_IGN);  // an ended node is detected otherwise
}

bool is_stopped() {
  return stop_asked != 0;
}

int run_sweep(const CommandLine& line) {
  auto machine = read_machine({}, "");
  if (!machine) return complain(machine.error().what);
  auto changes = Changes::open(line.state, "");
  if (!changes) return complain(changes.error().what);
  if (!(*changes)->empty()) {
    for (const std::string& each : (*changes)->list())
      std::printf("left by an earlier run: %s\n", each.c_str());
    for (const std::string& each : (*changes)->restore())
      std::fprintf(stderr, "lnet-pin: not restored: %s\n", each.c_str());
  }
  auto begun = begin(line, std::move(*machine));
  if (!begun) return complain(begun.error().what);
  record_signals();
  const auto ending = measure(line, *begun, **changes);
  int status = kGood;
  for (const std::string& each : (*changes)->restore())
    status = complain("not restored: " + each);
  if (!ending) return complain(ending.error().what);
  const Results& results = begun->results;
  if (!results.ledger.entries().empty()) {
    if (auto written = write_report(results, line.results); !written)
      return complain(written.error().what);
  }
  return summarise(results, *ending, line.results, status);
}

}  // namespace plnet::pin
