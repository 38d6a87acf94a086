// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnetctl/known_names.hpp"

#include <algorithm>
#include <cctype>
#include <set>

#include <fmt/format.h>

namespace plnet::apps {
namespace {

// Keys of answers that hold a name of the kind, at any depth.
bool names_kind(std::string_view key, std::string_view kind) {
  if (kind == "nids") return key == "nid" || key == "primary nid" || key == "gateway";
  if (kind == "nets") return key == "net" || key == "net type";
  return false;
}

bool is_plain(std::string_view name) {
  constexpr std::string_view kOthers = ".:@_-";
  return !name.empty() && name.front() != '-' &&
         std::ranges::all_of(name, [&](unsigned char letter) {
           return std::isalnum(letter) != 0 ||
                  kOthers.find(static_cast<char>(letter)) != kOthers.npos;
         });
}

void collect(const Json& answer, std::string_view kind, std::set<std::string>& names) {
  if (answer.is_array()) {
    for (const Json& each : answer)
      collect(each, kind, names);
  }
  if (!answer.is_object()) return;
  for (const auto& [key, value] : answer.items()) {
    const bool all = kind == "interfaces" && key == "interfaces" && value.is_object();
    if (all) {
      for (const auto& [number, interface] : value.items()) {
        if (interface.is_string()) names.insert(interface.get<std::string>());
      }
    } else if (value.is_string() && names_kind(key, kind)) {
      names.insert(value.get<std::string>());
    } else {
      collect(value, kind, names);
    }
  }
}

std::set<std::string> names_of(std::string_view kind, Session& session) {
  std::set<std::string> names;
  for (const std::string_view verb : {"net show", "peer show", "route show"}) {
    if (kind == "interfaces" && verb != "net show") break;
    const auto answer = session.ask(verb, nlohmann::json::object());
    // Without a node the others would fail alike.
    if (!answer && verb == "net show") break;
    if (answer) collect(*answer, kind, names);
  }
  std::erase_if(names, [](const std::string& name) { return !is_plain(name); });
  return names;
}

std::string_view kind_of(manual::Values values) {
  switch (values) {
    case manual::Values::kNid: return "nids";
    case manual::Values::kNet: return "nets";
    case manual::Values::kInterface: return "interfaces";
    case manual::Values::kNone:
    case manual::Values::kFile:
    case manual::Values::kFolder: break;
  }
  return "";
}

}  // namespace

std::string known_names(std::string_view kind, Session& session) {
  std::string text;
  for (const std::string& name : names_of(kind, session))
    text += name + "\n";
  return text;
}

std::vector<std::string> known_names(manual::Values values, std::string_view begun,
                                     Session& session) {
  const std::string_view kind = kind_of(values);
  if (kind.empty()) return {};
  std::vector<std::string> names;
  for (const std::string& name : names_of(kind, session)) {
    if (name.starts_with(begun)) names.push_back(name);
  }
  return names;
}

}  // namespace plnet::apps
