// SPDX-License-Identifier: BSD-3-Clause
// Queue pairs from their begin until nobody reaches our memory through them.
#include "apps/lnet-sim/net/rdma/lnd.hpp"

#include <algorithm>
#include <cstring>

#include "apps/lnet-sim/net/rdma/cookie.hpp"
#include "lib/lnet/api/payload_cursor.hpp"

namespace plnet::sim {

using namespace lnet;
using o2iblnd::QueuePairId;

namespace {

// A refused chain is tried again so soon if no completion says when.
constexpr Duration kPostAgain = std::chrono::microseconds(20);

}  // namespace

RdmaLnd::RdmaLnd(const RdmaLndConfig& config, LndUpcalls& core)
    : PeerQueues({.name = "simib",
                  .net_type = NetType::kO2ib,
                  .places_replies = true,
                  .reports_timeouts = true,
                  .inline_bytes_max = config.inline_bytes_max,
                  .lnd_timeout = config.lnd_timeout},
                 config.peers_max, config.pairs_max * kDepth, core),
      config_(config),
      slot_bytes_(static_cast<std::uint32_t>(sizeof(RdmaFrame)) + config.inline_bytes_max),
      pairs_(config.pairs_max) {
  owners_.reserve(config.pairs_max);
}

RdmaLnd::~RdmaLnd() = default;

std::uint64_t RdmaLnd::memory_bytes(const RdmaLndConfig& config) {
  return config.pairs_max * 2 * kSlots * (sizeof(RdmaFrame) + config.inline_bytes_max);
}

void RdmaLnd::attach(o2iblnd::VerbsDriver& driver) {
  driver_ = &driver;
  for (unsigned port = 0; port < kPorts; ++port) {
    if (port % config_.shards != config_.shard) continue;
    const auto listening =
        driver.listen({config_.nid.address32(), static_cast<std::uint16_t>(config_.port + port)});
    PLNET_CHECK(listening.has_value(), "the host has the address of its NID");
  }
}

// --- Queue pairs ---

RdmaLnd::Pair* RdmaLnd::pair_of(QueuePairId id) {
  if (id.index >= owners_.size() || owners_[id.index] == ~0U) return nullptr;
  Pair& pair = pairs_.at(owners_[id.index]);
  return pair.id == id ? &pair : nullptr;
}

RdmaLnd::Pair* RdmaLnd::open_pair(QueuePairId id, bool active) {
  Pair* const pair = pairs_.take();
  if (pair == nullptr) return nullptr;
  pair->begin(id, active);
  if (id.index >= owners_.size()) owners_.resize(id.index + 1, ~0U);
  owners_[id.index] = pairs_.index_of(pair);
  return pair;
}

Fragment RdmaLnd::slot_memory(const Pair& pair, std::size_t slot, bool receive) const {
  const std::size_t number =
      std::size_t{pairs_.index_of(&pair)} * 2 * kSlots + (receive ? kSlots : 0) + slot;
  return {{config_.memory.arena, config_.memory.offset + number * slot_bytes_}, slot_bytes_};
}

void RdmaLnd::post_receive(const Pair& pair, std::size_t slot) {
  const o2iblnd::ReceiveRequest request{.buffer = slot_memory(pair, slot, true),
                                        .cookie = cookie_of(CookieKind::kReceive, 0, slot)};
  (void)driver_->post_receives(pair.id, {&request, 1});
}

void RdmaLnd::connect(Peer& peer) {
  RdmaHello hello{.nid = config_.nid};
  std::array<std::byte, sizeof hello> data{};
  std::memcpy(data.data(), &hello, sizeof hello);
  const auto port = static_cast<std::uint16_t>(
      config_.port + (config_.nid.address32() * 7 + config_.shard) % kPorts);
  counters_.add(Id::kConnects);
  const auto id =
      pairs_.free_count() == 0
          ? Result<QueuePairId>(std::unexpected(Errc::kNoMemory))
          : driver_->connect({config_.nid.address32(), 0}, {peer.link->nid.address32(), port},
                             {4 * kSlots, kSlots}, {.rnr_retry_count = 7}, data);
  if (!id) {
    counters_.add(Id::kConnectFailures);
    return fail_waiting(peer, id.error(), Health::kLocalError);
  }
  Pair* const pair = open_pair(*id, true);
  pair->peer = &peer;
  peer.pair = pair;
  for (std::size_t slot = 0; slot < kSlots; ++slot)
    post_receive(*pair, slot);
}

void RdmaLnd::on_established(QueuePairId id, std::span<const std::byte> /*data*/) {
  Pair* const pair = pair_of(id);
  if (pair == nullptr || pair->state != Pair::State::kOpening) return;
  pair->state = Pair::State::kOpen;
  pair->was_open = true;
  if (pair->active) {
    core_.on_peer(pair->peer->link->nid, PeerNotice::kAlive, now_);
    pump(*pair);
  } else {
    go_on(*pair);
  }
  report();
}

void RdmaLnd::on_rejected(QueuePairId id, o2iblnd::RejectKind /*kind*/,
                          std::span<const std::byte> /*data*/) {
  if (Pair* const pair = pair_of(id)) {
    pair->cause = Errc::kRefused;
    pair->state = Pair::State::kError;
  }
}

void RdmaLnd::on_disconnected(QueuePairId id, Errc cause) {
  Pair* const pair = pair_of(id);
  if (pair == nullptr) return;
  if (pair->state != Pair::State::kError) {
    pair->state = Pair::State::kError;
    pair->cause = cause;
    counters_.add(Id::kLost);
  }
  quarantine_open_sinks(*pair);
  report();
}

void RdmaLnd::on_device(bool usable, Errc cause) {
  core_.on_interface(usable ? InterfaceState::kUp : InterfaceState::kFatal, cause);
}

void RdmaLnd::break_pair(Pair& pair, Errc cause) {
  if (pair.state == Pair::State::kError) return;
  pair.state = Pair::State::kError;
  pair.cause = cause;
  driver_->to_error(pair.id);
}

// Told now; their memory is free when the queue pair has drained.
void RdmaLnd::quarantine_open_sinks(Pair& pair) {
  for (Request& request : pair.requests) {
    if (request.state != Request::State::kAsking || !request.open_sink) continue;
    request.state = Request::State::kQuarantined;
    counters_.add(Id::kQuarantined);
    complete(
        {.transmit = request.transmit,
         .status = std::unexpected(pair.cause),
         .health = pair.cause == Errc::kTimedOut ? Health::kRemoteTimeout : health_of(pair.cause),
         .quarantined = true});
  }
}

void RdmaLnd::end_requests(Pair& pair) {
  quarantine_open_sinks(pair);
  report();
  for (Request& request : pair.requests) {
    if (request.state == Request::State::kFree) continue;
    if (request.state == Request::State::kQuarantined) {
      request.state = Request::State::kFree;
      end_quarantine(*request.transmit);
      continue;
    }
    const bool late = pair.cause == Errc::kTimedOut;
    // It may have arrived, so it is none of those that are sent again.
    end_request(pair, request, std::unexpected(pair.cause),
                late ? Health::kNetworkTimeout : Health::kRemoteError);
  }
  Peer& peer = *pair.peer;
  peer.pair = nullptr;
  if (!pair.was_open && !peer.releasing && !shutting_down()) {
    counters_.add(Id::kConnectFailures);
    core_.on_peer(peer.link->nid, PeerNotice::kDown, now_);
    fail_waiting(peer, pair.cause, health_of(pair.cause));
  } else if (!peer.releasing && !shutting_down()) {
    core_.on_peer(peer.link->nid, PeerNotice::kLost, now_);
  }
  wake(peer);
}

// The connection has drained: no peer reaches our memory through it.
void RdmaLnd::on_drained(QueuePairId id) {
  Pair* const pair = pair_of(id);
  if (pair == nullptr) return;
  pair->state = Pair::State::kError;
  if (pair->linked()) pair->unlink();
  if (pair->active) {
    end_requests(*pair);
  } else {
    end_inbound(*pair);
  }
  owners_[id.index] = ~0U;
  pairs_.give(pair);
  report();
}

// --- A turn ---

void RdmaLnd::serve(Peer& peer) {
  if (peer.pair != nullptr) return pump(*peer.pair);
  if (peer.first != nullptr) connect(peer);
}

// Credits come from a peer that is there. One that was gone and is back knows nothing of this pair,
// and who has no credit left sends nothing that would tell: lustre-release
// lnet/klnds/o2iblnd/o2iblnd_cb.c: kiblnd_check_txs_locked(), for what waits for credits.
void RdmaLnd::on_late_waiting(Peer& peer) {
  if (peer.pair != nullptr) break_pair(*peer.pair, Errc::kTimedOut);
}

// Something could not be posted.
void RdmaLnd::try_again(Pair& pair) {
  if (!pair.linked()) again_.push_back(pair);
  look_at(now_ + kPostAgain);
}

void RdmaLnd::check_connections(Instant now) {
  for (std::uint32_t i = 0; i < pairs_.capacity(); ++i) {
    if (!pairs_.is_lent(i)) continue;
    Pair& pair = pairs_.at(i);
    if (pair.state == Pair::State::kError) continue;
    Instant end = Instant::max();
    for (const Request& request : pair.requests) {
      if (request.state == Request::State::kFree) continue;
      end = std::min(end, request.transmit->deadline);
    }
    for (const Inbound& inbound : pair.inbound) {
      if (inbound.state == Inbound::State::kWaiting) {
        end = std::min(end, inbound.progress + config_.lnd_timeout);
      }
    }
    if (end > now) {
      look_at(end);
      continue;
    }
    counters_.add(pair.active ? Id::kExpired : Id::kStalled);
    break_pair(pair, Errc::kTimedOut);
    quarantine_open_sinks(pair);
  }
  IntrusiveList<Pair> again;
  again.splice_back(again_);
  while (Pair* const pair = again.pop_front())
    go_on(*pair);
}

void RdmaLnd::close_connections(Peer& peer) {
  for (std::uint32_t i = 0; i < pairs_.capacity(); ++i) {
    if (!pairs_.is_lent(i)) continue;
    Pair& pair = pairs_.at(i);
    if (pair.peer == &peer || pair.link == peer.link) break_pair(pair, Errc::kShutdown);
  }
}

void RdmaLnd::close_all() {
  for (unsigned port = 0; port < kPorts; ++port)
    driver_->stop_listening(
        {config_.nid.address32(), static_cast<std::uint16_t>(config_.port + port)});
  for (std::uint32_t i = 0; i < pairs_.capacity(); ++i) {
    if (pairs_.is_lent(i)) break_pair(pairs_.at(i), Errc::kShutdown);
  }
}

}  // namespace plnet::sim
