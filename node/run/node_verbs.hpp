// SPDX-License-Identifier: BSD-3-Clause
// What a node can be asked over its control socket.
#pragma once

#include "lib/lnet/node/lnet_control.hpp"
#include "lib/runtime/control/verb_table.hpp"
#include "node/run/node.hpp"

namespace plnet::node {

// Node and LNet outlive the table. Without an LNet its verbs are not there.
void add_node_verbs(runtime::VerbTable& verbs, Node& node, lnet::LnetControl* lnet);

}  // namespace plnet::node
