// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/move/send_verdicts.hpp"

#include "lib/base/check.hpp"

namespace plnet::lnet {

namespace {
// A message leaves a lost gateway for another path this many times at most.
constexpr std::uint8_t kDetoursMax = 3;
}  // namespace

void SendVerdicts::end_unwanted(Message& message) {
  if (core_.now > message.deadline) return end_late(message);
  if (is_routed_down(message)) return end_for_lost_hop(message);
  core_.tap_drop(message, Cause::kTxMdAborted);
  core_.causes.add(Cause::kTxMdAborted);
  end_with(message, Errc::kCancelled, Health::kOk);
}

// Counted like drops of messages that arrive (lustre-release lnet/lnet/lib-move.c:
// lnet_post_send_locked()).
void SendVerdicts::end_late(Message& message) {
  count_drop(message, Cause::kTxDeadline);
  end_with(message, Errc::kTimedOut, Health::kNetworkTimeout);
}

void SendVerdicts::count_drop(const Message& message, Cause cause) {
  PLNET_CHECK(message.ni != nullptr && message.hop != nullptr,
              "a message that is dropped before its LND has a path");
  core_.tap_drop(message, cause);
  core_.drop(cause, message.header.payload_length);
  const LnetTraffic::Id dropped = traffic_id(TrafficWay::kDropped, message.header.type);
  if (NiPort* const port = core_.ports[message.ni->number]) port->traffic.add(dropped);
  if (PeerPort* const peer = core_.peers.find(*message.hop)) peer->traffic.add(dropped);
}

// A gateway may have other NIDs, and this node other NIs, when one of them is removed.
void SendVerdicts::end_released(Message& message, Errc cause) {
  const bool hop_stays = message.hop != nullptr && !message.hop->leaving.get();
  if ((message.next_hop_is_router || hop_stays) && may_detour(message))
    return end_for_other_path(message);
  core_.tap_drop(message, Cause::kTxReleased);
  core_.causes.add(Cause::kTxReleased);
  end_with(message, cause, Health::kLocalAborted);
}

bool SendVerdicts::turn_back(Message& message) {
  PLNET_CHECK(message.ni != nullptr, "a message that waits for credits has a path");
  if (message.hop == nullptr) return false;  // loopback
  if (is_routed_down(message)) {
    end_for_lost_hop(message);
  } else if (has_lost_route(message)) {
    end_for_other_path(message);
  } else {
    return false;
  }
  PLNET_CHECK(!message.result.status, "a message without its path has failed");
  return true;
}

void SendVerdicts::end_for_lost_hop(Message& message) {
  if (!may_avoid_hop(message)) return drop_for_hop(message);
  core_.judge_down(*message.ni, *message.hop);
  end_for_other_path(message);
}

void SendVerdicts::drop_for_hop(Message& message) {
  count_drop(message, Cause::kTxHopDown);
  end_with(message, Errc::kNoRoute, Health::kRemoteDropped);
  core_.judge_sent(*message.ni, message);
  (void)core_.request_recovery(*message.hop);
}

// The originator of the message chooses another path.
void SendVerdicts::end_for_other_path(Message& message) {
  PLNET_CHECK(message.detours < kDetoursMax, "the number of detours is bounded");
  core_.causes.add(Cause::kTxOtherWay);
  end_with(message, Errc::kNoRoute, Health::kOk);
  message.result.again = message.result.other_path = true;
  ++message.detours;
}

bool SendVerdicts::may_detour(const Message& message) {
  return message.routed && message.detours < kDetoursMax;
}

bool SendVerdicts::may_avoid_hop(const Message& message) const {
  return may_detour(message) &&
         core_.forwarder.paths.may_avoid(*message.hop, message.next_hop_is_router, message.header);
}

// The gateway is up, but no longer leads to the destination, and another gateway does. A message of
// this node that must use that gateway or that source stays. The kernel looks at the hop alone
// (lustre-release lnet/lnet/lib-move.c: lnet_check_message_drop()).
bool SendVerdicts::has_lost_route(const Message& message) const {
  if (!message.next_hop_is_router || message.detours == kDetoursMax) return false;
  if (!message.routed && !(message.router.is_any() && message.from.is_any())) return false;
  const NetId from = stays_on_ni(message) ? message.ni->net : kNetAny;
  PLNET_DEBUG_CHECK(message.hop != nullptr, "a message through a gateway has a next hop");
  const ShardCore::LiveRoutes live =
      core_.routes_to(message.header.destination.net(), *message.hop, from);
  return !live.by_hop && live.by_others;
}

// A peer that is not multi-rail expects all messages from one NI of ours.
bool SendVerdicts::stays_on_ni(const Message& message) const {
  if (message.routed) return false;
  const PeerNi* const target = core_.shared.directory->find(message.target.nid);
  return target == nullptr || (target->traits.get() & kTraitMultiRail) == 0;
}

}  // namespace plnet::lnet
