// SPDX-License-Identifier: BSD-3-Clause
// Finds and runs commands of a table: unique prefixes, ambiguity, help, usage errors.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "apps/lnetctl/command_row.hpp"
#include "apps/manual/program_page.hpp"

namespace plnet::apps {

inline constexpr std::string_view kWithoutCommand = "without a command: read commands line by line";

class CommandTable {
 public:
  explicit CommandTable(std::span<const CommandRow> rows) : rows_(rows) {}

  // Runs one command line (without the program's name) and returns the exit status.
  int run(std::span<const std::string> words, Session& session) const;

  // One command to a line.
  [[nodiscard]] std::string list() const;
  // The text of `help`.
  [[nodiscard]] std::string overview() const;
  [[nodiscard]] static std::string help_of(const runtime::VerbRow& verb);
  // The commands for the manual page and completion.
  [[nodiscard]] manual::ProgramPage page(const OptionList& global_options) const;
  // At the prompt, of a line up to the cursor: the words that the last one may become, and the
  // commands or options that may follow with their help.
  [[nodiscard]] std::vector<std::string> candidates(std::string_view line) const;
  [[nodiscard]] std::string help_at(std::string_view line) const;
  // The values that the last word of the line may have.
  struct Awaited {
    manual::Values values = manual::Values::kNone;
    bool of_option = false;               // then no other word may stand there
    const CommandRow* command = nullptr;  // if only its options are before the word
  };
  [[nodiscard]] Awaited awaited(std::string_view line) const;

 private:
  struct Group {  // words that begin several commands but are none: "cpt"
    std::string words;
    std::vector<const CommandRow*> rows;
  };
  struct Ambiguous {
    std::string words;
    std::vector<std::string> candidates;
  };
  struct Unknown {
    std::string word;
    std::string before;
    std::vector<std::string> candidates;
  };
  struct Found {
    const CommandRow* row;
    std::size_t used;  // words
  };
  using Match = std::variant<Found, Group, Ambiguous, Unknown>;

  // By the words so far: the words and options that may follow.
  using Followers = std::map<std::string, std::vector<std::string>>;
  [[nodiscard]] Followers followers() const;
  [[nodiscard]] Match match(std::span<const std::string> words) const;
  int run_row(const CommandRow& row, std::span<const std::string> words, Session& session) const;

  std::span<const CommandRow> rows_;
};

}  // namespace plnet::apps
