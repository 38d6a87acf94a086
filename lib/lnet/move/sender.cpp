// SPDX-License-Identifier: BSD-3-Clause
// The first half of a message's way out, on the shard that makes it. Its end there:
// sender_ended.cpp.
#include "lib/lnet/move/sender.hpp"

#include <array>

#include "lib/base/pipeline.hpp"
#include "lib/lnet/move/approach.hpp"
#include "lib/lnet/paths/health_rules.hpp"
#include "lib/lnet/peers/peer_readiness.hpp"

namespace plnet::lnet {

namespace {
constexpr std::size_t kLaunchBurst = 64;
constexpr std::size_t kLaunchDistance = 4;  // messages between two steps of one

// Of gateways there are few, and each is needed all the time.
PeerNi* hop_to_fetch(const Forwarding& way) {
  return way.via_router ? nullptr : way.next_hop;
}
}  // namespace

inline Message* Sender::make(MessageType type) {
  return has_spare() ? &prepare(core_.messages.take(), type) : nullptr;
}

inline Message& Sender::prepare(Message* message, MessageType type) {
  message->enter(SendState::kMade);
  message->origin = core_.id;
  message->outcome = {};
  message->since.set(core_.now);
  message->header.type = type;
  message->header.source_pid = core_.shared.pid;
  message->header.payload_length = 0;
  message->next_hop = nullptr;
  message->lane = 0;
  message->routed = message->next_hop_is_router = message->kept = false;
  message->source = {};
  message->sink = {};
  message->deadline = Instant::max();
  message->from = Nid::any();
  message->router = Nid::any();
  message->answers = nullptr;
  message->recovery = false;
  message->retries = 0;
  message->detours = 0;
  message->ni = nullptr;
  message->hop = nullptr;
  message->core_state = 0;
  message->has_peer_credit = message->has_ni_credit = message->borrows_ni = false;
  message->quarantine_over.store(false, std::memory_order_relaxed);
  return *message;
}

inline Result<void> Sender::begin(Message& message, MdHandle md, bool ack) {
  core_.message_begins();
  const Parameters& parameters = core_.shared.parameters;
  const auto started = core_.match.start(
      md,
      {.type = message.header.type,
       .ack = ack,
       .tracking = static_cast<ResponseTracking>(parameters.response_tracking.get()),
       .response_deadline = core_.now + parameters.transaction_timeout()},
      message.grant);
  if (!started) give_back(message);
  return started;
}

// lustre-release lnet/lnet/lib-move.c: LNetPut(), LNetGet()
inline bool Sender::shall_fail(const Nid& target) const {
  const FaultView* const rules = core_.faults.rules();
  if (rules == nullptr || !rules->fails(target)) [[likely]]
    return false;
  core_.causes.add(Cause::kTxFailNid);
  return true;
}

Result<void> Sender::put(MdHandle md, const PutSpec& put) {
  if (put.portal >= kPortalsMax) return std::unexpected(Errc::kInvalid);
  if (shall_fail(put.target.nid)) return std::unexpected(Errc::kIo);
  Message* const message = make(MessageType::kPut);
  if (message == nullptr) return std::unexpected(Errc::kNoMemory);
  if (const auto begun = begin(*message, md, put.ack); !begun) return begun;
  message->target = put.target;
  message->from = put.from;
  message->recovery = put.recovery;
  message->header.destination_pid = put.target.pid;
  message->header.payload_length = message->grant.window.length;
  message->header.set_area(
      PutArea{.ack_handle = put.ack ? core_.match.wire_handle(md) : WireHandle{},
              .match_bits = put.match_bits,
              .header_data = put.header_data,
              .portal = put.portal,
              .offset = put.offset});
  made_.push_back(*message);
  return {};
}

Result<void> Sender::get(MdHandle md, const GetSpec& get) {
  if (get.portal >= kPortalsMax) return std::unexpected(Errc::kInvalid);
  if (shall_fail(get.target.nid)) return std::unexpected(Errc::kIo);
  Message* const message = make(MessageType::kGet);
  if (message == nullptr) return std::unexpected(Errc::kNoMemory);
  if (const auto begun = begin(*message, md, false); !begun) return begun;
  message->target = get.target;
  message->from = get.from;
  message->recovery = get.recovery;
  message->header.destination_pid = get.target.pid;
  message->header.set_area(GetArea{.return_handle = core_.match.wire_handle(md),
                                   .match_bits = get.match_bits,
                                   .portal = get.portal,
                                   .source_offset = get.offset,
                                   .sink_length = message->grant.window.length});
  made_.push_back(*message);
  return {};
}

// The answer goes from the NI that received to exactly who asked (lustre-release
// lnet/lnet/lib-move.c: lnet_parse_get(), lib-msg.c: lnet_complete_msg_locked()).
void Sender::answer(Receive& receive) {
  if (receive.forwarded) return forward(receive);
  const bool is_put = receive.header.type == MessageType::kPut;
  Message* const message = make(is_put ? MessageType::kAck : MessageType::kReply);
  if (message == nullptr) {
    core_.causes.add(Cause::kAnswersWaited);
    core_.waits.begin(receive, ReceiveState::kMessageWait);
    answers_.push_back(receive);
    return;
  }
  receive.enter(ReceiveState::kLeaving);
  make_answer(*message, receive);
  made_.push_back(*message);
}

void Sender::forward(Receive& receive) {
  core_.forwarder.let_go(receive);
  Message* const message = core_.messages.take();
  PLNET_CHECK(message != nullptr, "what has a router buffer was promised a message");
  make_forward(prepare(message, receive.header.type), receive);
  made_.push_back(*message);
}

void Sender::make_answer(Message& message, Receive& receive) {
  message.answers = &receive;
  message.target = {receive.header.source, receive.header.source_pid};
  message.from = receive.header.destination;
  if (receive.from.net() != receive.header.source.net()) message.router = receive.from;
  message.header.destination_pid = receive.header.source_pid;
  if (message.header.type == MessageType::kAck) {
    const auto put = receive.header.area<PutArea>();
    message.header.set_area(AckArea{.destination = put.ack_handle,
                                    .match_bits = put.match_bits,
                                    .accepted_length = receive.grant.accepted_length});
    return;
  }
  message.source = receive.grant.window;
  message.header.payload_length = receive.grant.window.length;
  message.header.set_area(ReplyArea{.destination = receive.header.area<GetArea>().return_handle});
}

void Sender::answer_waiting() {
  while (may_answer()) {
    Receive& receive = *answers_.pop_front();
    core_.waits.end(receive);
    answer(receive);
  }
}

// A lone message is in a hurry: it goes as it is, without what a burst gains from.
unsigned Sender::launch_all() {
  unsigned launched = 0;
  if (!answers_.empty()) [[unlikely]]
    answer_waiting();  // a promise may have become void
  while (!made_.empty()) {
    Message& first = *made_.pop_front();
    if (!made_.empty()) {
      launched += launch_burst(first);
    } else {
      launch(first);
      ++launched;
    }
  }
  return launched;
}

unsigned Sender::launch_burst(Message& first) {
  std::array<Message*, kLaunchBurst> burst{&first};
  std::size_t count = 1;
  while (count < burst.size() && !made_.empty())
    burst[count++] = made_.pop_front();
  launch_together(std::span(burst).first(count));
  return static_cast<unsigned>(count);
}

// With thousands of peers hardly anything about one of them is in the cache, and what leads to it
// is a chain of some ten lines.
inline void Sender::launch_together(std::span<Message* const> burst) {
  const PeerDirectory& directory = *core_.shared.directory;
  std::array<std::uint64_t, kLaunchBurst> hashes{};
  std::array<PeerNi*, kLaunchBurst> targets{};
  constexpr std::size_t kLookUpSteps = 3;  // the last is the first of what it leads to
  pipeline<kLookUpSteps + kApproachSteps - 1, kLaunchDistance>(
      burst.size(),
      [&](std::size_t i, auto step) {
        const Nid& target = burst[i]->target.nid;
        const bool forwarded = burst[i]->routed;  // it was looked up when its header came
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

// What another home writes is not for us to take away.
template <std::size_t kStep>
inline void Sender::approach_target(const PeerNi& target, PipelineStep<kStep> step) const {
  if (target.home == core_.id) approach(target, core_.peers, step);
}

// Finds the peer, has it discovered if it must be, and chooses the path; whatever has to be waited
// for leads back here.
void Sender::launch(Message& message) {
  if (message.routed) return launch_forward(message);
  launch(message, core_.shared.directory->find(message.target.nid));
}

void Sender::launch(Message& message, PeerNi* target) {
  if (message.routed) return launch_forward(message);
  if (target == nullptr) {
    if (message.target.nid.is_loopback()) return choose_path(message, nullptr);
    // A request names any source, which would become a peer though no way leads there.
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

void Sender::discover(Message& message, const PeerNi& peer) {
  // A peer that is never done with being discovered does not keep a message for ever.
  if (message.deadline == Instant::max())
    message.deadline = message.since.get() + core_.shared.parameters.transaction_timeout();
  if (core_.now > message.deadline) {
    return refuse(message, Errc::kTimedOut, Health::kLocalTimeout, Cause::kTxDiscovery);
  }
  message.header.destination = peer.nid;
  message.given_up = message.is_request() ? &core_.match.aborted_flag(message.grant) : nullptr;
  ask_coordinator(message, SendState::kDiscoveryWait, ParcelStep::kDiscover);
}

void Sender::ask_coordinator(Message& message, SendState wait, ParcelStep step) {
  core_.waits.begin(message, wait);
  send_away(message, core_.shared.coordinator, step);
}

inline bool Sender::must_be_discovered(const Message& message, const PeerNi& target) {
  if (message.recovery || (target.traits.get() & kTraitReady) != 0) return false;
  const Peer* const peer = target.peer.load(std::memory_order_acquire);
  return peer != nullptr && needs_discovery(*peer, message.header.type, portal_of(message.header));
}

void Sender::wait_over(Message& message) {
  const bool was_discovery = message.state.get() == SendState::kDiscoveryWait;
  core_.waits.end(message);
  if (!message.outcome) {
    if (message.outcome.error() == Errc::kCancelled) {
      return refuse(message, Errc::kCancelled, Health::kOk, Cause::kTxMdAborted);
    }
    const Cause cause = was_discovery ? Cause::kTxDiscovery : Cause::kTxNoPeer;
    if (message.routed) return drop_forward(message, message.outcome.error(), cause);
    return refuse(message, message.outcome.error(), Health::kLocalError, cause);
  }
  launch(message);
}

inline void Sender::choose_path(Message& message, PeerNi* target) {
  if (target != nullptr && message.from.is_any()) [[likely]] {
    Ni* const ni = only_way(*target, !message.is_response(), core_.local(), core_.sequences);
    if (ni != nullptr) return take_path(message, *ni, target, target->nid);
  }
  compare_paths(message, target);
}

void Sender::compare_paths(Message& message, PeerNi* target) {
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
  // Gateways that nobody checks are discovered when they are used.
  const bool unchecked =
      path->via_router && core_.shared.parameters.alive_router_check_interval_s.get() <= 0;
  if (unchecked && must_be_discovered(message, *path->next_hop)) {
    return discover(message, *path->next_hop);
  }
  message.next_hop_is_router = path->via_router;
  take_path(message, *path->ni, path->next_hop, path->destination_nid());
}

// Null `hop`: loopback.
inline void Sender::take_path(Message& message, Ni& ni, PeerNi* hop, const Nid& destination) {
  message.ni = &ni;
  ++core_.ni_users[ni.number];
  message.hop = hop;
  message.header.source = ni.nid;
  message.header.destination = destination;
  message.deadline = message_deadline(core_.now, ni.lnd_timeout.get(), core_.shared.parameters);
  if (!message.is_response()) {
    core_.match.set_next_hop(message.grant, hop == nullptr ? kNoPeerNi : hop->number,
                             hop == nullptr ? destination : hop->nid);
    // What put() and get() were granted, not before now: just put together, it would stall a copy.
    (message.header.type == MessageType::kPut ? message.source : message.sink) =
        message.grant.window;
  }
  to_home(message);
}

void Sender::refuse(Message& message, Errc code, Health health, Cause cause) {
  core_.tap_drop(message, cause);
  core_.causes.add(cause);
  end_with(message, code, health);
  ended(message);
}

void Sender::take(Message& message) {
  switch (message.step) {
    case ParcelStep::kWaitOver: return wait_over(message);
    case ParcelStep::kToHome: return at_home(message);
    case ParcelStep::kToLane: return at_lane(message);
    case ParcelStep::kSent: return back_from_lane(message);
    case ParcelStep::kEnded: return ended(message);
    default: PLNET_CHECK(false, "not a step of a message");
  }
}

}  // namespace plnet::lnet
