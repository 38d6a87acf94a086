// SPDX-License-Identifier: BSD-3-Clause
// The choice of one of a peer's open connections for a message. lustre-release
// lnet/klnds/socklnd/socklnd_cb.c: ksocknal_find_conn_locked().
#pragma once

#include "lib/socklnd/peer.hpp"
#include "lib/socklnd/tunables.hpp"

namespace plnet::socklnd {

// nullptr: none fits, or the connections of the peer are being closed.
[[nodiscard]] Connection* choose_connection(Peer& peer, const lnet::Transmit& transmit,
                                            const Tunables& tunables);
[[nodiscard]] Connection* choose_for_noop(Peer& peer, bool nonblocking, const Tunables& tunables);

}  // namespace plnet::socklnd
