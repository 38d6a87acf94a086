// SPDX-License-Identifier: BSD-3-Clause
// The fate of posted requests: they fly in order, are executed at the peer, and are acknowledged or
// refused. Requests that are posted during a flight go with the next one.
#include <algorithm>

#include "drivers/net/sim/dice.hpp"
#include "drivers/net/sim/verbs_driver.hpp"
#include "drivers/net/sim/verbs_fabric.hpp"
#include "lib/base/check.hpp"

namespace plnet::drivers {

using Id = SimVerbsCounters::Id;
using o2iblnd::WorkEvent;
using o2iblnd::WorkKind;
using o2iblnd::WorkRequest;
using State = QueuePair::State;

namespace {

constexpr std::uint8_t kRetryForEver = 7;  // of rnr_retry_count, as InfiniBand has it

std::uint32_t length_of(const WorkRequest& request) {
  std::uint32_t length = 0;
  for (std::size_t i = 0; i < request.piece_count; ++i)
    length += request.pieces[i].length;
  return length;
}

void gather(const WorkRequest& request, const ArenaTable& arenas, LazyMemory* lazy,
            std::span<std::byte> to) {
  std::size_t at = 0;
  for (std::size_t i = 0; i < request.piece_count; ++i) {
    const std::span<const std::byte> piece = arenas.bytes(request.pieces[i]);
    copy_memory(lazy, to.data() + at, piece);
    at += piece.size();
  }
}

}  // namespace

void SimVerbsFabric::pump(QueuePair& pair) {
  const std::uint64_t end = pair.first_send + pair.sends.size();
  PLNET_DEBUG_CHECK(pair.next_execute >= pair.first_send && pair.next_execute <= end,
                    "requests are executed in order");
  if (pair.arrival_pending || pair.next_execute == end) return;
  const QueuePair* peer = peer_of(pair);
  auto count = static_cast<std::size_t>(end - pair.next_execute);
  if (happens(random_, shape_.split_flight)) count = drawn_between(random_, 1, count);
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < count; ++i)
    bytes += length_of(pair.sends.at(pair.next_execute - pair.first_send + i).request);
  pair.flight_end = pair.next_execute + count;
  const auto arrives =
      peer == nullptr ? std::nullopt : network_.transit(pair.host, peer->host, bytes);
  if (!arrives) {
    wait_and_retry(pair, shape_.retry_after);
    return;
  }
  pair.arrival_pending = true;
  pair.last_arrival = std::max(pair.last_arrival, *arrives);
  schedule(pair.last_arrival, Kind::kArrival, pair);
}

void SimVerbsFabric::wait_and_retry(QueuePair& pair, Duration wait) {
  if (pair.retries++ >= pair.parameters.retry_count) {
    work_failed(pair, Errc::kTimedOut);
    return;
  }
  pair.arrival_pending = true;
  schedule(network_.now() + wait, Kind::kArrival, pair);
}

void SimVerbsFabric::arrival(QueuePair& pair) {
  PLNET_DEBUG_CHECK(pair.arrival_pending, "one arrival at a time");
  pair.arrival_pending = false;
  QueuePair* peer = peer_of(pair);
  if (pair.state == State::kError) return;  // flushed: it has never left
  const bool there = peer != nullptr && network_.reaches(pair.host, peer->host);
  if (!there) {
    wait_and_retry(pair, shape_.retry_after);
    return;
  }
  const bool listening = peer->state == State::kEstablished || peer->state == State::kAccepted;
  const std::uint64_t before = pair.next_execute;
  while (pair.next_execute < pair.flight_end) {
    const WorkRequest request = pair.sends.at(pair.next_execute - pair.first_send).request;
    if (!listening) {
      // The peer has gone into error: until it is drained, writes may still get through.
      const bool lands = peer->state == State::kError && !peer->drained &&
                         request.kind == WorkKind::kWrite &&
                         happens(random_, shape_.late_write_lands);
      if (lands && place(pair, *peer, request)) peer->driver->count(Id::kLateWrites);
      wait_and_retry(pair, shape_.retry_after);
      return;
    }
    if (!execute(pair, *peer, request)) break;
    ++pair.next_execute;
  }
  if (pair.next_execute != before) pair.not_ready_tries = 0;
  if (!network_.reaches(peer->host, pair.host)) {  // the acknowledgement is lost
    if (!pair.arrival_pending) wait_and_retry(pair, shape_.retry_after);
    return;
  }
  pair.retries = 0;
  if (pair.next_execute > pair.first_send) {
    const Duration delay = network_.latency(peer->host, pair.host);
    pair.last_ack = std::max(pair.last_ack, network_.now() + delay);
    schedule(pair.last_ack, Kind::kAcknowledge, pair, pair.next_execute);
  }
  if (pair.next_execute == pair.flight_end) pump(pair);
}

// Executes one request at the responder. False: it failed, and the consequences are scheduled.
bool SimVerbsFabric::execute(QueuePair& pair, QueuePair& peer, const WorkRequest& request) {
  loop_.note(request.cookie);
  if (happens(random_, shape_.work_fails)) {
    refuse(pair, Errc::kIo);
    return false;
  }
  if (request.kind == WorkKind::kSend) return deliver(pair, peer, request);
  if (place(pair, peer, request)) {
    pair.driver->count(Id::kWrites);
    pair.driver->count(Id::kBytesWritten, length_of(request));
    return true;
  }
  refuse(pair, Errc::kNotPermitted);
  fail(peer, Errc::kProtocol, false);
  return false;
}

bool SimVerbsFabric::place(QueuePair& pair, const QueuePair& peer, const WorkRequest& request) {
  const std::uint32_t length = length_of(request);
  if (length == 0) return true;
  const std::span<std::byte> to =
      peer.driver->remote_memory(request.remote_key, request.remote_address, length);
  if (to.empty()) return false;
  gather(request, pair.driver->arenas(), network_.lazy_memory(), to);
  return true;
}

bool SimVerbsFabric::is_ready(QueuePair& pair, const QueuePair& peer) {
  if (pair.not_ready_left > 0) {
    --pair.not_ready_left;
    return false;
  }
  if (pair.not_ready_tries == 0 && happens(random_, shape_.not_ready)) {
    pair.not_ready_left =
        static_cast<unsigned>(drawn_between(random_, 1, shape_.not_ready_tries_max)) - 1;
    return false;
  }
  return !peer.receives.empty();
}

bool SimVerbsFabric::deliver(QueuePair& pair, QueuePair& peer, const WorkRequest& request) {
  if (!is_ready(pair, peer)) {
    peer.driver->count(Id::kNotReady);
    const std::uint8_t tries = pair.parameters.rnr_retry_count;
    if (tries < kRetryForEver && pair.not_ready_tries++ >= tries) {
      refuse(pair, Errc::kNoSpace);
    } else {
      pair.arrival_pending = true;
      schedule(network_.now() + shape_.receiver_not_ready_delay, Kind::kArrival, pair);
    }
    return false;
  }
  const o2iblnd::ReceiveRequest receive = peer.receives.front();
  peer.receives.pop(network_.pool());
  const std::uint32_t length = length_of(request);
  o2iblnd::WorkCompletion completion{.queue_pair = peer.id,
                                     .event = WorkEvent::kReceived,
                                     .length = length,
                                     .cookie = receive.cookie};
  if (length > receive.buffer.length) {
    completion.status = std::unexpected(Errc::kTooBig);
    completion.length = 0;
    peer.driver->count(Id::kErrors);
    peer.driver->note_completion(completion);
    refuse(pair, Errc::kTooBig);
    fail(peer, Errc::kProtocol, false);
    return false;
  }
  gather(request, pair.driver->arenas(), network_.lazy_memory(),
         peer.driver->arenas().bytes(receive.buffer));
  peer.driver->note_completion(completion);
  peer.driver->count(Id::kReceived);
  pair.driver->count(Id::kSends);
  return true;
}

void SimVerbsFabric::acknowledge(QueuePair& pair, std::uint64_t up_to) {
  PLNET_DEBUG_CHECK(up_to <= pair.next_execute, "a request is executed before it is acknowledged");
  while (pair.first_send < up_to) {
    const QueuePair::Work& work = pair.sends.front();
    if (work.signalled) {
      pair.driver->note_completion(
          {.queue_pair = pair.id, .event = WorkEvent::kSent, .cookie = work.request.cookie});
    }
    pair.sends.pop(network_.pool());
    ++pair.first_send;
  }
}

// The responder refuses a request. None behind it is executed.
void SimVerbsFabric::refuse(QueuePair& pair, Errc why) {
  pair.arrival_pending = true;
  const QueuePair* peer = peer_of(pair);
  PLNET_CHECK(peer != nullptr, "the peer has refused the request");
  Instant at = network_.now() + network_.latency(peer->host, pair.host);
  at = std::max(at, pair.last_ack + Duration{1});
  // Behind the acknowledgement of the requests before it.
  const std::uint64_t done = pair.next_execute;
  if (done > pair.first_send) schedule(at, Kind::kAcknowledge, pair, done);
  pair.last_ack = at + Duration{1};
  schedule(pair.last_ack, Kind::kRefused, pair, static_cast<std::uint64_t>(why));
}

// The first request that was not executed fails with its own completion, signalled or not.
void SimVerbsFabric::work_failed(QueuePair& pair, Errc why) {
  acknowledge(pair, pair.next_execute);
  if (!pair.sends.empty()) {
    pair.driver->count(Id::kErrors);
    pair.driver->note_completion({.queue_pair = pair.id,
                                  .event = WorkEvent::kSent,
                                  .status = std::unexpected(why),
                                  .cookie = pair.sends.front().request.cookie});
    pair.sends.pop(network_.pool());
    ++pair.first_send;
  }
  fail(pair, why);
}

}  // namespace plnet::drivers
