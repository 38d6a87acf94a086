// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/config/mapping_keys.hpp"

#include <algorithm>
#include <string>

#include <fmt/format.h>

namespace plnet::runtime {

void read_mapping(const Node& node, std::span<const MappingKey> keys, ConfigErrors& errors) {
  if (node.kind == NodeKind::kNull) return;
  if (node.kind != NodeKind::kMapping)
    return errors.add(node.at, "expected a mapping (`key: value` lines)");
  for (const Node& item : node.items) {
    const auto key = std::ranges::find(keys, item.key, &MappingKey::name);
    if (key != keys.end()) {
      key->read(item);
      continue;
    }
    std::string known;
    for (const MappingKey& each : keys)
      known += fmt::format("{}{}", known.empty() ? "" : ", ", each.name);
    errors.add(item.key_at,
               fmt::format("unknown key '{}', expected one of {}", shown(item.key), known));
  }
}

}  // namespace plnet::runtime
