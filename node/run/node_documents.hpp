// SPDX-License-Identifier: BSD-3-Clause
// Documents over the control socket: `import` and `export`.
#pragma once

#include <nlohmann/json.hpp>

#include "lib/lnet/node/lnet_control.hpp"
#include "lib/runtime/control/verb_table.hpp"
#include "node/run/node.hpp"

namespace plnet::node {

// On a node without LNet, LNet's part of a document is taken unchecked.
void import_document(Node& node, lnet::LnetControl* lnet, const nlohmann::json& args,
                     const runtime::Caller& caller, runtime::VerbToken token);
// Reads the files of the start again and makes their settings the present ones: all or nothing.
void reload_settings(Node& node, lnet::Reply<void> done);
void export_document(const Node& node, lnet::LnetControl* lnet, bool backup,
                     runtime::VerbToken token);

}  // namespace plnet::node
