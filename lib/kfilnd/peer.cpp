// SPDX-License-Identifier: BSD-3-Clause
#include "lib/kfilnd/peer.hpp"

namespace plnet::kfilnd {

namespace {

// The fabric reports an absent node, or a node without a process on our VNI. A peer whose NIC
// refuses one message or one tag (kRefused) is present: lustre-release kfilnd_peer_tn_failed()
// takes only EHOSTUNREACH and ENOTCONN for its end. A driver reports another life of the peer as
// kReset.
bool says_unreachable(Errc cause) {
  return cause == Errc::kNoRoute || cause == Errc::kClosed || cause == Errc::kReset;
}

}  // namespace

std::string_view name_of(PeerState state) {
  switch (state) {
    case PeerState::kNew: return "NEW";
    case PeerState::kUpToDate: return "UPTODATE";
    case PeerState::kStale: return "STALE";
    case PeerState::kDown: return "DOWN";
    case PeerState::kWaitResponse: return "WAIT_RSP";
  }
  return "unknown";
}

bool Peer::needs_hello(Instant now, Duration timeout, bool proactive) const {
  switch (hello_state) {
    case HelloState::kInit: return false;
    case HelloState::kSending: return hello_at + timeout < now;
    case HelloState::kNone: break;
  }
  if (state != PeerState::kUpToDate) return true;
  return proactive && last_alive + kProactiveTimeouts * timeout < now;
}

PeerFate transaction_failed(Peer& peer, Errc cause, bool tag_exposed, Instant now,
                            Duration timeout) {
  PeerFate fate = PeerFate::kStays;
  const bool silent = peer.last_alive + kPurgeTimeouts * timeout < now;
  if (says_unreachable(cause)) {
    if (peer.is_usable()) {
      peer.state = PeerState::kDown;
      fate = PeerFate::kLost;
    } else if (peer.state == PeerState::kDown && silent) {
      fate = PeerFate::kDelete;
    }
  } else if (peer.state == PeerState::kUpToDate) {
    peer.state = PeerState::kStale;
  } else if (silent) {
    fate = PeerFate::kDelete;
  }
  return tag_exposed ? PeerFate::kDelete : fate;
}

}  // namespace plnet::kfilnd
