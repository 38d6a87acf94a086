// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/lnet/lnet_verbs.hpp"

#include "lib/runtime/lnet/verb_groups.hpp"

namespace plnet::runtime {

void add_lnet_verbs(VerbTable& verbs, lnet::LnetControl& control) {
  add_net_verbs(verbs, control);
  add_peer_verbs(verbs, control);
  add_route_verbs(verbs, control);
  add_manage_verbs(verbs, control);
  add_connection_verbs(verbs, control);
  add_fault_verbs(verbs, control);
  add_debug_verbs(verbs, control);
  add_debugfs_verbs(verbs, control);
  add_access_verbs(verbs, control);
  add_udsp_verbs(verbs, control);
  add_load_verbs(verbs, control);
  add_message_verbs(verbs, control);
}

}  // namespace plnet::runtime
