// SPDX-License-Identifier: BSD-3-Clause
// mdoc(7). mandoc -Tlint has no complaint about the result.
#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>

#include <fmt/format.h>

#include "apps/manual/program_page.hpp"
#include "lib/base/joined.hpp"

namespace plnet::manual {
namespace {

struct Page {
  std::string_view name;
  char section;
};
// Sorted as SEE ALSO has to be: by section, then by name.
constexpr std::array kPages{
    Page{"lnet-sim", '1'},     Page{"plnet-cxi-lab", '1'}, Page{"plnet.yaml", '5'},
    Page{"lnet-pin", '8'},     Page{"lnet-router", '8'},   Page{"lnet-selftest", '8'},
    Page{"lnet-traffic", '8'}, Page{"lnetctl", '8'},       Page{"lnetdump", '8'},
    Page{"lst", '8'},
};
// mandoc complains about longer lines.
constexpr std::size_t kColumns = 78;

char section_of(std::string_view name) {
  const auto* const found = std::ranges::find(kPages, name, &Page::name);
  return found == kPages.end() ? '8' : found->section;
}

// The code point at the start of `text`, whose bytes are taken off; bytes that are no UTF-8 stand
// for themselves.
std::uint32_t take_code_point(std::string_view& text) {
  const auto first = static_cast<unsigned char>(text.front());
  std::size_t more = 0;
  std::uint32_t point = first;
  if (first >= 0xf0) {
    more = 3;
    point = first & 0x07U;
  } else if (first >= 0xe0) {
    more = 2;
    point = first & 0x0fU;
  } else if (first >= 0xc0) {
    more = 1;
    point = first & 0x1fU;
  }
  text.remove_prefix(1);
  for (; more > 0 && !text.empty(); --more) {
    point = (point << 6U) | (static_cast<unsigned char>(text.front()) & 0x3fU);
    text.remove_prefix(1);
  }
  return point;
}

// A dash at the start of a word is an option's and is printed as typed.
std::string escape(std::string_view text) {
  std::string out;
  bool word_begins = true;
  while (!text.empty()) {
    const std::uint32_t point = take_code_point(text);
    if (point > 0x7f) {
      out += fmt::format("\\[u{:04X}]", point);
    } else if (point == '\\') {
      out += "\\e";
    } else if (point == '-' && (word_begins || out.ends_with("\\-"))) {
      out += "\\-";
    } else {
      out += static_cast<char>(point);
    }
    word_begins = point == ' ' || point == '(' || point == '[' || point == '\'';
  }
  return out;
}

// An argument of a macro: no macro itself, and one word for mdoc.
std::string argument(std::string_view text) {
  const std::string escaped = escape(text);
  std::string quoted;
  for (const char letter : escaped)
    quoted += letter == '"' ? std::string("\\(dq") : std::string(1, letter);
  return fmt::format("\"\\&{}\"", quoted);
}

bool ends_sentence(std::string_view word) {
  while (word.ends_with(')') || word.ends_with('\'') || word.ends_with('"'))
    word.remove_suffix(1);
  return word.ends_with('.') || word.ends_with('?') || word.ends_with('!');
}

// Text lines: each sentence begins a line, and none is longer than kColumns.
std::string prose(std::string_view text) {
  std::string out;
  std::string line;
  const auto flush = [&] {
    if (line.empty()) return;
    if (line.front() == '.' || line.front() == '\'') out += "\\&";
    out += line + "\n";
    line.clear();
  };
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(" \n"), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (word.empty()) continue;
    const std::string escaped = escape(word);
    if (!line.empty() && line.size() + 1 + escaped.size() > kColumns) flush();
    line += (line.empty() ? "" : " ") + escaped;
    if (ends_sentence(word)) flush();
  }
  flush();
  return out;
}

std::string head(std::string_view name, std::string_view help) {
  std::string title(name);
  std::ranges::transform(title, title.begin(),
                         [](unsigned char letter) { return std::toupper(letter); });
  while (help.ends_with('.'))
    help.remove_suffix(1);
  const std::string_view first_sentence = help.substr(0, help.find(". "));
  return fmt::format(
      ".\\\" Made from the tables of {0} itself: do not edit.\n"
      ".Dd {1}\n.Dt {2} {3}\n.Os\n.Sh NAME\n.Nm {0}\n.Nd {4}\n",
      name, PLNET_DATE, escape(title), section_of(name), escape(first_sentence));
}

std::string see_also(std::string_view name) {
  std::string text = ".Sh SEE ALSO\n";
  std::string_view before;
  for (const Page& page : kPages) {
    if (page.name == name) continue;
    if (!before.empty()) text += " ,\n";
    text += fmt::format(".Xr {} {}", page.name, page.section);
    before = page.name;
  }
  return text + "\n";
}

std::string with_choices(const Option& option) {
  const bool has =
      option.choices.empty() || option.help.find(option.choices[0]) != option.help.npos;
  return has ? option.help
             : fmt::format("{}; one of: {}", option.help, joined(option.choices, ", "));
}

std::string option_list(const std::vector<Option>& options, bool compact) {
  if (options.empty()) return {};
  std::string text = fmt::format(".Bl -tag -width Ds{}\n", compact ? " -compact" : "");
  for (const Option& option : options) {
    text += ".It";
    if (option.letter != 0) text += fmt::format(" Fl \"\\&{}\" ,", option.letter);
    if (!option.name.empty()) text += fmt::format(" Fl \"\\-{}\"", escape(option.name));
    for (const std::string& other : option.other_names)
      text += fmt::format(" , Fl \"\\-{}\"", escape(other));
    if (!option.value.empty())
      text += fmt::format("{} Ar {}", option.value_optional ? " Op" : "", argument(option.value));
    text += "\n" + prose(with_choices(option));
  }
  return text + ".El\n";
}

std::string command_list(const std::vector<Command>& commands) {
  std::string text = ".Sh COMMANDS\n.Bl -tag -width Ds\n";
  for (const Command& command : commands) {
    if (command.elsewhere) continue;
    text += fmt::format(".It Cm {}", argument(command.words));
    if (!command.options.empty()) text += " Op Ar options";
    if (!command.usage.empty()) text += fmt::format(" Ar {}", argument(command.usage));
    text += "\n";
    text += prose(command.help) + option_list(command.options, true);
  }
  return text + ".El\n";
}

std::string literal(std::string_view details) {
  std::string text = ".Sh DETAILS\n.Bd -literal\n";
  while (details.ends_with('\n'))
    details.remove_suffix(1);
  while (!details.empty()) {
    const std::size_t end = std::min(details.find('\n'), details.size());
    const std::string line = escape(details.substr(0, end));
    details.remove_prefix(std::min(end + 1, details.size()));
    if (line.starts_with('.') || line.starts_with('\'')) text += "\\&";
    text += line + "\n";
  }
  return text + ".Ed\n";
}

}  // namespace

std::string mdoc_of(const ProgramPage& page) {
  std::string text = head(page.name, page.help);
  text += ".Sh SYNOPSIS\n.Nm\n.Op Ar options\n";
  if (!page.commands.empty()) text += ".Ar command\n.Op Ar arguments\n";
  if (!page.usage.empty()) text += fmt::format(".Ar {}\n", argument(page.usage));
  text += ".Sh DESCRIPTION\n" + prose(page.help);
  if (!page.help.ends_with('.')) text.insert(text.size() - 1, ".");
  if (!page.options.empty()) text += ".Pp\nThe options are:\n" + option_list(page.options, false);
  if (!page.commands.empty()) text += command_list(page.commands);
  if (!page.details.empty()) text += literal(page.details);
  return text + see_also(page.name);
}

std::string mdoc_of(const FilePage& page) {
  std::string text = head(page.name, page.help) + ".Sh DESCRIPTION\n" + prose(page.text);
  text += ".Bl -tag -width Ds\n";
  for (const KeyEntry& key : page.keys)
    text += fmt::format(".It Cm {}\n{}", argument(key.path), prose(key.text));
  return text + ".El\n" + see_also(page.name);
}

}  // namespace plnet::manual
