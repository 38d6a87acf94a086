// SPDX-License-Identifier: BSD-3-Clause
// Walks through a document and the table of its keys together, and copies the values to a record.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/runtime/config/config_error.hpp"
#include "lib/runtime/config/schema.hpp"
#include "lib/runtime/config/yaml_document.hpp"

namespace plnet::runtime {

enum class ReadMode : std::uint8_t {
  kSet,
  kReset,  // named keys get their defaults; items of sets are read as with kSet
};

class DocumentReader {
 public:
  // The errors outlive this object.
  DocumentReader(ConfigErrors& errors, ReadMode mode) : errors_(errors), mode_(mode) {}

  // `defaults` is a record of the same type as `record`.
  void read_mapping(const Node& node, std::span<const Key> keys, void* record, const void* defaults,
                    const std::string& path);

  // Whether this path, or anything below it, has had an error.
  [[nodiscard]] bool failed_at(std::string_view path) const {
    return std::ranges::any_of(
        failed_, [path](std::string_view failed) { return failed.starts_with(path); });
  }

 private:
  void complain(Position at, const std::string& path, std::string_view what);
  void report_unknown(const Node& item, std::span<const Key> keys, const std::string& path);
  void read_key(const Node& node, const Key& key, void* record, const void* defaults,
                const std::string& path);
  void read_records(const Node& node, const Key& key, void* record, const std::string& path);
  std::optional<Value> read_dictionary(const Node& node, const Key& key, const std::string& path);
  void read_by_name(const Node& node, const Key& key, void* record, const std::string& path);
  std::optional<Value> read_scalar(const Node& node, const Key& key, const std::string& path);
  // A YAML list, where lnetctl writes a text that looks like one.
  std::optional<Value> read_cpts(const Node& node, const Key& key, const std::string& path);
  void note_origin(const Key& key, void* record, Position at) const;
  void reset(std::span<const Key> keys, void* record, const void* defaults);

  ConfigErrors& errors_;
  ReadMode mode_;
  std::vector<std::string> failed_;
};

}  // namespace plnet::runtime
