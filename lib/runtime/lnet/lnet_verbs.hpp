// SPDX-License-Identifier: BSD-3-Clause
// Handlers of LNet's verbs: net, peer, route, ping, …. Arguments are lnetctl's options, results are
// its documents.
#pragma once

#include "lib/lnet/node/lnet_control.hpp"
#include "lib/runtime/control/verb_table.hpp"

namespace plnet::runtime {

// The control outlives the table.
void add_lnet_verbs(VerbTable& verbs, lnet::LnetControl& control);

}  // namespace plnet::runtime
