// SPDX-License-Identifier: BSD-3-Clause
// The table of all keys of a configuration document: the rows of this floor (schema_table.cpp, and
// lnet_schema.cpp for LNet's own tools) and the sections of network families. It drives the reader,
// the exporter, the comparison and the documentation. A new key is a member of the settings and a
// row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "lib/base/result.hpp"

namespace plnet::runtime {

struct Origin;
struct SettingsSection;

// A value of the document as it is exported: an integer, a text, or an object for kDictionary.
using Value = nlohmann::ordered_json;

enum class KeyKind : std::uint8_t {
  kMapping,     // a section; its children belong to the same record
  kInteger,     // low..high
  kBoolean,     // 0 or 1, as lnetctl has it; up to `high`: states of a change, by parity
  kTruth,       // True or False, as lnetctl has it elsewhere
  kWord,        // one of `words`
  kText,        // `check` decides
  kNumberList,  // "0-3,8"; numbers from 0 to `high`
  kCptList,     // "[0,1]", or a list; numbers from 0 to `high`
  kPlain,       // a number or a text
  kDictionary,  // names to values: `check` decides on names, the only child on values
  kRecords,     // a list of at most `high` mappings, each a record of its own with `children`
};

enum class Applies : std::uint8_t { kLive, kRestart };

// Access of a row to its place in a record (a Document, or the element of a list in it). set() gets
// only values that have been checked against the row.
struct Binding {
  Value (*get)(const void* record) = nullptr;
  void (*set)(void* record, const Value& value) = nullptr;
  // kRecords only:
  std::size_t (*size)(const void* record) = nullptr;
  const void* (*item)(const void* record, std::size_t index) = nullptr;
  void* (*append)(void* record) = nullptr;  // valid until the next append or clear
  void (*clear)(void* record) = nullptr;
};

struct Key {
  std::string_view name;
  KeyKind kind = KeyKind::kMapping;
  Applies applies = Applies::kRestart;
  std::string_view help;
  std::int64_t low = 0;
  std::int64_t high = 0;
  std::string_view unit{};
  // kInteger: -1 stands for "not given", and `export --backup` leaves the key out. Texts, lists,
  // mappings: all exports leave out empty ones.
  bool optional = false;
  std::span<const std::string_view> words{};
  Outcome<void> (*check)(std::string_view text) = nullptr;
  std::span<const Key> children{};
  std::string_view example{};  // in the commented file: a value, of a dictionary a line
  // For keys that lnetctl reads and never writes, and for keys that it writes and ignores.
  bool input_only = false;
  bool output_only = false;
  // kRecords: a set. The items of a document are added to the present ones, or removed from them.
  bool additive = false;
  // kDictionary: each name has a value of its own; a document changes only the names that it has.
  bool by_name = false;
  // kMapping: may also be a list of mappings, each with some of the keys.
  bool also_list = false;
  Binding binding{};
  // The record's note of the place of the value; for kRecords, the note in each item's record.
  Origin& (*origin)(void* record) = nullptr;
};

inline constexpr std::int64_t kNotGiven = -1;

class Schema {
 public:
  // The sections outlive this object and have different names.
  explicit Schema(std::span<const SettingsSection* const> sections = {});
  Schema(const Schema&) = delete;
  Schema& operator=(const Schema&) = delete;

  // The keys at the top level of a document.
  [[nodiscard]] std::span<const Key> keys() const { return keys_; }
  [[nodiscard]] std::span<const SettingsSection* const> sections() const { return sections_; }

 private:
  const std::span<const SettingsSection* const> sections_;
  std::vector<Key> plnet_keys_;
  std::vector<Key> keys_;
};

[[nodiscard]] const Key* find_key(std::span<const Key> keys, std::string_view name);

// Keys that the exports of a kernel's lnetctl carry and its import ignores. `within` is the path of
// the mapping, "" for the top of the document: "net[].local NI(s)[]".
struct IgnoredKey {
  std::string_view within;
  std::string_view name;
};
[[nodiscard]] std::span<const IgnoredKey> ignored_keys();
// `path` may have indices: "net[3].local NI(s)[0]".
[[nodiscard]] bool is_ignored(std::string_view path, std::string_view name);

// "a.b", or "b" at the top.
[[nodiscard]] std::string join_path(std::string_view path, std::string_view name);

// Calls `visit` for each row, parents first. The path has "[]" for a list:
// "plnet.cpts.list[].shards[].cpu".
void for_each_key(const Schema& schema,
                  const std::function<void(const std::string& path, const Key& key)>& visit);

// The valid values, for messages and documentation: "0 to 256", "auto, busy or pause".
[[nodiscard]] std::string expected_value(const Key& key);

// The most similar known word, or "".
[[nodiscard]] std::string_view nearest_word(std::string_view given,
                                            std::span<const std::string_view> known);
// "a, b or c".
[[nodiscard]] std::string any_of(std::span<const std::string_view> words);

}  // namespace plnet::runtime
