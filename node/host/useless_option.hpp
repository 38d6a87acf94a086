// SPDX-License-Identifier: BSD-3-Clause
// Options of the kernel's modules that have no effect on this node, with the reason.
#pragma once

#include <algorithm>
#include <ranges>
#include <string>
#include <string_view>
#include <vector>

#include "lib/lnet/node/node_config.hpp"
#include "node/host/network_family.hpp"

namespace plnet::node {

// For `name` with or without its module. "": the option has an effect, or is unknown.
[[nodiscard]] std::string why_useless(Families families, std::string_view name);

// A note for each option of `wanted` without effect that `now` does not have.
[[nodiscard]] std::vector<std::string> notes_of_useless_options(Families families,
                                                                const lnet::NodeConfig& wanted,
                                                                const lnet::NodeConfig& now);

// From the help of an LND's tunable. "": the tunable has an effect, or the table has no such one.
template <class Table>
[[nodiscard]] std::string_view why_ignored(const Table& table, std::string_view name) {
  const auto found = std::ranges::find_if(
      table, [name](const auto& each) { return each.name == name && each.ignored(); });
  if (found == std::ranges::end(table)) return {};
  return found->help.substr(found->help.find(' ') + 1);  // "ignored: why"
}

}  // namespace plnet::node
