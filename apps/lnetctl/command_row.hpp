// SPDX-License-Identifier: BSD-3-Clause
// What one command of lnetctl is: a row. A new command is a new row in commands.cpp and, on the
// node's side, a verb of the same words.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "lib/base/clock.hpp"
#include "lib/base/result.hpp"
#include "lib/runtime/control/protocol.hpp"
#include "lib/runtime/files/nic_names.hpp"

namespace plnet::apps {

using runtime::Json;

enum class OptionKind : std::uint8_t {
  kFlag,
  kText,
  kTexts,   // may be repeated: the values joined with commas
  kNumber,  // decimal, 0x hexadecimal or 0 octal, as C has it
  kLevel,   // -v, -v 2, -v2, --verbose, --verbose 2, --verbose=2; alone it means 1
};

struct OptionRow {
  std::string_view name;  // long, without dashes
  char short_name = 0;    // 0 = none
  OptionKind kind = OptionKind::kText;
  std::string_view value_name{};  // in the help: NET, N; "" for flags
  std::string_view help;
};

// A command line after its words, checked against the row.
struct Arguments {
  std::map<std::string, std::string, std::less<>> options;  // long name → value, "" for flags
  std::vector<std::string> positional;

  [[nodiscard]] bool has(std::string_view name) const { return options.contains(name); }
  // "" if not given.
  [[nodiscard]] std::string text(std::string_view name) const;
  // Only for options that are numbers or levels, which the parser has checked.
  [[nodiscard]] std::optional<std::int64_t> number(std::string_view name) const;
};

struct Session;
struct CommandRow;

// args of the verb; an error is one of usage.
using BuildArgs = Outcome<nlohmann::json> (*)(const Arguments& arguments, const CommandRow& row);
// What a success prints on standard output.
using PrintResult = std::string (*)(const Json& result);
// The whole command, for those that are not simply a verb. Returns the exit status.
using RunCommand = int (*)(const Arguments& arguments, const CommandRow& row, Session& session);

struct CommandRow {
  std::string_view words;  // "net show"
  std::string_view help;
  std::span<const OptionRow> options{};
  std::string_view positional{};  // in the usage: "[FILE]"; one argument is sent under this name in
                                  // lower case, several as a list
  std::size_t positional_min = 0;
  std::size_t positional_max = 0;
  bool whole_only = false;              // no beginning of its words stands for it
  std::string_view operation = "show";  // of errors: add, del, show, set, manage, …
  std::string_view entity{};            // of errors: net, route, …
  BuildArgs build = nullptr;            // null: every option under its name, '-' as '_'
  PrintResult print = nullptr;          // null: YAML
  RunCommand run = nullptr;             // null: ask the verb `words`
  Duration patience{};                  // if the node may take longer than it does for others
};

// A change may have to wait for a start that waits for its gateways (router_ping_timeout twice), or
// for another change that is taken back, for which a NIC has to let go of an NI.
inline constexpr Duration kChangePatience = std::chrono::seconds(240);

// The world of a command: where it prints, how it asks the node. Tests bring their own.
struct Session {
  using Ask = std::function<runtime::VerbReply(std::string_view verb, const nlohmann::json& args)>;

  std::FILE* in = stdin;
  std::FILE* out = stdout;
  std::FILE* err = stderr;
  bool json = false;  // print results as JSON
  runtime::NicNames names;
  Ask ask;
  Duration patience{};  // of the next question, if the node may take longer than others do
  std::function<void(std::chrono::seconds)> pause;  // between two answers of the same command
};

// Every argument under its name, as a verb gets them.
[[nodiscard]] nlohmann::json args_by_name(const Arguments& arguments, const CommandRow& row);

void print_text(std::FILE* file, std::string_view text);

// Prints the errors as lnetctl does (operation → list → entity → [seq_no], errno, descr) and
// returns the exit status: the negative errno of the first one, truncated to a byte.
int print_error(Session& session, const CommandRow& row, const runtime::VerbError& error);
// Prints what a success prints; YAML has the names of hosts behind NIDs of NICs.
int print_result(Session& session, const CommandRow& row, const Json& result);

}  // namespace plnet::apps
