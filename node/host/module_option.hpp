// SPDX-License-Identifier: BSD-3-Clause
// Changes of a single option of a kernel module in a configuration.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "lib/base/result.hpp"
#include "lib/lnet/node/node_config.hpp"

namespace plnet::node {

inline void put_module_option(lnet::NodeConfig& config, std::string_view module,
                              std::string_view name, std::string_view value) {
  auto& options = config.module_options;
  const auto there = std::ranges::find_if(options, [&](const lnet::ModuleOption& option) {
    return option.module == module && option.name == name;
  });
  if (there != options.end()) {
    there->value = value;
  } else {
    options.push_back({std::string(module), std::string(name), std::string(value)});
  }
}

// For an option that does not change while the node runs.
inline Outcome<void> needs_restart(std::string_view module, std::string_view name,
                                   std::string_view value) {
  return failure(Errc::kBusy,
                 fmt::format("{}.{} is read when the node starts, as the kernel's module does: "
                             "put `options {} {}={}` into the file of `lnet-router --options`",
                             module, name, module, name, value));
}

}  // namespace plnet::node
