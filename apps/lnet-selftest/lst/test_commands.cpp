// SPDX-License-Identifier: BSD-3-Clause
// add_test.
#include <array>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "apps/lnet-selftest/lst/shell.hpp"
#include "apps/lnet-selftest/lst/test_words.hpp"
#include "lib/runtime/verbs/verb_row.hpp"

namespace plnet::lst {
namespace {

using apps::Arguments;
using runtime::row_makers::flag;
using runtime::row_makers::text;
using selftest::AddTest;
using selftest::TransactionResult;

constexpr auto kOptions = std::to_array<apps::OptionRow>({
    text("batch", 'b', "NAME", "batch"),
    text("loop", 'l', "N", "requests of each unit; -1: until stopped"),
    text("concurrency", 'c', "N", "requests under way between each pair; 1"),
    text("distribute", 'd', "D:S", "D clients share S servers; 1:1"),
    text("from", 'f', "GROUP", "clients"),
    text("to", 't', "GROUP", "servers"),
    flag("allow-discard", 0,
         "assert that no kernel node is older than June 2026 (discard crashes those)"),
});

int add_test(const Shell& shell, const Arguments& arguments);

constexpr auto kTestCommands = std::to_array<Command>({
    {.name = "add_test",
     .usage = "[--batch NAME] [--loop N] [--concurrency N] [--distribute D:S] --from GROUP --to "
              "GROUP ping | brw [read|write] [check=full|simple|discard] [size=N[k|M]] [off=N]",
     .help = "add a test between two groups to a batch",
     .options = kOptions,
     .words_min = 1,
     .words_max = kAnyWords,
     .run = add_test},
});

int refuse(const Shell& shell, std::string_view why) {
  complain(shell, fmt::format("{}\n", why));
  return kLocalError;
}

// Nothing: invalid numbers, and the error has been printed.
std::optional<AddTest> read_options(const Shell& shell, const Arguments& arguments) {
  AddTest test;
  test.batch = arguments.has("batch") ? arguments.text("batch") : "batch";
  test.from = arguments.text("from");
  test.to = arguments.text("to");
  test.nodes_know_discard = arguments.has("allow-discard");
  const std::int64_t concurrency = number_or(arguments, "concurrency", 1);
  if (concurrency <= 0 || concurrency > selftest::kConcurrencyMax) {
    refuse(shell, fmt::format("Invalid concurrency of test: {}", concurrency));
    return std::nullopt;
  }
  test.concurrency = static_cast<std::uint32_t>(concurrency);
  const std::int64_t loop = number_or(arguments, "loop", -1);
  if (!std::in_range<std::int32_t>(loop)) {
    refuse(shell, fmt::format("Invalid loop of test: {}", arguments.text("loop")));
    return std::nullopt;
  }
  test.loop = static_cast<std::int32_t>(loop);
  if (arguments.has("distribute")) {
    const auto read = read_distribution(arguments.text("distribute"));
    if (!read) {
      refuse(shell, read.error().what);
      return std::nullopt;
    }
    test.distribute = read->distribute;
    test.span = read->span;
  }
  return test;
}

int add_test(const Shell& shell, const Arguments& arguments) {
  if (!arguments.has("from") || !arguments.has("to"))
    return usage_error(shell, kTestCommands.back());
  auto test = read_options(shell, arguments);
  if (!test) return kLocalError;
  const std::string& name = arguments.positional.front();
  const auto kind = read_test(name, std::span(arguments.positional).subspan(1));
  if (!kind) {
    refuse(shell, kind.error().what);
    return refuse(shell, fmt::format("Failed to add test ({})", name));
  }
  test->test = *kind;
  Shell::Args args;
  args["test"] = nlohmann::json(to_json(*test));
  const auto result = ask<TransactionResult>(shell, "lst add_test", args);
  if (!result) return local_error(shell, result.error(), "test", "Failed to add test");
  if (status_of(*result) == kGood) say(shell, "Test was added successfully\n");
  print_failures(shell, *result, "add test");
  return status_of(*result);
}

}  // namespace

std::span<const Command> test_commands() {
  return kTestCommands;
}

}  // namespace plnet::lst
