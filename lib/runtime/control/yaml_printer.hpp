// SPDX-License-Identifier: BSD-3-Clause
// Prints a document in the layout that users of LNet's lnetctl know (its "classic" one): four
// spaces per level, list items with their dash two to the left of their keys, True and False.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace plnet::runtime {

// The keys come out in the order of the document. An empty document prints as nothing. Strings are
// quoted where YAML (1.1 or 1.2) would read them as something else, and always under the keys
// `descr` and `CPT`, because lnetctl does. Bytes that are not UTF-8 come out as escapes.
// Documents are shallow (the control protocol bounds their depth); recursion relies on it.
[[nodiscard]] std::string print_yaml(const nlohmann::ordered_json& document);

// One scalar as it would stand after "key: ", for those who write a line by themselves.
[[nodiscard]] std::string yaml_scalar(std::string_view text);

}  // namespace plnet::runtime
