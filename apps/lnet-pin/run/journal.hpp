// SPDX-License-Identifier: BSD-3-Clause
// The results of a sweep on disk: a line for the sweep and its machine, then a line for each
// measurement, each complete before the next one begins. A killed sweep continues from it.
#pragma once

#include <string>

#include "apps/lnet-pin/plan/plan.hpp"
#include "apps/lnet-pin/run/sweeper.hpp"
#include "lib/runtime/admin/descriptor.hpp"

namespace plnet::pin {

inline constexpr int kJournalFormat = 1;
inline constexpr std::size_t kJournalBytesMax = std::size_t{256} << 20U;

// The contents of a journal.
struct Results {
  std::string version{};  // of the program that began it
  std::string begun{};    // date
  std::string sweep_text{};
  Machine machine{};
  Plan plan{};
  Json environment{};
  std::string counters_note{};
  Ledger ledger{};
};

[[nodiscard]] std::string journal_path(const std::string& folder);

// The error names the file and the line. An incomplete last line is ignored.
[[nodiscard]] Outcome<Results> read_journal(const std::string& folder);
// Parses the text of a journal; errors name `path`.
[[nodiscard]] Outcome<Results> parse_journal(const std::string& text, const std::string& path);
// The first line of a journal.
[[nodiscard]] std::string head_of_journal(const Results& results);

class Journal {
 public:
  // Creates a journal. kExists: the folder has one.
  [[nodiscard]] static Outcome<Journal> begin(const std::string& folder, const Results& results);
  // Continues after the last complete line.
  [[nodiscard]] static Outcome<Journal> resume(const std::string& folder);

  [[nodiscard]] Outcome<void> add(const Entry& entry);
  [[nodiscard]] Outcome<void> note_counters(const std::string& note);

 private:
  explicit Journal(runtime::Descriptor file) : file_(std::move(file)) {}
  [[nodiscard]] Outcome<void> append(const std::string& line);

  runtime::Descriptor file_;
};

}  // namespace plnet::pin
