// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnetctl/commands.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "apps/lnetctl/status_page.hpp"
#include "apps/manual/program_page.hpp"
#include "lib/runtime/verbs/fault_rows.hpp"
#include "lib/runtime/verbs/lnet_rows.hpp"
#include "lib/runtime/verbs/node_rows.hpp"
#include "node/net/family_facts.hpp"

namespace plnet::apps {
namespace {

using row_makers::flag;
using row_makers::text;
using runtime::kLnetVerbs;
using runtime::kNodeVerbs;
using runtime::YamlBooleans;

constexpr OptionList kGlobalOptions{
    text("socket", 0, "PATH", "control socket of the node"),
    text("instance", 0, "NAME", "the node of that name on this host"),
    text("timeout", 0, "SECONDS",
         "how long to wait for an answer (30; pings and discoveries: as long as they may take)"),
    flag("json", 0, "print results as JSON"),
    text("nic-names", 0, "FILE",
         "hosts of NIC addresses, shown behind their NIDs (/etc/plnet/nic_names)"),
    flag("list-commands", 0, "print the names of commands"),
    text(manual::kCompletion, 0, "SHELL", manual::kCompletionHelp),
    text("complete", 0, "KIND",
         "print what the node knows, or nothing: nids, nets, interfaces; for completion"),
    flag(manual::kPrintManual, 0, manual::kPrintManualHelp),
    flag("version", 0, "print the version"),
    flag("help", 'h', "print the commands")};

// A number in hexadecimal, which YAML would have in quotes.
std::string print_service_id(const Json& result) {
  return "service_id:\n    value: " + result["service_id"]["value"].get<std::string>() + "\n";
}

Outcome<nlohmann::json> build_set(const Arguments& arguments, const CommandRow&) {
  return nlohmann::json{{"variable", arguments.positional[0]}, {"value", arguments.positional[1]}};
}

// Verbs with which lnetctl does more than ask and print.
constexpr std::array kMoreThanVerbs{
    CommandRow{.verb = kLnetVerbs["ping"], .run = run_ping, .booleans = YamlBooleans::kLower},
    CommandRow{
        .verb = kLnetVerbs["discover"], .run = run_discover, .booleans = YamlBooleans::kLower},
    CommandRow{.verb = kLnetVerbs["service-id"], .print = print_service_id},
    CommandRow{.verb = kNodeVerbs["debugfs"], .run = run_debugfs},
    CommandRow{.verb = kNodeVerbs["set"], .build = build_set},
    CommandRow{.verb = kNodeVerbs["import"], .run = run_import},
    CommandRow{.verb = kNodeVerbs["export"], .run = run_export},
    CommandRow{.verb = kNodeVerbs["top"], .run = run_top},
    CommandRow{.verb = kNodeVerbs["status"], .print = print_status},
};

void append(std::vector<CommandRow>& rows, const runtime::VerbRows& verbs) {
  for (const runtime::VerbRow& verb : verbs) {
    const auto more = std::ranges::find(kMoreThanVerbs, verb.words,
                                        [](const CommandRow& row) { return row.verb.words; });
    rows.push_back(more != kMoreThanVerbs.end() ? *more : CommandRow{.verb = verb});
  }
}

std::vector<CommandRow> all_commands() {
  std::vector<CommandRow> rows;
  append(rows, kLnetVerbs);
  rows.insert(rows.end(), debug_commands().begin(), debug_commands().end());
  append(rows, runtime::kFaultVerbs);
  rows.insert(rows.end(), lctl_commands().begin(), lctl_commands().end());
  append(rows, kNodeVerbs);
  rows.insert(rows.end(), plan_commands().begin(), plan_commands().end());
  for (const runtime::VerbRows& verbs : node::family_verbs())
    append(rows, verbs);
  return rows;
}

}  // namespace

std::span<const CommandRow> commands() {
  static const std::vector<CommandRow> rows = all_commands();
  return rows;
}

const OptionList& global_options() {
  return kGlobalOptions;
}

}  // namespace plnet::apps
