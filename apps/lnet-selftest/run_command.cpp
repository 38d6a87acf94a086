// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-selftest/run_command.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <expected>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include "apps/lnet-selftest/loopback.hpp"
#include "apps/lnet-selftest/run/compare.hpp"
#include "apps/lnet-selftest/run/environment.hpp"
#include "apps/lnet-selftest/run/live_table.hpp"
#include "apps/lnet-selftest/run/plan_line.hpp"
#include "apps/lnet-selftest/run/report_files.hpp"
#include "apps/lnet-selftest/run/report_hosts.hpp"
#include "apps/lnet-selftest/run_desk.hpp"
#include "apps/lnet-selftest/sim_options.hpp"
#include "apps/lnet-selftest/system_hosts.hpp"
#include "apps/lnet-selftest/variables.hpp"
#include "apps/lnetctl/option_parser.hpp"
#include "apps/manual/option_page.hpp"
#include "lib/runtime/control/access.hpp"
#include "lib/runtime/host/cpu_claims.hpp"
#include "lib/runtime/verbs/verb_row.hpp"

namespace plnet::apps {
namespace {

constexpr const char* kRunProgram = "lnet-selftest run";
constexpr int kGood = 0;
constexpr int kFailed = 1;
constexpr int kMisused = 2;
constexpr int kMissed = 3;
constexpr int kInterrupted = 130;
// Time until an interrupt is noticed.
constexpr auto kNap = std::chrono::milliseconds(50);

constexpr auto kOwnOptions = std::to_array<OptionRow>({
    row_makers::text("report", 'o', "FOLDER", "for report.txt, .json, .csv and .html; a new one"),
    row_makers::flag("loopback", 0, "measure two nodes on this machine; needs no configuration"),
    row_makers::text("config", 0, "FILE", "configuration of a started console; LST_CONFIG"),
    row_makers::text("options", 0, "FILE", "modprobe.d file, also for it"),
    row_makers::text("instance", 0, "NAME", "the node with the console, if there are several"),
    row_makers::text("run-dir", 0, "FOLDER", "folder of control sockets; LST_RUN_DIR, /run/plnet"),
    row_makers::text("lock-dir", 0, "FOLDER", "folder of CPU claims"),
    row_makers::text("nic-names", 0, "FILE", "hosts of NIC addresses; /etc/plnet/nic_names"),
    row_makers::flag("help", 'h', "print this help"),
});

// Set by a handler: the only way to notice a signal during a request to a console.
volatile std::sig_atomic_t stop_asked = 0;
void on_signal(int /*number*/) {
  stop_asked = 1;
}

void record_signals() {
  struct sigaction action{};
  action.sa_handler = on_signal;
  // System calls continue after a signal: the session must be ended by further requests.
  action.sa_flags = SA_RESTART;
  for (const int number : {SIGINT, SIGTERM, SIGHUP})
    (void)::sigaction(number, &action, nullptr);
}

std::vector<OptionRow> all_options() {
  const auto plan = run::plan_options();
  std::vector<OptionRow> all(plan.begin(), plan.end());
  const auto sim = sim_options();
  all.insert(all.end(), sim.begin(), sim.end());
  all.insert(all.end(), kOwnOptions.begin(), kOwnOptions.end());
  return all;
}

constexpr std::string_view kRunHelp =
    "Measures every combination of tests, sizes and concurrencies between two groups of nodes,\n"
    "and leaves a report. Options override the plan.";
constexpr std::string_view kRunEnds =
    "Exit status: 0 all was measured, and thresholds are met; 1 something failed; 2 usage\n"
    "or plan; 3 thresholds were missed; 130 interrupted, with a report of the completed part.";
constexpr std::string_view kCompareUsage = "A/report.json B/report.json";

std::string help() {
  std::string text =
      fmt::format("usage: lnet-selftest run [PLAN.yaml] [OPTIONS]\n\n{}\n\n", kRunHelp);
  for (const OptionRow& option : all_options()) {
    const std::string letter =
        option.short_name != 0 ? fmt::format("-{}, ", option.short_name) : "    ";
    const std::string name =
        fmt::format("{}{}{}", option.name, option.value_name.empty() ? "" : " ", option.value_name);
    text += fmt::format("  {}--{:<22}{}\n", letter, name, option.help);
  }
  return text + fmt::format("\n{}\n", kRunEnds);
}

int complain(const char* program, int status, const std::string& what) {
  std::fprintf(stderr, "%s: %s\n", program, what.c_str());
  return status;
}

std::string option_or(const Arguments& arguments, const char* name, std::string otherwise) {
  return arguments.has(name) ? arguments.text(name) : std::move(otherwise);
}

lst::ConsoleStart start_of(const Arguments& arguments) {
  lst::ConsoleStart start{
      .config = option_or(arguments, "config", lst::variable_or("LST_CONFIG", "")),
      .options = arguments.text("options"),
      .lock_directory = option_or(arguments, "lock-dir", runtime::usual_claim_directory())};
  if (start.config.empty() && std::filesystem::exists(lst::kDefaultConfig))
    start.config = lst::kDefaultConfig;
  return start;
}

// Runs it to its end; passes interrupts on.
void conduct(run::Conductor& conductor, const Clock& clock) {
  while (!conductor.over()) {
    if (stop_asked != 0) conductor.interrupt();
    const Instant next = conductor.step(clock.now());
    while (stop_asked == 0 && clock.now() < next)
      std::this_thread::sleep_for(std::min<Duration>(kNap, next - clock.now()));
    // Asked to stop: pauses, so that repeated requests do not flood a console.
    if (stop_asked != 0 && clock.now() < next) std::this_thread::sleep_for(kNap);
  }
}

int status_of(const run::Report& report) {
  if (!report.failure.empty()) return kFailed;
  if (report.interrupted) return kInterrupted;
  if (!report.left_behind.empty()) return kFailed;
  return report.missed.empty() ? kGood : kMissed;
}

std::string folder_of(const run::Plan& plan, const Arguments& arguments) {
  return option_or(arguments, "report", fmt::format("lnet-selftest-{}-{}", plan.name, ::getpid()));
}

struct NotBegun {
  int status = kFailed;
  std::string what;
};

// The error: nothing has begun, since these nodes cannot execute the plan, or the report's folder
// is unusable.
std::expected<run::Report, NotBegun> measure(const run::Plan& plan, const run::Loopback* loopback,
                                             const Arguments& arguments,
                                             const runtime::SystemClock& clock) {
  const auto date = runtime::SystemWallClock().now();
  const std::string run_folder = option_or(
      arguments, "run-dir", lst::variable_or("LST_RUN_DIR", std::string(runtime::kControlFolder)));
  run::ConsoleDesk desk(
      loopback != nullptr ? loopback->folder() : run_folder,
      loopback != nullptr ? run::Loopback::kClientName : arguments.text("instance"),
      start_of(arguments), clock);
  if (loopback != nullptr) desk.use_cpus(loopback->cpus());
  if (const auto met = desk.meet(plan); !met)
    return std::unexpected(NotBegun{kMisused, met.error().what});
  if (const auto room = run::prepare_report(folder_of(plan, arguments)); !room)
    return std::unexpected(NotBegun{kFailed, room.error().what});
  run::LiveTable table(stdout, ::isatty(STDOUT_FILENO) == 1);
  run::Conductor conductor(plan, {.key = static_cast<std::uint32_t>(::getpid())}, desk, table);
  conduct(conductor, clock);

  run::Report report{.plan = plan,
                     .measurements = conductor.measurements(),
                     .configurations = desk.configurations(),
                     .cpts = desk.cpts(),
                     .complete = conductor.complete(),
                     .interrupted = conductor.interrupted(),
                     .failure = conductor.failure(),
                     .left_behind = conductor.left_behind(),
                     .highest_rates = conductor.highest_rates(),
                     .floor_note = desk.floor_note(),
                     .latency_note = desk.latency_note()};
  report.environment = run::environment_of(
      {.version = fmt::format("lnet-selftest {} (plnet)", PLNET_VERSION),
       .date = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}",
                           fmt::gmtime(std::chrono::system_clock::to_time_t(date))),
       .interfaces = run::interfaces_of_machine(),
       .nids = desk.nids(),
       .root = {}});
  return report;
}

int leave(run::Report report, const Arguments& arguments, const runtime::NicNames& names) {
  run::learn_hosts(report, names);
  report.missed = run::missed_limits(report.plan.limits, run::figures_of(report.measurements));
  const std::string folder = folder_of(report.plan, arguments);
  const auto written = run::write_report(report, folder);
  print_text(stdout, run::highest_rates_text(report));
  for (const std::string& each : report.missed)
    std::printf("threshold missed: %s\n", each.c_str());
  const std::string outcome = run::outcome_of(report);
  std::fprintf(status_of(report) == kGood ? stdout : stderr, "%s\n", outcome.c_str());
  if (!written) return complain(kRunProgram, kFailed, written.error().what);
  std::printf("report: %s/report.html\n", folder.c_str());
  return status_of(report);
}

int run_plan(const run::Plan& plan, const std::optional<sim::SimulatedRun>& simulation,
             const Arguments& arguments, const runtime::NicNames& names) {
  const runtime::SystemClock clock;
  record_signals();
  if (simulation) {
    if (const auto room = run::prepare_report(folder_of(plan, arguments)); !room)
      return complain(kRunProgram, kFailed, room.error().what);
    run::LiveTable table(stdout, ::isatty(STDOUT_FILENO) == 1);
    const auto stop = [] { return stop_asked != 0; };
    return leave(sim::simulate(plan, *simulation, table, clock, stop), arguments, names);
  }
  std::unique_ptr<run::Loopback> loopback;
  if (arguments.has("loopback")) {
    auto nodes =
        run::Loopback::start(start_of(arguments).lock_directory, run::loopback_idle(plan), clock);
    if (!nodes) return complain(kRunProgram, kFailed, nodes.error().what);
    loopback = std::move(*nodes);
  }
  auto report = measure(plan, loopback.get(), arguments, clock);
  if (!report) return complain(kRunProgram, report.error().status, report.error().what);
  return leave(std::move(*report), arguments, names);
}

// A run with nodes of its own measures only these.
Outcome<void> check_own_nodes(const Arguments& arguments, const run::Plan& plan,
                              const run::Plan& defaults) {
  const bool simulated = arguments.has("sim");
  if (!simulated && !arguments.has("loopback")) return {};
  if (simulated && arguments.has("loopback"))
    return failure(Errc::kInvalid, "--sim or --loopback, not both");
  for (const char* const other : {"config", "options", "instance", "run-dir", "lock-dir"}) {
    const bool claims_cpus = !simulated && std::string_view(other) == "lock-dir";
    if (arguments.has(other) && !claims_cpus)
      return failure(Errc::kInvalid, fmt::format("--{} has no effect on the nodes of --{}", other,
                                                 simulated ? "sim" : "loopback"));
  }
  if (simulated) return {};
  if (plan.from_words == defaults.from_words && plan.to_words == defaults.to_words) return {};
  return failure(Errc::kInvalid, "--loopback has two nodes of its own, expected no others");
}

Outcome<runtime::Json> read_report(const std::string& path) {
  const auto text = run::read_file(path);
  if (!text) return std::unexpected(text.error());
  auto json = runtime::Json::parse(*text, nullptr, false);
  if (json.is_discarded()) return failure(Errc::kInvalid, fmt::format("'{}' is no JSON", path));
  return json;
}

}  // namespace

manual::Command run_page() {
  return {.words = "run",
          .usage = "[PLAN.yaml]",
          .help = fmt::format("{} {}", kRunHelp, kRunEnds),
          .options = manual::options_of(all_options())};
}

manual::Command compare_page() {
  return {.words = "compare",
          .usage = std::string(kCompareUsage),
          .help = "compares two reports of run"};
}

int run_benchmark(int count, const char* const* words) {
  const std::vector<std::string> given(words + 1, words + count);
  const auto options = all_options();
  const auto arguments = parse_options(options, given, kRunProgram);
  if (!arguments) {
    std::fprintf(stderr, "%s\n", arguments.error().what.c_str());
    return kMisused;
  }
  if (arguments->has("help")) {
    print_text(stdout, help());
    return kGood;
  }
  const SystemHosts hosts(lst::variable_or("SLURM_JOB_NODELIST", ""));
  run::Plan defaults;
  if (arguments->has("loopback")) defaults = run::loopback_plan();
  const auto plan = run::plan_of(*arguments, run::read_file, &hosts, defaults);
  if (!plan) return complain(kRunProgram, kMisused, plan.error().what);
  if (const auto fits = check_own_nodes(*arguments, *plan, defaults); !fits)
    return complain(kRunProgram, kMisused, fits.error().what);
  const auto simulation = simulation_of(*arguments, *plan);
  if (!simulation) return complain(kRunProgram, kMisused, simulation.error().what);
  const auto names = runtime::NicNames::look_up(arguments->text("nic-names"), stderr);
  if (!names) return complain(kRunProgram, kMisused, names.error().what);
  return run_plan(*plan, *simulation, *arguments, *names);
}

int run_compare(int count, const char* const* words) {
  constexpr const char* kName = "lnet-selftest compare";
  if (count != 3) {
    print_text(stderr, fmt::format("usage: lnet-selftest compare {}\n", kCompareUsage));
    return kMisused;
  }
  const auto before = read_report(words[1]);
  if (!before) return complain(kName, kFailed, before.error().what);
  const auto after = read_report(words[2]);
  if (!after) return complain(kName, kFailed, after.error().what);
  const auto comparison = run::compare(*before, *after);
  if (!comparison) return complain(kName, kFailed, comparison.error().what);
  print_text(stdout, run::text_of(*comparison));
  return comparison->any_worse() ? kMissed : kGood;
}

}  // namespace plnet::apps
