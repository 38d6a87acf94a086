// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/config/schema_rendering.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "lib/runtime/config/lnet_document.hpp"
#include "lib/runtime/config/schema.hpp"
#include "lib/runtime/config/settings.hpp"

namespace plnet::runtime {
namespace {

constexpr std::size_t kIndent = 4;
constexpr std::size_t kColumns = 80;  // of the commented file, which is read in terminals

// Only keys outside of lists have a default; those in a list begin as "not given".
std::string default_text(const std::string& path, const Key& key) {
  if (key.kind == KeyKind::kMapping) return {};
  if (path.find('[') != std::string::npos) return key.optional ? "not given" : "";
  if (key.kind == KeyKind::kRecords) return "[]";
  if (key.binding.get == nullptr) return {};  // describes the values of a dictionary
  const Document defaults;
  const Value value = key.binding.get(&defaults);
  if (!value.is_string()) return value.dump();
  const auto& text = value.get_ref<const std::string&>();
  return text.empty() ? "\"\"" : text;
}

std::string escape_bars(std::string text) {
  for (std::size_t at = text.find('|'); at != std::string::npos; at = text.find('|', at + 2))
    text.insert(at, 1, '\\');
  return text;
}

// Wraps the text to comment lines of kColumns.
std::string comment(std::string_view text, std::size_t indent) {
  std::string out;
  std::string line;
  const auto flush = [&] {
    if (!line.empty()) out += fmt::format("{:{}}#{}\n", "", indent, line);
    line.clear();
  };
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    if (indent + 2 + line.size() + end > kColumns) flush();
    line += fmt::format(" {}", text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  flush();
  return out;
}

std::string_view when_applied(const Key& key) {
  return key.applies == Applies::kLive ? "at once" : "at start";
}

// An example of a list, as comments that are valid after removal of the '#'.
std::string example_records(const Key& key, std::size_t indent) {
  std::string out;
  std::string_view dash = "- ";
  for (const Key& child : key.children) {
    const bool silent = child.kind == KeyKind::kText && child.example.empty();
    if (child.input_only || silent || child.kind == KeyKind::kMapping) continue;
    if (child.kind == KeyKind::kTruth && child.optional) continue;
    const bool no_zero = child.kind == KeyKind::kInteger && child.low > 0;
    if (no_zero && child.optional && child.example.empty()) continue;
    const std::string head = fmt::format("{:{}}{}{}:", "", indent, dash, child.name);
    dash = "  ";
    if (child.kind == KeyKind::kRecords) {
      out += fmt::format("{}\n{}", head, example_records(child, indent + kIndent + 2));
    } else if (child.kind == KeyKind::kDictionary) {
      const std::string_view line = child.example.empty() ? "eth0: \"0-3\"" : child.example;
      out += fmt::format("{}\n{:{}}{}\n", head, "", indent + kIndent + 2, line);
    } else if (!child.example.empty()) {
      out += fmt::format("{} {}\n", head, child.example);
    } else if (child.kind == KeyKind::kTruth) {
      out += fmt::format("{} True\n", head);
    } else if (child.kind == KeyKind::kWord) {
      out += fmt::format("{} {}\n", head, child.words.front());
    } else {
      out += fmt::format("{} {}\n", head, child.low);
    }
    if (child.name == "cpu") break;  // the keys after it are the alternative
  }
  return out;
}

std::string commented_out(std::string_view text, std::size_t indent) {
  std::string out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    out += fmt::format("{:{}}#{}\n", "", indent,
                       text.substr(std::min(indent, end), end - std::min(indent, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

void render_keys(std::span<const Key> keys, const std::string& path, std::size_t indent,
                 std::string& out) {
  for (const Key& key : keys) {
    if (key.input_only || key.output_only) continue;
    const std::string here = join_path(path, key.name);
    if (indent == 0 && key.kind != KeyKind::kMapping) out += '\n';
    if (key.kind == KeyKind::kMapping) {
      if (indent != kIndent || &key != keys.data()) out += '\n';
      out += fmt::format("{}{:{}}{}:\n", comment(key.help, indent), "", indent, key.name);
      render_keys(key.children, here, indent + kIndent, out);
      continue;
    }
    out += comment(
        fmt::format("{} ({}; takes effect {})", key.help, expected_value(key), when_applied(key)),
        indent);
    out += fmt::format("{:{}}{}: {}\n", "", indent, key.name, default_text(here, key));
    if (key.kind == KeyKind::kRecords) {
      out += comment("For example:", indent);
      out += commented_out(
          fmt::format("{:{}}{}:\n{}", "", indent, key.name, example_records(key, indent + kIndent)),
          indent);
    }
  }
}

}  // namespace

std::vector<KeyRow> key_rows(const Schema& schema) {
  std::vector<KeyRow> rows;
  for_each_key(schema, [&](const std::string& path, const Key& key) {
    const bool section = key.kind == KeyKind::kMapping;
    rows.push_back({.path = path,
                    .value = section ? "" : expected_value(key),
                    .fallback = default_text(path, key),
                    .when_applied = std::string(section ? "" : when_applied(key)),
                    .help = std::string(key.help)});
  });
  return rows;
}

std::string render_reference(const Schema& schema) {
  std::string out = "| key | value | default | takes effect | meaning |\n|---|---|---|---|---|\n";
  for (const KeyRow& row : key_rows(schema)) {
    const bool is_value = !row.fallback.empty() && row.fallback != "not given";
    out += fmt::format("| `{}` | {} | {} | {} | {} |\n", row.path, escape_bars(row.value),
                       is_value ? fmt::format("`{}`", row.fallback) : row.fallback,
                       row.when_applied, escape_bars(row.help));
  }
  return out;
}

std::string render_default_file(const Schema& schema) {
  std::string out = comment(
      "Configuration of a plnet node: every key with its default. A file "
      "need only hold what differs; an empty one is valid.",
      0);
  render_keys(schema.keys(), "", 0, out);
  return out;
}

}  // namespace plnet::runtime
