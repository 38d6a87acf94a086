// SPDX-License-Identifier: BSD-3-Clause
// Prints a document in the layout that users of LNet's lnetctl know (its "classic" one): four
// spaces per level, list items with their dash two to the left of their keys, True and False.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace plnet::runtime {

enum class YamlBooleans : std::uint8_t {
  kCapital,  // True and False
  kLower,    // true and false: answers that lnetctl 2.17 gets by netlink, such as `ping`
};
// Keys keep the order of the document. An empty document prints as nothing. Strings are quoted
// where YAML (1.1 or 1.2) would read them as another type, and always under the keys `descr` and
// `CPT`, as lnetctl does. Invalid UTF-8 is escaped. The control protocol bounds the depth of
// documents; the recursion relies on it.
[[nodiscard]] std::string print_yaml(const nlohmann::ordered_json& document,
                                     YamlBooleans booleans = YamlBooleans::kCapital);

// One scalar as printed after "key: ", for callers that write a line themselves.
[[nodiscard]] std::string yaml_scalar(std::string_view text);

}  // namespace plnet::runtime
