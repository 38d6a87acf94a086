// SPDX-License-Identifier: BSD-3-Clause
// What a node with LNet can be asked over its control socket: net, peer, route, ping, …. Arguments
// are those of lnetctl's options, results are its documents.
#pragma once

#include <string_view>

#include <nlohmann/json.hpp>

#include "lib/lnet/node/lnet_control.hpp"
#include "lib/runtime/config/settings_reader.hpp"
#include "lib/runtime/control/verb_table.hpp"

namespace plnet::runtime {

// The control outlives the table.
void add_lnet_verbs(VerbTable& verbs, lnet::LnetControl& control);

// `set NAME VALUE`, for the names of LNet: those of `global show`, routing, tiny_buffers, ….
[[nodiscard]] bool is_lnet_variable(std::string_view name);
// "numa_range, max_interfaces, …".
[[nodiscard]] std::string lnet_variable_names();
void set_lnet_variable(lnet::LnetControl& control, std::string_view name,
                       const nlohmann::json& value, VerbToken token);

// What `import --show` and `import --exec` answer.
void show_named(lnet::LnetControl& control, const NamedItems& named, VerbToken token);
void exec_named(lnet::LnetControl& control, const NamedItems& named, VerbToken token);
// `export` without --backup: what runs, in the order of lnetctl. `tail` goes behind it.
void export_running(lnet::LnetControl& control, Json tail, VerbToken token);

}  // namespace plnet::runtime
