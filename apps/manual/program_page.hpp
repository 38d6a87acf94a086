// SPDX-License-Identifier: BSD-3-Clause
// A program as its manual page and its completion show it: commands and options of the tables that
// its --help prints.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace plnet::manual {

// The values that completion offers. NIDs, networks and interfaces are those of the running node.
enum class Values : std::uint8_t { kNone, kFile, kFolder, kNid, kNet, kInterface };

struct Option {
  char letter = 0;      // 0: none
  std::string name{};   // empty: an argument that is no option, with its help
  std::string value{};  // as --help names it; empty: a flag
  std::string help{};
  bool value_optional = false;
  std::vector<std::string> choices{};
  std::vector<std::string> other_names{};  // other spellings
};

struct Command {
  std::string words{};
  std::string usage{};  // behind the options: "NID [NID ...]"
  std::string help{};
  std::vector<Option> options{};
  std::vector<std::string> choices{};  // of its first argument
  bool elsewhere = false;              // a page of its own describes it: for completion only
};

struct ProgramPage {
  std::string name{};
  std::string help{};
  std::string usage{};
  std::vector<Option> options{};
  std::vector<Command> commands{};
  std::string details{};  // printed as it is
};

// The values that a value name or a usage stands for: "FILE", "NID [NID ...]", "NET".
[[nodiscard]] Values values_of(std::string_view value_name);

// The page in the language mdoc, for man(1).
[[nodiscard]] std::string mdoc_of(const ProgramPage& page);

// A completion script for bash or zsh; "" for other shells.
[[nodiscard]] std::string completion_of(const ProgramPage& page, std::string_view shell);

// Every program has these two options, which stand alone on its command line.
inline constexpr std::string_view kPrintManual = "print-manual";
inline constexpr std::string_view kPrintManualHelp = "print the manual page, for mandoc or man -l";
inline constexpr std::string_view kCompletion = "completion";
inline constexpr std::string_view kCompletionHelp = "print a completion script, for bash or zsh";
// The text if the command line has one of them. `words` begin with the program's name.
[[nodiscard]] std::optional<std::string> answer(const ProgramPage& page, int count,
                                                const char* const* words);

// --- A page about a file ---

struct KeyEntry {
  std::string path{};
  std::string text{};
};
struct FilePage {
  std::string name{};
  std::string help{};
  std::string text{};
  std::vector<KeyEntry> keys{};
};
[[nodiscard]] std::string mdoc_of(const FilePage& page);

}  // namespace plnet::manual
