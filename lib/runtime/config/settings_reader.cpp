// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/config/settings_reader.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "lib/runtime/config/document_reader.hpp"
#include "lib/runtime/config/lnet_document.hpp"
#include "lib/runtime/config/schema.hpp"
#include "lib/runtime/config/settings_check.hpp"
#include "lib/runtime/config/yaml_document.hpp"

namespace plnet::runtime {
namespace {

// The place of the path, or of its longest part that the document has.
Position place_of(const Node& root, std::string_view path) {
  const Node* next = &root;
  const Node* node = next;
  while (next != nullptr && !path.empty()) {
    next = nullptr;
    if (path.front() == '[') {
      std::size_t index = 0;
      std::from_chars(path.data() + 1, path.data() + path.size(), index);
      if (index < node->items.size()) next = &node->items[index];
      path.remove_prefix(path.find(']') + 1);
      if (path.starts_with('.')) path.remove_prefix(1);
    } else {
      const std::size_t end = std::min(path.find_first_of(".["), path.size());
      next = node->find(path.substr(0, end));
      path.remove_prefix(end < path.size() && path[end] == '.' ? end + 1 : end);
    }
    if (next != nullptr) node = next;
  }
  return node->kind == NodeKind::kScalar || node->key.empty() ? node->at : node->key_at;
}

ParseResult read(const Schema& schema, std::string_view text, std::string_view file_name,
                 const Settings& base, ReadMode mode) {
  ConfigErrors errors(text, file_name);
  const auto tree = parse_yaml(text, errors);
  if (!tree) return std::unexpected(std::move(errors));
  Document document{.settings = base, .items = {}};
  const Document defaults;
  DocumentReader reader(errors, mode);
  reader.read_mapping(*tree, schema.keys(), &document, &defaults, "");
  const Settings& settings = document.settings;
  std::vector<SettingsIssue> issues;
  if (mode == ReadMode::kReset) {
    remove_items(document, base.lnet, issues);
  } else {
    add_items(document, base.lnet, issues);
  }
  std::ranges::move(check_settings(schema, settings), std::back_inserter(issues));
  for (const SettingsIssue& issue : issues) {
    if (reader.failed_at(issue.cause)) continue;
    errors.add(place_of(*tree, issue.path), fmt::format("{}: {}", issue.path, issue.what));
  }
  if (!errors.empty()) return std::unexpected(std::move(errors));
  return settings;
}

}  // namespace

ParseResult read_settings(const Schema& schema, std::string_view text, std::string_view file_name,
                          const Settings& base) {
  return read(schema, text, file_name, base, ReadMode::kSet);
}

ParseResult reset_settings(const Schema& schema, std::string_view text, std::string_view file_name,
                           const Settings& base) {
  return read(schema, text, file_name, base, ReadMode::kReset);
}

std::expected<NamedItems, ConfigErrors> read_named(const Schema& schema, std::string_view text,
                                                   std::string_view file_name) {
  ConfigErrors errors(text, file_name);
  const auto tree = parse_yaml(text, errors);
  if (!tree) return std::unexpected(std::move(errors));
  NamedItems named;
  Document document;
  const Document defaults;
  DocumentReader reader(errors, ReadMode::kSet);
  reader.read_mapping(*tree, schema.keys(), &document, &defaults, "");
  if (!errors.empty()) return std::unexpected(std::move(errors));
  for (const Node& item : tree->items)
    named.sections.push_back(item.key);
  for (const NetItem& item : document.items.nets) {
    if (item.net.net != lnet::kNetAny) named.nets.push_back(item.net.net);
  }
  for (const RouteItem& item : document.items.routes) {
    if (item.route.net != lnet::kNetAny) named.routes.push_back(item.route.net);
  }
  for (const PeerItem& item : document.items.peers) {
    if (item.peer.primary != lnet::Nid{}) named.peers.push_back(item.peer.primary);
  }
  const auto take = [&](std::vector<ExecRequest>& items, const char* section) {
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (items[i].nid != lnet::Nid{}) continue;
      const std::string path = fmt::format("{}[{}]", section, i);
      errors.add(place_of(*tree, path), path + ": no 'primary nid'");
    }
    return std::move(items);
  };
  named.pings = take(document.items.pings, "ping");
  named.discovers = take(document.items.discovers, "discover");
  if (!errors.empty()) return std::unexpected(std::move(errors));
  return named;
}

}  // namespace plnet::runtime
