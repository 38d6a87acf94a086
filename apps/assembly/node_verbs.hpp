// SPDX-License-Identifier: BSD-3-Clause
// What a node can be asked over its control socket.
#pragma once

#include "apps/assembly/node.hpp"
#include "lib/runtime/control/verb_table.hpp"

namespace plnet::apps {

// The node outlives the table.
void add_node_verbs(runtime::VerbTable& verbs, Node& node);

}  // namespace plnet::apps
