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

#include "lib/lnet/names/nid_text.hpp"
#include "lib/lnet/names/number_list.hpp"
#include "lib/runtime/config/lnet_document.hpp"
#include "lib/runtime/config/schema.hpp"
#include "lib/runtime/config/settings_check.hpp"
#include "lib/runtime/config/yaml_document.hpp"
#include "lib/runtime/config/yaml_text.hpp"
#include "lib/runtime/cpt/number_list.hpp"

namespace plnet::runtime {
namespace {

std::string_view describe(const Node& node) {
  switch (node.kind) {
    case NodeKind::kNull: return "no value";
    case NodeKind::kScalar: return "a single value";
    case NodeKind::kSequence: return "a list";
    case NodeKind::kMapping: return "a mapping";
  }
  return "";
}

std::vector<std::string_view> names_of(std::span<const Key> keys) {
  std::vector<std::string_view> names;
  names.reserve(keys.size());
  for (const Key& key : keys)
    names.push_back(key.name);
  return names;
}

std::string did_you_mean(std::string_view given, std::span<const std::string_view> known) {
  const std::string_view nearest = nearest_word(given, known);
  return nearest.empty() ? std::string{} : fmt::format("; did you mean '{}'?", nearest);
}

enum class Mode : std::uint8_t { kSet, kReset };

// Goes down document and table together.
class Reader {
 public:
  Reader(ConfigErrors& errors, Mode mode) : errors_(errors), mode_(mode) {}

  // `defaults` is a record of the same type as `record`.
  void read_mapping(const Node& node, std::span<const Key> keys, void* record, const void* defaults,
                    const std::string& path) {
    if (node.kind == NodeKind::kNull) {
      if (mode_ == Mode::kReset && !path.empty()) reset(keys, record, defaults);
      return;
    }
    if (node.kind != NodeKind::kMapping) {
      return complain(node.at, path,
                      fmt::format("{}, expected a mapping (`key: value` lines)", describe(node)));
    }
    if (mode_ == Mode::kReset && node.items.empty() && !path.empty()) {
      return reset(keys, record, defaults);
    }
    for (const Node& item : node.items) {
      if (const Key* const key = find_key(keys, item.key)) {
        if (key->output_only) continue;
        read_key(item, *key, record, defaults, join_path(path, item.key));
      } else if (!is_ignored(path, item.key)) {
        report_unknown(item, keys, path);
      }
    }
  }

  // Did this path, or anything below it, go wrong already?
  [[nodiscard]] bool failed_at(std::string_view path) const {
    return std::ranges::any_of(
        failed_, [path](std::string_view failed) { return failed.starts_with(path); });
  }

 private:
  void complain(Position at, const std::string& path, std::string_view what) {
    const std::string_view separator = path.empty() ? "" : ": ";
    errors_.add(at, fmt::format("{}{}{}", path, separator, what));
    failed_.push_back(path);
  }

  void report_unknown(const Node& item, std::span<const Key> keys, const std::string& path) {
    const auto names = names_of(keys);
    const std::string hint = did_you_mean(item.key, names);
    const std::string key = shown(item.key);
    failed_.push_back(path);
    if (path.empty()) {  // as lnetctl says it
      return errors_.add(item.key_at, fmt::format("call back for '{}' not found: unknown key, "
                                                  "expected {}{}",
                                                  key, any_of(names), hint));
    }
    errors_.add(item.key_at, fmt::format("unknown key '{}' in {}, expected {}{}", key, path,
                                         any_of(names), hint));
  }

  void read_key(const Node& node, const Key& key, void* record, const void* defaults,
                const std::string& path) {
    if (key.kind == KeyKind::kMapping) {
      if (key.also_list && node.kind == NodeKind::kSequence) {
        for (std::size_t i = 0; i < node.items.size(); ++i) {
          const std::string here = fmt::format("{}[{}]", path, i);
          read_mapping(node.items[i], key.children, record, defaults, here);
        }
        return;
      }
      return read_mapping(node, key.children, record, defaults, path);
    }
    if (key.additive) {  // what to take away is read like what to add
      const Mode mode = std::exchange(mode_, Mode::kSet);
      read_records(node, key, record, path);
      mode_ = mode;
      return;
    }
    if (mode_ == Mode::kReset) return reset({&key, 1}, record, defaults);
    if (key.kind == KeyKind::kRecords) return read_records(node, key, record, path);
    const std::optional<Value> value = key.kind == KeyKind::kDictionary
                                           ? read_dictionary(node, key, path)
                                           : read_scalar(node, key, path);
    if (value) key.binding.set(record, *value);
  }

  void read_records(const Node& node, const Key& key, void* record, const std::string& path) {
    if (node.kind != NodeKind::kSequence && node.kind != NodeKind::kNull) {
      return complain(node.at, path,
                      fmt::format("{}, expected {}", describe(node), expected_value(key)));
    }
    if (std::cmp_greater(node.items.size(), key.high)) {
      return complain(node.at, path,
                      fmt::format("{} items, expected at most {}", node.items.size(), key.high));
    }
    key.binding.clear(record);
    for (std::size_t i = 0; i < node.items.size(); ++i) {
      void* const item = key.binding.append(record);
      read_mapping(node.items[i], key.children, item, nullptr, fmt::format("{}[{}]", path, i));
    }
  }

  std::optional<Value> read_dictionary(const Node& node, const Key& key, const std::string& path) {
    if (node.kind == NodeKind::kNull) return Value::object();
    if (node.kind != NodeKind::kMapping) {
      complain(node.at, path, fmt::format("{}, expected {}", describe(node), expected_value(key)));
      return std::nullopt;
    }
    if (std::cmp_greater(node.items.size(), key.high)) {
      complain(node.at, path,
               fmt::format("{} names, expected at most {}", node.items.size(), key.high));
      return std::nullopt;
    }
    Value object = Value::object();
    bool sound = true;
    for (const Node& item : node.items) {
      const std::string here = join_path(path, shown(item.key));
      if (const auto name = key.check(item.key); !name) {
        complain(item.key_at, path, fmt::format("'{}': {}", shown(item.key), name.error().what));
        sound = false;
      } else if (auto value = read_scalar(item, key.children.front(), here)) {
        object[item.key] = std::move(*value);
      } else {
        sound = false;
      }
    }
    return sound ? std::optional(std::move(object)) : std::nullopt;
  }

  std::optional<Value> read_scalar(const Node& node, const Key& key, const std::string& path) {
    if (key.kind == KeyKind::kCptList && node.kind == NodeKind::kSequence) {
      return read_cpts(node, key, path);
    }
    if (node.kind != NodeKind::kScalar) {
      complain(node.at, path, fmt::format("{}, expected {}", describe(node), expected_value(key)));
      return std::nullopt;
    }
    auto value = parse_value(node.text, key);
    if (value) return std::move(*value);
    complain(node.at, path, value.error());
    return std::nullopt;
  }

  // A YAML list where lnetctl writes a text that looks like one.
  std::optional<Value> read_cpts(const Node& node, const Key& key, const std::string& path) {
    if (node.items.empty()) return Value("");
    std::string joined;
    for (const Node& item : node.items) {
      if (item.kind != NodeKind::kScalar || std::cmp_greater(node.items.size(), key.high + 1)) {
        complain(item.at, path, fmt::format("expected {}", expected_value(key)));
        return std::nullopt;
      }
      joined += joined.empty() ? "[" : ",";
      joined += item.text;
    }
    auto value = parse_value(joined + "]", key);
    if (value) return std::move(*value);
    complain(node.at, path, value.error());
    return std::nullopt;
  }

  // The error is what to say.
  using Parsed = std::expected<Value, std::string>;

  static Parsed parse_value(const std::string& text, const Key& key) {
    const auto refuse = [&](std::string_view what) {
      return std::unexpected(
          fmt::format("'{}' {}, expected {}", shown(text), what, expected_value(key)));
    };
    switch (key.kind) {
      case KeyKind::kInteger: {
        const auto number = parse_integer(text);
        if (!number && number.error() != Errc::kOutOfRange) return refuse("is not a number");
        const bool absent = number && key.optional && *number == kNotGiven;
        if (!number || (!absent && (*number < key.low || *number > key.high))) {
          return refuse("is out of range");
        }
        return Value(*number);
      }
      case KeyKind::kBoolean: {
        const auto truth = parse_boolean(text);
        if (!truth) return refuse("is neither true nor false");
        return Value(std::int64_t{*truth});
      }
      case KeyKind::kTruth: {
        const auto truth = parse_boolean(text);
        if (!truth) return refuse("is neither true nor false");
        return Value(*truth);
      }
      case KeyKind::kCptList: {
        if (text.empty() || text == "[]") return Value("");
        const lnet::TextPart part(text);
        const auto cpts =
            lnet::parse_number_list(part, static_cast<std::uint32_t>(key.high), "a CPT");
        if (!cpts) return std::unexpected(cpts.error().what);
        return Value(text);
      }
      case KeyKind::kPlain: {
        constexpr std::size_t kPlainMax = 256;
        if (const auto number = parse_integer(text)) return Value(*number);
        if (text.size() > kPlainMax) return refuse("is too long");
        return Value(text);
      }
      case KeyKind::kWord: {
        if (std::ranges::find(key.words, text) != key.words.end()) return Value(text);
        return std::unexpected(fmt::format("'{}' is not known, expected {}{}", shown(text),
                                           expected_value(key), did_you_mean(text, key.words)));
      }
      case KeyKind::kText: {
        const auto sound = key.check(text);
        if (!sound) return std::unexpected(sound.error().what);
        return Value(text);
      }
      case KeyKind::kNumberList: {
        const auto numbers = parse_number_list(text, static_cast<unsigned>(key.high));
        if (!numbers) return std::unexpected(numbers.error().what);
        return Value(text);
      }
      default: return refuse("does not fit");
    }
  }

  void reset(std::span<const Key> keys, void* record, const void* defaults) {
    for (const Key& key : keys) {
      if (key.kind == KeyKind::kMapping) {
        reset(key.children, record, defaults);
      } else if (key.kind == KeyKind::kRecords) {
        key.binding.clear(record);  // lists are empty by default
      } else {
        key.binding.set(record, key.binding.get(defaults));
      }
    }
  }

  ConfigErrors& errors_;
  Mode mode_;
  std::vector<std::string> failed_;
};

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
                 Mode mode) {
  ConfigErrors errors(text, file_name);
  const auto tree = parse_yaml(text, errors);
  if (!tree) return std::unexpected(std::move(errors));
  Document document = blank_document(base);
  const Document defaults;
  Reader reader(errors, mode);
  reader.read_mapping(*tree, schema(), &document, &defaults, "");
  Settings& settings = document.settings;
  std::vector<SettingsIssue> issues;
  // Options of modules stand among the settings, everything else of LNet among its items.
  const lnet::NodeConfig before = settings.lnet;
  settings.lnet = mode == Mode::kReset ? remove_items(before, document.lnet, issues)
                                       : add_items(before, document.lnet, issues);
  std::ranges::move(check_settings(settings), std::back_inserter(issues));
  for (const SettingsIssue& issue : issues) {
    if (reader.failed_at(issue.cause)) continue;
    errors.add(place_of(*walk(*tree, issue.path).deepest),
               fmt::format("{}: {}", issue.path, issue.what));
  }
  if (!errors.empty()) return std::unexpected(std::move(errors));
  if (mode == Mode::kSet) Origins(*tree, file_name).note(settings.cpts);
  return settings;
}

}  // namespace

ParseResult read_settings(std::string_view text, std::string_view file_name) {
  return read(text, file_name, Settings{}, Mode::kSet);
}

ParseResult read_settings(std::string_view text, std::string_view file_name, const Settings& base) {
  return read(text, file_name, base, Mode::kSet);
}

ParseResult reset_settings(std::string_view text, std::string_view file_name,
                           const Settings& base) {
  return read(text, file_name, base, Mode::kReset);
}

std::expected<NamedItems, ConfigErrors> read_named(std::string_view text,
                                                   std::string_view file_name) {
  ConfigErrors errors(text, file_name);
  const auto tree = parse_yaml(text, errors);
  if (!tree) return std::unexpected(std::move(errors));
  NamedItems named;
  Document document;
  const Document defaults;
  Reader reader(errors, Mode::kSet);
  reader.read_mapping(*tree, schema(), &document, &defaults, "");
  if (!errors.empty()) return std::unexpected(std::move(errors));
  for (const Node& item : tree->items)
    named.sections.push_back(item.key);
  for (const NetItem& net : document.lnet.nets) {
    if (const auto id = lnet::parse_net(net.net_type); id) named.nets.push_back(*id);
  }
  for (const RouteItem& route : document.lnet.routes) {
    if (const auto id = lnet::parse_net(route.net); id) named.routes.push_back(*id);
  }
  for (const PeerItem& peer : document.lnet.peers) {
    if (const auto nid = lnet::parse_nid(peer.primary_nid); nid) named.peers.push_back(*nid);
  }
  const auto take = [&](const std::vector<ExecItem>& items, std::vector<ExecRequest>& out,
                        const char* section) {
    for (std::size_t i = 0; i < items.size(); ++i) {
      const auto nid = lnet::parse_nid(items[i].nid);
      if (items[i].nid.empty() || !nid) {
        const std::string path = fmt::format("{}[{}]", section, i);
        errors.add(place_of(*walk(*tree, path).deepest), path + ": no 'primary nid'");
        continue;
      }
      ExecRequest& request = out.emplace_back();
      request.nid = *nid;
      request.timeout = std::chrono::milliseconds(items[i].timeout_ms);
      if (!items[i].source.empty()) request.source = lnet::parse_nid(items[i].source).value();
      request.force = items[i].force;
    }
  };
  take(document.lnet.pings, named.pings, "ping");
  take(document.lnet.discovers, named.discovers, "discover");
  if (!errors.empty()) return std::unexpected(std::move(errors));
  return named;
}

}  // namespace plnet::runtime
