// SPDX-License-Identifier: BSD-3-Clause
// Keys of a site file and their valid values.
#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "apps/lnet-sim/yaml/duration_text.hpp"
#include "lib/base/clock.hpp"
#include "lib/base/whole_number.hpp"
#include "lib/runtime/config/config_error.hpp"
#include "lib/runtime/config/mapping_keys.hpp"
#include "lib/runtime/config/yaml_document.hpp"

namespace plnet::sim {

using runtime::ConfigErrors;
using runtime::NodeKind;
using runtime::shown;
using YamlNode = runtime::Node;

using Key = runtime::MappingKey;

class KeyReader {
 public:
  explicit KeyReader(ConfigErrors& errors) : errors_(errors) {}

  void mapping(const YamlNode& node, std::span<const Key> keys) {
    runtime::read_mapping(node, keys, errors_);
  }

  template <class Number>
  Key number(std::string_view name, Number& out, std::uint64_t least, std::uint64_t most) {
    return {name, [this, name, &out, least, most](const YamlNode& node) {
              if (const auto value = whole(node, name, least, most)) {
                out = static_cast<Number>(*value);
              }
            }};
  }
  // "10s", "20ms", "5us".
  Key duration(std::string_view name, Duration& out) {
    return {name, [this, name, &out](const YamlNode& node) {
              if (const auto value = parse_duration(node.text)) {
                out = *value;
                return;
              }
              errors_.add(node.at, fmt::format("{}: '{}', expected a time like 10s, 20ms or 5us",
                                               name, shown(node.text)));
            }};
  }
  Key flag(std::string_view name, bool& out) {
    return {name, [this, name, &out](const YamlNode& node) {
              if (node.text != "true" && node.text != "false") {
                return errors_.add(node.at, fmt::format("{}: '{}', expected true or false", name,
                                                        shown(node.text)));
              }
              out = node.text == "true";
            }};
  }
  template <class Word, std::size_t kCount>
  Key word(std::string_view name, Word& out,
           const std::array<std::pair<std::string_view, Word>, kCount>& words) {
    return {name, [this, name, &out, words](const YamlNode& node) {
              for (const auto& [text, value] : words) {
                if (node.text == text) {
                  out = value;
                  return;
                }
              }
              std::string known;
              for (const auto& each : words)
                known += fmt::format("{}{}", known.empty() ? "" : ", ", each.first);
              errors_.add(node.at, fmt::format("{}: '{}', expected one of {}", name,
                                               shown(node.text), known));
            }};
  }
  Key list(std::string_view name, std::function<void(const YamlNode&)> clear_and_item) {
    return {name, [this, name, read = std::move(clear_and_item)](const YamlNode& node) {
              if (node.kind != NodeKind::kSequence || node.items.empty()) {
                return errors_.add(node.at, fmt::format("{}: expected a list", name));
              }
              for (const YamlNode& item : node.items)
                read(item);
            }};
  }
  std::optional<std::uint64_t> whole(const YamlNode& node, std::string_view name,
                                     std::uint64_t least, std::uint64_t most) {
    const auto value = whole_number<std::uint64_t>(node.text);
    if (value && *value >= least && *value <= most) return value;
    errors_.add(node.at, fmt::format("{}: '{}', expected a number from {} to {}", name,
                                     shown(node.text), least, most));
    return std::nullopt;
  }

 private:
  ConfigErrors& errors_;
};

}  // namespace plnet::sim
