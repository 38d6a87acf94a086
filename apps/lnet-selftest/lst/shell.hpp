// SPDX-License-Identifier: BSD-3-Clause
// The environment of a command of lst: the session, the output, the access to the console. Tests
// provide their own.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <expected>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "apps/lnet-selftest/lst/console_json.hpp"
#include "apps/lnetctl/command_row.hpp"
#include "lib/runtime/files/nic_names.hpp"

namespace plnet::lst {

// Results of commands; the exit status is the last byte.
inline constexpr int kGood = 0;
inline constexpr int kLocalError = -1;      // 255: nothing was sent
inline constexpr int kRpcError = -2;        // 254: a node did not answer
inline constexpr int kFrameworkError = -3;  // 253: a node refused

struct Shell {
  using Args = nlohmann::json;
  using Asked = std::expected<Json, Refusal>;

  std::FILE* in = stdin;
  std::FILE* out = stdout;
  std::FILE* err = stderr;
  runtime::NicNames names{};  // appended to lines with their NIDs
  std::uint32_t key = 0;      // LST_SESSION; 0: none
  std::uint32_t parent = 0;   // of this process: the default key of new_session
  std::uint32_t features = selftest::kFeaturesKnown;
  std::string default_name;  // of a session: user@host
  // Sends a request to the console with the session `key`; before new_session, to one that may have
  // it.
  std::function<Asked(std::string_view verb, const Args& args)> ask;
  std::function<Asked(const Args& args)> ask_for_session;
  std::function<void(std::chrono::seconds)> pause;
  std::function<std::chrono::seconds()> now;  // any monotonic clock
};

void say(const Shell& shell, std::string_view text);       // standard output
void complain(const Shell& shell, std::string_view text);  // standard error

// Sends a request with the key of the session and reads the answer. The error is an errno with its
// reason.
template <class T>
[[nodiscard]] std::expected<T, Refusal> ask(const Shell& shell, std::string_view verb,
                                            Shell::Args args) {
  args["key"] = shell.key;
  auto answer = shell.ask(verb, args);
  if (!answer) return std::unexpected(std::move(answer.error()));
  auto read = from_json<T>(*answer);
  if (!read) return std::unexpected(Refusal{EPROTO, std::move(read.error().what)});
  return std::move(*read);
}
// The same for a verb without a result.
[[nodiscard]] std::expected<void, Refusal> ask(const Shell& shell, std::string_view verb,
                                               Shell::Args args);

// The text of strerror().
[[nodiscard]] std::string text_of_errno(int number);
// The text of lst for a state of a node.
[[nodiscard]] std::string_view text_of(selftest::NodeState state);

// Prints lst's message for an error that is not a node's. `what` is missing or duplicate; `failed`
// is the default message.
int local_error(const Shell& shell, const Refusal& refusal, std::string_view what,
                std::string_view failed);

// The status for the result of a transaction.
[[nodiscard]] int status_of(const selftest::TransactionResult& result);
// Prints a line on standard error for each node that failed.
void print_failures(const Shell& shell, const selftest::TransactionResult& result,
                    std::string_view operation);

// --- Commands ---

struct Command {
  std::string_view name;
  std::string_view usage;  // appended to the name
  std::string_view help;
  std::span<const apps::OptionRow> options{};
  std::size_t words_min = 0;
  std::size_t words_max = 0;
  bool without_key = false;  // needs no LST_SESSION
  int (*run)(const Shell& shell, const apps::Arguments& arguments) = nullptr;
};

[[nodiscard]] std::span<const Command> session_commands();
[[nodiscard]] std::span<const Command> group_commands();
[[nodiscard]] std::span<const Command> batch_commands();
[[nodiscard]] std::span<const Command> test_commands();
[[nodiscard]] std::span<const Command> stat_commands();

inline constexpr std::size_t kAnyWords = 4096;  // no command line has more
int usage_error(const Shell& shell, const Command& command);

// The value of an option, or the default. Text that is not a C number gives 0, which every option
// refuses.
[[nodiscard]] std::int64_t number_or(const apps::Arguments& arguments, std::string_view name,
                                     std::int64_t otherwise);

}  // namespace plnet::lst
