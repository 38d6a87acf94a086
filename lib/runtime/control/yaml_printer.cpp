// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/control/yaml_printer.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace plnet::runtime {
namespace {

using Json = nlohmann::ordered_json;

constexpr unsigned kIndent = 4;
// Inside a list everything stands two columns further right, at any depth of lists: therefore `-
// nid` of `local NI(s)` starts two, not four, columns right of its key.
constexpr unsigned kListShift = 2;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::string_view skip_digits(std::string_view text) {
  while (!text.empty() && (is_digit(text.front()) || text.front() == '_'))
    text.remove_prefix(1);
  return text;
}

// 0x1f, 0o17, 0b101
bool is_prefixed_number(std::string_view text) {
  if (text.size() < 3 || text[0] != '0') return false;
  const char kind = text[1];
  if (kind != 'x' && kind != 'X' && kind != 'o' && kind != 'b') return false;
  return text.find_first_not_of("0123456789abcdefABCDEF_", 2) == std::string_view::npos;
}

// 12, 1_000, 1.5, .5, 1e9, and YAML 1.1's 12:30:45
bool is_decimal_number(std::string_view text) {
  std::string_view rest = skip_digits(text);
  while (rest.size() < text.size() && rest.size() > 1 && rest[0] == ':' && is_digit(rest[1]))
    rest = skip_digits(rest.substr(1));
  bool any = rest.size() < text.size();
  if (!rest.empty() && rest.front() == '.') {
    const std::string_view after = skip_digits(rest.substr(1));
    any = any || after.size() + 1 < rest.size();
    rest = after;
  }
  if (!any) return false;
  if (rest.empty()) return true;
  if (rest.front() != 'e' && rest.front() != 'E') return false;
  rest.remove_prefix(1);
  if (!rest.empty() && (rest.front() == '+' || rest.front() == '-')) rest.remove_prefix(1);
  return !rest.empty() && skip_digits(rest).empty();
}

// 2026-11-20, with or without a time: some readers convert it to a date.
bool is_date(std::string_view text) {
  if (text.size() < 8) return false;
  const auto digits = [&](std::size_t from, std::size_t count) {
    return std::all_of(text.begin() + static_cast<std::ptrdiff_t>(from),
                       text.begin() + static_cast<std::ptrdiff_t>(from + count), is_digit);
  };
  return digits(0, 4) && text[4] == '-' && is_digit(text[5]) &&
         (text[6] == '-' || (is_digit(text[6]) && text[7] == '-'));
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

// True if a reader would take this plain text for something other than a string.
bool resolves_to_other_type(std::string_view text) {
  static constexpr auto kWords = std::to_array<std::string_view>(
      {"true", "false", "yes", "no", "on", "off", "y", "n", "null", "~", ".nan", "=", "<<"});
  if (text.empty()) return true;
  if (text.size() <= 5 && std::ranges::find(kWords, lower_case(text)) != kWords.end()) return true;
  std::string_view number = text;
  if (number.front() == '+' || number.front() == '-') number.remove_prefix(1);
  return is_decimal_number(number) || is_prefixed_number(number) || is_date(text) ||
         lower_case(number) == ".inf";
}

// A code point of valid UTF-8, or one bad byte.
struct Character {
  std::uint32_t code = 0;
  std::size_t length = 1;
  bool valid = false;
};

Character first_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const std::uint32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1, true};
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return {lead, 1, false};
  std::uint32_t code = lead & (0x7fU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {lead, 1, false};
    code = code << 6 | (byte(i) & 0x3f);
  }
  static constexpr std::array<std::uint32_t, 5> kLeast{0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  if (code < kLeast[length] || code > 0x10ffff || surrogate) return {lead, 1, false};
  return {code, length, true};
}

bool is_printable(const Character& character) {
  const std::uint32_t code = character.code;
  if (!character.valid || code < 0x20 || (code >= 0x7f && code < 0xa0)) return false;
  return code != 0x2028 && code != 0x2029 && code != 0xfeff && code != 0xfffe && code != 0xffff;
}

bool all_printable(std::string_view text) {
  while (!text.empty()) {
    const Character character = first_character(text);
    if (!is_printable(character)) return false;
    text.remove_prefix(character.length);
  }
  return true;
}

// True if the syntax allows the text without quotes.
bool is_plain(std::string_view text) {
  if (text.empty() || text.front() == ' ' || text.back() == ' ' || text.back() == ':') return false;
  if (text.find(": ") != std::string_view::npos || text.find(" #") != std::string_view::npos) {
    return false;
  }
  if (text.starts_with("---") || text.starts_with("...")) return false;
  static constexpr std::string_view kNeverFirst = ",[]{}#&*!|>'\"%@`";
  if (kNeverFirst.find(text.front()) != std::string_view::npos) return false;
  static constexpr std::string_view kFirstBeforeText = "-?:";
  if (kFirstBeforeText.find(text.front()) != std::string_view::npos &&
      (text.size() == 1 || text[1] == ' ')) {
    return false;
  }
  return all_printable(text);
}

std::string double_quoted(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const Character character = first_character(text);
    if (text.front() == '"' || text.front() == '\\') {
      out += '\\';
      out += text.front();
    } else if (text.front() == '\n') {
      out += "\\n";
    } else if (text.front() == '\t') {
      out += "\\t";
    } else if (is_printable(character)) {
      out += text.substr(0, character.length);
    } else if (character.code < 0x100) {
      out += fmt::format("\\x{:02x}", character.code);
    } else {
      out += fmt::format("\\u{:04x}", character.code);
    }
    text.remove_prefix(character.length);
  }
  out += '"';
  return out;
}

// Text that must keep its lines, for example an excerpt of a file with a caret below.
bool is_block(std::string_view text) {
  if (text.find('\n') == std::string_view::npos) return false;
  if (text.front() == ' ' || text.front() == '\n' || text.back() == '\n') return false;
  while (!text.empty()) {
    const Character character = first_character(text);
    if (character.code != '\n' && !is_printable(character)) return false;
    text.remove_prefix(character.length);
  }
  return true;
}

std::string key_text(std::string_view key) {
  return is_plain(key) ? std::string(key) : double_quoted(key);
}

bool is_always_quoted(std::string_view key) {
  return key == "descr" || key == "CPT";
}

std::string scalar_text(const Json& value, std::string_view key, YamlBooleans booleans) {
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    return is_always_quoted(key) ? double_quoted(text) : yaml_scalar(text);
  }
  if (value.is_boolean() && booleans == YamlBooleans::kCapital)
    return value.get<bool>() ? "True" : "False";
  if (value.is_object()) return "{}";
  if (value.is_array()) return "[]";
  return value.dump();
}

class Printer {
 public:
  explicit Printer(YamlBooleans booleans) : booleans_(booleans) {}

  void node(const Json& value, unsigned level, bool in_list) {
    if (value.is_object()) {
      map(value, level, in_list, false);
    } else if (value.is_array()) {
      list(value, level);
    } else {
      out_ += scalar_text(value, "", booleans_);
      out_ += '\n';
    }
  }

  [[nodiscard]] std::string take() { return std::move(out_); }

 private:
  static bool is_nested(const Json& value) { return value.is_structured() && !value.empty(); }

  void spaces(unsigned count) { out_.append(count, ' '); }

  // `dash_written`: the line already has "- ", so the first key continues it.
  void map(const Json& value, unsigned level, bool in_list, bool dash_written) {
    for (const auto& [key, child] : value.items()) {
      if (!dash_written) spaces(kIndent * level + (in_list ? kListShift : 0));
      dash_written = false;
      out_ += key_text(key);
      out_ += ':';
      if (is_nested(child)) {
        out_ += '\n';
        child.is_object() ? map(child, level + 1, in_list, false) : list(child, level + 1);
      } else if (child.is_string() && is_block(child.get_ref<const std::string&>())) {
        block(child.get_ref<const std::string&>(),
              kIndent * (level + 1) + (in_list ? kListShift : 0));
      } else if (!child.is_null()) {
        out_ += ' ';
        out_ += scalar_text(child, key, booleans_);
        out_ += '\n';
      } else {
        out_ += '\n';
      }
    }
  }

  void block(std::string_view text, unsigned indent) {
    out_ += " |-\n";
    while (true) {
      const std::size_t end = text.find('\n');
      const std::string_view line = text.substr(0, end);
      if (!line.empty()) spaces(indent);
      out_ += line;
      out_ += '\n';
      if (end == std::string_view::npos) return;
      text.remove_prefix(end + 1);
    }
  }

  void list(const Json& value, unsigned level) {
    for (const auto& item : value) {
      spaces(kIndent * level);
      out_ += '-';
      if (is_nested(item) && item.is_object()) {
        out_ += ' ';
        map(item, level, true, true);
      } else if (is_nested(item)) {
        out_ += '\n';
        list(item, level + 1);
      } else {
        if (!item.is_null()) out_ += ' ' + scalar_text(item, "", booleans_);
        out_ += '\n';
      }
    }
  }

  const YamlBooleans booleans_;
  std::string out_;
};

}  // namespace

std::string yaml_scalar(std::string_view text) {
  const bool plain = is_plain(text) && !resolves_to_other_type(text);
  return plain ? std::string(text) : double_quoted(text);
}

std::string print_yaml(const nlohmann::ordered_json& document, YamlBooleans booleans) {
  if (document.is_null() || (document.is_structured() && document.empty())) return {};
  Printer printer(booleans);
  printer.node(document, 0, false);
  return printer.take();
}

}  // namespace plnet::runtime
