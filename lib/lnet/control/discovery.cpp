// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/control/discovery.hpp"

#include "lib/base/check.hpp"

namespace plnet::lnet {

Discovery::Discovery(const Parts& parts)
    : directory_(parts.directory),
      rules_(parts.rules),
      operations_(parts.operations),
      parameters_(parts.parameters),
      ping_target_(parts.ping_target),
      exchanges_(parts.exchanges),
      observer_(parts.observer),
      merge_(parts.directory, parts.rules, parts.parameters, parts.observer, counters_),
      states_(std::make_unique<PeerDiscovery[]>(parts.directory.numbers())) {
  PLNET_CHECK(exchanges_.capacity() >= 2, "one slot to ask and one to hear");
}

Discovery::~Discovery() = default;

// lustre-release lnet/include/lnet/lib-lnet.h: lnet_peer_needs_push()
bool Discovery::needs_push(const PeerDiscovery& state) const {
  PLNET_CHECK(state.peer != nullptr, "the state in use is that of a peer");
  const PeerRecord& peer = *state.peer;
  if (!peer.has(kPeerMultiRail) || peer.has(kPeerMarkDeleted | kPeerPushSent)) return false;
  if (peer.has(kPeerForcePush)) return true;
  if (peer.has(kPeerNoDiscovery) || parameters_.discovery.get() == 0) return false;
  return state.acked_sequence < ping_target_.sequence();
}

// lustre-release lnet/include/lnet/lib-lnet.h: lnet_peer_needs_ping()
bool Discovery::needs_ping(const PeerRecord& peer) {
  return peer.has(kPeerForcePing) || !peer.has(kPeerNidsUpToDate);
}

bool Discovery::up_to_date(const PeerDiscovery& state) const {
  constexpr std::uint32_t kNews =
      kPeerDataPresent | kPeerPingFailed | kPeerPushFailed | kPeerMarkDeletion;
  return !state.peer->has(kNews) && is_up_to_date(state.peer->state.get()) && !needs_push(state);
}

// Peers by NID

void Discovery::place(PeerDiscovery& state, DiscoveryPlace where, bool front) {
  PLNET_CHECK(state.peer != nullptr || where == DiscoveryPlace::kNone, "only peers are discovered");
  const bool was_in = state.place != DiscoveryPlace::kNone;
  if (was_in) state.unlink();
  state.place = where;
  PLNET_CHECK(!state.linked(), "a peer in discovery is in one list");
  switch (where) {
    case DiscoveryPlace::kNone:
      if (was_in) counters_.subtract(DiscoveryCounter::kQueued);
      return;
    case DiscoveryPlace::kRequested:
      front ? requested_.push_front(state) : requested_.push_back(state);
      break;
    case DiscoveryPlace::kWorking: working_.push_back(state); break;
    case DiscoveryPlace::kStarved:
      state.is_check() ? starved_.push_front(state) : starved_.push_back(state);
      break;
    case DiscoveryPlace::kShort: short_.push_back(state); break;
  }
  if (was_in) return;
  counters_.add(DiscoveryCounter::kStarted);
  counters_.add(DiscoveryCounter::kQueued);
  counters_.raise_to(DiscoveryCounter::kQueuedMax, counters_.get(DiscoveryCounter::kQueued));
}

// lustre-release lnet/lnet/peer.c: lnet_peer_queue_for_discovery()
bool Discovery::queue(PeerRecord& peer) {
  PLNET_CHECK(peer.number < directory_.numbers(), "the number of a peer is dense");
  PLNET_CHECK(!peer.dead, "nobody discovers a peer that goes");
  PeerDiscovery& state = state_of(peer);
  state.peer = &peer;
  peer.add_state(kPeerDiscovering);
  if (state.place != DiscoveryPlace::kNone) return false;
  place(state, DiscoveryPlace::kRequested);
  return true;
}

void Discovery::attend(PeerDiscovery& state, bool front) {
  if (!queue(*state.peer)) place(state, DiscoveryPlace::kRequested, front);
}

void Discovery::wait_for(PeerRecord& peer, Message& message) {
  PLNET_CHECK(!message.linked(), "a message that waits for a peer is in no queue");
  if (shut_) {
    message.outcome = std::unexpected(Errc::kShutdown);
    return ended_.push_back(message);
  }
  PeerDiscovery& state = state_of(peer);
  state.peer = &peer;
  // The request came while a message had the peer discovered, and that has ended. Another discovery
  // would make the message ask again, and so on for ever.
  if (up_to_date(state)) {
    message.outcome = {};
    return ended_.push_back(message);
  }
  counters_.add(DiscoveryCounter::kParked);
  ++parked_;
  state.parcels.push_back(message);
  (void)queue(peer);
}

void Discovery::make_stale(PeerRecord& peer, bool force) {
  peer.drop_state(kPeerNidsUpToDate);
  if (force) peer.add_state(kPeerForcePing | kPeerForcePush);
}

void Discovery::check(PeerRecord& peer, const Nid& from, const Nid& target) {
  PLNET_CHECK(!target.is_any(), "a check asks one interface");
  make_stale(peer, true);
  (void)queue(peer);
  PeerDiscovery& state = state_of(peer);
  state.check_from = from;
  state.check_target = target;
  state.asked = state.answered = false;
  // An exchange by another path says nothing about this one. A push that is not acknowledged yet is
  // repeated after the ping, which would wait for it or need another slot.
  abandon_all(state);
  // It may have waited for these, or among many others.
  const bool waits =
      state.place == DiscoveryPlace::kWorking || state.place == DiscoveryPlace::kStarved;
  if (waits) place(state, DiscoveryPlace::kRequested);
}

void Discovery::give_up(PeerRecord& peer, Result<void> why) {
  PeerDiscovery& state = state_of(peer);
  if (shut_ || state.place == DiscoveryPlace::kNone) return;
  abandon_all(state);
  complete(state, why);
}

bool Discovery::waits_for_turn(const PeerRecord& peer) const {
  const PeerDiscovery& state = states_[peer.number];
  if (state.asked && !state.answered) return false;
  return state.place == DiscoveryPlace::kStarved || state.place == DiscoveryPlace::kShort ||
         state.place == DiscoveryPlace::kRequested;
}

void Discovery::discover(DiscoverRequest& request) {
  PLNET_CHECK(!request.linked(), "a request waits in one list");
  request.rounds = 0;
  PeerRecord* peer = directory_.peer_of(request.nid);
  if (peer != nullptr && !peer->is(kPeerDiscovering)) state_of(*peer).error = {};
  resumed_.push_back(request);
}

// lustre-release lnet/lnet/peer.c: lnet_discover_peer_locked(), a turn of its loop
void Discovery::resume(DiscoverRequest& request, Result<void> error) {
  PLNET_CHECK(!request.linked(), "a request that goes on waits in no list");
  PeerRecord* peer = directory_.peer_of(request.nid);
  if (shut_) return request.done(std::unexpected(Errc::kShutdown));
  if (!error) return request.done(error);
  if (peer == nullptr) return request.done(std::unexpected(Errc::kNotFound));
  PeerDiscovery& state = state_of(*peer);
  state.peer = peer;
  const bool once_is_enough = discovery_is_off(*peer, parameters_) && request.rounds > 0;
  if (once_is_enough || up_to_date(state)) return request.done({});
  if (request.rounds++ == kRoundsMax) return request.done(std::unexpected(Errc::kTimedOut));
  state.waiters.push_back(request);
  (void)queue(*peer);
}

void Discovery::push_to_all(bool force) {
  sweep_force_ =
      (sweep_at_ != UINT32_MAX && sweep_force_) || (force && parameters_.discovery.get() != 0);
  sweep_at_ = 0;
}

// Ends

void Discovery::end_parcels(PeerDiscovery& state, Result<void> outcome) {
  while (Parcel* parcel = state.parcels.pop_front()) {
    parcel->outcome = outcome;
    end(*parcel);
  }
}

void Discovery::end(Parcel& parcel) {
  PLNET_CHECK(parked_ > 0, "a message that ends its wait is counted");
  PLNET_CHECK(!parcel.linked(), "a message that ends its wait is in no queue");
  --parked_;
  ended_.push_back(parcel);
}

void Discovery::serve_waiting(Instant before) {
  const auto look_at_parcel = [&](Parcel& parcel) {
    const bool given_up = parcel.given_up != nullptr && parcel.given_up->get();
    if (!given_up && static_cast<const Message&>(parcel).since.get() >= before) return;
    parcel.unlink();
    parcel.outcome = std::unexpected(given_up ? Errc::kCancelled : Errc::kTimedOut);
    counters_.add(given_up ? DiscoveryCounter::kGivenUp : DiscoveryCounter::kExpired);
    end(parcel);
  };
  for (IntrusiveList<PeerDiscovery>* const peers : {&requested_, &working_, &starved_, &short_}) {
    peers->for_each([&](PeerDiscovery& state) { state.parcels.for_each(look_at_parcel); });
  }
  working_.for_each([this](PeerDiscovery& state) { ask_again_if_lost(state); });
  while (PeerDiscovery* const state = short_.front())
    place(*state, DiscoveryPlace::kRequested);
}

void Discovery::settle_waiters(PeerDiscovery& state) {
  IntrusiveList<DiscoverRequest> waiters;
  waiters.splice_back(state.waiters);
  const Result<void> error = state.error;
  while (DiscoverRequest* request = waiters.pop_front())
    resume(*request, error);
}

// lustre-release lnet/lnet/peer.c: lnet_peer_discovery_complete()
void Discovery::complete(PeerDiscovery& state, Result<void> outcome) {
  PLNET_CHECK(state.peer != nullptr, "a discovery that ends is that of a peer");
  PLNET_CHECK(state.place != DiscoveryPlace::kNone, "a discovery that ends was under way");
  PeerRecord& peer = *state.peer;
  place(state, DiscoveryPlace::kNone);
  peer.drop_state(kPeerDiscovering);
  state.retries = 0;
  // The path of the ping was meant for the push that might follow.
  state.source = state.target = Nid::any();
  state.check_from = state.check_target = Nid::any();
  if (!outcome) {
    state.error = outcome;
    peer.add_state(kPeerRediscover);
  }
  counters_.add(outcome ? DiscoveryCounter::kCompleted : DiscoveryCounter::kFailed);
  if (peer.gateway_refs > 0) observer_.on_gateway_discovered(peer, outcome);
  end_parcels(state, outcome);
  settle_waiters(state);
}

void Discovery::peer_gone(PeerRecord& peer) {
  PeerDiscovery& state = state_of(peer);
  state.peer = nullptr;
  place(state, DiscoveryPlace::kNone);
  abandon(state.ping);
  abandon(state.push);
  drop_data(state);
  PLNET_CHECK(state.ping == nullptr && state.push == nullptr && state.data == nullptr,
              "a peer that goes has no exchange");
  // The NID may belong to another peer now: waiting messages look it up again.
  end_parcels(state, {});
  resumed_.splice_back(state.waiters);
  state.incomplete = false;
  state.retries = 0;
  state.data_bytes = state.peer_sequence = state.acked_sequence = 0;
  state.source = state.target = Nid::any();
  state.check_from = state.check_target = Nid::any();
  state.error = state.ping_error = state.push_error = {};
  merge_.forget(peer);
  PLNET_CHECK(state.parcels.empty() && state.waiters.empty(),
              "no message waits for a peer that goes");
}

void Discovery::peer_ni_released() {
  if (!incomplete_) return;
  incomplete_ = false;
  directory_.for_each([this](PeerRecord& peer) {
    PeerDiscovery& state = state_of(peer);
    if (!state.incomplete) return;
    state.incomplete = false;
    make_stale(peer, false);
    (void)queue(peer);
  });
}

void Discovery::shut_down() {
  shut_ = true;
  sweep_at_ = UINT32_MAX;
  for (std::uint32_t number = 0; number < directory_.numbers(); ++number) {
    PeerDiscovery& state = states_[number];
    if (state.peer == nullptr) continue;
    abandon(state.ping);
    abandon(state.push);
    drop_data(state);
    place(state, DiscoveryPlace::kNone);
    end_parcels(state, std::unexpected(Errc::kShutdown));
    resumed_.splice_back(state.waiters);
    PLNET_CHECK(state.parcels.empty() && state.waiters.empty(),
                "no message waits after the shutdown");
  }
}

// The state machine

bool Discovery::has_work() {
  const bool wakes = !starved_.empty() && may_take(*starved_.front(), exchanges_.free_count());
  return (!shut_ && (wakes || !requested_.empty())) || !resumed_.empty() || !ended_.empty() ||
         sweep_at_ != UINT32_MAX;
}

unsigned Discovery::step(unsigned budget) {
  unsigned done = 0;
  wake_starved();
  for (; done < budget && sweep_at_ != UINT32_MAX; ++done) {
    if (PeerRecord* peer = directory_.by_number(sweep_at_)) {
      if (sweep_force_ && peer->multi_rail()) peer->add_state(kPeerForcePush);
      PLNET_CHECK(peer->number == sweep_at_, "the number of a peer is its place");
      PeerDiscovery& state = state_of(*peer);
      state.peer = peer;
      if (needs_push(state)) (void)queue(*peer);
    }
    if (++sweep_at_ == directory_.numbers()) sweep_at_ = UINT32_MAX;
  }
  IntrusiveList<DiscoverRequest> resumed;
  resumed.splice_back(resumed_);
  for (; DiscoverRequest* request = resumed.pop_front(); ++done)
    resume(*request, {});
  for (; done < budget && !shut_ && !requested_.empty(); ++done)
    look_at(*requested_.front());
  return done;
}

void Discovery::look_at(PeerDiscovery& state) {
  PLNET_CHECK(state.peer != nullptr && state.place == DiscoveryPlace::kRequested,
              "a requested peer is looked at");
  place(state, DiscoveryPlace::kWorking);
  const Step step = examine(state);
  switch (step.verdict) {
    case Verdict::kGone: break;
    case Verdict::kAgain:
      if (state.peer != nullptr) place(state, DiscoveryPlace::kRequested, true);
      break;
    case Verdict::kEnd:
      if (state.peer != nullptr) complete(state, step.outcome);
      break;
    case Verdict::kWait: break;
  }
}

Discovery::Step Discovery::examine(PeerDiscovery& state) {
  const PeerRecord& peer = *state.peer;
  if (peer.has(kPeerMarkDeletion)) return begin_anew(state);
  if (peer.has(kPeerDataPresent)) return process_data(state);
  if (peer.has(kPeerPingFailed)) return ping_failed(state);
  if (peer.has(kPeerPushFailed)) return push_failed(state);
  if (needs_ping(peer)) return send_ping(state);
  if (needs_push(state)) return send_push(state);
  return discovered(state);
}

// lustre-release lnet/lnet/peer.c: lnet_peer_deletion(). The kernel makes the peer anew when it is
// next needed; here it stays, in the state of a new one, and the received data count as its first
// answer.
Discovery::Step Discovery::begin_anew(PeerDiscovery& state) {
  PLNET_CHECK(state.peer->has(kPeerMarkDeletion), "a peer is forgotten on request");
  PeerRecord& peer = *state.peer;
  counters_.add(DiscoveryCounter::kDiscoveryLost);
  peer.drop_state(kPeerMarkDeletion | kPeerMultiRail | kPeerDiscovered | kPeerNidsUpToDate |
                  kPeerForcePing | kPeerForcePush);
  state.acked_sequence = 0;
  rules_.split(peer, [&](PeerRecord& part) { observer_.on_handed_over(peer, part); });
  directory_.commit();
  return {Verdict::kAgain, {}};
}

Discovery::Step Discovery::ping_failed(PeerDiscovery& state) {
  PLNET_CHECK(state.peer->has(kPeerPingFailed), "a failed ping is reported once");
  abandon(state.ping);
  state.peer->drop_state(kPeerPingFailed);
  state.peer->add_state(kPeerForcePing);
  const Result<void> why = state.ping_error;
  state.ping_error = {};
  if (!why) return {Verdict::kEnd, why};
  if (state.retries++ < kRetriesMax) return {Verdict::kAgain, {}};
  counters_.add(DiscoveryCounter::kRetriesOver);
  return {Verdict::kEnd, std::unexpected(Errc::kProtocol)};
}

Discovery::Step Discovery::push_failed(PeerDiscovery& state) {
  PLNET_CHECK(state.peer->has(kPeerPushFailed), "a failed push is reported once");
  abandon(state.push);
  state.peer->drop_state(kPeerPushFailed);
  const Result<void> why = state.push_error;
  state.push_error = {};
  return why ? Step{Verdict::kAgain, {}} : Step{Verdict::kEnd, why};
}

// lustre-release lnet/lnet/peer.c: lnet_peer_discovered(). A peer that accepts no pushes would keep
// a forced one for ever.
Discovery::Step Discovery::discovered(PeerDiscovery& state) {
  PeerRecord& peer = *state.peer;
  PLNET_CHECK(!peer.has(kPeerDataPresent | kPeerPingFailed | kPeerPushFailed),
              "a peer that is discovered has no news");
  if (!peer.multi_rail()) peer.drop_state(kPeerForcePush);
  // Unrequested data do not answer a check.
  if (state.is_check() && state.ping != nullptr) return {Verdict::kWait, {}};
  // Another push is requested while one is under way. A success reported now would cause the same
  // request at once, and so on; the end of the push leads back here.
  if (peer.has(kPeerForcePush) && state.push != nullptr) return {Verdict::kWait, {}};
  peer.add_state(kPeerDiscovered);
  peer.drop_state(kPeerRediscover);
  state.error = {};
  return {Verdict::kEnd, {}};
}

}  // namespace plnet::lnet
