// SPDX-License-Identifier: BSD-3-Clause
#include "lib/kfilnd/facts.hpp"

namespace plnet::kfilnd {

PeerFacts facts_of(const Peer& peer, Instant now) {
  return {.nid = peer.nid,
          .state = peer.state,
          .greeting = peer.hello_state != HelloState::kNone,
          .version = peer.version,
          .rx_base = peer.rx_base,
          .local_session_key = peer.local_session_key,
          .remote_session_key = peer.remote_session_key,
          .transactions = peer.users,
          .silent = now - peer.last_alive};
}

}  // namespace plnet::kfilnd
