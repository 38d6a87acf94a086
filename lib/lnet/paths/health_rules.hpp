// SPDX-License-Identifier: BSD-3-Clause
// What the end of a message says about the interfaces that it used, and whether it may be sent
// again. Pure: who applies the verdict reads the settings and touches the health values.
// Checked against lustre-release 2.17 lnet/lnet/lib-msg.c: lnet_is_health_check(),
// lnet_health_check(), lnet_attempt_msg_resend(), get_msg_deadline(); lnet/lnet/peer.c:
// lnet_peer_ni_add_to_recoveryq_locked().
#pragma once

#include <cstdint>

#include "lib/base/clock.hpp"
#include "lib/base/result.hpp"
#include "lib/lnet/api/parameters.hpp"
#include "lib/lnet/peers/peer.hpp"

namespace plnet::lnet {

// What became of a message, and where.
struct MessageEnd {
  Health health = Health::kOk;
  bool failed = false;  // its status is an error
  // It had come to use an NI for sending, for receiving; a forwarded one both. If it was sent, the
  // interfaces in question are those that it left by, else those that it came by.
  bool sent = false;
  bool received = false;
  bool late = false;      // past its deadline
  bool loopback = false;  // there is no peer NI
  bool unsent = false;    // none of it left: another attempt makes no duplicate
  // Something came in on the NI after the message was handed to its LND: the NI works.
  bool ni_works = false;

  // The node.
  bool node_routes = false;
  std::uint32_t local_nis = 0;  // without 0@lo

  // The peer of the peer NI.
  bool peer_is_router = false;  // a route of ours goes through it
  bool peer_ni_is_ours = false;
  std::uint32_t peer_nis = 0;

  // The message, for sending it again.
  bool recovery = false;
  bool no_resend = false;
  bool forwarded = false;         // then `no_resend` says whether there is another way
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
  // Whoever sent this is there: recovery pings of both NIs begin anew at their shortest interval.
  bool reset_ping_counts = false;
  // Not at its best yet: have the peer NI pinged. Follows a demerit, and a merit for one that had
  // been given up.
  bool recover_peer = false;

  friend bool operator==(const HealthVerdict&, const HealthVerdict&) = default;
};

[[nodiscard]] HealthVerdict judge(const MessageEnd& end);

// Whether pings are to bring it back to its full health: not where health decides nothing, since it
// has no `rivals` (others of its peer, or other gateways), no network of ours is its, or the
// sensitivity is 0; nor if it was never heard of.
[[nodiscard]] bool needs_recovery(const PeerNi& ni, bool rivals, const Parameters& parameters);

// Of a message for which there is no path: lustre-release lnet/lnet/lib-move.c: lnet_send().
[[nodiscard]] Health health_of_no_path(Errc code);

// By when a message must have been sent. `lnd_timeout`: of the NI's LND, 0 if it has none of its
// own. Forwarded messages are not held to it while they wait.
[[nodiscard]] Instant message_deadline(Instant now, Duration lnd_timeout,
                                       const Parameters& parameters);

}  // namespace plnet::lnet
