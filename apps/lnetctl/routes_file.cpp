// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnetctl/routes_file.hpp"

#include <algorithm>
#include <cstddef>

#include <fmt/format.h>

#include "apps/lnetctl/option_parser.hpp"
#include "lib/lnet/names/nid_text.hpp"

namespace plnet::apps {
namespace {

constexpr std::string_view kBlanks = " \t\r";

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
}

// The next line without its comment; `text` begins behind it then.
std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return trimmed(line.substr(0, line.find('#')));
}

// "tcp1: { … }" in its two parts; both are empty if the line has another form.
struct Entry {
  std::string_view net;
  std::string_view body;
};

Entry entry_in(std::string_view line) {
  const std::size_t brace = line.find('{');
  if (brace == std::string_view::npos || line.back() != '}') return {};
  const std::string_view head = trimmed(line.substr(0, brace));
  if (head.empty() || head.back() != ':') return {};
  return {.net = trimmed(head.substr(0, head.size() - 1)),
          .body = trimmed(line.substr(brace + 1, line.size() - brace - 2))};
}

// The next "key: value"; blanks and commas separate pairs, and blanks may follow the colon.
bool take_pair(std::string_view& body, std::string_view& key, std::string_view& value) {
  const auto skip = [&body](std::string_view over) {
    body.remove_prefix(std::min(body.find_first_not_of(over), body.size()));
  };
  skip(" \t,");
  const std::size_t colon = body.find(':');
  if (colon == std::string_view::npos) return false;
  key = trimmed(body.substr(0, colon));
  body.remove_prefix(colon + 1);
  skip(" \t");
  // A comma within brackets belongs to a range.
  std::size_t end = 0;
  bool in_range = false;
  for (; end < body.size(); ++end) {
    if (body[end] == '[') in_range = true;
    if (body[end] == ']') in_range = false;
    if (!in_range && (body[end] == ',' || body[end] == ' ' || body[end] == '\t')) break;
  }
  value = body.substr(0, end);
  body.remove_prefix(end);
  return true;
}

Outcome<std::string> route_in(std::string_view line) {
  const Entry entry = entry_in(line);
  if (entry.net.empty())
    return failure(Errc::kInvalid, "expected NET: { gateway: NID, hop: N, priority: N }");
  if (const auto net = lnet::parse_net(entry.net); !net)
    return failure(Errc::kInvalid, fmt::format("'{}': {}", entry.net, net.error().what));
  std::string gateway;
  std::string numbers;
  std::string_view body = entry.body;
  std::string_view key;
  std::string_view value;
  while (take_pair(body, key, value)) {
    if (key == "gateway") {
      gateway = value;
    } else if (key != "hop" && key != "priority") {
      return failure(Errc::kInvalid, fmt::format("'{}': expected gateway, hop or priority", key));
    } else if (parse_c_number(value)) {
      numbers += fmt::format(", {}: {}", key, value);
    } else {
      return failure(Errc::kInvalid, fmt::format("{}: '{}' is not a number", key, value));
    }
  }
  const bool is_plain = gateway.find_first_of("'\\\"") == std::string::npos;
  if (gateway.empty() || !is_plain)
    return failure(Errc::kInvalid, "expected gateway: NID, or a range of NIDs");
  return fmt::format("{{net: {}, gateway: '{}'{}}}", entry.net, gateway, numbers);
}

}  // namespace

bool is_routes_file(std::string_view text) {
  while (!text.empty()) {
    const std::string_view line = take_line(text);
    if (line.empty()) continue;
    const Entry entry = entry_in(line);
    return !entry.net.empty() && lnet::parse_net(entry.net).has_value();
  }
  return false;
}

Outcome<std::string> document_of_routes(std::string_view text, std::string_view file_name) {
  std::string document = "route: [";
  for (unsigned number = 1; !text.empty(); ++number) {
    const std::string_view line = take_line(text);
    if (!line.empty()) {
      const Outcome<std::string> route = route_in(line);
      if (!route) {
        return failure(route.error().code,
                       fmt::format("{}:{}: {}", file_name, number, route.error().what));
      }
      document += *route + ",";
    }
    document += "\n ";
  }
  return document + "]\n";
}

}  // namespace plnet::apps
