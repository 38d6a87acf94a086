// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnetctl/option_parser.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include <fmt/format.h>
#include <getopt.h>

namespace plnet::apps {
namespace {

bool is_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// lnetctl's -v takes a number as a word of its own, which getopt's optional arguments do not: join
// `-v 2` to `-v2` before it looks.
std::vector<std::string> join_levels(std::span<const OptionRow> rows,
                                     std::span<const std::string> words) {
  std::vector<std::string> joined;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--") {
      joined.insert(joined.end(), words.begin() + static_cast<std::ptrdiff_t>(i), words.end());
      break;
    }
    const bool followed = i + 1 < words.size() && is_digits(words[i + 1]);
    const auto level = std::ranges::find_if(rows, [&word](const OptionRow& row) {
      if (row.kind != OptionKind::kLevel) return false;
      return word == fmt::format("-{}", row.short_name) ||
             (word.size() > 3 && fmt::format("--{}", row.name).starts_with(word));
    });
    if (level == rows.end() || !followed) {
      joined.push_back(word);
    } else if (word.starts_with("--")) {
      joined.push_back(fmt::format("{}={}", word, words[++i]));
    } else {
      joined.push_back(word + words[++i]);
    }
  }
  return joined;
}

std::string expected_options(std::span<const OptionRow> rows) {
  if (rows.empty()) return "no options";
  std::string text;
  for (const OptionRow& row : rows) {
    text += text.empty() ? "" : ", ";
    if (row.short_name != 0) text += fmt::format("-{}/", row.short_name);
    text += fmt::format("--{}", row.name);
  }
  return text;
}

struct GetoptTables {
  std::string letters;
  std::vector<option> longs;
  std::vector<std::string> names;  // what longs points to
};

GetoptTables tables_of(std::span<const OptionRow> rows, bool stop_early) {
  GetoptTables tables;
  tables.letters = stop_early ? "+:" : ":";
  tables.names.reserve(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const OptionRow& row = rows[i];
    const bool flag = row.kind == OptionKind::kFlag;
    const bool level = row.kind == OptionKind::kLevel;
    if (row.short_name != 0) {
      tables.letters += row.short_name;
      tables.letters += flag ? "" : level ? "::" : ":";
    }
    const int argument = flag ? no_argument : level ? optional_argument : required_argument;
    tables.names.emplace_back(row.name);
    // Above every character: tells long options from short ones.
    tables.longs.push_back(
        {tables.names.back().c_str(), argument, nullptr, 256 + static_cast<int>(i)});
  }
  tables.longs.push_back({nullptr, 0, nullptr, 0});
  return tables;
}

Outcome<void> take(Arguments& arguments, const OptionRow& row, const char* value,
                   std::string_view command) {
  // An optional value that is not there: -v alone is level 1.
  if (value == nullptr) value = row.kind == OptionKind::kLevel ? "1" : "";
  std::string text(value);
  const bool number = row.kind == OptionKind::kNumber || row.kind == OptionKind::kLevel;
  if (number && !parse_c_number(text)) {
    return failure(Errc::kInvalid, fmt::format("{}: option '--{}': '{}' is not a number; expected "
                                               "{} such as 10, 0x10 or 010",
                                               command, row.name, text, row.value_name));
  }
  std::string& place = arguments.options[std::string(row.name)];
  if (row.kind == OptionKind::kTexts && !place.empty()) text = place + ',' + text;
  place = std::move(text);
  return {};
}

}  // namespace

std::optional<std::int64_t> parse_c_number(std::string_view text) {
  if (text.empty() || text.front() == ' ' || text.size() > 32) return std::nullopt;
  const std::string copy(text);
  char* end = nullptr;
  errno = 0;
  const std::int64_t number = std::strtoll(copy.c_str(), &end, 0);
  if (errno != 0 || end != copy.c_str() + copy.size()) return std::nullopt;
  return number;
}

Outcome<Arguments> parse_options(std::span<const OptionRow> rows,
                                 std::span<const std::string> words, std::string_view command,
                                 bool stop_early) {
  std::vector<std::string> joined = join_levels(rows, words);
  std::string program(command);
  std::vector<char*> argv{program.data()};
  for (std::string& word : joined)
    argv.push_back(word.data());
  argv.push_back(nullptr);
  const int argc = static_cast<int>(argv.size()) - 1;
  const GetoptTables tables = tables_of(rows, stop_early);
  Arguments arguments;
  optind = 0;  // starts anew, which 1 does not in glibc
  opterr = 0;
  while (true) {
    const int before = std::max(optind, 1);
    // NOLINTBEGIN(concurrency-mt-unsafe): one thread, as the header says
    const int got =
        getopt_long(argc, argv.data(), tables.letters.c_str(), tables.longs.data(), nullptr);
    // NOLINTEND(concurrency-mt-unsafe)
    if (got == -1) break;
    const std::string_view word =
        argv[static_cast<std::size_t>(optind > before ? optind - 1 : before)];
    if (got == ':') {
      return failure(Errc::kInvalid, fmt::format("{}: option '{}' needs a value", command, word));
    }
    if (got == '?') {
      return failure(Errc::kInvalid, fmt::format("{}: option '{}' is not known, ambiguous or takes "
                                                 "no value; expected {}",
                                                 command, word, expected_options(rows)));
    }
    const auto row = got >= 256
                         ? rows.begin() + (got - 256)
                         : std::ranges::find(rows, static_cast<char>(got), &OptionRow::short_name);
    if (auto taken = take(arguments, *row, optarg, command); !taken) {
      return std::unexpected(std::move(taken.error()));
    }
  }
  for (int i = optind; i < argc; ++i)
    arguments.positional.emplace_back(argv[static_cast<std::size_t>(i)]);
  return arguments;
}

}  // namespace plnet::apps
