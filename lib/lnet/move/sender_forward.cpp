// SPDX-License-Identifier: BSD-3-Clause
// What is other about a message that is not ours: made of what was received, on the path that was
// chosen then, and not sent to a next hop that is down.
#include "lib/base/pipeline.hpp"
#include "lib/base/prefetch.hpp"
#include "lib/lnet/move/sender.hpp"
#include "lib/lnet/paths/health_rules.hpp"
#include "lib/lnet/paths/path_selection.hpp"

namespace plnet::lnet {

namespace {
constexpr std::size_t kEndedDistance = 4;
// So often a message is taken from a gateway that was lost and goes another way.
constexpr std::uint8_t kDetoursMax = 3;
}  // namespace

void Sender::make_forward(Message& message, Receive& receive) {
  message.routed = true;
  message.answers = &receive;
  message.header = receive.header;
  message.target = {receive.header.destination, receive.header.destination_pid};
  message.source = core_.buffers.payload(receive.forwarding.buffer, receive.header.payload_length);
  message.kept = receive.forwarding.keeper != nullptr;
}

// Its path was chosen when its header came, and is chosen anew if an attempt by it failed. No
// deadline: what its users can wait for only they know (lustre-release lnet/lnet/lib-move.c:
// lnet_check_message_drop()).
void Sender::launch_forward(Message& message) {
  Receive& receive = *message.answers;
  const bool has_way = core_.forwarder.has_way(receive);
  const bool failed = message.retries > 0;
  if (!has_way || failed || (message.detours > 0 && Forwarder::is_down(receive))) {
    PeerNi* const target = core_.shared.directory->find(message.target.nid);
    if (target == nullptr)
      return ask_coordinator(message, SendState::kTargetWait, ParcelStep::kWantPeer);
    if (!core_.forwarder.find_other_way(receive, *target))
      return drop_forward(message, Errc::kNoRoute, Cause::kTxNoPath);
  }
  const Forwarding& way = receive.forwarding;
  message.ni = way.ni;
  ++core_.ni_users[way.ni->number];
  message.hop = way.next_hop;
  message.next_hop_is_router = way.via_router;
  message.header.destination = way.destination;
  to_home(message);
}

// Before it has a next hop.
void Sender::drop_forward(Message& message, Errc code, Cause cause) {
  core_.tap_drop(message, cause);
  core_.drop(cause, message.header.payload_length);
  message.answers->port->traffic.add(traffic_id(TrafficWay::kDropped, message.header.type));
  end_with(message, code, health_of_no_path(code));
  ended(message);
}

void Sender::bring_source(Message& message) {
  if (!message.kept) return;
  message.kept = false;
  Forwarder::bring(*message.answers);
}

// What another shard sends it has to find in the buffer.
void Sender::send_away(Message& message, ShardId to, ParcelStep step) {
  bring_source(message);
  core_.post(message, to, step);
}

// Its client has a credit to get back. Many other messages have come by since it was looked at.
void Sender::fetch_ended(std::span<const Completion> burst) const {
  if (burst.size() == 1) return;
  pipeline<2, kEndedDistance>(
      burst.size(),
      [&](std::size_t i, auto step) {
        const auto& message = static_cast<const Message&>(*burst[i].transmit);
        if (!message.routed || message.origin != core_.id) return;
        const Forwarding& forwarding = message.answers->forwarding;
        if constexpr (step == 0) {
          prefetch(&forwarding);
        } else if (forwarding.client != nullptr) {
          prefetch_to_write(&forwarding.client->client);
        }
      },
      [](std::size_t) {});
}

bool Sender::is_routed_down(const Message& message) {
  return message.routed && ShardCore::is_down_for(message.header, *message.ni, *message.hop,
                                                  message.next_hop_is_router);
}

void Sender::drop_for_hop(Message& message) {
  count_drop(message, Cause::kTxHopDown);
  end_with(message, Errc::kNoRoute, Health::kRemoteDropped);
  core_.judge_sent(*message.ni, message);
  (void)core_.want_back(*message.hop);
}

// While it waited. Who made it knows of other ways.
void Sender::end_for_other_way(Message& message) {
  core_.causes.add(Cause::kTxOtherWay);
  end_with(message, Errc::kNoRoute, Health::kOk);
  message.result.again = message.result.other_way = true;
  ++message.detours;
}

bool Sender::may_turn_back(const Message& message) {
  return message.routed && message.detours < kDetoursMax;
}

bool Sender::may_go_elsewhere(const Message& message) const {
  return may_turn_back(message) &&
         core_.forwarder.may_avoid(*message.hop, message.next_hop_is_router, message.header);
}

void Sender::lose_hop(Message& message) {
  if (!may_go_elsewhere(message)) return drop_for_hop(message);
  core_.judge_down(*message.ni, *message.hop);
  end_for_other_way(message);
}

// Its gateway is there, but leads no longer where the message goes, and another one does. One of
// our own stays if it is to go by that gateway or from that interface and no other.
// lustre-release lnet/lnet/lib-move.c: lnet_check_message_drop() looks at the hop alone
bool Sender::has_lost_way(const Message& message) const {
  if (!message.next_hop_is_router || message.detours == kDetoursMax) return false;
  if (!message.routed && !(message.router.is_any() && message.from.is_any())) return false;
  const NetId from = stays_on_ni(message) ? message.ni->net : kNetAny;
  const ShardCore::Ways ways = core_.ways_to(message.header.destination.net(), *message.hop, from);
  return !ways.by_hop && ways.by_others;
}

// A peer that is not multi-rail hears us from one interface.
bool Sender::stays_on_ni(const Message& message) const {
  if (message.routed) return false;
  const PeerNi* const target = core_.shared.directory->find(message.target.nid);
  return target == nullptr || (target->traits.get() & kTraitMultiRail) == 0;
}

// False: it goes where it was to go.
bool Sender::turn_back(Message& message) {
  if (is_routed_down(message)) {
    lose_hop(message);
  } else if (has_lost_way(message)) {
    end_for_other_way(message);
  } else {
    return false;
  }
  return true;
}

void Sender::end_down() {
  queued_.for_each([&](PeerPort& peer) {
    peer.waiting.for_each([&](Message& message) {
      if (turn_back(message)) remove(peer, message);
    });
    publish(peer);
  });
  for (NiPort* const port : core_.ports) {
    if (port != nullptr) end_down(*port);
  }
}

}  // namespace plnet::lnet
