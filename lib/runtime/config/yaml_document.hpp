// SPDX-License-Identifier: BSD-3-Clause
// Text to a tree of nodes that know where they stood. The grammar is libfyaml's; what a
// configuration has no use for and an attacker would (anchors, aliases, tags, several documents) is
// refused, and the size is bounded in bytes, nodes and depth.
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
  kNull,  // nothing there: `key:`, `key: ~`, `key: null`
  kScalar,
  kSequence,
  kMapping,
};

struct Node {
  NodeKind kind = NodeKind::kNull;
  Position at;              // where the value stands; for kNull without text, where its key does
  std::string text;         // kScalar: without its quotes
  std::vector<Node> items;  // kSequence and kMapping, in the order of the document
  std::string key;          // in a mapping: the key ...
  Position key_at;          // ... and where it stands

  // kMapping: the item with that key, else null.
  [[nodiscard]] const Node* find(std::string_view wanted) const;
};

// An empty text, or one of comments only, is a document that is kNull at 1:1. A syntax error, or
// what is refused, ends the reading.
[[nodiscard]] std::expected<Node, ConfigErrors> parse_yaml(std::string_view text,
                                                           std::string_view file_name);

// For a caller that has more to find: gives the tree also if keys in it are duplicate, all of which
// are in `errors`; nothing if the text could not be read to its end.
[[nodiscard]] std::optional<Node> parse_yaml(std::string_view text, ConfigErrors& errors);

}  // namespace plnet::runtime
