// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-pin/command_line.hpp"

#include <cstdio>

#include <CLI/CLI.hpp>

#include "apps/lnet-pin/commands.hpp"
#include "apps/lnet-pin/exit_status.hpp"
#include "apps/lnet-pin/run/changes.hpp"
#include "apps/manual/cli_page.hpp"

namespace plnet::pin {
namespace {

void add_machine(CLI::App& app, CommandLine& line) {
  auto* const synthetic =
      app.add_option("--synthetic", line.synthetic,
                     "for a machine with this description: 'pack:2 [numa] core:4 pu:2'");
  app.add_option("--xml", line.xml, "for a machine from a file that `lstopo FILE.xml` wrote")
      ->type_name("FILE")
      ->excludes(synthetic);
}

void add_aim(CLI::App& app, CommandLine& line) {
  app.add_option("--aim", line.aim, "the aim: throughput, p99, efficiency (of a core), watt")
      ->check(CLI::IsMember({"throughput", "p99", "efficiency", "watt"}))
      ->capture_default_str();
}

void add_json(CLI::App& app, CommandLine& line) {
  app.add_flag("--json", line.json, "print it as JSON");
}

void add_state(CLI::App& app, CommandLine& line) {
  app.add_option("--state", line.state, "folder with the record of changes on this machine")
      ->type_name("FOLDER")
      ->capture_default_str();
}

void add_measuring(CLI::App& app, CommandLine& line) {
  constexpr double kSecondsMax = 86'400;
  CLI::App& probe = *app.add_subcommand(
      "probe", "measure this machine: cache lines between cores, memory, wake-ups, clocks, noise");
  probe.add_option("--seconds", line.seconds, "approximate duration")
      ->check(CLI::Range(0.1, kSecondsMax))
      ->capture_default_str();
  probe.add_option("-o,--report", line.results, "folder for probe.txt, .json and .html")
      ->type_name("FOLDER");
  add_json(probe, line);
  CLI::App& plan = *app.add_subcommand(
      "plan", "list the placements of a sweep, the number of runs and the minutes; start nothing");
  plan.add_option("SWEEP", line.sweep, "a file; without: a first sweep of this machine");
  plan.add_flag("--draw", line.draw, "draw each placement on the machine");
  add_machine(plan, line);
  add_json(plan, line);
  CLI::App& run = *app.add_subcommand("run", "measure a sweep, or go on with one");
  run.add_option("SWEEP", line.sweep, "a file; without: that of the existing results");
  run.add_option("-o,--results", line.results, "folder for the journal and the report")
      ->type_name("FOLDER")
      ->required();
  run.add_option("--programs", line.programs,
                 "folder of lnet-router and lnet-selftest, on every host; without: PATH has them")
      ->type_name("FOLDER");
  add_state(run, line);
}

void add_reading(CLI::App& app, CommandLine& line) {
  CLI::App& report = *app.add_subcommand("report", "analyse results again and print the report");
  report.add_option("RESULTS", line.results, "the folder of a run")->required();
  add_json(report, line);
  CLI::App& best = *app.add_subcommand("recommend", "print the best placement as configuration");
  best.add_option("RESULTS", line.results, "the folder of a run")->required();
  add_aim(best, line);
  best.add_option("--for", line.target, "plnet: a file for --config; kernel: module options")
      ->check(CLI::IsMember({"plnet", "kernel"}))
      ->capture_default_str();
  CLI::App& check = *app.add_subcommand(
      "check", "compare a running node's placement with the machine, and with results");
  check.add_option("--socket", line.socket, "control socket of the node (/run/plnet/control.sock)")
      ->type_name("PATH");
  check.add_option("--results", line.results, "the folder of a run on this machine")
      ->type_name("FOLDER");
  add_aim(check, line);
  add_json(check, line);
  add_state(*app.add_subcommand("restore", "undo the changes of a killed run on this machine"),
            line);
}

}  // namespace

int run_command_line(int count, const char* const* words) {
  CommandLine line{.state = kChangesFolder};
  CLI::App app(
      "Where should pollers, memory and interrupts go? Experiments from the question to the "
      "setting.",
      "lnet-pin");
  app.set_version_flag("--version", std::string("lnet-pin ") + PLNET_VERSION + " (plnet)");
  app.require_subcommand(1);
  app.footer(
      "Exit status: 0 good, 1 failed, 2 usage, 3 check has found something, 4 run has ended but "
      "some placements failed, 130 interrupted.");
  add_measuring(app, line);
  add_reading(app, line);
  if (const auto text = manual::answer(app, "lnet-pin", count, words))
    return std::fputs(text->c_str(), stdout) < 0 ? kFailed : kGood;
  try {
    app.parse(count, words);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kMisused;
  }
  line.command = app.get_subcommands().front()->get_name();
  return carry_out(line);
}

}  // namespace plnet::pin
