// SPDX-License-Identifier: BSD-3-Clause
// Handlers of a node's verbs.
#pragma once

#include "lib/lnet/node/lnet_control.hpp"
#include "lib/runtime/control/verb_table.hpp"
#include "node/run/node.hpp"

namespace plnet::node {

// Node and LNet outlive the table. Without LNet (null) there are no verbs of LNet.
void add_node_verbs(runtime::VerbTable& verbs, Node& node, lnet::LnetControl* lnet);

}  // namespace plnet::node
