// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnetctl/commands.hpp"

#include <array>
#include <vector>

#include "apps/lnetctl/row_makers.hpp"
#include "lib/runtime/control/yaml_printer.hpp"

namespace plnet::apps {
namespace {

using row_makers::print_nothing;

constexpr auto kGlobalOptions = std::to_array<OptionRow>({
    {.name = "socket", .value_name = "PATH", .help = "control socket of the node"},
    {.name = "instance", .value_name = "NAME", .help = "the node of that name on this host"},
    {.name = "timeout",
     .value_name = "SECONDS",
     .help =
         "how long to wait for an answer (30; pings and discoveries: as long as they may take)"},
    {.name = "json", .kind = OptionKind::kFlag, .help = "print results as JSON"},
    {.name = "nic-names",
     .value_name = "FILE",
     .help = "hosts of NIC addresses, shown behind NIDs on kfi (/etc/plnet/nic_names)"},
    {.name = "list-commands", .kind = OptionKind::kFlag, .help = "print the names of commands"},
    {.name = "completion", .value_name = "SHELL", .help = "print a completion script; for: bash"},
    {.name = "version", .kind = OptionKind::kFlag, .help = "print the version"},
    {.name = "help", .short_name = 'h', .kind = OptionKind::kFlag, .help = "print the commands"},
});

constexpr auto kVerbose = std::to_array<OptionRow>({
    {.name = "verbose",
     .short_name = 'v',
     .kind = OptionKind::kLevel,
     .value_name = "N",
     .help = "more of it; without a number the same as 1"},
});

constexpr auto kDebugfsOptions = std::to_array<OptionRow>({
    {.name = "dir",
     .short_name = 'd',
     .value_name = "DIR",
     .help = "write the files, or all there are, into this directory instead"},
});

constexpr auto kExchangeOptions = std::to_array<OptionRow>({
    {.name = "in-flight",
     .kind = OptionKind::kNumber,
     .value_name = "N",
     .help = "tokens under way between each ordered pair of shards"},
    {.name = "work-nsec",
     .kind = OptionKind::kNumber,
     .value_name = "N",
     .help = "pretended work for each token, in nanoseconds"},
});

constexpr auto kCassiniOptions = std::to_array<OptionRow>({
    {.name = "if", .value_name = "NAME", .help = "interface of `plnet: kfi: interfaces`"},
    {.name = "address",
     .kind = OptionKind::kNumber,
     .value_name = "N",
     .help = "where its cable is to lead from now on"},
});

constexpr auto kImportOptions = std::to_array<OptionRow>({
    {.name = "add", .short_name = 'a', .kind = OptionKind::kFlag, .help = "add (the default)"},
    {.name = "del", .short_name = 'd', .kind = OptionKind::kFlag, .help = "delete what is named"},
    {.name = "show",
     .short_name = 's',
     .kind = OptionKind::kFlag,
     .help = "show what it names as it is now"},
    {.name = "exec", .short_name = 'e', .kind = OptionKind::kFlag, .help = "ping and discover"},
    {.name = "old-api",
     .short_name = 'o',
     .kind = OptionKind::kFlag,
     .help = "for the kernel's tool; has no effect"},
    {.name = "options",
     .kind = OptionKind::kFlag,
     .help = "the file has options of kernel modules (modprobe.d)"},
    {.name = "plan", .kind = OptionKind::kFlag, .help = "check it and say what would change"},
});

constexpr auto kExportOptions = std::to_array<OptionRow>({
    {.name = "backup",
     .short_name = 'b',
     .kind = OptionKind::kFlag,
     .help = "only what import needs to make the same again"},
});

// Results that are text already (metrics) come under the key "text".
std::string print_plain(const Json& result) {
  if (result.is_object() && result.contains("text") && result["text"].is_string()) {
    return result["text"].get<std::string>();
  }
  return runtime::print_yaml(result);
}

Outcome<nlohmann::json> build_set(const Arguments& arguments, const CommandRow&) {
  return nlohmann::json{{"variable", arguments.positional[0]}, {"value", arguments.positional[1]}};
}

std::span<const CommandRow> own_commands() {
  static const auto rows = std::to_array<CommandRow>({
      {.words = "cpt show",
       .help = "CPTs and shards of the running node",
       .options = kVerbose,
       .entity = "cpt"},
      {.words = "cassini show",
       .help = "queues, list entries and NICs under kfi networks",
       .entity = "cassini"},
      {.words = "cassini set",
       .help = "give a NIC in software another address, as a cable that is moved does",
       .options = kCassiniOptions,
       .operation = "set",
       .entity = "cassini",
       .print = print_nothing},
      {.words = "kfi peers", .help = "whom kfi networks have greeted", .entity = "kfi"},
      {.words = "kfi stats",
       .help = "how long transactions take, by size and state",
       .entity = "kfi",
       .print = print_plain},
      {.words = "cpt plan",
       .help = "what CPTs a machine would get; needs no node",
       .options = plan_options(),
       .entity = "cpt",
       .run = run_cpt_plan},
      {.words = "debugfs",
       .help = "print what a kernel has in /sys/kernel/debug/lnet; without FILE: their names",
       .options = kDebugfsOptions,
       .positional = "[FILE …]",
       .positional_max = 16,
       .whole_only = true,  // `debug` is another command
       .entity = "debugfs",
       .run = run_debugfs},
      {.words = "exchange show",
       .help = "tokens between shards and what a hop costs",
       .options = kVerbose,
       .entity = "exchange"},
      {.words = "exchange start",
       .help = "let shards pass tokens to one another",
       .options = kExchangeOptions,
       .operation = "set",
       .entity = "exchange",
       .print = print_nothing},
      {.words = "exchange stop",
       .help = "stop that",
       .operation = "set",
       .entity = "exchange",
       .print = print_nothing},
      {.words = "exchange set",
       .help = "change how many tokens and how much work",
       .options = kExchangeOptions,
       .operation = "set",
       .entity = "exchange",
       .print = print_nothing},
      {.words = "set",
       .help = "set a variable: those of `global show`, routing, tiny_buffers, …, idle, log_level",
       .positional = "VARIABLE VALUE",
       .positional_min = 2,
       .positional_max = 2,
       .operation = "set",
       .entity = "variable",
       .build = build_set,
       .print = print_nothing},
      {.words = "import",
       .help = "apply a configuration file, or standard input",
       .options = kImportOptions,
       .positional = "[FILE]",
       .positional_max = 1,
       .operation = "add",
       .entity = "import",
       .run = run_import},
      {.words = "export",
       .help = "print the configuration, or write it to a file",
       .options = kExportOptions,
       .positional = "[FILE]",
       .positional_max = 1,
       .entity = "export",
       .run = run_export},
      {.words = "counters show",
       .help = "counters of the pollers and of all that they poll",
       .options = kVerbose,
       .entity = "counters"},
      {.words = "counters reset",
       .help = "high-water marks and histograms start anew",
       .operation = "set",
       .entity = "counters",
       .print = print_nothing},
      {.words = "log show", .help = "the log level, and what was left out", .entity = "log"},
      {.words = "log set",
       .help = "set the log level: error, warning, info or debug",
       .positional = "LEVEL",
       .positional_min = 1,
       .positional_max = 1,
       .operation = "set",
       .entity = "log",
       .print = print_nothing},
      {.words = "metrics show",
       .help = "all counters as Prometheus gets them",
       .entity = "metrics",
       .print = print_plain},
      {.words = "top",
       .help = "who makes the load, the heaviest first; and how long next hops take (--by hop)",
       .options = top_options(),
       .entity = "top",
       .run = run_top},
      {.words = "status", .help = "the node on one screen", .entity = "status"},
  });
  return rows;
}

}  // namespace

std::span<const CommandRow> commands() {
  static const std::vector<CommandRow> rows = [] {
    const auto lnet = lnet_commands();
    const auto own = own_commands();
    const auto debug = debug_commands();
    const auto fault = fault_commands();
    std::vector<CommandRow> all(lnet.begin(), lnet.end());
    all.insert(all.end(), debug.begin(), debug.end());
    all.insert(all.end(), fault.begin(), fault.end());
    all.insert(all.end(), own.begin(), own.end());
    return all;
  }();
  return rows;
}

std::span<const OptionRow> global_options() {
  return kGlobalOptions;
}

}  // namespace plnet::apps
