// SPDX-License-Identifier: BSD-3-Clause
// A command of lnetctl: the row of a verb that the node shares (lib/runtime/verbs), and what only
// lnetctl does with it.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "apps/lnetctl/host_names.hpp"
#include "lib/base/clock.hpp"
#include "lib/base/result.hpp"
#include "lib/runtime/control/protocol.hpp"
#include "lib/runtime/control/yaml_printer.hpp"
#include "lib/runtime/files/nic_names.hpp"
#include "lib/runtime/verbs/verb_row.hpp"

namespace plnet::apps {

using runtime::Json;

using runtime::OptionKind;
using runtime::OptionList;
using runtime::OptionRow;
namespace row_makers = runtime::row_makers;

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
// The text of a success for standard output.
using PrintResult = std::string (*)(const Json& result);
// The whole command, for those that are not simply a verb. Returns the exit status.
using RunCommand = int (*)(const Arguments& arguments, const CommandRow& row, Session& session);

struct CommandRow {
  runtime::VerbRow verb;
  BuildArgs build = nullptr;    // null: args_by_name()
  PrintResult print = nullptr;  // null: as the row of the verb says
  RunCommand run = nullptr;     // null: ask the verb
  runtime::YamlBooleans booleans = runtime::YamlBooleans::kCapital;
};

// The world of a command: where it prints, how it asks the node. Tests bring their own.
struct Session {
  using Ask = std::function<runtime::VerbReply(std::string_view verb, const nlohmann::json& args)>;

  std::FILE* in = stdin;
  std::FILE* out = stdout;
  std::FILE* err = stderr;
  bool json = false;         // print results as JSON
  bool live_screen = false;  // `out` is a terminal that a command may clear
  runtime::NicNames names;
  Ask ask;
  HostLookup look_up;   // null: host names are not looked up
  Duration patience{};  // of the next question, if the node may take longer than others do
  std::function<void(std::chrono::seconds)> pause;  // between two answers of the same command
};

// Every option and positional argument that is not lnetctl's alone, as a verb gets them.
[[nodiscard]] nlohmann::json args_by_name(const Arguments& arguments, const CommandRow& row);

void print_text(std::FILE* file, std::string_view text);

// Prints the errors as lnetctl does (operation → list → entity → [seq_no], errno, descr) and
// returns the exit status: the negative errno of the first one, truncated to a byte.
int print_error(Session& session, const CommandRow& row, const runtime::VerbError& error);
// Prints what a success prints; YAML has the names of hosts behind NIDs of NICs.
int print_result(Session& session, const CommandRow& row, const Json& result);

}  // namespace plnet::apps
