// SPDX-License-Identifier: BSD-3-Clause
// A mapping of a YAML file, read key by key.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "lib/runtime/config/config_error.hpp"
#include "lib/runtime/config/yaml_document.hpp"

namespace plnet::runtime {

struct MappingKey {
  std::string_view name;
  std::function<void(const Node&)> read;
};

// An empty node is an empty mapping. An unknown key is an error, which lists the known ones.
void read_mapping(const Node& node, std::span<const MappingKey> keys, ConfigErrors& errors);

}  // namespace plnet::runtime
