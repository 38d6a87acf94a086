// SPDX-License-Identifier: BSD-3-Clause
// stat, show_error.
#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

#include "apps/lnet-selftest/lst/nid_words.hpp"
#include "apps/lnet-selftest/lst/rates.hpp"
#include "apps/lnet-selftest/lst/shell.hpp"
#include "lib/lnet/names/nid_text.hpp"
#include "lib/runtime/verbs/verb_row.hpp"

namespace plnet::lst {
namespace {

using apps::Arguments;
using runtime::row_makers::flag;
using runtime::row_makers::text;
using selftest::TransactionResult;
using Names = std::vector<std::string>;

constexpr std::int64_t kErrorTimeoutS = 10;

constexpr auto kStatOptions = std::to_array<apps::OptionRow>({
    flag("bw", 'b', "bandwidth only"),
    flag("rate", 'a', "rates only"),
    flag("read", 'r', "what nodes send for reads: [W]"),
    flag("write", 'w', "what nodes receive for writes: [R]"),
    flag("avg", 'g', "averages only"),
    flag("min", 'n', "minima only"),
    flag("max", 'x', "maxima only"),
    flag("mbs", 'm', "MB/s instead of MiB/s"),
    flag("lnet", 'l', "counters of LNet; the default"),
    flag("rpc", 'c', "prints nothing, as in the kernel"),
    text("timeout", 't', "SECONDS", "5"),
    text("delay", 'd', "SECONDS", "between two samples; 5"),
    text("count", 0, "N", "number of intervals; -1: until stopped"),
});
constexpr auto kErrorOptions =
    std::to_array<apps::OptionRow>({flag("session", 's', "of the session only")});

// A group, or a list of nodes.
struct CounterSource {
  std::string name;
  Shell::Args args;
  std::optional<TransactionResult> before;
};

// Nothing: the reason has been printed.
std::optional<std::vector<CounterSource>> read_sources(const Shell& shell, const Names& words) {
  const auto groups = ask<Names>(shell, "lst list_groups", {});
  if (!groups) {
    local_error(shell, groups.error(), "group", "Failed to list group");
    return std::nullopt;
  }
  std::vector<CounterSource> sources;
  for (const std::string& word : words) {
    if (std::ranges::find(*groups, word) != groups->end()) {
      sources.push_back({.name = word, .args = {{"group", word}}, .before = {}});
      continue;
    }
    const auto nodes = read_nodes(word);
    if (!nodes) {
      complain(shell,
               fmt::format("Failed to get count of nodes from {}: {}\n", word, nodes.error().what));
      return std::nullopt;
    }
    sources.push_back({.name = word, .args = {{"nodes", *nodes}}, .before = {}});
  }
  return sources;
}

RateColumns columns_of(const Arguments& arguments) {
  RateColumns columns;
  columns.decimal = arguments.has("mbs");
  if (arguments.has("bw") != arguments.has("rate")) {
    columns.rates = arguments.has("rate");
    columns.bandwidth = arguments.has("bw");
  }
  // lst: jt_lst_stat() uses these options to leave out the other line.
  if (arguments.has("read") != arguments.has("write")) {
    columns.received = arguments.has("write");
    columns.sent = arguments.has("read");
  }
  if (arguments.has("avg") || arguments.has("min") || arguments.has("max")) {
    columns.average = arguments.has("avg");
    columns.least = arguments.has("min");
    columns.most = arguments.has("max");
  }
  return columns;
}

// Takes one sample of a source; returns its status.
int sample(const Shell& shell, CounterSource& source, const RateColumns& columns, bool prints) {
  auto now = ask<TransactionResult>(shell, "lst stat", source.args);
  if (!now) {
    return local_error(shell, now.error(), "stat", fmt::format("Failed to stat {}", source.name));
  }
  if (source.before) {
    const Rates rates = rates_between(*source.before, *now, columns.decimal);
    if (rates.changed) complain(shell, "Group is changed, re-run stat\n");
    if (rates.failed > 0) say(shell, fmt::format("Failed to stat on {} nodes\n", rates.failed));
    if (prints) say(shell, text_of_rates(rates, columns, source.name));
  }
  const int status = status_of(*now);
  source.before = std::move(*now);
  return status;
}

int stat(const Shell& shell, const Arguments& arguments) {
  const std::int64_t timeout = number_or(arguments, "timeout", 5);
  const std::int64_t delay = number_or(arguments, "delay", 5);
  const std::int64_t count = number_or(arguments, "count", -1);
  if (timeout <= 0 || delay <= 0) {
    complain(shell, "Invalid timeout or delay value\n");
    return kLocalError;
  }
  if (count < -1) {
    complain(shell, "Invalid count value\n");
    return kLocalError;
  }
  auto sources = read_sources(shell, arguments.positional);
  if (!sources) return kLocalError;
  const RateColumns columns = columns_of(arguments);
  int status = kGood;
  std::chrono::seconds next{};
  // The first sample only starts an interval.
  for (std::int64_t i = 0; count == -1 || i <= count; ++i) {
    const auto now = shell.now();
    if (i > 0 && now < next) shell.pause(next - now);
    next = shell.now() + std::chrono::seconds(delay);
    for (CounterSource& source : *sources) {
      source.args["timeout"] = timeout;
      status = sample(shell, source, columns, !arguments.has("rpc") || arguments.has("lnet"));
      if (status == kLocalError) return status;
    }
  }
  return status;
}

// Prints the errors of a node; returns true if it has some.
bool print_errors(const Shell& shell, const selftest::NodeResult& node, bool session_only) {
  const auto* const seen = std::get_if<selftest::StatSeen>(&node.seen);
  if (node.rpc_errno != 0 || node.refused || seen == nullptr) {
    complain(shell, fmt::format("{} failure, can't show error on {}\n",
                                node.rpc_errno != 0 ? "RPC" : "Framework", lnet::text_of(node.id)));
    return true;
  }
  const bool of_session = seen->framework.brw_errors != 0 || seen->framework.ping_errors != 0;
  if (!of_session && (session_only || seen->rpc.errors == 0)) return false;
  complain(shell, fmt::format("{}: [Session {} brw errors, {} ping errors]{}",
                              lnet::text_of(node.id), seen->framework.brw_errors,
                              seen->framework.ping_errors, session_only ? '\n' : ' '));
  if (session_only) return true;
  complain(shell, fmt::format("[RPC: {} errors, {} dropped, {} expired]\n", seen->rpc.errors,
                              seen->rpc.dropped, seen->rpc.expired));
  return true;
}

int show_error(const Shell& shell, const Arguments& arguments) {
  auto sources = read_sources(shell, arguments.positional);
  if (!sources) return kLocalError;
  int status = kGood;
  for (CounterSource& source : *sources) {
    source.args["timeout"] = kErrorTimeoutS;
    const auto result = ask<TransactionResult>(shell, "lst stat", source.args);
    if (!result) {
      return local_error(shell, result.error(), source.name,
                         fmt::format("Failed to show errors of {}", source.name));
    }
    say(shell, fmt::format("{}:\n", source.name));
    unsigned errors = 0;
    for (const auto& node : result->nodes)
      errors += print_errors(shell, node, arguments.has("session")) ? 1 : 0;
    say(shell, fmt::format("Total {} error nodes in {}\n", errors, source.name));
    status = status_of(*result);
  }
  return status;
}

constexpr auto kStatCommands = std::to_array<Command>({
    {.name = "stat",
     .usage = "[--bw] [--rate] [--read] [--write] [--avg] [--min] [--max] [--mbs] [--timeout "
              "SECONDS] [--delay SECONDS] [--count N] NAME|IDS...",
     .help = "show rates and bandwidths, interval by interval",
     .options = kStatOptions,
     .words_min = 1,
     .words_max = kAnyWords,
     .run = stat},
    {.name = "show_error",
     .usage = "[--session] NAME|IDS...",
     .help = "show the errors that nodes have counted",
     .options = kErrorOptions,
     .words_min = 1,
     .words_max = kAnyWords,
     .run = show_error},
});

}  // namespace

std::span<const Command> stat_commands() {
  return kStatCommands;
}

}  // namespace plnet::lst
