// SPDX-License-Identifier: BSD-3-Clause
// The example of doc/embedding.md for a program on a node's shards, and the traffic of the
// end-to-end tests.
#include <cmath>
#include <cstdio>
#include <string>

#include "apps/lnet-traffic/command_line.hpp"
#include "lib/runtime/control/yaml_printer.hpp"
#include "node/flags/whole_program.hpp"
#include "node/host/residents.hpp"
#include "node/run/node.hpp"

namespace plnet::traffic {
namespace {

constexpr const char* kProgram = "lnet-traffic";

// Figures of the answered operations.
nlohmann::ordered_json told(const Pace::Report& pace, std::uint64_t bytes) {
  const double seconds = pace.seconds();
  const auto each_second = [&](double what) {
    return static_cast<std::uint64_t>(seconds > 0 ? what / seconds : 0);
  };
  const auto microseconds = [&](double percent) { return pace.took_ns.percentile(percent) / 1000; };
  return {{"seconds", std::round(seconds * 1000) / 1000},
          {"operations_per_second", each_second(static_cast<double>(pace.took_ns.count()))},
          {"mib_per_second", each_second(static_cast<double>(bytes) / (1 << 20))},
          {"latency_us",
           {{"p50", microseconds(50)},
            {"p90", microseconds(90)},
            {"p99", microseconds(99)},
            {"max", pace.took_ns.max() / 1000}}}};
}

// Prints the report. Returns the exit status: 0 if there were no errors.
int tell(const Traffic& traffic) {
  nlohmann::ordered_json report;
  for (std::size_t i = 0; i < TrafficTable::kInfo.size(); ++i) {
    const auto& info = TrafficTable::kInfo[i];
    report["traffic"][std::string(info.name)] = traffic.count(static_cast<TrafficId>(i));
  }
  if (const Pace::Report pace = traffic.pace(); pace.took_ns.count() > 0)
    report["pace"] = told(pace, traffic.count(TrafficId::kBytes));
  std::fputs(runtime::print_yaml(report).c_str(), stdout);
  for (const TrafficId bad :
       {TrafficId::kFailed, TrafficId::kWrong, TrafficId::kTwice, TrafficId::kCorrupt}) {
    if (traffic.count(bad) != 0) return 1;
  }
  return 0;
}

int run(int count, const char* const* words) {
  auto line = parse_command_line(count, words);
  if (!line) return node::say(kProgram, line.error());
  auto settings = node::read_settings_files(line->files);
  if (!settings) return node::complain(kProgram, settings.error());
  if (const auto& idle = line->idle) settings->pollers.idle = *idle;

  Traffic traffic(line->traffic);
  line->node.residents = &traffic;
  auto node = node::Node::start(*settings, line->node);
  if (!node) return node::complain(kProgram, node.error());
  if (!line->stay) traffic.stop_when_done(**node);
  (*node)->run();
  traffic.move_out();
  return node::flushed(kProgram, tell(traffic));
}

}  // namespace
}  // namespace plnet::traffic

int main(int argc, char** argv) {
  return plnet::node::whole_program("lnet-traffic", plnet::traffic::run, argc, argv);
}
