// SPDX-License-Identifier: BSD-3-Clause
// The world of a command of lst: who it speaks for, where it prints, how it asks the console. Tests
// bring their own.
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

// What a command returns; the exit status is its last byte.
inline constexpr int kGood = 0;
inline constexpr int kLocalError = -1;      // 255: nothing was sent
inline constexpr int kRpcError = -2;        // 254: some node did not answer
inline constexpr int kFrameworkError = -3;  // 253: some node refused

struct Shell {
  using Args = nlohmann::json;
  using Asked = std::expected<Json, Refusal>;

  std::FILE* in = stdin;
  std::FILE* out = stdout;
  std::FILE* err = stderr;
  runtime::NicNames names{};  // stand behind lines that have their NIDs
  std::uint32_t key = 0;      // LST_SESSION; 0: none
  std::uint32_t parent = 0;   // of this process: the key that new_session takes without one
  std::uint32_t features = selftest::kFeaturesKnown;
  std::string default_name;  // of a session: user@host
  // The console that has the session `key`; before new_session, one that can have it.
  std::function<Asked(std::string_view verb, const Args& args)> ask;
  std::function<Asked(const Args& args)> ask_for_session;
  std::function<void(std::chrono::seconds)> pause;
  std::function<std::chrono::seconds()> now;  // of any clock that only goes on
};

void say(const Shell& shell, std::string_view text);       // standard output
void complain(const Shell& shell, std::string_view text);  // standard error

// Asks with the key of the session, and reads the answer. A number of errno and its reason if there
// is none.
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
// The same for a verb that tells nothing.
[[nodiscard]] std::expected<void, Refusal> ask(const Shell& shell, std::string_view verb,
                                               Shell::Args args);

// As strerror() has it.
[[nodiscard]] std::string text_of_errno(int number);
// Of nodes as lst prints it.
[[nodiscard]] std::string_view text_of(selftest::NodeState state);

// What lst says of an error that is not a node's. `what` is missing or there twice; `failed` says
// what could not be done, if nothing better is known.
int local_error(const Shell& shell, const Refusal& refusal, std::string_view what,
                std::string_view failed);

// What a transaction came to, as a status.
[[nodiscard]] int status_of(const selftest::TransactionResult& result);
// A line on standard error for each node that failed.
void print_failures(const Shell& shell, const selftest::TransactionResult& result,
                    std::string_view operation);

// --- Commands ---

struct Command {
  std::string_view name;
  std::string_view usage;  // behind the name
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

inline constexpr std::size_t kAnyWords = 4096;  // more fit on no command line
int usage_error(const Shell& shell, const Command& command);

// The number of an option, or what holds without it. Anything but a number of the C language is 0,
// which no option takes.
[[nodiscard]] std::int64_t number_or(const apps::Arguments& arguments, std::string_view name,
                                     std::int64_t otherwise);

}  // namespace plnet::lst
