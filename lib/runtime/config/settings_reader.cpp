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

Position place_of(const Node& node) {
  return node.kind == NodeKind::kScalar || node.key.empty() ? node.at : node.key_at;
}

// How far a path leads into a document.
struct Walk {
  const Node* deepest = nullptr;  // of its parts that the document has
  bool whole = true;              // that is the path itself
};

Walk walk(const Node& root, std::string_view path) {
  const Node* node = &root;
  while (!path.empty()) {
    const Node* next = nullptr;
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
    if (next == nullptr) return {node, false};
    node = next;
  }
  return {node};
}

// Notes where things stand that only the planner can judge, which has the machine before it but no
// document. What the document does not name keeps what is known of it.
class Origins {
 public:
  Origins(const Node& root, std::string_view file) : root_(root), file_(file) {}

  void note(CptPlanRequest& cpts) const {
    note(cpts.pattern_origin, "plnet.cpts.pattern");
    note(cpts.reserved_origin, "plnet.cpts.reserved_cpus");
    for (std::size_t i = 0; i < cpts.list.size(); ++i) {
      const std::string entry = fmt::format("plnet.cpts.list[{}]", i);
      if (!walk(root_, entry).whole) return;  // the list is not from here
      note(cpts.list[i].memory_origin, entry + ".memory node");
      for (std::size_t k = 0; k < cpts.list[i].shards.size(); ++k) {
        ShardRequest& shard = cpts.list[i].shards[k];
        const std::string path = fmt::format("{}.shards[{}]", entry, k);
        note(shard.origin, path + (shard.cpu >= 0 ? ".cpu" : ".core"));
      }
    }
  }
  void note(KfiSettings& kfi) const {
    for (std::size_t i = 0; i < kfi.interfaces.size(); ++i)
      note(kfi.interfaces[i].origin, fmt::format("plnet.kfi.interfaces[{}]", i));
  }

 private:
  void note(Origin& origin, std::string_view path) const {
    const Walk found = walk(root_, path);
    if (!found.whole) return;
    const Position at = place_of(*found.deepest);
    origin.place = fmt::format("{}:{}:{}", file_, at.line, at.column);
  }

  const Node& root_;
  std::string_view file_;
};

ParseResult read(std::string_view text, std::string_view file_name, const Settings& base,
                 ReadMode mode) {
  ConfigErrors errors(text, file_name);
  const auto tree = parse_yaml(text, errors);
  if (!tree) return std::unexpected(std::move(errors));
  Document document{.settings = base, .items = {}};
  const Document defaults;
  DocumentReader reader(errors, mode);
  reader.read_mapping(*tree, schema(), &document, &defaults, "");
  Settings& settings = document.settings;
  std::vector<SettingsIssue> issues;
  if (mode == ReadMode::kReset) {
    remove_items(document, base.lnet, issues);
  } else {
    add_items(document, base.lnet, issues);
  }
  std::ranges::move(check_settings(settings), std::back_inserter(issues));
  for (const SettingsIssue& issue : issues) {
    if (reader.failed_at(issue.cause)) continue;
    errors.add(place_of(*walk(*tree, issue.path).deepest),
               fmt::format("{}: {}", issue.path, issue.what));
  }
  if (!errors.empty()) return std::unexpected(std::move(errors));
  if (mode == ReadMode::kSet) {
    const Origins origins(*tree, file_name);
    origins.note(settings.cpts);
    origins.note(settings.kfi);
  }
  return settings;
}

}  // namespace

ParseResult read_settings(std::string_view text, std::string_view file_name) {
  return read(text, file_name, Settings{}, ReadMode::kSet);
}

ParseResult read_settings(std::string_view text, std::string_view file_name, const Settings& base) {
  return read(text, file_name, base, ReadMode::kSet);
}

ParseResult reset_settings(std::string_view text, std::string_view file_name,
                           const Settings& base) {
  return read(text, file_name, base, ReadMode::kReset);
}

std::expected<NamedItems, ConfigErrors> read_named(std::string_view text,
                                                   std::string_view file_name) {
  ConfigErrors errors(text, file_name);
  const auto tree = parse_yaml(text, errors);
  if (!tree) return std::unexpected(std::move(errors));
  NamedItems named;
  Document document;
  const Document defaults;
  DocumentReader reader(errors, ReadMode::kSet);
  reader.read_mapping(*tree, schema(), &document, &defaults, "");
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
      errors.add(place_of(*walk(*tree, path).deepest), path + ": no 'primary nid'");
    }
    return std::move(items);
  };
  named.pings = take(document.items.pings, "ping");
  named.discovers = take(document.items.discovers, "discover");
  if (!errors.empty()) return std::unexpected(std::move(errors));
  return named;
}

}  // namespace plnet::runtime
