// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/move/launcher.hpp"

#include <array>

#include "lib/base/check.hpp"
#include "lib/lnet/move/approach.hpp"
#include "lib/lnet/move/sender.hpp"
#include "lib/lnet/paths/health_rules.hpp"
#include "lib/lnet/peers/peer_readiness.hpp"

namespace plnet::lnet {

namespace {
constexpr std::size_t kLaunchBurst = 64;
constexpr std::size_t kLaunchDistance = 4;  // messages between two steps of one

// Gateways are few and used all the time, so they are in the cache.
PeerNi* hop_to_fetch(const Forwarding& path) {
  return path.via_router ? nullptr : path.next_hop;
}
}  // namespace

// A single message leaves without the prefetches of a burst, which would only delay it.
unsigned Launcher::launch_all() {
  unsigned launched = 0;
  while (!made_.empty()) {
    Message& first = *made_.pop_front();
    PLNET_DEBUG_CHECK(first.state.get() == SendState::kMade, "a message is launched once");
    if (!made_.empty()) {
      launched += launch_burst(first);
    } else {
      launch(first);
      ++launched;
    }
  }
  return launched;
}

unsigned Launcher::launch_burst(Message& first) {
  std::array<Message*, kLaunchBurst> burst{&first};
  std::size_t count = 1;
  while (count < burst.size() && !made_.empty())
    burst[count++] = made_.pop_front();
  launch_together(std::span(burst).first(count));
  return static_cast<unsigned>(count);
}

// With thousands of peers hardly any record of a peer is in the cache, and a message reads a chain
// of some ten lines. The chains of a burst are fetched side by side.
inline void Launcher::launch_together(std::span<Message* const> burst) {
  const PeerDirectory& directory = *core_.shared.directory;
  std::array<std::uint64_t, kLaunchBurst> hashes{};
  std::array<PeerNi*, kLaunchBurst> targets{};
  constexpr std::size_t kLookUpSteps = 3;  // the last one is the first of approach()
  pipeline<kLookUpSteps + kApproachSteps - 1, kLaunchDistance>(
      burst.size(),
      [&](std::size_t i, auto step) {
        const Nid& target = burst[i]->target.nid;
        const bool forwarded = burst[i]->routed;  // looked up when its header arrived
        if constexpr (step == 0) {
          if (!forwarded) hashes[i] = directory.prepare(target);
        } else if constexpr (step == 1) {
          if (!forwarded) directory.approach(hashes[i]);
        } else if constexpr (step == 2) {
          targets[i] = forwarded ? hop_to_fetch(burst[i]->answers->forwarding)
                                 : directory.reach(target, hashes[i]);
        } else if (targets[i] != nullptr) {
          approach_target(*targets[i], PipelineStep<step - kLookUpSteps + 1>{});
        }
      },
      [&](std::size_t i) { launch(*burst[i], PeerDirectory::unless_leaving(targets[i])); });
}

// Lines that another home writes stay with that home.
template <std::size_t kStep>
inline void Launcher::approach_target(const PeerNi& target, PipelineStep<kStep> step) const {
  if (target.home == core_.id) approach(target, core_.peers, step);
}

void Launcher::launch(Message& message) {
  if (message.routed) return core_.forwarder.launch(message);
  launch(message, core_.shared.directory->find(message.target.nid));
}

void Launcher::launch(Message& message, PeerNi* target) {
  PLNET_DEBUG_CHECK(message.origin == core_.id && message.ni == nullptr,
                    "the originator chooses the path of a message that has none");
  if (message.routed) return core_.forwarder.launch(message);
  if (target == nullptr) {
    if (message.target.nid.is_loopback()) return choose_path(message, nullptr);
    // A request may name any source; a NID on an unreachable network does not become a peer.
    const NetId net = message.target.nid.net();
    const bool leads_there =
        core_.local().net(net) != nullptr || core_.routes().net(net) != nullptr;
    if (message.is_response() && !leads_there)
      return refuse(message, Errc::kNoRoute, health_of_no_path(Errc::kNoRoute), Cause::kTxNoPath);
    return ask_coordinator(message, SendState::kTargetWait, ParcelStep::kWantPeer);
  }
  if (must_be_discovered(message, *target)) return discover(message, *target);
  choose_path(message, target);
}

void Launcher::discover(Message& message, const PeerNi& peer) {
  PLNET_DEBUG_CHECK(!message.routed,
                    "the originator discovers the target of a message, a router does not");
  // The deadline bounds the wait for a peer whose discovery never ends.
  if (message.deadline == Instant::max())
    message.deadline = message.since.get() + core_.shared.parameters.transaction_timeout();
  if (core_.now > message.deadline) {
    return refuse(message, Errc::kTimedOut, Health::kLocalTimeout, Cause::kTxDiscovery);
  }
  message.header.destination = peer.nid;
  message.given_up = message.is_request() ? &core_.match.aborted_flag(message.grant) : nullptr;
  ask_coordinator(message, SendState::kDiscoveryWait, ParcelStep::kDiscover);
}

void Launcher::ask_coordinator(Message& message, SendState wait, ParcelStep step) {
  PLNET_DEBUG_CHECK(message.ni == nullptr && message.hop == nullptr,
                    "a message that waits for the coordinator has no path");
  core_.waits.begin(message, wait);
  sender_.cross(message, core_.shared.coordinator, step);
}

inline bool Launcher::must_be_discovered(const Message& message, const PeerNi& target) {
  if (message.recovery || (target.traits.get() & kTraitReady) != 0) return false;
  const Peer* const peer = target.peer.load(std::memory_order_acquire);
  return peer != nullptr && needs_discovery(*peer, message.header.type, portal_of(message.header));
}

void Launcher::wait_over(Message& message) {
  PLNET_CHECK(message.origin == core_.id, "the coordinator answers the originator");
  const bool was_discovery = message.state.get() == SendState::kDiscoveryWait;
  PLNET_CHECK(was_discovery || message.state.get() == SendState::kTargetWait,
              "the coordinator answers a message that waits for it");
  core_.waits.end(message);
  if (!message.outcome) {
    if (message.outcome.error() == Errc::kCancelled) {
      return refuse(message, Errc::kCancelled, Health::kOk, Cause::kTxMdAborted);
    }
    const Cause cause = was_discovery ? Cause::kTxDiscovery : Cause::kTxNoPeer;
    if (message.routed) return core_.forwarder.drop(message, message.outcome.error(), cause);
    return refuse(message, message.outcome.error(), Health::kLocalError, cause);
  }
  launch(message);
}

inline void Launcher::choose_path(Message& message, PeerNi* target) {
  if (target != nullptr && message.from.is_any()) [[likely]] {
    Ni* const ni = only_path(*target, !message.is_response(), core_.local(), core_.sequences);
    if (ni != nullptr) return set_path(message, *ni, target, target->nid);
  }
  compare_paths(message, target);
}

void Launcher::compare_paths(Message& message, PeerNi* target) {
  const MessageHeader& header = message.header;
  const PathRequest request{
      .destination = target,
      .source = message.from,
      .router = message.router.is_any() ? nullptr : core_.shared.directory->find(message.router),
      .response = message.is_response(),
      .recovery = message.recovery,
      .reserved_portal = !message.is_response() && portal_of(header) == kPingPortal,
      .memory_cpt = core_.cpt,
      .distances = core_.shared.distances,
      .device_priorities = {}};
  const auto path =
      select_path(request, core_.local(), core_.routes(), core_.sequences, core_.shared.parameters);
  if (!path) {
    return refuse(message, path.error(), health_of_no_path(path.error()), Cause::kTxNoPath);
  }
  // Without regular checks of gateways, a gateway is discovered when a message uses it.
  const bool unchecked =
      path->via_router && core_.shared.parameters.alive_router_check_interval_s.get() <= 0;
  if (unchecked && must_be_discovered(message, *path->next_hop)) {
    return discover(message, *path->next_hop);
  }
  PLNET_DEBUG_CHECK(path->loopback == (path->next_hop == nullptr), "only loopback has no next hop");
  message.next_hop_is_router = path->via_router;
  set_path(message, *path->ni, path->next_hop, path->destination_nid());
}

// Null `hop`: loopback.
inline void Launcher::set_path(Message& message, Ni& ni, PeerNi* hop, const Nid& destination) {
  PLNET_DEBUG_CHECK(message.ni == nullptr && message.hop == nullptr,
                    "a message gets one path at a time");
  PLNET_DEBUG_CHECK(hop == nullptr || hop->net == ni.net,
                    "the next hop is on the network of the NI");
  message.ni = &ni;
  ++core_.ni_users[ni.number];
  message.hop = hop;
  message.header.source = ni.nid;
  message.header.destination = destination;
  message.deadline = message_deadline(core_.now, ni.lnd_timeout.get(), core_.shared.parameters);
  if (!message.is_response()) {
    core_.match.set_next_hop(message.grant, hop == nullptr ? kNoPeerNi : hop->number,
                             hop == nullptr ? destination : hop->nid,
                             message.next_hop_is_router ? message.target.nid : kNoNid);
    // The grant of put() and get() is copied here and not there, where the copy would wait for the
    // stores that have just written it.
    (message.header.type == MessageType::kPut ? message.source : message.sink) =
        message.grant.window;
  }
  sender_.hops.to_home(message);
}

void Launcher::refuse(Message& message, Errc code, Health health, Cause cause) {
  PLNET_DEBUG_CHECK(message.ni == nullptr && message.hop == nullptr,
                    "a message with a path ends at the home of its next hop");
  core_.tap_drop(message, cause);
  core_.causes.add(cause);
  SendVerdicts::end_with(message, code, health);
  sender_.ends.end(message);
}

}  // namespace plnet::lnet
