// SPDX-License-Identifier: BSD-3-Clause
#include "node/host/useless_option.hpp"

#include <fmt/format.h>

#include "lib/runtime/config/module_option_names.hpp"

namespace plnet::node {

std::string why_useless(Families families, std::string_view name) {
  const std::size_t dot = name.find('.');
  const std::string_view module = dot == std::string_view::npos ? "" : name.substr(0, dot);
  const std::string_view option = dot == std::string_view::npos ? name : name.substr(dot + 1);
  if (const auto* const useless = runtime::find_useless_option(module, option))
    return std::string(useless->why);
  for (const NetworkFamily* family : families) {
    const std::string_view why = family->why_useless(module, option);
    if (!why.empty()) return std::string(why);
  }
  return {};
}

std::vector<std::string> notes_of_useless_options(Families families, const lnet::NodeConfig& wanted,
                                                  const lnet::NodeConfig& now) {
  std::vector<std::string> notes;
  for (const lnet::ModuleOption& option : wanted.module_options) {
    if (std::ranges::find(now.module_options, option) != now.module_options.end()) continue;
    const std::string name = fmt::format("{}.{}", option.module, option.name);
    const std::string why = why_useless(families, name);
    if (!why.empty()) notes.push_back(fmt::format("option {} has no effect here: {}", name, why));
  }
  return notes;
}

}  // namespace plnet::node
