// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-pin/run/journal.hpp"

#include <cerrno>
#include <filesystem>
#include <sstream>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

namespace plnet::pin {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kJournalMode = 0644;
constexpr unsigned kAttemptMax = 100;
constexpr std::size_t kTextMax = 4096;  // of the reason of a failure

Error io_error(const std::string& what) {
  return {errc_of_errno(errno),
          fmt::format("{}: {}", what, std::generic_category().message(errno))};
}

Outcome<std::string> read_whole(const std::string& path) {
  std::error_code error;
  const auto size = fs::file_size(path, error);
  if (error) {
    return failure(errc_of_errno(error.value()),
                   fmt::format("cannot read '{}': {}", path, error.message()));
  }
  if (size > kJournalBytesMax) return failure(Errc::kTooBig, fmt::format("'{}' is too big", path));
  const runtime::Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return std::unexpected(io_error(fmt::format("cannot read '{}'", path)));
  std::string text(size, '\0');
  std::size_t at = 0;
  while (at < text.size()) {
    const auto got = ::read(file.get(), text.data() + at, text.size() - at);
    if (got <= 0) return std::unexpected(io_error(fmt::format("cannot read '{}'", path)));
    at += static_cast<std::size_t>(got);
  }
  return text;
}

std::string line_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Json json_of(const Entry& entry) {
  Json json{{"round", entry.round}, {"placement", entry.placement}, {"attempt", entry.attempt}};
  if (entry.figures) json["figures"] = json_of(*entry.figures);
  if (!entry.disturbed.empty()) json["disturbed"] = entry.disturbed;
  if (!entry.failed.empty()) json["failed"] = entry.failed.substr(0, kTextMax);
  return json;
}

Outcome<Entry> entry_of(const Json& json, const Plan& plan) {
  try {
    Entry entry{.round = json.at("round").get<std::size_t>(),
                .placement = json.at("placement").get<std::size_t>(),
                .attempt = json.at("attempt").get<unsigned>(),
                .disturbed = json.value("disturbed", ""),
                .failed = json.value("failed", "")};
    if (entry.round >= kRoundsMax || entry.placement >= plan.placements.size() ||
        entry.attempt > kAttemptMax)
      return failure(Errc::kOutOfRange, "there is no such placement or round in its sweep");
    if (json.contains("figures")) {
      auto figures = figures_of(json["figures"]);
      if (!figures) return std::unexpected(std::move(figures.error()));
      entry.figures = std::move(*figures);
    } else if (entry.failed.empty()) {
      return failure(Errc::kMalformed, "it has neither figures nor a failure");
    }
    return entry;
  } catch (const std::exception& error) {
    return failure(Errc::kMalformed, error.what());
  }
}

Outcome<Results> read_head(const Json& json) {
  try {
    if (json.at("lnet-pin journal").get<int>() != kJournalFormat)
      return failure(Errc::kVersion, "another version of lnet-pin has written it");
    Results results{.version = json.at("version").get<std::string>(),
                    .begun = json.at("begun").get<std::string>(),
                    .sweep_text = json.at("sweep").get<std::string>()};
    results.environment = json.at("environment");
    auto machine = machine_of(json.at("machine"));
    if (!machine) return std::unexpected(std::move(machine.error()));
    results.machine = std::move(*machine);
    auto sweep = read_sweep(results.sweep_text, "the sweep in it");
    if (!sweep) return std::unexpected(std::move(sweep.error()));
    auto plan = make_plan(std::move(*sweep), results.machine);
    if (!plan) return std::unexpected(std::move(plan.error()));
    results.plan = std::move(*plan);
    if (fingerprint_of(results.plan) != json.at("fingerprint").get<std::string>()) {
      return failure(Errc::kVersion, fmt::format("lnet-pin {} has made another plan of its sweep; "
                                                 "use that version",
                                                 results.version));
    }
    return results;
  } catch (const std::exception& error) {
    return failure(Errc::kMalformed, error.what());
  }
}

}  // namespace

std::string journal_path(const std::string& folder) {
  return folder + "/journal.jsonl";
}

std::string head_of_journal(const Results& results) {
  Json head{{"lnet-pin journal", kJournalFormat},
            {"version", results.version},
            {"begun", results.begun},
            {"fingerprint", fingerprint_of(results.plan)},
            {"sweep", results.sweep_text}};
  head["environment"] = results.environment;
  head["machine"] = json_of(results.machine);
  return line_of(head);
}

Outcome<Results> read_journal(const std::string& folder) {
  const std::string path = journal_path(folder);
  const auto text = read_whole(path);
  if (!text) return std::unexpected(text.error());
  return parse_journal(*text, path);
}

Outcome<Results> parse_journal(const std::string& text, const std::string& path) {
  std::istringstream lines(text);
  std::optional<Results> results;
  std::size_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (lines.eof()) break;  // no newline: incomplete
    const auto wrong = [&](const Error& error) {
      return failure(error.code, fmt::format("{}:{}: this is no journal of lnet-pin: {}", path,
                                             number, error.what));
    };
    const Json json = Json::parse(line, nullptr, false);
    if (!json.is_object()) return wrong({Errc::kMalformed, "the line is no JSON object"});
    if (!results) {
      auto head = read_head(json);
      if (!head) return wrong(head.error());
      results.emplace(std::move(*head));
      continue;
    }
    if (json.contains("counters") && json["counters"].is_string()) {
      results->counters_note = json["counters"].get<std::string>();
      continue;
    }
    const auto entry = entry_of(json, results->plan);
    if (!entry) return wrong(entry.error());
    results->ledger.add(*entry);
  }
  if (!results) return failure(Errc::kMalformed, fmt::format("{}: it is empty; remove it", path));
  return std::move(*results);
}

Outcome<Journal> Journal::begin(const std::string& folder, const Results& results) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) {
    return failure(errc_of_errno(error.value()),
                   fmt::format("cannot make '{}': {}", folder, error.message()));
  }
  const std::string path = journal_path(folder);
  Journal journal(runtime::Descriptor(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, kJournalMode)));
  if (!journal.file_.valid())
    return std::unexpected(io_error(fmt::format("cannot make '{}'", path)));
  if (auto done = journal.append(head_of_journal(results)); !done)
    return std::unexpected(std::move(done.error()));
  return journal;
}

Outcome<Journal> Journal::resume(const std::string& folder) {
  const std::string path = journal_path(folder);
  const auto text = read_whole(path);
  if (!text) return std::unexpected(text.error());
  const auto end = text->rfind('\n');
  const std::size_t whole = end == std::string::npos ? 0 : end + 1;
  Journal journal(runtime::Descriptor(::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC)));
  if (!journal.file_.valid() || ::ftruncate(journal.file_.get(), static_cast<off_t>(whole)) != 0)
    return std::unexpected(io_error(fmt::format("cannot write '{}'", path)));
  return journal;
}

Outcome<void> Journal::append(const std::string& line) {
  const auto done = ::write(file_.get(), line.data(), line.size());
  if (done == static_cast<ssize_t>(line.size()) && ::fsync(file_.get()) == 0) return {};
  return std::unexpected(io_error("the journal cannot be written"));
}

Outcome<void> Journal::add(const Entry& entry) {
  return append(line_of(json_of(entry)));
}

Outcome<void> Journal::note_counters(const std::string& note) {
  return append(line_of({{"counters", note}}));
}

}  // namespace plnet::pin
