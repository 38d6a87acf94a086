// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-sim/command_line.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <span>
#include <system_error>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "apps/lnet-sim/from_config_command.hpp"
#include "apps/lnet-sim/plan/site_reader.hpp"
#include "apps/lnet-sim/site_file.hpp"
#include "apps/lnet-sim/what_if_command.hpp"
#include "apps/manual/cli_page.hpp"
#include "lib/base/counted.hpp"

namespace plnet::sim {

namespace {

constexpr int kViolated = 1;
constexpr int kWrong = 2;

struct Arguments {
  std::string file;  // empty: sites are generated from seeds
  std::optional<std::uint64_t> seed;
  std::string seeds;
  std::optional<double> time_s;
  bool json = false;
  bool quiet = false;
  std::string folder = "config/sim";
};

// "3..17", or one number.
std::optional<std::pair<std::uint64_t, std::uint64_t>> parse_seeds(const std::string& text) {
  std::uint64_t first = 0;
  const char* const last = text.data() + text.size();
  const auto [middle, error] = std::from_chars(text.data(), last, first);
  if (error != std::errc{}) return std::nullopt;
  if (middle == last) return std::pair{first, first};
  std::uint64_t end = 0;
  if (std::string_view(middle, last).substr(0, 2) != "..") return std::nullopt;
  const auto [stop, wrong] = std::from_chars(middle + 2, last, end);
  if (wrong != std::errc{} || stop != last || end < first) return std::nullopt;
  return std::pair{first, end};
}

double seconds_of(std::span<const Duration> all, RouteTruth truth) {
  return std::chrono::duration<double>(all[static_cast<std::size_t>(truth)]).count();
}

std::uint64_t count_of(std::span<const std::uint64_t> all, RouteTruth truth) {
  return all[static_cast<std::size_t>(truth)];
}

// The faults of a run.
nlohmann::ordered_json json_of(const MishapTally& tally) {
  nlohmann::ordered_json json{{"seen", nlohmann::ordered_json::object()},
                              {"together", nlohmann::ordered_json::object()}};
  for (std::size_t i = 0; i < kMishaps; ++i) {
    const auto one = static_cast<Mishap>(i);
    if (tally.seen(one) > 0) json["seen"][std::string(name_of(one))] = tally.seen(one);
    for (std::size_t j = i + 1; j < kMishaps; ++j) {
      const auto other = static_cast<Mishap>(j);
      if (tally.together(one, other) == 0) continue;
      json["together"][fmt::format("{}+{}", name_of(one), name_of(other))] =
          tally.together(one, other);
    }
  }
  return json;
}

std::string replay_of(const Arguments& arguments, std::uint64_t seed) {
  std::string line = "lnet-sim run";
  if (!arguments.file.empty()) line += fmt::format(" {}", arguments.file);
  line += fmt::format(" --seed {}", seed);
  if (arguments.time_s) line += fmt::format(" --time {}", *arguments.time_s);
  return line;
}

int run_sites(const Arguments& arguments, std::FILE* out, std::FILE* error) {
  std::optional<SiteConfig> site;
  if (!arguments.file.empty()) {
    site = load_site(arguments.file, error);
    if (!site) return kWrong;
  }
  std::pair<std::uint64_t, std::uint64_t> seeds{1, 1};
  if (site) seeds = {site->seed, site->seed};
  if (arguments.seed) seeds = {*arguments.seed, *arguments.seed};
  if (!arguments.seeds.empty()) {
    const auto parsed = parse_seeds(arguments.seeds);
    if (!parsed) {
      fmt::print(error, "lnet-sim: --seeds '{}': expected FIRST..LAST\n", arguments.seeds);
      return kWrong;
    }
    seeds = *parsed;
  }
  std::uint64_t violations = 0;
  for (std::uint64_t seed = seeds.first;; ++seed) {
    SiteConfig config = site ? site->with_seed(seed) : site_of_seed(seed);
    if (arguments.time_s) {
      config.time = Duration{static_cast<std::int64_t>(*arguments.time_s * 1e9)};
    }
    const SiteReport report = run_site(config);
    if (arguments.json) {
      fmt::print(out, "{}\n", json_of(config, report));
    } else if (!arguments.quiet) {
      fmt::print(out, "{}\n", summary_of(config, report));
    }
    if (!report.violation.empty()) {
      ++violations;
      fmt::print(error, "violation: {} -- replay: {}\n", report.violation,
                 replay_of(arguments, seed));
    }
    if (seed == seeds.second) break;
  }
  return violations == 0 ? 0 : kViolated;
}

int list_sites(const Arguments& arguments, std::FILE* out, std::FILE* error) {
  std::error_code failed;
  const std::filesystem::directory_iterator folder(arguments.folder, failed);
  if (failed) {
    fmt::print(error, "lnet-sim: cannot read the folder {}\n", arguments.folder);
    return kWrong;
  }
  std::vector<std::string> names;
  for (const auto& entry : folder) {
    const std::string name = entry.path().filename();
    if (name.ends_with(".yaml")) names.push_back(arguments.folder + "/" + name);
  }
  std::ranges::sort(names);
  int status = 0;
  for (const std::string& name : names) {
    const auto site = read_site(read_text_file(name).value_or(""), name);
    if (site) {
      fmt::print(out, "{}: {}, {}, {}\n", name, site->name, counted(site->nodes, "node"),
                 counted(site->nets.size(), "net"));
    } else {
      fmt::print(error, "{}\n", site.error().text());
      status = kWrong;
    }
  }
  return status;
}

}  // namespace

std::string summary_of(const SiteConfig& config, const SiteReport& report) {
  const LedgerTally& ops = report.operations;
  return fmt::format(
      "{} seed {}: {} operations, {} delivered, {} acknowledged, {} replies, {} failed, {} kills, "
      "{} relayed, {} messages, {:.3f} s, trace {:016x}{}",
      config.name, config.seed, ops.begun, ops.delivered, ops.acknowledged, ops.replies, ops.failed,
      report.kills, report.wire.relayed, report.wire.offered,
      std::chrono::duration<double>(report.time).count(), report.trace,
      report.violation.empty() ? "" : ", VIOLATED");
}

std::string json_of(const SiteConfig& config, const SiteReport& report) {
  const LedgerTally& ops = report.operations;
  nlohmann::ordered_json json{
      {"site", config.name},
      {"seed", config.seed},
      {"nodes", config.nodes},
      {"violation", report.violation},
      {"trace", fmt::format("{:016x}", report.trace)},
      {"events", report.events},
      {"time_s", std::chrono::duration<double>(report.time).count()},
      {"operations", ops.begun},
      {"delivered", ops.delivered},
      {"acknowledged", ops.acknowledged},
      {"replies", ops.replies},
      {"failed", ops.failed},
      {"lost", ops.silent},
      {"failed_after", report.failed_after},
      {"bytes", ops.bytes},
      {"messages", report.wire.offered},
      {"parked", report.wire.parked},
      {"kept", report.wire.kept},
      {"bytes_handed_on", report.bytes_handed_on},
      {"quarantined", report.wire.quarantined},
      {"connections_lost", report.connections_lost},
      {"wire_faults", report.wire_faults},
      {"kills", report.kills},
      {"flaps", report.flaps},
      {"drains",
       {{"begun", report.drains.begun},
        {"in_time", report.drains.in_time},
        {"restarts", report.drains.restarts},
        {"undrained", report.drains.undrained},
        {"called_off", report.drains.called_off}}},
      {"relayed", report.wire.relayed},
      {"routes_changed", report.routes_changed},
      {"routes_wrong_s_max",
       {{"up", seconds_of(report.routes_wrong, RouteTruth::kUp)},
        {"gone", seconds_of(report.routes_wrong, RouteTruth::kGone)},
        {"link_down", seconds_of(report.routes_wrong, RouteTruth::kLinkDown)},
        {"not_routing", seconds_of(report.routes_wrong, RouteTruth::kNotRouting)}}},
      {"routes_outlasted",
       {{"up", count_of(report.routes_outlasted, RouteTruth::kUp)},
        {"gone", count_of(report.routes_outlasted, RouteTruth::kGone)},
        {"link_down", count_of(report.routes_outlasted, RouteTruth::kLinkDown)},
        {"not_routing", count_of(report.routes_outlasted, RouteTruth::kNotRouting)}}},
      {"peers_deleted", report.peers_deleted},
      {"moves", report.moves},
      {"nack_storms", report.nack_storms},
      {"coverage",
       {{"sender_not_home", report.crossed_home},
        {"matched_elsewhere", report.crossed_match},
        {"answer_not_at_md", report.wire.answer_away},
        {"second_nid", report.wire.second_nid},
        {"entry_named_other_nid", report.other_nid}}}};
  json["mishaps"] = json_of(report.mishaps);
  for (const auto& [name, count] : report.causes)
    json["causes"][std::string(name)] = count;
  for (const auto& [name, count] : report.net_counts)
    json["devices"][name] = count;
  return json.dump();
}

int run_command(int argc, const char* const* argv, std::FILE* out, std::FILE* error) {
  CLI::App app{
      "Sites of LNet nodes in one process, on a simulated clock, with faults, from a seed"};
  app.set_version_flag("--version", std::string("lnet-sim ") + PLNET_VERSION);
  Arguments arguments;
  CLI::App* const run = app.add_subcommand(
      "run", "run a site, or one generated from each seed, and check its invariants");
  run->add_option("site", arguments.file,
                  "site file (YAML); without it the site is generated from the seed");
  run->add_option("--seed", arguments.seed, "instead of the file's");
  run->add_option("--seeds", arguments.seeds, "FIRST..LAST, one run for each");
  run->add_option("--time", arguments.time_s, "simulated seconds of faults");
  run->add_flag("--json", arguments.json, "an object for each run, one a line");
  run->add_flag("--quiet", arguments.quiet, "violations only");
  CLI::App* const list = app.add_subcommand("list", "the sites of a folder");
  list->add_option("folder", arguments.folder, "where to look")->capture_default_str();
  FromConfigArguments from;
  CLI::App* const from_config = add_from_config(app, from);
  WhatIfArguments question;
  CLI::App* const what_if = add_what_if(app, question);
  if (const auto text = manual::answer(app, "lnet-sim", argc, argv)) {
    fmt::print(out, "{}", *text);
    return 0;
  }
  if (argc <= 1) {
    fmt::print(out, "{}", app.help());
    return 0;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& wrong) {
    if (wrong.get_exit_code() == 0) return app.exit(wrong);
    fmt::print(error, "lnet-sim: {}\n", wrong.what());
    return kWrong;
  }
  if (run->parsed()) return run_sites(arguments, out, error);
  if (from_config->parsed()) return run_from_config(from, out, error);
  if (what_if->parsed()) return run_what_if(question, out, error);
  if (list->parsed()) return list_sites(arguments, out, error);
  fmt::print(out, "{}", app.help());
  return 0;
}

}  // namespace plnet::sim
