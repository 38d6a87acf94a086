// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-pin/commands.hpp"

#include <cstdio>

#include <fmt/format.h>
#include <unistd.h>

#include "apps/lnet-pin/exit_status.hpp"
#include "apps/lnet-pin/probe/probe.hpp"
#include "apps/lnet-pin/recommend/node_check.hpp"
#include "apps/lnet-pin/recommend/recommendation.hpp"
#include "apps/lnet-pin/report/probe_page.hpp"
#include "apps/lnet-pin/report/report.hpp"
#include "apps/lnet-pin/run/changes.hpp"
#include "apps/lnet-pin/run_command.hpp"
#include "apps/lnet-selftest/run/report.hpp"
#include "lib/runtime/admin/system_clock.hpp"
#include "lib/runtime/control/access.hpp"
#include "lib/runtime/control/client.hpp"
#include "lib/runtime/files/text_file.hpp"

namespace plnet::pin {
namespace {

constexpr auto kAnswerMax = std::chrono::seconds(10);
constexpr const char* kDefaultInstance = "control";

// A full disk must not look like success.
int print(const std::string& text, int status = kGood) {
  const bool written = std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
  return written ? status : complain("cannot write to standard output");
}

int print_json(const Json& json, int status = kGood) {
  return print(run::dump_of(json, 1) + "\n", status);
}

int probe(const CommandLine& line) {
  auto machine = read_machine({}, "");
  if (!machine) return complain(machine.error().what);
  record_signals();
  const bool terminal = ::isatty(STDERR_FILENO) == 1;
  const auto progress = [terminal](std::string_view what, double done) {
    if (terminal) {
      std::fprintf(stderr, "\r%3.0f %%  %-30.*s", done * 100, static_cast<int>(what.size()),
                   what.data());
    }
    return !is_stopped();
  };
  const auto probed = probe_machine(std::move(*machine), {.seconds = line.seconds}, progress);
  if (terminal) std::fputs("\r\033[K", stderr);
  if (!probed) return complain(probed.error().what);
  if (!line.results.empty()) {
    if (auto written = write_probe(*probed, line.results); !written)
      return complain(written.error().what);
  }
  const int status = is_stopped() ? kInterrupted : kGood;
  return line.json ? print_json(json_of(*probed), status) : print(text_of(*probed), status);
}

int plan(const CommandLine& line) {
  const auto machine = read_machine({.synthetic = line.synthetic, .xml_path = line.xml}, "");
  if (!machine) return complain(machine.error().what);
  std::string text = default_sweep(machine->topology.threads.size());
  if (!line.sweep.empty()) {
    auto file = runtime::read_file(line.sweep);
    if (!file) return complain(file.error().what);
    text = std::move(*file);
  }
  auto sweep = read_sweep(text, line.sweep.empty() ? "the first look" : line.sweep);
  if (!sweep) return complain(sweep.error().what);
  const auto made = make_plan(std::move(*sweep), *machine);
  if (!made) return complain(made.error().what);
  return line.json ? print_json(json_of(*made)) : print(text_of(*made, *machine, line.draw));
}

int report(const CommandLine& line) {
  const auto results = read_journal(line.results);
  if (!results) return complain(results.error().what);
  const Analysis analysis = analyse(*results);
  if (auto written = write_report(*results, line.results); !written)
    return complain(written.error().what);
  return line.json ? print_json(json_of(*results, analysis)) : print(text_of(*results, analysis));
}

int recommend_placement(const CommandLine& line) {
  const auto results = read_journal(line.results);
  if (!results) return complain(results.error().what);
  const auto aim = aim_named(line.aim);
  if (!aim) return complain(line.aim + ": no such aim");
  const auto choice = recommend(*results, analyse(*results), *aim);
  if (!choice) return complain(choice.error().what);
  return print(line.target == "kernel" ? kernel_settings(*results, *choice)
                                       : node_yaml(*results, *choice));
}

Outcome<Placement> running_placement(const CommandLine& line) {
  const runtime::SystemClock clock;
  std::string path = line.socket;
  if (path.empty()) {
    auto standard = runtime::control_socket_path(kDefaultInstance);
    if (!standard) return std::unexpected(std::move(standard.error()));
    path = std::move(*standard);
  }
  auto client = runtime::ControlClient::connect(path, clock);
  // The advice of the shared client names a flag that only lnetctl has.
  if (!client && client.error().code == Errc::kRefused) {
    return failure(Errc::kRefused,
                   fmt::format("no node listens on '{}'; start one with 'lnet-router', or name "
                               "its socket by --socket PATH",
                               path));
  }
  if (!client) return std::unexpected(std::move(client.error()));
  const auto reply = client->call("cpt show", {{"verbose", 0}}, kAnswerMax);
  if (!reply)
    return failure(Errc::kIo, fmt::format("the node at {} does not report its CPTs", path));
  return placement_of(*reply);
}

int check(const CommandLine& line) {
  const auto machine = read_machine({}, "");
  if (!machine) return complain(machine.error().what);
  const auto placement = running_placement(line);
  if (!placement) return complain(placement.error().what);
  auto findings = check_placement(*placement, *machine, "");
  if (!line.results.empty()) {
    const auto results = read_journal(line.results);
    if (!results) return complain(results.error().what);
    const auto aim = aim_named(line.aim);
    if (!aim) return complain(line.aim + ": no such aim");
    const auto more = check_results(*placement, *machine, *results, analyse(*results), *aim);
    findings.insert(findings.end(), more.begin(), more.end());
  }
  bool bad = false;
  std::string text;
  Json json = Json::array();
  for (const Finding& each : findings) {
    bad = bad || each.bad;
    text += fmt::format("{}{}\n", each.bad ? "warning: " : "", each.text);
    json.push_back({{"warning", each.bad}, {"text", each.text}});
  }
  const int status = bad ? kFound : kGood;
  return line.json ? print_json({{"findings", json}}, status) : print(text, status);
}

int restore(const CommandLine& line) {
  auto changes = Changes::open(line.state, "");
  if (!changes) return complain(changes.error().what);
  std::string text;
  for (const std::string& each : (*changes)->list())
    text += "was changed: " + each + "\n";
  const auto complaints = (*changes)->restore();
  for (const std::string& each : complaints)
    std::fprintf(stderr, "lnet-pin: not restored: %s\n", each.c_str());
  text += complaints.empty() ? (text.empty() ? "nothing was changed\n" : "all of it is restored\n")
                             : "";
  return print(text, complaints.empty() ? kGood : kFailed);
}

}  // namespace

int carry_out(const CommandLine& line) {
  if (line.command == "probe") return probe(line);
  if (line.command == "plan") return plan(line);
  if (line.command == "run") return run_sweep(line);
  if (line.command == "report") return report(line);
  if (line.command == "recommend") return recommend_placement(line);
  if (line.command == "check") return check(line);
  return restore(line);
}

}  // namespace plnet::pin
