// SPDX-License-Identifier: BSD-3-Clause
// add_batch, run, stop, list_batch, query.
#include <array>
#include <cerrno>
#include <optional>

#include <fmt/format.h>

#include "apps/lnet-selftest/lst/shell.hpp"
#include "lib/lnet/names/nid_text.hpp"
#include "lib/runtime/verbs/verb_row.hpp"

namespace plnet::lst {
namespace {

using apps::Arguments;
using runtime::row_makers::flag;
using runtime::row_makers::text;
using selftest::BatchInfo;
using selftest::NodeInfo;
using selftest::NodeState;
using selftest::StateCounts;
using selftest::TestInfo;
using selftest::TransactionResult;
using Names = std::vector<std::string>;

constexpr std::string_view kDefaultBatch = "batch";
constexpr std::int64_t kStopQueryTimeoutS = 30;

constexpr auto kRunOptions =
    std::to_array<apps::OptionRow>({text("timeout", 't', "SECONDS", "sent to nodes; 0")});
constexpr auto kStopOptions =
    std::to_array<apps::OptionRow>({flag("force", 'f', "abort requests under way")});
constexpr auto kListBatchOptions = std::to_array<apps::OptionRow>({
    text("test", 't', "N", "one of its tests; from 1"),
    flag("server", 's', "servers instead of clients"),
    flag("active", 'a', "list nodes that have the session"),
    flag("invalid", 'i', "list nodes that do not"),
    flag("all", 'l', "list all nodes"),
});
constexpr auto kQueryOptions = std::to_array<apps::OptionRow>({
    text("test", 't', "N", "one of its tests; 0: all"),
    flag("server", 's', "asks the same nodes, as in the kernel"),
    text("timeout", 'o', "SECONDS", "5"),
    text("delay", 'd', "SECONDS", "between two answers; 5"),
    text("loop", 'c', "N", "answers; 1"),
    flag("active", 'a', "list nodes that run it"),
    flag("idle", 'i', "list nodes that do not"),
    flag("error", 'e', "list nodes that failed"),
    flag("all", 'l', "list all nodes"),
});

int add_batch(const Shell& shell, const Arguments& arguments) {
  const std::string& name = arguments.positional.front();
  if (name.size() > selftest::kConsoleNameMax) {
    complain(shell, fmt::format("Name length is limited to {}\n", selftest::kConsoleNameMax));
    return kLocalError;
  }
  const auto made = ask(shell, "lst add_batch", {{"batch", name}});
  return made ? kGood : local_error(shell, made.error(), "batch", "Failed to create batch");
}

std::string batch_of(const Arguments& arguments) {
  return arguments.positional.empty() ? std::string(kDefaultBatch) : arguments.positional.front();
}

int run(const Shell& shell, const Arguments& arguments) {
  const std::string batch = batch_of(arguments);
  const auto result = ask<TransactionResult>(
      shell, "lst run", {{"batch", batch}, {"timeout", number_or(arguments, "timeout", 0)}});
  if (!result) return local_error(shell, result.error(), "batch", "Failed to start batch");
  if (status_of(*result) == kGood) say(shell, fmt::format("{} is running now\n", batch));
  print_failures(shell, *result, "Run batch");
  return status_of(*result);
}

int stop(const Shell& shell, const Arguments& arguments) {
  const std::string batch = batch_of(arguments);
  const auto over =
      [&shell](const std::expected<TransactionResult, Refusal>& result) -> std::optional<int> {
    if (!result) return local_error(shell, result.error(), "batch", "Failed to stop batch");
    print_failures(shell, *result, "stop batch");
    return status_of(*result) == kGood ? std::nullopt : std::optional(status_of(*result));
  };
  const auto stopped = ask<TransactionResult>(
      shell, "lst stop", {{"batch", batch}, {"force", arguments.has("force")}});
  if (const auto status = over(stopped)) return *status;
  while (true) {
    const auto left = ask<TransactionResult>(
        shell, "lst query",
        {{"batch", batch}, {"test", 0}, {"servers", false}, {"timeout", kStopQueryTimeoutS}});
    if (const auto status = over(left)) return *status;
    if (left->running == 0 && left->refused == 0) break;
    say(shell, fmt::format("{} batch in stopping\n", left->running));
    shell.pause(std::chrono::seconds(1));
  }
  say(shell, "Batch is stopped\n");
  return kGood;
}

// --- list_batch ---

int no_tests(const Shell& shell, const Refusal& refusal, std::int64_t test) {
  return test > 0 ? local_error(shell, refusal, "test", "Failed to query test")
                  : local_error(shell, refusal, "batch", "Failed to query batch");
}

void print_sides(const Shell& shell, const StateCounts& clients, const StateCounts& servers) {
  say(shell, "\tACTIVE\tBUSY\tDOWN\tUNKNOWN\tTOTAL\n");
  for (const auto& [side, counts] : {std::pair("client", clients), std::pair("server", servers)}) {
    say(shell, fmt::format("{}\t{}\t{}\t{}\t{}\t{}\n", side, counts.active, counts.busy,
                           counts.down, counts.unknown, counts.total()));
  }
}

int list_nodes(const Shell& shell, const Arguments& arguments, std::int64_t test) {
  const bool all = arguments.has("all");
  unsigned states = 0;
  if (all || arguments.has("active")) states |= selftest::mask_of(NodeState::kActive);
  if (all || arguments.has("invalid")) states |= selftest::kInvalidStates;
  const auto nodes = ask<std::vector<NodeInfo>>(shell, "lst batch_nodes",
                                                {{"batch", arguments.positional.front()},
                                                 {"test", test},
                                                 {"servers", arguments.has("server")},
                                                 {"states", selftest::kAllStates}});
  if (!nodes) return no_tests(shell, nodes.error(), test);
  if (nodes->empty()) return kGood;
  unsigned shown = 0;
  for (const NodeInfo& node : *nodes) {
    if ((selftest::mask_of(node.state) & states) == 0) continue;
    say(shell, fmt::format("\t{}: {}\n", lnet::text_of(node.id), text_of(node.state)));
    ++shown;
  }
  say(shell, fmt::format("Total {} nodes\n", shown));
  return kGood;
}

int list_test(const Shell& shell, const std::string& batch, std::int64_t test) {
  const auto info = ask<TestInfo>(shell, "lst test_info", {{"batch", batch}, {"test", test}});
  if (!info) return no_tests(shell, info.error(), test);
  say(shell, fmt::format("\tTest {}({}) (loop: {}, concurrency: {})\n", test,
                         info->service == selftest::Service::kBrw ? "brw" : "ping", info->loop,
                         info->concurrency));
  print_sides(shell, info->clients, info->servers);
  return kGood;
}

int list_batch_names(const Shell& shell) {
  const auto batches = ask<Names>(shell, "lst list_batches", {});
  if (!batches) return local_error(shell, batches.error(), "batch", "Failed to list batch");
  for (std::size_t i = 0; i < batches->size(); ++i)
    say(shell, fmt::format("{}) {}\n", i + 1, (*batches)[i]));
  say(shell, fmt::format("Total {} batches\n", batches->size()));
  return kGood;
}

int list_batch(const Shell& shell, const Arguments& arguments) {
  if (arguments.positional.empty()) return list_batch_names(shell);
  const std::string& batch = arguments.positional.front();
  const std::int64_t test = number_or(arguments, "test", 0);
  if (arguments.has("test") && test <= 0) {
    complain(shell, "Invalid test id, test id starts from 1\n");
    return kLocalError;
  }
  const bool names = arguments.has("active") || arguments.has("invalid") || arguments.has("all");
  if (names) return list_nodes(shell, arguments, test);
  if (test > 0) return list_test(shell, batch, test);
  const auto info = ask<BatchInfo>(shell, "lst batch_info", {{"batch", batch}});
  if (!info) return no_tests(shell, info.error(), 0);
  say(shell, fmt::format("Batch: {} Tests: {} State: {}\n", batch, info->tests,
                         static_cast<unsigned>(info->state)));
  print_sides(shell, info->clients, info->servers);
  for (std::uint32_t each = 1; each <= info->tests; ++each) {
    if (const int status = list_test(shell, batch, each); status != kGood) return status;
  }
  return kGood;
}

// --- query ---

struct Query {
  std::string batch;
  std::int64_t test = 0;
  bool active = false;
  bool idle = false;
  bool error = false;
  bool all = false;

  [[nodiscard]] bool names() const { return active || idle || error || all; }
};

void print_nodes(const Shell& shell, const Query& query, const TransactionResult& result) {
  if (result.nodes.empty()) say(shell, "Batch or test is empty\n");
  for (const selftest::NodeResult& node : result.nodes) {
    const auto* const seen = std::get_if<selftest::QuerySeen>(&node.seen);
    const bool runs = seen != nullptr && seen->active > 0;
    if ((query.active && !runs) || (query.idle && runs) || (query.error && !node.refused)) continue;
    const std::string how =
        node.rpc_errno != 0 ? text_of_errno(node.rpc_errno) : (runs ? "Running" : "Idle");
    say(shell, fmt::format("{} [{}]: {}\n", lnet::text_of(node.id), text_of(node.state), how));
  }
}

void print_summary(const Shell& shell, const Query& query, const TransactionResult& result) {
  say(shell, fmt::format("{} [{}] ", query.batch, query.test));
  if (result.rpcs_failed != 0)
    say(shell, fmt::format("{} of {} nodes are unknown, ", result.rpcs_failed, result.total()));
  const bool all_said = result.rpcs_failed == 0 && result.refused == 0;
  if (all_said && result.running == 0) return say(shell, "is stopped\n");
  if (all_said && result.idle == 0) return say(shell, "is running\n");
  say(shell, fmt::format("stopped: {} , running: {}, failed: {}\n", result.idle, result.running,
                         result.refused));
}

int query(const Shell& shell, const Arguments& arguments);

constexpr auto kBatchCommands = std::to_array<Command>({
    {.name = "add_batch",
     .usage = "NAME",
     .help = "create a batch, a set of tests that run together",
     .words_min = 1,
     .words_max = 1,
     .run = add_batch},
    {.name = "run",
     .usage = "[--timeout SECONDS] [BATCH]",
     .help = "run all tests of a batch",
     .options = kRunOptions,
     .words_max = 1,
     .run = run},
    {.name = "stop",
     .usage = "[--force] [BATCH]",
     .help = "stop a batch, and wait for its end",
     .options = kStopOptions,
     .words_max = 1,
     .run = stop},
    {.name = "list_batch",
     .usage = "[--test N] [--server] [--active] [--invalid] [--all] [NAME]",
     .help = "list the batches, or one of them",
     .options = kListBatchOptions,
     .words_max = 1,
     .run = list_batch},
    {.name = "query",
     .usage = "[--test N] [--server] [--timeout SECONDS] [--delay SECONDS] [--loop N] [--active] "
              "[--idle] [--error] [--all] [BATCH]",
     .help = "show whether a batch runs",
     .options = kQueryOptions,
     .words_max = 1,
     .run = query},
});

int query(const Shell& shell, const Arguments& arguments) {
  const Query what{.batch = batch_of(arguments),
                   .test = number_or(arguments, "test", 0),
                   .active = arguments.has("active"),
                   .idle = arguments.has("idle"),
                   .error = arguments.has("error"),
                   .all = arguments.has("all")};
  const std::int64_t timeout = number_or(arguments, "timeout", 5);
  const std::int64_t delay = number_or(arguments, "delay", 5);
  const std::int64_t loop = number_or(arguments, "loop", 1);
  if (what.test < 0 || timeout <= 0 || delay <= 0 || loop <= 0)
    return usage_error(shell, kBatchCommands.back());
  int status = kGood;
  for (std::int64_t i = 0; i < loop; ++i) {
    if (i > 0) shell.pause(std::chrono::seconds(delay));
    const auto result = ask<TransactionResult>(shell, "lst query",
                                               {{"batch", what.batch},
                                                {"test", what.test},
                                                {"servers", arguments.has("server")},
                                                {"timeout", timeout}});
    if (!result) {
      complain(shell,
               fmt::format("Failed to query batch: {}\n", text_of_errno(result.error().number)));
      return kLocalError;
    }
    what.names() ? print_nodes(shell, what, *result) : print_summary(shell, what, *result);
    status = status_of(*result);
  }
  return status;
}

}  // namespace

std::span<const Command> batch_commands() {
  return kBatchCommands;
}

}  // namespace plnet::lst
