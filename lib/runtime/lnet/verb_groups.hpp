// SPDX-License-Identifier: BSD-3-Clause
// The verbs of LNet by their objects, and the questions that documents ask, too.
#pragma once

#include <string>
#include <vector>

#include "lib/lnet/node/lnet_control.hpp"
#include "lib/runtime/control/verb_table.hpp"
#include "lib/runtime/lnet/verb_args.hpp"

namespace plnet::runtime {

void add_net_verbs(VerbTable& verbs, lnet::LnetControl& control);
void add_peer_verbs(VerbTable& verbs, lnet::LnetControl& control);
void add_route_verbs(VerbTable& verbs, lnet::LnetControl& control);
void add_manage_verbs(VerbTable& verbs, lnet::LnetControl& control);
void add_connection_verbs(VerbTable& verbs, lnet::LnetControl& control);
void add_fault_verbs(VerbTable& verbs, lnet::LnetControl& control);
void add_load_verbs(VerbTable& verbs, lnet::LnetControl& control);
void add_message_verbs(VerbTable& verbs, lnet::LnetControl& control);
void add_access_verbs(VerbTable& verbs, lnet::LnetControl& control);
void add_udsp_verbs(VerbTable& verbs, lnet::LnetControl& control);
void add_debug_verbs(VerbTable& verbs, lnet::LnetControl& control);
void add_debugfs_verbs(VerbTable& verbs, lnet::LnetControl& control);

void show_nets(lnet::LnetControl& control, const VerbArgs& args, VerbToken token);
void show_peers(lnet::LnetControl& control, const VerbArgs& args, VerbToken token);
void show_routes(lnet::LnetControl& control, const VerbArgs& args, VerbToken token);
void show_routing(lnet::LnetControl& control, VerbToken token);
// The configured part, for export.
void show_routing_as_configured(lnet::LnetControl& control, VerbToken token);
void show_statistics(lnet::LnetControl& control, VerbToken token);

// NIDs that answered are the result; the others are listed under `manage`, as lnetctl prints both.
// If none answered, that is an error.
[[nodiscard]] lnet::Reply<std::vector<lnet::PingReport>> pinged(VerbToken token,
                                                                std::string entity);

}  // namespace plnet::runtime
