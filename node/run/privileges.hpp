// SPDX-License-Identifier: BSD-3-Clause
// The privileges of a program that is only a node.
#pragma once

#include "lib/runtime/config/settings.hpp"
#include "lib/runtime/control/socket.hpp"
#include "node/host/network_family.hpp"

namespace plnet::node {

// Gives up the capabilities that a node with these settings never needs. Called before there is a
// second thread.
[[nodiscard]] Outcome<void> give_up_privileges(const runtime::Settings& settings, Families families,
                                               const runtime::SocketOptions& socket);

}  // namespace plnet::node
