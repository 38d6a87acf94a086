// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnetctl/command_table.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "apps/lnetctl/host_names.hpp"
#include "apps/lnetctl/option_parser.hpp"
#include "apps/manual/option_page.hpp"

namespace plnet::apps {
namespace {

// No command has a longer word.
constexpr std::size_t kWordMax = 32;

// Errors about the command line itself.
constexpr CommandRow kUsageRow{.verb = {.words = "", .operation = "lnetctl", .entity = "command"}};

std::vector<std::string_view> split(std::string_view words) {
  std::vector<std::string_view> parts;
  while (!words.empty()) {
    const std::size_t space = std::min(words.find(' '), words.size());
    parts.push_back(words.substr(0, space));
    words.remove_prefix(std::min(space + 1, words.size()));
  }
  return parts;
}

bool is_help(std::string_view word) {
  return word == "--help" || word == "-h";
}

std::string join(std::span<const std::string> parts, std::string_view between) {
  std::string text;
  for (const std::string& part : parts) {
    if (!text.empty()) text += between;
    text += part;
  }
  return text;
}

// Steps from one word to the other: a letter more, less or other, or two neighbours swapped.
std::size_t edit_distance(std::string_view from, std::string_view to) {
  std::vector<std::vector<std::size_t>> steps(from.size() + 1,
                                              std::vector<std::size_t>(to.size() + 1));
  for (std::size_t i = 0; i <= from.size(); ++i) {
    for (std::size_t k = 0; k <= to.size(); ++k) {
      std::size_t& least = steps[i][k];
      if (i == 0 || k == 0) {
        least = i + k;
        continue;
      }
      const std::size_t other = from[i - 1] == to[k - 1] ? 0 : 1;
      least = std::min({steps[i - 1][k] + 1, steps[i][k - 1] + 1, steps[i - 1][k - 1] + other});
      const bool swapped = i > 1 && k > 1 && from[i - 1] == to[k - 2] && from[i - 2] == to[k - 1];
      if (swapped) least = std::min(least, steps[i - 2][k - 2] + 1);
    }
  }
  return steps[from.size()][to.size()];
}

// The candidates that the word may have been meant for, the nearest first.
std::vector<std::string> nearest(std::string_view word, std::span<const std::string> candidates) {
  constexpr std::size_t kNamed = 3;
  word = word.substr(0, kWordMax);
  std::vector<std::pair<std::size_t, std::string>> near;
  for (const std::string& candidate : candidates) {
    const std::size_t steps = edit_distance(word, candidate);
    // A word with more than half of its letters wrong is another word.
    if (steps <= (std::max(word.size(), candidate.size()) + 1) / 2)
      near.emplace_back(steps, candidate);
  }
  std::ranges::sort(near);
  std::vector<std::string> names;
  for (auto& [steps, name] : near) {
    if (names.size() < kNamed) names.push_back(std::move(name));
  }
  return names;
}

std::vector<std::string> quoted_after(std::string_view before, std::span<const std::string> words) {
  std::vector<std::string> quoted;
  for (const std::string& word : words)
    quoted.push_back(fmt::format("'{}{}'", before, word));
  return quoted;
}

// "ping needs a NID: lnetctl ping NID [NID …]"
std::string miscount_text(const runtime::VerbRow& verb, std::span<const std::string> given) {
  const std::string_view usage = verb.positional.usage;
  if (usage.empty()) {
    return fmt::format("{} takes no arguments besides options, but was given '{}'", verb.words,
                       join(given, "', '"));
  }
  if (given.size() > verb.positional.max) {
    return fmt::format("{} was given too many arguments ('{}'): lnetctl {} {}", verb.words,
                       join(given, "', '"), verb.words, usage);
  }
  const bool one_nid = usage.starts_with("NID");
  return fmt::format("{} needs {}: lnetctl {} {}", verb.words,
                     one_nid ? std::string("a NID") : std::string(usage), verb.words, usage);
}

// Puts addresses in the place of host names.
Outcome<void> resolve_hosts(Arguments& arguments, const runtime::VerbRow& verb,
                            const HostLookup& look_up) {
  if (!look_up) return {};
  std::vector<std::string*> nids;
  for (const OptionRow& option : verb.options) {
    const auto given = arguments.options.find(option.name);
    if (option.value_name.starts_with("NID") && given != arguments.options.end())
      nids.push_back(&given->second);
  }
  if (verb.positional.usage.starts_with("NID") || verb.positional.usage.starts_with("SRC DST")) {
    for (std::string& word : arguments.positional)
      nids.push_back(&word);
  }
  for (std::string* const nid : nids) {
    auto resolved = with_addresses(*nid, look_up);
    if (!resolved) return std::unexpected(std::move(resolved.error()));
    *nid = std::move(*resolved);
  }
  return {};
}

int usage_error(Session& session, const CommandRow& row, std::string what) {
  return print_error(session, row, Error{Errc::kInvalid, std::move(what)});
}

}  // namespace

CommandTable::Match CommandTable::match(std::span<const std::string> words) const {
  std::vector<const CommandRow*> rows;
  for (const CommandRow& row : rows_)
    rows.push_back(&row);
  std::string taken;
  for (std::size_t depth = 0;; ++depth) {
    // A row whose words are used up is the command, unless the next word leads on to a longer one.
    const auto whole = std::ranges::find_if(
        rows, [depth](const CommandRow* row) { return split(row->verb.words).size() == depth; });
    const bool ended = depth >= words.size() || words[depth].starts_with('-');
    if (whole != rows.end() && (ended || rows.size() == 1)) return Found{*whole, depth};
    if (ended) return Group{taken, std::move(rows)};

    std::vector<std::string> candidates;  // different words at this place that begin as asked
    std::vector<std::string> all;
    for (const CommandRow* row : rows) {
      const auto parts = split(row->verb.words);
      if (parts.size() <= depth) continue;
      const std::string part(parts[depth]);
      if (std::ranges::find(all, part) == all.end()) all.push_back(part);
      if (!part.starts_with(words[depth]) || words[depth].empty()) continue;
      if (row->verb.whole_only && part != words[depth]) continue;
      if (std::ranges::find(candidates, part) == candidates.end()) candidates.push_back(part);
    }
    const auto exact = std::ranges::find(candidates, words[depth]);
    if (exact == candidates.end() && candidates.size() > 1) {
      return Ambiguous{taken + words[depth], std::move(candidates)};
    }
    if (candidates.empty()) {
      if (whole != rows.end()) return Found{*whole, depth};
      return Unknown{words[depth], taken, std::move(all)};
    }
    const std::string chosen = exact != candidates.end() ? *exact : candidates.front();
    std::erase_if(rows, [&](const CommandRow* row) {
      const auto parts = split(row->verb.words);
      return parts.size() <= depth || parts[depth] != chosen;
    });
    taken += chosen;
    taken += ' ';
  }
}

int CommandTable::run(std::span<const std::string> words, Session& session) const {
  if (words.empty()) return usage_error(session, kUsageRow, "no command; 'help' lists them");
  if (words[0] == "help" || is_help(words[0])) {
    if (words.size() == 1) {
      print_text(session.out, overview());
      return 0;
    }
    std::vector<std::string> about(words.begin() + 1, words.end());
    about.emplace_back("--help");
    return run(about, session);
  }
  const Match matched = match(words);
  if (const auto* found = std::get_if<Found>(&matched)) {
    return run_row(*found->row, words.subspan(found->used), session);
  }
  if (const auto* ambiguous = std::get_if<Ambiguous>(&matched)) {
    std::string text = fmt::format("Ambiguous command '{}'\n", ambiguous->words);
    for (const std::string& candidate : ambiguous->candidates)
      text += fmt::format("    {}\n", candidate);
    print_text(session.err, text);
    return runtime::wire_errno(Errc::kInvalid) & 0xff;
  }
  if (const auto* group = std::get_if<Group>(&matched)) {
    if (std::ranges::any_of(words, is_help)) {
      for (const CommandRow* row : group->rows)
        print_text(session.out, fmt::format("{:<24}{}\n", row->verb.words, row->verb.help));
      return 0;
    }
    std::vector<std::string> names;
    names.reserve(group->rows.size());
    for (const CommandRow* row : group->rows)
      names.emplace_back(row->verb.words);
    return usage_error(session, kUsageRow,
                       fmt::format("'{}' is not a whole command; expected one of: {}",
                                   join(words, " "), join(names, ", ")));
  }
  const auto& unknown = std::get<Unknown>(matched);
  const auto meant = nearest(unknown.word, unknown.candidates);
  const std::string hint = meant.empty()
                               ? fmt::format("expected one of: {}", join(unknown.candidates, ", "))
                               : fmt::format("did you mean {}? 'lnetctl help' lists all",
                                             join(quoted_after(unknown.before, meant), ", "));
  return usage_error(session, kUsageRow,
                     fmt::format("unknown command '{}{}'; {}", unknown.before, unknown.word, hint));
}

int CommandTable::run_row(const CommandRow& row, std::span<const std::string> words,
                          Session& session) const {
  const auto end_of_options = std::ranges::find(words, "--");
  if (std::any_of(words.begin(), end_of_options, is_help)) {
    print_text(session.out, help_of(row.verb));
    return 0;
  }
  auto arguments = parse_options(row.verb.options, words, row.verb.words);
  if (!arguments) return print_error(session, row, arguments.error());
  const std::size_t count = arguments->positional.size();
  if (count < row.verb.positional.min || count > row.verb.positional.max)
    return usage_error(session, row, miscount_text(row.verb, arguments->positional));
  if (auto resolved = resolve_hosts(*arguments, row.verb, session.look_up); !resolved)
    return print_error(session, row, std::move(resolved.error()));
  if (row.run != nullptr) return row.run(*arguments, row, session);
  Outcome<nlohmann::json> args =
      row.build != nullptr ? row.build(*arguments, row) : args_by_name(*arguments, row);
  if (!args) return print_error(session, row, std::move(args.error()));
  session.patience = row.verb.patience;
  const auto reply = session.ask(row.verb.words, *args);
  session.patience = {};
  if (!reply) return print_error(session, row, reply.error());
  return print_result(session, row, *reply);
}

std::string CommandTable::list() const {
  std::string text;
  for (const CommandRow& row : rows_)
    text += fmt::format("{}\n", row.verb.words);
  return text;
}

std::string CommandTable::overview() const {
  std::string text =
      "Commands (a unique beginning of each word is enough; COMMAND --help says more):\n";
  for (const CommandRow& row : rows_)
    text += fmt::format("    {:<20}{}\n", row.verb.words, row.verb.help);
  return text;
}

std::string CommandTable::help_of(const runtime::VerbRow& verb) {
  std::string text = fmt::format(
      "usage: lnetctl {}{}{}{}\n    {}\n", verb.words, verb.options.empty() ? "" : " [OPTIONS]",
      verb.positional.usage.empty() ? "" : " ", verb.positional.usage, verb.help);
  for (const OptionRow& option : verb.options) {
    std::string left = option.short_name != 0 ? fmt::format("-{}, ", option.short_name) : "    ";
    left += fmt::format("--{}", option.name);
    if (option.kind == OptionKind::kLevel) {
      left += fmt::format(" [{}]", option.value_name);
    } else if (!option.value_name.empty()) {
      left += fmt::format(" {}", option.value_name);
    }
    text += fmt::format("    {:<28}  {}\n", left, option.help);
  }
  return text;
}

CommandTable::Followers CommandTable::followers() const {
  Followers after;
  for (const CommandRow& row : rows_) {
    std::string so_far;
    for (const std::string_view part : split(row.verb.words)) {
      std::vector<std::string>& follow = after[so_far];
      if (std::ranges::find(follow, part) == follow.end()) follow.emplace_back(part);
      if (!so_far.empty()) so_far += ' ';
      so_far += part;
    }
    for (const OptionRow& option : row.verb.options)
      after[so_far].push_back(fmt::format("--{}", option.name));
    after[so_far].emplace_back("--help");
  }
  after[""].emplace_back("help");
  return after;
}

namespace {

// The words of a line but the last, unfinished one; options and their values are left out only as
// far as they begin with a dash, so that a value ends the completion.
std::string finished_words(std::string_view line) {
  const std::size_t blank = line.find_last_of(" \t");
  if (blank == std::string_view::npos) return {};
  std::string words;
  for (const std::string_view word : split(line.substr(0, blank))) {
    if (word.empty() || word.starts_with('-')) continue;
    if (!words.empty()) words += ' ';
    words += word;
  }
  return words;
}

}  // namespace

std::vector<std::string> CommandTable::candidates(std::string_view line) const {
  const Followers after = followers();
  auto found = after.find(finished_words(line));
  const CommandRow* const command = awaited(line).command;
  if (found == after.end() && command != nullptr)
    found = after.find(std::string(command->verb.words));
  if (found == after.end()) return {};
  const std::string_view begun = line.substr(line.find_last_of(" \t") + 1);
  std::vector<std::string> words;
  for (const std::string& word : found->second) {
    if (word.starts_with(begun)) words.push_back(word);
  }
  return words;
}

CommandTable::Awaited CommandTable::awaited(std::string_view line) const {
  const std::size_t blank = line.find_last_of(" \t");
  if (blank == std::string_view::npos) return {};
  std::vector<std::string> words;
  for (const std::string_view word : split(line.substr(0, blank))) {
    if (!word.empty()) words.emplace_back(word);
  }
  const Match matched = match(words);
  const auto* const found = std::get_if<Found>(&matched);
  if (found == nullptr) return {};
  const runtime::VerbRow& verb = found->row->verb;
  const OptionRow* open = nullptr;  // waits for its value
  bool only_options = true;
  for (std::size_t i = found->used; i < words.size(); ++i) {
    const auto is_meant = [&word = words[i]](const OptionRow& option) {
      return word == fmt::format("--{}", option.name) ||
             (option.short_name != 0 && word == fmt::format("-{}", option.short_name));
    };
    const auto* const option =
        open != nullptr ? verb.options.end()
                        : std::find_if(verb.options.begin(), verb.options.end(), is_meant);
    if (open == nullptr && option == verb.options.end()) only_options = false;
    const bool takes_value = option != verb.options.end() && !option->value_name.empty() &&
                             option->kind != OptionKind::kLevel;
    open = takes_value ? option : nullptr;
  }
  if (open != nullptr) return {manual::values_of(open->value_name), true};
  return {manual::values_of(verb.positional.usage), false, only_options ? found->row : nullptr};
}

std::string CommandTable::help_at(std::string_view line) const {
  const std::string words = finished_words(line);
  const std::string_view begun = line.substr(line.find_last_of(" \t") + 1);
  const std::string beginning =
      words.empty() ? std::string(begun) : fmt::format("{} {}", words, begun);
  const auto exact = std::ranges::find(rows_, std::string_view(words),
                                       [](const CommandRow& row) { return row.verb.words; });
  if (exact != rows_.end()) return help_of(exact->verb);
  std::string text;
  for (const CommandRow& row : rows_) {
    if (row.verb.words.starts_with(beginning))
      text += fmt::format("    {:<20}{}\n", row.verb.words, row.verb.help);
  }
  return text.empty() ? std::string("    no command begins so; 'help' lists all\n") : text;
}

manual::ProgramPage CommandTable::page(const OptionList& global_options) const {
  manual::ProgramPage page{
      .name = "lnetctl",
      .help = "Controls an LNet node; " + std::string(kWithoutCommand),
      .options = manual::options_of({global_options.begin(), global_options.size()})};
  for (const CommandRow& row : rows_)
    page.commands.push_back(manual::command_of(row.verb));
  page.commands.push_back({.words = "help", .help = "print the commands"});
  return page;
}

}  // namespace plnet::apps
