// SPDX-License-Identifier: BSD-3-Clause
// Finds and runs commands of a table: unique prefixes, ambiguity, help, usage errors.
#pragma once

#include <span>
#include <string>
#include <variant>

#include "apps/lnetctl/command_row.hpp"

namespace plnet::apps {

class CommandTable {
 public:
  explicit CommandTable(std::span<const CommandRow> rows) : rows_(rows) {}

  // Runs one command line (without the program's name) and returns the exit status.
  int run(std::span<const std::string> words, Session& session) const;

  // One command to a line.
  [[nodiscard]] std::string list() const;
  // What `help` prints.
  [[nodiscard]] std::string overview() const;
  [[nodiscard]] static std::string help_of(const runtime::VerbRow& verb);
  // A completion script for bash, made from the table.
  [[nodiscard]] std::string bash_completion(const OptionList& global_options) const;

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

  [[nodiscard]] Match match(std::span<const std::string> words) const;
  int run_row(const CommandRow& row, std::span<const std::string> words, Session& session) const;

  std::span<const CommandRow> rows_;
};

}  // namespace plnet::apps
