// SPDX-License-Identifier: BSD-3-Clause
// The verdict of a message's end about the health of its interfaces, and whether it may be sent
// again. Pure: the caller reads the settings and changes the health values. Checked against
// lustre-release 2.17 lnet/lnet/lib-msg.c: lnet_is_health_check(), lnet_health_check(),
// lnet_attempt_msg_resend(), get_msg_deadline(); lnet/lnet/peer.c:
// lnet_peer_ni_add_to_recoveryq_locked().
#pragma once

#include <cstdint>

#include "lib/base/clock.hpp"
#include "lib/base/result.hpp"
#include "lib/lnet/api/parameters.hpp"
#include "lib/lnet/peers/peer.hpp"

namespace plnet::lnet {

// The end of a message, with the facts for its verdict.
struct MessageEnd {
  Health health = Health::kOk;
  bool failed = false;  // its status is an error
  // The message used an NI for sending, for receiving; a forwarded one for both. Judge the egress
  // NI pair if the message was sent, the ingress pair otherwise.
  bool sent = false;
  bool received = false;
  bool late = false;      // past its deadline
  bool loopback = false;  // there is no peer NI
  bool unsent = false;    // none of it left: another attempt makes no duplicate
  // The NI received something after the LND got the message: the NI works.
  bool ni_works = false;

  // Facts about the node.
  bool node_routes = false;
  std::uint32_t local_nis = 0;  // without 0@lo

  // Facts about the peer of the peer NI.
  bool peer_is_router = false;  // a route of ours goes through it
  bool peer_ni_is_ours = false;
  std::uint32_t peer_nis = 0;

  // Facts about the message, for another attempt.
  bool recovery = false;
  bool no_resend = false;
  bool forwarded = false;         // then `no_resend` says whether it has another path
  std::uint32_t retries = 0;      // so far
  std::uint32_t retries_max = 0;  // Parameters::retry_count
};

enum class HealthChange : std::uint8_t {
  kNone,
  kDemerit,  // one step down; queue for recovery if that left it below the maximum
  kMerit,    // one step up
  kFull,     // to the maximum
};

struct HealthVerdict {
  HealthChange local = HealthChange::kNone;
  HealthChange peer = HealthChange::kNone;
  bool resend = false;
  bool retries_exhausted = false;  // counted as failed resend
  // A message from the peer NI: recovery pings of both NIs begin anew at their shortest interval.
  bool reset_ping_counts = false;
  // Below full health: the peer NI needs recovery pings. Follows a demerit, and a merit for an NI
  // whose pings had ended.
  bool recover_peer = false;

  friend bool operator==(const HealthVerdict&, const HealthVerdict&) = default;
};

[[nodiscard]] HealthVerdict judge(const MessageEnd& end);

// The peer NI needs pings until it has full health. Not if its health decides nothing: without
// `rivals` (other NIs of its peer, or other gateways), on a network that is not ours, or with
// sensitivity 0; nor if no message has arrived from it.
[[nodiscard]] bool needs_recovery(const PeerNi& ni, bool rivals, const Parameters& parameters);

// The class of a message without a path: lustre-release lnet/lnet/lib-move.c: lnet_send().
[[nodiscard]] Health health_of_no_path(Errc code);

// The deadline for sending a message. `lnd_timeout`: of the NI's LND, 0 if it has none of its own.
// Forwarded messages do not have it while they wait.
[[nodiscard]] Instant message_deadline(Instant now, Duration lnd_timeout,
                                       const Parameters& parameters);

}  // namespace plnet::lnet
