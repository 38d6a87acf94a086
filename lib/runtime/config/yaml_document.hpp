// SPDX-License-Identifier: BSD-3-Clause
// Parses text to a tree of nodes with their places. libfyaml has the grammar. Features that only an
// attacker would use (anchors, aliases, tags, several documents) are refused, and the size is
// bounded in bytes, nodes and depth.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/runtime/config/config_error.hpp"

namespace plnet::runtime {

// A site's export with 10 000 peers and all their counters has 15 MB.
inline constexpr std::size_t kMaxYamlBytes = std::size_t{16} << 20U;
// Such an export has 500 000 nodes; a node costs about 120 bytes of memory.
inline constexpr std::size_t kMaxYamlNodes = 1'000'000;
// The deepest document of lnetctl has 7 levels. Functions may recurse over a document of this
// depth.
inline constexpr std::size_t kMaxYamlDepth = 32;

enum class NodeKind : std::uint8_t {
  kNull,  // no value: `key:`, `key: ~`, `key: null`
  kScalar,
  kSequence,
  kMapping,
};

struct Node {
  NodeKind kind = NodeKind::kNull;
  Position at;              // of the value; for kNull without text, of the key
  std::string text;         // kScalar: without its quotes
  std::vector<Node> items;  // kSequence and kMapping, in the order of the document
  std::string key;          // in a mapping: the key ...
  Position key_at;          // ... and its place

  // kMapping: the item with that key; null if there is none.
  [[nodiscard]] const Node* find(std::string_view wanted) const;
};

// An empty text, or one of comments only, gives kNull at 1:1. Reading ends at the first syntax
// error or refused feature.
[[nodiscard]] std::expected<Node, ConfigErrors> parse_yaml(std::string_view text,
                                                           std::string_view file_name);

// For a caller that checks more: duplicate keys are in `errors`, and the tree is returned
// nevertheless; nullopt only if the text could not be read to its end.
[[nodiscard]] std::optional<Node> parse_yaml(std::string_view text, ConfigErrors& errors);

}  // namespace plnet::runtime
