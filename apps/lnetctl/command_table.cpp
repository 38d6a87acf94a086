// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnetctl/command_table.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "apps/lnetctl/option_parser.hpp"

namespace plnet::apps {
namespace {

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
  return usage_error(session, kUsageRow,
                     fmt::format("unknown command '{}{}'; expected one of: {}", unknown.before,
                                 unknown.word, join(unknown.candidates, ", ")));
}

int CommandTable::run_row(const CommandRow& row, std::span<const std::string> words,
                          Session& session) const {
  const auto end_of_options = std::ranges::find(words, "--");
  if (std::any_of(words.begin(), end_of_options, is_help)) {
    print_text(session.out, help_of(row.verb));
    return 0;
  }
  const auto arguments = parse_options(row.verb.options, words, row.verb.words);
  if (!arguments) return print_error(session, row, arguments.error());
  const std::size_t count = arguments->positional.size();
  if (count < row.verb.positional.min || count > row.verb.positional.max) {
    const std::string expected =
        row.verb.positional.usage.empty() ? "none" : std::string(row.verb.positional.usage);
    return usage_error(
        session, row,
        fmt::format("{}: {} argument{} besides options{}; expected {}", row.verb.words, count,
                    count == 1 ? "" : "s",
                    count == 0 ? "" : fmt::format(" ('{}')", join(arguments->positional, "', '")),
                    expected));
  }
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

std::string CommandTable::bash_completion(const OptionList& global_options) const {
  std::string globals;
  for (const OptionRow& option : global_options)
    globals += fmt::format("--{} ", option.name);
  std::map<std::string, std::string> after;  // words so far → words and options that may follow
  for (const CommandRow& row : rows_) {
    std::string so_far;
    for (const std::string_view part : split(row.verb.words)) {
      std::string& follow = after[so_far];
      if (fmt::format(" {}", follow).find(fmt::format(" {} ", part)) == std::string::npos) {
        follow += fmt::format("{} ", part);
      }
      if (!so_far.empty()) so_far += ' ';
      so_far += part;
    }
    for (const OptionRow& option : row.verb.options)
      after[so_far] += fmt::format("--{} ", option.name);
    after[so_far] += "--help ";
  }
  std::set<std::string_view> takes_file;
  for (const CommandRow& row : rows_) {
    if (row.verb.positional.usage.find("FILE") != std::string_view::npos)
      takes_file.insert(row.verb.words);
  }
  after[""] += "help " + globals;
  std::string script =
      "# bash completion for lnetctl; load it by: source <(lnetctl --completion bash)\n"
      "_lnetctl() {\n"
      "    local words=\"\" word last=\"${COMP_WORDS[COMP_CWORD]}\"\n"
      "    for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
      "        [[ $word == -* ]] || words=\"${words:+$words }$word\"\n"
      "    done\n"
      "    case \"$words\" in\n";
  for (const auto& [words, follow] : after)
    script += fmt::format("        \"{}\") COMPREPLY=($(compgen {}-W \"{}\" -- \"$last\"));;\n",
                          words, takes_file.contains(words) ? "-f " : "", follow);
  return script +
         "        *) COMPREPLY=($(compgen -f -- \"$last\"));;\n"
         "    esac\n"
         "}\n"
         "complete -F _lnetctl lnetctl\n";
}

}  // namespace plnet::apps
