// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-sim/what_if_command.hpp"

#include <fmt/format.h>

#include "apps/lnet-sim/plan/event_words.hpp"
#include "apps/lnet-sim/site_file.hpp"
#include "apps/lnet-sim/whatif/answer.hpp"

namespace plnet::sim {

namespace {

constexpr int kVoid = 1;
constexpr int kWrongQuestion = 2;

// Adds the events of the command line to those of the file.
bool add_events(SiteConfig& site, const WhatIfArguments& arguments, std::FILE* error) {
  for (std::size_t i = 0; i < arguments.events.size(); ++i) {
    auto events = parse_events(site, static_cast<PlannedKind>(i), arguments.events[i]);
    if (!events) {
      fmt::print(error, "lnet-sim: {}\n", events.error().what);
      return false;
    }
    site.faults.events.insert(site.faults.events.end(), events->begin(), events->end());
  }
  if (site.faults.events.empty()) {
    fmt::print(error,
               "lnet-sim: what-if without an event, expected --lose NODE, --restart ROUTER, "
               "--drain ROUTER, --cut NODE NETWORK, or `events` in the file\n");
    return false;
  }
  if (site.faults.events.size() <= kEventsMax) return true;
  fmt::print(error, "lnet-sim: more than {} events\n", kEventsMax);
  return false;
}

}  // namespace

CLI::App* add_what_if(CLI::App& app, WhatIfArguments& arguments) {
  CLI::App* const command = app.add_subcommand(
      "what-if", "run a site with and without events, and say what its clients saw");
  command->add_option("site", arguments.file, "site file (YAML)")->required();
  const auto add = [&](PlannedKind kind, const std::string& value, const std::string& help) {
    command
        ->add_option("--" + std::string(name_of(kind)),
                     arguments.events[static_cast<std::size_t>(kind)], help)
        ->type_name(value)
        ->expected(1, -1);
  };
  add(PlannedKind::kLose, "NODE [at TIME] [for TIME]",
      "the node, by its name or NID, loses power at a time (60s) and for a time (60s)");
  add(PlannedKind::kRestart, "ROUTER [at TIME] [for TIME]",
      "the router is drained, restarted when it is drained, and off for a time (5s)");
  add(PlannedKind::kDrain, "ROUTER [at TIME] [for TIME]",
      "the router is drained, and undrained a time (60s) after that");
  add(PlannedKind::kCut, "NODE NETWORK [at TIME] [for TIME]",
      "the node's link to the network is down");
  command->add_option("--seed", arguments.seed, "instead of the file's");
  command->add_flag("--json", arguments.json, "the answer as an object");
  return command;
}

int run_what_if(const WhatIfArguments& arguments, std::FILE* out, std::FILE* error) {
  auto site = load_site(arguments.file, error);
  if (!site) return kWrongQuestion;
  if (arguments.seed) site->seed = *arguments.seed;
  if (!add_events(*site, arguments, error)) return kWrongQuestion;
  const auto answer = answer_to(*site);
  if (!answer) {
    fmt::print(error,
               "lnet-sim: the run has violated a rule of the simulator, so there is no "
               "answer: {}\n",
               answer.error().what);
    return kVoid;
  }
  if (arguments.json) {
    fmt::print(out, "{}\n", json_of(*answer));
  } else {
    fmt::print(out, "{}", text_of(*answer));
  }
  return 0;
}

}  // namespace plnet::sim
