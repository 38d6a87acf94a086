// SPDX-License-Identifier: BSD-3-Clause
// The golden vectors of Cassini's structures as values of the driver's layouts.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "tests/unit/drivers/cassini/golden.hpp"

namespace plnet::cassini::golden {

namespace vectors = lnet::vectors;
using Values = std::map<std::string, std::uint64_t>;

inline Json one(std::string_view name) {
  for (const Json& vector : all()) {
    if (vector["name"].get<std::string>() == name) return vector;
  }
  return {};
}

// Combines parts that the driver keeps in one value; each has its place in it.
inline void add(Values& values, std::string name, std::uint64_t value) {
  struct Part {
    std::string_view suffix, whole;
    unsigned shift;
  };
  static constexpr std::array<Part, 7> kParts{{{"command.cmd_type", "command", 0},
                                               {"command.cmd_size", "command", 2},
                                               {"command.opcode", "command", 4},
                                               {"dfa.endpoint_defined", "dfa", 0},
                                               {"dfa.nid", "dfa", 12},
                                               {"conn_idx.sct", "conn_idx", 0},
                                               {"conn_idx.tct", "conn_idx", 0}}};
  for (const Part& part : kParts) {
    if (!name.ends_with(part.suffix)) continue;
    name.replace(name.size() - part.suffix.size(), part.suffix.size(), part.whole);
    values[name] |= value << part.shift;
    return;
  }
  if (name == "event_size") name = "size";
  if (name == "event_type") name = "type";
  values[name] |= value;
}

// Every field except the payload, by the driver's names.
inline Values values_of(const Json& vector) {
  Values values;
  for (const auto& [name, value] : vector["fields"].items()) {
    if (name != "payload") add(values, name, number(vector, name));
  }
  return values;
}

// Moves the values into the fields of the same names; the remaining ones stay in `values`.
template <class Layout>
Layout fill(Values& values) {
  Layout layout;
  Layout::each(layout, [&](const char* name, auto& field) {
    const auto found = values.find(name);
    if (found == values.end()) return;
    field = static_cast<std::remove_reference_t<decltype(field)>>(found->second);
    values.erase(found);
  });
  return layout;
}

}  // namespace plnet::cassini::golden
