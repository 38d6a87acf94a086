// SPDX-License-Identifier: BSD-3-Clause
// A message of this node on its way out, from the call or the answer that made it to its end.
#pragma once

#include <atomic>
#include <cstdint>

#include "lib/lnet/lnd.hpp"
#include "lib/lnet/match/grant.hpp"
#include "lib/lnet/move/parcel.hpp"
#include "lib/lnet/peers/peer.hpp"

namespace plnet::lnet {

struct Receive;

struct Message : Parcel, Transmit {
  Message() : Parcel(ParcelKind::kMessage) {}

  // What was asked for.
  ProcessId target;            // as the caller named it
  Nid from = Nid::any();       // the source that it must have
  Nid router = Nid::any();     // responses: the gateway that brought the request
  Grant grant;                 // requests: of their descriptor
  Receive* answers = nullptr;  // responses: what is answered
  Instant begun{};
  bool recovery = false;

  // The path that was chosen.
  Ni* ni = nullptr;
  PeerNi* hop = nullptr;  // next hop
  bool has_peer_credit = false;
  bool has_ni_credit = false;

  // How it ended.
  Completion result;
  // Set by the shard that posted it; the message may be on its way through others meanwhile.
  std::atomic<bool> quarantine_over{false};

  [[nodiscard]] bool is_response() const {
    return header.type == MessageType::kAck || header.type == MessageType::kReply;
  }
  // What LNet counts as queued for it.
  [[nodiscard]] std::uint32_t queue_bytes() const { return header.payload_length + 72; }
};

}  // namespace plnet::lnet
