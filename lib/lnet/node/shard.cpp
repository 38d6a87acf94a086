// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/node/shard.hpp"

#include <algorithm>
#include <array>

#include "lib/base/check.hpp"
#include "lib/base/pipeline.hpp"
#include "lib/base/prefetch.hpp"
#include "lib/lnet/move/approach.hpp"

namespace plnet::lnet {

namespace {

// The interval of looks at queues for expired deadlines, while messages wait.
constexpr Duration kSweepInterval = std::chrono::seconds(1);
constexpr std::size_t kMailBurst = 64;
// Parcels between two steps: enough for lines that come from a core on another chip. More of them
// would be evicted before their turn.
constexpr std::size_t kMailDistance = 10;

// Another shard has written there, and this one will.
void fetch(const Parcel& parcel) {
  const auto* const bytes = reinterpret_cast<const std::byte*>(&parcel);
  for (std::size_t at = 0; at < kParcelBytesShared; at += kCacheLine)
    prefetch_to_write(bytes + at);
}

}  // namespace

WantedPeer wanted_peer(const Parcel& parcel) {
  if (parcel.kind == ParcelKind::kMessage) {
    const auto& message = static_cast<const Message&>(parcel);
    if (message.is_request()) return {.nid = message.target.nid};
    return {.nid = message.target.nid,
            .demand = PeerDemand::kOthers,
            .named_by = message.answers->from};
  }
  PLNET_CHECK(parcel.kind == ParcelKind::kReceive, "messages and receives wait for peers");
  const auto& receive = static_cast<const Receive&>(parcel);
  if (receive.is(ReceiveState::kDestinationWait))
    return {
        .nid = receive.header.destination, .demand = PeerDemand::kOthers, .named_by = receive.from};
  return {.nid = receive.from, .demand = PeerDemand::kStranger, .received_on = &receive.port->ni()};
}

Shard::Shard(NodeShared& node, ShardId number, std::uint16_t cpt, Instant start)
    : node_(node),
      core_(node, number, cpt, start, *this, *this),
      sender_(core_),
      receiver_(core_, sender_),
      releaser_(core_, sender_) {
  sender_.ends.connect(receiver_);
  core_.forwarder.connect(sender_);
}

Shard::~Shard() {
  core_.timers.cancel(sweep_timer_);
}

NiPort& Shard::add_port(Ni& ni, std::int32_t credits) {
  PLNET_CHECK(ni.number < core_.ports.size(), "the number of an NI is dense");
  PLNET_CHECK(core_.ports[ni.number] == nullptr, "an NI has one port on a shard");
  const std::size_t every_message = node_.limits.messages * node_.shards;
  ports_.push_back(std::make_unique<NiPort>(ni, core_.id, credits, every_message,
                                            node_.limits.receives, core_.tap_slot, sender_,
                                            receiver_, releaser_));
  core_.ports[ni.number] = ports_.back().get();
  return *ports_.back();
}

void Shard::close_port(const Ni& ni) {
  NiPort* const port = core_.ports[ni.number];
  if (port == nullptr) return;
  if (port->closing()) return;
  port->close();
  sender_.lanes.fail_waiting(*port, Errc::kShutdown);
  core_.faults.close(ni);
  releaser_.release_links(*port);
}

bool Shard::port_idle(const Ni& ni) const {
  const NiPort* const port = core_.ports[ni.number];
  return port == nullptr || (port->idle() && core_.peers.links_of(ni.number) == 0);
}

void Shard::remove_port(const Ni& ni) {
  NiPort* const port = core_.ports[ni.number];
  if (port == nullptr) return;
  PLNET_CHECK(port_idle(ni), "a port goes when nothing names it");
  PLNET_CHECK(port->closing(), "a port goes after it was closed");
  PLNET_CHECK(port->tx_credits() == port->tx_credits_max(),
              "all credits of a port that goes are home");
  core_.ports[ni.number] = nullptr;
  std::erase_if(ports_, [&](const auto& owned) { return owned.get() == port; });
}

void Shard::host(PeerRequests& requests, ReleaseDone& released) {
  PLNET_CHECK(requests_ == nullptr && core_.id == core_.shared.coordinator,
              "one shard hosts the coordinator");
  requests_ = &requests;
  releaser_.connect(released);
}

// --- A turn ---

unsigned Shard::poll(Instant now) {
  core_.now = now;
  unsigned work = collect_mail();
  work += core_.timers.advance(now);
  if (node_.lazy_attached[core_.id].set.load(std::memory_order_relaxed) &&
      node_.lazy_attached[core_.id].set.exchange(false, std::memory_order_acquire)) {
    receiver_.lazy.retry();
    ++work;
  }
  // Before messages leave: the answer to a ping that finds an interface alive reports it up.
  // lustre-release lnet/lnet/lib-move.c: lnet_parse()
  if (requests_ != nullptr && node_.ni_changed.load(std::memory_order_relaxed) &&
      node_.ni_changed.exchange(false, std::memory_order_acquire)) [[unlikely]] {
    requests_->nis_changed();
    ++work;
  }
  work += sender_.ends.end_quarantines();
  work += releaser_.step();
  if (!core_.faults.empty()) [[unlikely]]
    work += end_delays();
  const std::uint32_t hops_lost = node_.hops_lost.load(std::memory_order_acquire);
  if (hops_lost != core_.hops_lost_seen) [[unlikely]] {
    core_.hops_lost_seen = hops_lost;
    core_.forwarder.end_down();
    sender_.end_down();
  }
  const bool routes = node_.parameters.routes();
  if (routed_ && !routes) [[unlikely]]
    core_.forwarder.end_waiting();
  routed_ = routes;
  work += core_.forwarder.hops.step();
  if (core_.forwarder.under_way() != core_.routed_held.get())
    core_.routed_held.set(core_.forwarder.under_way());
  work += receiver_.resume_decided();
  work += sender_.launch_all();
  for (const auto& port : ports_)
    work += port->flush(now);
  core_.outbox.flush();
  core_.statistics.set(Statistic::kTrackersAlloc,
                       core_.match.counters().get(MatchCounters::Id::kAwaited));
  if (core_.sweep_wanted && !sweep_timer_.running()) {
    core_.timers.start(sweep_timer_, now + kSweepInterval);
  }
  if (MessageTap* const tap = core_.tap()) [[unlikely]]
    tap->end_turn();
  return work;
}

unsigned Shard::collect_mail() {
  unsigned work = 0;
  IntrusiveList<Parcel> own;  // parcels that these cause wait for the next turn
  calls_.for_each([&](Parcel& parcel) {
    if (!static_cast<const Call&>(parcel).can_run(*this)) return;
    parcel.unlink();
    own.push_back(parcel);
  });
  own.splice_back(core_.inbox);
  while (Parcel* const parcel = own.pop_front()) {
    PLNET_DEBUG_CHECK(parcel->origin < node_.shards, "a parcel is from a shard of this node");
    deliver(*parcel);
    ++work;
  }
  if (node_.shards == 1) return work;
  std::array<Parcel*, kMailBurst> scratch{};
  return work + static_cast<unsigned>(node_.mail->drain(
                    core_.id, scratch, [&](std::size_t /*from*/, std::span<Parcel*> burst) {
                      deliver_together(burst);
                    }));
}

// Every line of a parcel comes from another core, and its records are in no cache.
void Shard::deliver_together(std::span<Parcel* const> burst) {
  pipeline<1 + kApproachSteps, kMailDistance>(
      burst.size(),
      [&](std::size_t i, auto step) {
        const MailedParcel mailed(burst[i]);
        const Parcel& parcel = mailed.parcel();
        if constexpr (step == 0) {
          mailed.is_note() ? fetch_note(parcel) : fetch(parcel);
        } else if (!mailed.is_note() && parcel.step == ParcelStep::kToHome) {
          approach(*static_cast<const Message&>(parcel).hop, core_.peers, PipelineStep<step - 1>{});
        }
      },
      [&](std::size_t i) {
        const MailedParcel mailed(burst[i]);
        if (mailed.is_note())
          return receiver_.search.deliver(static_cast<AckNote&>(mailed.parcel()));
        deliver(mailed.parcel());
      });
}

// A note that is home again goes back to its pool unread.
void Shard::fetch_note(const Parcel& parcel) const {
  const auto& note = static_cast<const AckNote&>(parcel);
  if (core_.ack_notes.owns(&note)) return;
  prefetch(&note);
  prefetch(reinterpret_cast<const std::byte*>(&note) + kCacheLine);
}

unsigned Shard::end_delays() {
  unsigned ended = 0;
  while (ended < FaultGate::kHeldMax) {  // a released message may be held again
    const Released released = core_.faults.next(core_.now);
    if (released.parcel == nullptr) break;
    ++ended;
    PLNET_DEBUG_CHECK(!released.parcel->linked(), "a message that a rule held is in no queue");
    if (released.parcel->kind == ParcelKind::kReceive) {
      receiver_.delay_over(static_cast<Receive&>(*released.parcel), released.dropped);
    } else {
      sender_.lanes.delay_over(static_cast<Message&>(*released.parcel), released.health,
                               released.dropped);
    }
  }
  return ended;
}

void Shard::deliver(Parcel& parcel) {
  if (parcel.step == ParcelStep::kWantPeer || parcel.step == ParcelStep::kDiscover) {
    return coordinate(parcel);
  }
  switch (parcel.kind) {
    case ParcelKind::kMessage: return sender_.deliver(static_cast<Message&>(parcel));
    case ParcelKind::kReceive: return receiver_.deliver(static_cast<Receive&>(parcel));
    case ParcelKind::kAckNote: return receiver_.search.deliver(static_cast<AckNote&>(parcel));
    case ParcelKind::kErrand: return releaser_.deliver(static_cast<Errand&>(parcel));
    case ParcelKind::kCall: return run(static_cast<Call&>(parcel));
  }
}

void Shard::run(Call& call) {
  PLNET_CHECK(!call.linked(), "a call waits in one list");
  if (!call.run(*this)) calls_.push_back(call);
}

void Shard::coordinate(Parcel& parcel) {
  PLNET_CHECK(requests_ != nullptr, "peers are asked for where the coordinator is");
  PLNET_DEBUG_CHECK(parcel.origin < node_.shards, "a parcel goes home to a shard of this node");
  if (parcel.step == ParcelStep::kDiscover) {
    PLNET_CHECK(parcel.kind == ParcelKind::kMessage, "only messages wait for a discovery");
    auto& message = static_cast<Message&>(parcel);
    return requests_->discover(message, message.header.destination);
  }
  requests_->want_peer(parcel, wanted_peer(parcel));
}

void Shard::sweep(Timer& /*timer*/, Instant now) {
  core_.sweep_wanted = false;
  sender_.hops.expire(now);
  receiver_.lazy.sweep();
  core_.shares.sweep();
  core_.forwarder.stalls.sweep();
  core_.keeper.look();
}

Instant Shard::next_deadline() const {
  const bool has_work = sender_.has_made() || !core_.inbox.empty() || !core_.outbox.empty() ||
                        !core_.decided.empty() || releaser_.has_work() ||
                        core_.forwarder.hops.has_work() ||
                        calls_.any_of([this](const Parcel& parcel) {
                          return static_cast<const Call&>(parcel).can_run(*this);
                        });
  if (has_work) return Instant::min();
  Instant next = std::min(core_.timers.next_deadline(), core_.faults.next_deadline());
  for (const auto& port : ports_)
    next = std::min(next, port->next_deadline());
  return next;
}

bool Shard::idle() const {
  return core_.statistics.get(Statistic::kMessagesAlloc) == 0 && core_.inbox.empty() &&
         core_.outbox.empty() && !releaser_.busy() &&
         core_.ack_notes.free_count() == core_.ack_notes.capacity() &&
         std::ranges::all_of(ports_, [](const auto& port) { return port->idle(); });
}

// --- Hooks of the match table ---

void Shard::on_lazy_attach(PortalId portal) {
  const ShardId home = node_.portals->home(portal);
  PLNET_CHECK(home < node_.shards, "the home of a portal is a shard of this node");
  node_.lazy_attached[home].set.store(true, std::memory_order_release);
  if (home != core_.id) node_.doorbells[home]->ring();
}

// lustre-release lnet/lnet/lib-move.c: lnet_finalize_expired_responses()
void Shard::on_response_timeout(const ResponseTimeout& timeout) {
  core_.statistics.add(Statistic::kResponseTimeouts);
  if (timeout.next_hop.peer_ni == kNoPeerNi) return;
  if (!timeout.next_hop.beyond.is_any()) core_.silence->unanswered(timeout.next_hop.beyond);
  PeerNi* const peer_ni = node_.directory->find(timeout.next_hop.nid);
  if (peer_ni == nullptr) return;
  (void)peer_ni->health.lower(node_.parameters.health_sensitivity.get());
  core_.request_recovery_if_needed(*peer_ni);
}

void Shard::on_given_up(const Nid& beyond) {
  core_.silence->unanswered(beyond);
}

bool Shard::is_down(const Nid& ours, const Nid& theirs) const {
  const Ni* const ni = core_.local().ni(ours);
  if (ni == nullptr || ni->fatal.get()) return true;
  const PeerNi* const peer_ni = node_.directory->find(theirs);
  if (peer_ni == nullptr) return false;
  return peer_ni->status.get() != kNiUp || peer_ni->reach.trouble().has_value();
}

bool Shard::same_peer(const Nid& entry, const Nid& source) const {
  const PeerNi* const a = node_.directory->find(entry);
  const PeerNi* const b = node_.directory->find(source);
  if (a == nullptr || b == nullptr) return false;
  return a->peer.load(std::memory_order_acquire) == b->peer.load(std::memory_order_acquire);
}

}  // namespace plnet::lnet
