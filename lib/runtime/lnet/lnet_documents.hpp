// SPDX-License-Identifier: BSD-3-Clause
// Verbs whose answer is a whole document: import --show, import --exec, export.
#pragma once

#include <nlohmann/json.hpp>

#include "lib/lnet/node/lnet_control.hpp"
#include "lib/runtime/config/settings_reader.hpp"
#include "lib/runtime/control/verb_table.hpp"

namespace plnet::runtime {

// The answers of `import --show` and `import --exec`.
void show_named(lnet::LnetControl& control, const NamedItems& named, VerbToken token);
void exec_named(lnet::LnetControl& control, const NamedItems& named, VerbToken token);
// `export` without --backup: the running state, in lnetctl's order. `tail` is appended.
void export_running(lnet::LnetControl& control, Json tail, VerbToken token);

}  // namespace plnet::runtime
