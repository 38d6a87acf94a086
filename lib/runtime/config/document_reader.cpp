// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/config/document_reader.hpp"

#include <utility>

#include <fmt/format.h>

#include "lib/runtime/config/value_text.hpp"
#include "lib/runtime/cpt/cpt_request.hpp"

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

}  // namespace

void DocumentReader::read_mapping(const Node& node, std::span<const Key> keys, void* record,
                                  const void* defaults, const std::string& path) {
  if (node.kind == NodeKind::kNull) {
    if (mode_ == ReadMode::kReset && !path.empty()) reset(keys, record, defaults);
    return;
  }
  if (node.kind != NodeKind::kMapping) {
    return complain(node.at, path,
                    fmt::format("{}, expected a mapping (`key: value` lines)", describe(node)));
  }
  if (mode_ == ReadMode::kReset && node.items.empty() && !path.empty()) {
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

void DocumentReader::complain(Position at, const std::string& path, std::string_view what) {
  const std::string_view separator = path.empty() ? "" : ": ";
  errors_.add(at, fmt::format("{}{}{}", path, separator, what));
  failed_.push_back(path);
}

void DocumentReader::report_unknown(const Node& item, std::span<const Key> keys,
                                    const std::string& path) {
  const auto names = names_of(keys);
  const std::string hint = did_you_mean(item.key, names);
  const std::string key = shown(item.key);
  failed_.push_back(path);
  if (path.empty()) {  // in the words of lnetctl
    return errors_.add(item.key_at, fmt::format("call back for '{}' not found: unknown key, "
                                                "expected {}{}",
                                                key, any_of(names), hint));
  }
  errors_.add(item.key_at,
              fmt::format("unknown key '{}' in {}, expected {}{}", key, path, any_of(names), hint));
}

void DocumentReader::read_key(const Node& node, const Key& key, void* record, const void* defaults,
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
  if (key.additive) {  // items to remove are read like items to add
    const ReadMode mode = std::exchange(mode_, ReadMode::kSet);
    read_records(node, key, record, path);
    mode_ = mode;
    return;
  }
  if (key.by_name && !(mode_ == ReadMode::kReset && node.items.empty()))
    return read_by_name(node, key, record, path);
  if (mode_ == ReadMode::kReset) return reset({&key, 1}, record, defaults);
  if (key.kind == KeyKind::kRecords) return read_records(node, key, record, path);
  const std::optional<Value> value = key.kind == KeyKind::kDictionary
                                         ? read_dictionary(node, key, path)
                                         : read_scalar(node, key, path);
  if (!value) return;
  key.binding.set(record, *value);
  note_origin(key, record, node.at);
}

void DocumentReader::read_records(const Node& node, const Key& key, void* record,
                                  const std::string& path) {
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
    note_origin(key, item, node.items[i].at);
    read_mapping(node.items[i], key.children, item, nullptr, fmt::format("{}[{}]", path, i));
  }
}

std::optional<Value> DocumentReader::read_dictionary(const Node& node, const Key& key,
                                                     const std::string& path) {
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

// Names that the document leaves out keep their values, which other files or `lnetctl set` have
// set.
void DocumentReader::read_by_name(const Node& node, const Key& key, void* record,
                                  const std::string& path) {
  Value values = key.binding.get(record);
  if (mode_ == ReadMode::kSet) {
    const auto named = read_dictionary(node, key, path);
    if (!named) return;
    values.update(*named);
    return key.binding.set(record, values);
  }
  for (const Node& item : node.items) {
    if (values.erase(item.key) != 0) continue;
    if (const auto known = key.check(item.key); !known)
      complain(item.key_at, path, fmt::format("'{}': {}", shown(item.key), known.error().what));
  }
  key.binding.set(record, values);
}

std::optional<Value> DocumentReader::read_scalar(const Node& node, const Key& key,
                                                 const std::string& path) {
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

std::optional<Value> DocumentReader::read_cpts(const Node& node, const Key& key,
                                               const std::string& path) {
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

void DocumentReader::note_origin(const Key& key, void* record, Position at) const {
  if (key.origin != nullptr) key.origin(record).place = errors_.where(at);
}

void DocumentReader::reset(std::span<const Key> keys, void* record, const void* defaults) {
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

}  // namespace plnet::runtime
