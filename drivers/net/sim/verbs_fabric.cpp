// SPDX-License-Identifier: BSD-3-Clause
// The connection manager: how queue pairs connect, disconnect and end.
#include "drivers/net/sim/verbs_fabric.hpp"

#include <algorithm>

#include "drivers/net/sim/dice.hpp"
#include "drivers/net/sim/fetch.hpp"
#include "drivers/net/sim/verbs_driver.hpp"
#include "lib/base/check.hpp"

namespace plnet::drivers {

using o2iblnd::Ipv4Endpoint;
using o2iblnd::RejectKind;
using o2iblnd::WorkEvent;
using State = QueuePair::State;

namespace {

// The word of an event: kind, generation, detail, queue pair.
constexpr unsigned kKindShift = 60;
constexpr unsigned kGenerationShift = 44;
constexpr unsigned kDetailShift = 20;
constexpr std::uint64_t kGenerationMask = (1U << (kKindShift - kGenerationShift)) - 1;
constexpr std::uint64_t kDetailMask = (1U << (kGenerationShift - kDetailShift)) - 1;
constexpr std::uint64_t kIndexMask = (1U << kDetailShift) - 1;

std::uint64_t key_of(const Ipv4Endpoint& endpoint) {
  return static_cast<std::uint64_t>(endpoint.address) << 16U | endpoint.port;
}

}  // namespace

SimVerbsFabric::SimVerbsFabric(SimNetwork& network, const VerbsShape& shape, std::uint64_t seed)
    : network_(network),
      loop_(network.loop()),
      shape_(shape),
      random_(Random(seed).fork("verbs")) {}

void SimVerbsFabric::reserve(std::size_t queue_pairs) {
  pairs_.reserve(queue_pairs);
  free_.reserve(queue_pairs);
}

QueuePair& SimVerbsFabric::create(SimVerbsDriver& driver, HostId host) {
  std::uint32_t index = 0;
  if (free_.empty()) {
    index = static_cast<std::uint32_t>(pairs_.size());
    PLNET_CHECK(index < kIndexMask, "more queue pairs than a simulation may have");
    pairs_.grow();
  } else {
    index = free_.back();
    free_.pop_back();
  }
  QueuePair& pair = pairs_[index];
  PLNET_CHECK(!pair.in_use && pair.sends.empty() && pair.receives.empty(),
              "a free queue pair has no requests");
  pair.index = index;
  pair.driver = &driver;
  pair.host = host;
  pair.in_use = true;
  pair.id = driver.add(pair);
  ++live_;
  return pair;
}

void SimVerbsFabric::destroy(QueuePair& pair) {
  PLNET_CHECK(pair.in_use && live_ > 0, "a queue pair is destroyed once");
  const std::uint32_t generation = pair.generation + 1;
  const std::uint32_t index = pair.index;
  pair.sends.clear(network_.pool());
  pair.receives.clear(network_.pool());
  pair.data.clear(network_.pool());
  pair.rejection.clear(network_.pool());
  pair = QueuePair{};
  pair.generation = generation;
  free_.push_back(index);
  --live_;
}

o2iblnd::HandedRequest SimVerbsFabric::give_away(QueuePair& pair) {
  PLNET_CHECK(pair.state == State::kRequested && !pair.handed, "a request is given away once");
  o2iblnd::HandedRequest request{.handle = &pair, .from = pair.remote, .to = pair.local};
  pair.driver = nullptr;
  pair.handed = true;
  return request;
}

QueuePair* SimVerbsFabric::take_over(const o2iblnd::HandedRequest& request) {
  auto* const pair = static_cast<QueuePair*>(request.handle);
  PLNET_CHECK(pair->in_use && pair->handed, "a request is taken over once");
  pair->handed = false;
  if (pair->state == State::kRequested) return pair;
  destroy(*pair);
  return nullptr;
}

void SimVerbsFabric::abandon(QueuePair& pair) {
  if (pair.state != State::kError) tell_peer(pair, Kind::kDisconnect);
  destroy(pair);
}

void SimVerbsFabric::schedule(Instant when, Kind kind, const QueuePair& pair,
                              std::uint64_t detail) {
  loop_.schedule(when, *this,
                 static_cast<std::uint64_t>(kind) << kKindShift |
                     (pair.generation & kGenerationMask) << kGenerationShift |
                     (detail & kDetailMask) << kDetailShift | pair.index);
}

void SimVerbsFabric::on_event(std::uint64_t word) {
  const auto kind = static_cast<Kind>(word >> kKindShift);
  QueuePair& pair = pairs_[word & kIndexMask];
  const std::uint64_t generation = word >> kGenerationShift & kGenerationMask;
  if (!pair.in_use || (pair.generation & kGenerationMask) != generation) return;
  const std::uint64_t detail = word >> kDetailShift & kDetailMask;
  switch (kind) {
    case Kind::kArrival: arrival(pair); break;
    case Kind::kAcknowledge: {
      // The detail has the low bits of a number that lies less than its range ahead.
      const std::uint64_t ahead = (detail - pair.first_send) & kDetailMask;
      if (pair.state != State::kError && ahead <= pair.sends.size())
        acknowledge(pair, pair.first_send + ahead);
      break;
    }
    case Kind::kRefused:
      if (pair.state != State::kError) work_failed(pair, static_cast<Errc>(detail));
      break;
    default: handle_setup(kind, pair, detail); break;
  }
}

void SimVerbsFabric::on_event_soon(std::uint64_t word, unsigned step) const {
  const QueuePair& pair = pairs_[word & kIndexMask];
  if (step == 0) {
    fetch_lines(&pair, 2);
    return;
  }
  // An acknowledgement is for this side, an arrival for the other one.
  const bool arrives = static_cast<Kind>(word >> kKindShift) == Kind::kArrival;
  if (step == 1) {
    pair.sends.fetch();
    if (arrives && pair.peer < pairs_.size()) fetch_lines(&pairs_[pair.peer], 2);
    if (!arrives && pair.driver != nullptr) pair.driver->fetch();
  } else if (arrives && pair.peer < pairs_.size()) {
    const QueuePair& peer = pairs_[pair.peer];
    peer.receives.fetch();
    if (peer.driver != nullptr) peer.driver->fetch();
  }
}

void SimVerbsFabric::handle_setup(Kind kind, QueuePair& pair, std::uint64_t detail) {
  switch (kind) {
    case Kind::kConnectTry:
      if (pair.state == State::kConnecting) try_connect(pair);
      break;
    case Kind::kRequest:
      if (pair.state == State::kConnecting) request_arrives(pair);
      break;
    case Kind::kAnswer:
      if (pair.state == State::kConnecting) answer_arrives(pair);
      break;
    case Kind::kReady:
      if (pair.state != State::kAccepted) break;
      pair.state = State::kEstablished;
      pair.data.clear(network_.pool());
      pair.driver->note_established(pair, {});
      break;
    case Kind::kReject:
      if (pair.state != State::kConnecting) break;
      pair.driver->note_rejected(pair, RejectKind::kByPeer, pair.rejection.view());
      finish(pair);
      break;
    case Kind::kTurnedDown:
      if (pair.state != State::kConnecting) break;
      pair.driver->note_rejected(pair, static_cast<RejectKind>(detail), {});
      finish(pair);
      break;
    case Kind::kDisconnect:
      if (detail == 0 || pair.state == State::kAccepted)
        fail(pair, detail == 0 ? Errc::kClosed : Errc::kTimedOut);
      break;
    case Kind::kDrain:
      PLNET_CHECK(!pair.drained, "a queue pair drains once");
      pair.drained = true;
      pair.driver->note_drained(pair, shape_.drains_early);
      break;
    default: break;
  }
}

QueuePair* SimVerbsFabric::peer_of(const QueuePair& pair) {
  if (pair.peer >= pairs_.size()) return nullptr;
  QueuePair& peer = pairs_[pair.peer];
  return peer.in_use && peer.generation == pair.peer_generation ? &peer : nullptr;
}

void SimVerbsFabric::tell_peer(QueuePair& pair, Kind kind) {
  const QueuePair* peer = peer_of(pair);
  if (peer == nullptr) return;
  const auto arrives = network_.transit(pair.host, peer->host, 256);
  if (arrives) schedule(*arrives, kind, *peer);
}

Result<void> SimVerbsFabric::listen(SimVerbsDriver& driver, const Ipv4Endpoint& local) {
  if (network_.host_of(mapped_ipv4(local.address)) != driver.host())
    return std::unexpected(Errc::kNotFound);
  if (!listeners_.emplace(key_of(local), &driver).second) return std::unexpected(Errc::kBusy);
  return {};
}

void SimVerbsFabric::stop_listening(const SimVerbsDriver& driver, const Ipv4Endpoint& local) {
  const auto found = listeners_.find(key_of(local));
  if (found != listeners_.end() && found->second == &driver) listeners_.erase(found);
}

void SimVerbsFabric::connect(QueuePair& pair) {
  pair.state = State::kConnecting;
  schedule(network_.now(), Kind::kConnectTry, pair);
}

void SimVerbsFabric::try_connect(QueuePair& pair) {
  const HostId to = network_.host_of(mapped_ipv4(pair.remote.address));
  if (to == kNoHost) {
    fail(pair, Errc::kNoRoute);
    return;
  }
  if (pair.connect_tries++ == shape_.connect_tries_max) {
    fail(pair, Errc::kTimedOut);
    return;
  }
  schedule(network_.now() + shape_.connect_retry_after, Kind::kConnectTry, pair);
  const auto arrives = network_.transit(pair.host, to, 256);
  if (arrives) schedule(*arrives, Kind::kRequest, pair);
}

void SimVerbsFabric::request_arrives(QueuePair& active) {
  const HostId host = network_.host_of(mapped_ipv4(active.remote.address));
  if (host == kNoHost || !network_.present(host)) return;
  if (QueuePair* known = peer_of(active); known != nullptr) {
    // A repeated request: the answer may have been lost.
    if (known->state == State::kAccepted) tell_peer(*known, Kind::kAnswer);
    return;
  }
  const auto found = listeners_.find(key_of(active.remote));
  if (found == listeners_.end()) return turn_down(active, host, RejectKind::kNobodyListens);
  if (happens(random_, shape_.connect_rejected)) {
    const bool stale = happens(random_, 500'000);
    return turn_down(active, host, stale ? RejectKind::kStaleConnection : RejectKind::kOther);
  }
  QueuePair& passive = create(*found->second, host);
  passive.state = State::kRequested;
  passive.local = active.remote;
  passive.remote = active.local;
  passive.peer = active.index;
  passive.peer_generation = active.generation;
  passive.data.assign(network_.pool(), active.data.view());
  active.peer = passive.index;
  active.peer_generation = passive.generation;
  passive.driver->note_request(passive);
}

void SimVerbsFabric::turn_down(const QueuePair& active, HostId by, RejectKind kind) {
  const auto back = network_.transit(by, active.host, 256);
  if (back) schedule(*back, Kind::kTurnedDown, active, static_cast<std::uint64_t>(kind));
}

void SimVerbsFabric::accept(QueuePair& pair) {
  pair.state = State::kAccepted;
  tell_peer(pair, Kind::kAnswer);
  // For the case that the other side never reports that it is ready.
  schedule(network_.now() + shape_.connect_retry_after * (shape_.connect_tries_max + 1),
           Kind::kDisconnect, pair, 1);
}

void SimVerbsFabric::answer_arrives(QueuePair& active) {
  const QueuePair* passive = peer_of(active);
  if (passive == nullptr) return;
  active.state = State::kEstablished;
  active.data.clear(network_.pool());
  active.driver->note_established(active, passive->data.view());
  const auto arrives = network_.transit(active.host, passive->host, 256);
  // A lost "ready" is repaired by a repeated answer; here it is just late. Data may overtake it.
  schedule(arrives.value_or(network_.now() + shape_.connect_retry_after), Kind::kReady, *passive);
}

void SimVerbsFabric::reject(QueuePair& pair) {
  if (QueuePair* active = peer_of(pair); active != nullptr) {
    active->rejection.assign(network_.pool(), pair.data.view());
  }
  tell_peer(pair, Kind::kReject);
  if (pair.prepared) finish(pair);
}

void SimVerbsFabric::fail(QueuePair& pair, Errc cause, bool tell) {
  if (pair.state == State::kError) return;
  if (tell) tell_peer(pair, Kind::kDisconnect);
  if (pair.handed) {  // no driver has it: the next one sees the state
    pair.state = State::kError;
    return;
  }
  PLNET_CHECK(pair.driver != nullptr,
              "only a request that is under way between shards has no driver");
  pair.driver->note_disconnected(pair, cause);
  finish(pair);
}

// Flushes all posted requests, and then, when nothing can land any more, on_drained() follows.
void SimVerbsFabric::finish(QueuePair& pair) {
  PLNET_CHECK(pair.state != State::kError, "a queue pair ends once");
  pair.state = State::kError;
  const auto flush = [&pair](WorkEvent event, std::uint64_t cookie) {
    pair.driver->count(SimVerbsCounters::Id::kFlushed);
    pair.driver->note_completion({.queue_pair = pair.id,
                                  .event = event,
                                  .status = std::unexpected(Errc::kAborted),
                                  .cookie = cookie});
  };
  for (std::size_t i = 0; i < pair.sends.size(); ++i)
    flush(WorkEvent::kSent, pair.sends.at(i).request.cookie);
  pair.sends.clear(network_.pool());
  for (std::size_t i = 0; i < pair.receives.size(); ++i)
    flush(WorkEvent::kReceived, pair.receives.at(i).cookie);
  pair.receives.clear(network_.pool());
  if (shape_.drains_early) pair.driver->note_drained_early(pair);
  schedule(network_.now() + drawn_within(random_, shape_.drain_delay_max), Kind::kDrain, pair);
}

}  // namespace plnet::drivers
