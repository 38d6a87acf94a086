// SPDX-License-Identifier: BSD-3-Clause
// `set NAME VALUE` for LNet's names: the variables of `global show`, routing, tiny_buffers, ….
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "lib/lnet/node/lnet_control.hpp"
#include "lib/runtime/control/verb_table.hpp"

namespace plnet::runtime {

[[nodiscard]] bool is_lnet_variable(std::string_view name);
// "numa_range, max_interfaces, …".
[[nodiscard]] std::string lnet_variable_names();
void set_lnet_variable(lnet::LnetControl& control, std::string_view name,
                       const nlohmann::json& value, VerbToken token);

}  // namespace plnet::runtime
