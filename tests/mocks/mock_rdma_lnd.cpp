// SPDX-License-Identifier: BSD-3-Clause
#include "tests/mocks/mock_rdma_lnd.hpp"

#include <algorithm>

namespace plnet::mocks {

using namespace lnet;

MockRdmaLnd::MockRdmaLnd(const MockLndConfig& config, Network& network, LndUpcalls& core)
    : config_(config),
      traits_{.name = "mock-rdma",
              .net_type = NetType::kO2ib,
              .places_replies = true,
              .reports_timeouts = true,
              .inline_bytes_max = config.inline_bytes_max,
              .lnd_timeout = config.lnd_timeout},
      network_(network),
      core_(core) {
  network_.add(config.nid, *this);
}

std::size_t MockRdmaLnd::send(std::span<Transmit* const> burst) {
  if (shutting_down_) return 0;
  const std::size_t used = std::min(config_.in_flight_max, queue_.size() + outstanding_.size());
  const std::size_t count = std::min(burst.size(), config_.in_flight_max - used);
  queue_.insert(queue_.end(), burst.begin(), burst.begin() + static_cast<std::ptrdiff_t>(count));
  return count;
}

void MockRdmaLnd::resume(RxHandle rx, const RxDecision& decision) {
  if (rx.index >= pairs_.size() || !(pairs_[rx.index]->rx == rx) ||
      pairs_[rx.index]->state != RxState::kParked || pairs_[rx.index]->resumed) {
    ++stale_resumes_;
    return;
  }
  pairs_[rx.index]->decision = decision;
  pairs_[rx.index]->resumed = true;
}

unsigned MockRdmaLnd::flush(Instant now) {
  for (Transmit* const transmit : std::exchange(queue_, {}))
    post(*transmit);
  for (std::size_t i = 0; i < pairs_.size(); ++i) {
    if (shutting_down_) lose(*pairs_[i], Errc::kShutdown);
    receive(*pairs_[i]);
  }
  for (const PeerLink* const link : releasing_) {
    for (const auto& pair : pairs_) {
      if (!(pair->from == link->nid)) continue;
      lose(*pair, Errc::kReset);
      pair->link = nullptr;
    }
  }
  collect(now);
  const auto work = static_cast<unsigned>(ended_.size());
  if (!ended_.empty()) core_.on_sent(std::exchange(ended_, {}));
  std::erase_if(releasing_, [this](PeerLink* link) {
    const bool busy = std::ranges::any_of(
        outstanding_, [&](const Shared& ours) { return ours->transmit->next_hop == link; });
    if (busy) return false;
    link->lnd_peer = nullptr;
    core_.on_peer_released(*link);
    return true;
  });
  return work;
}

void MockRdmaLnd::post(Transmit& transmit) {
  const Shared exchange = std::make_shared<Exchange>();
  exchange->transmit = &transmit;
  exchange->header = transmit.header;
  outstanding_.push_back(exchange);
  MockRdmaLnd* const peer = network_.find(transmit.next_hop->nid);
  if (peer == nullptr) {
    exchange->finished = true;
    exchange->status = std::unexpected(Errc::kRefused);
    return;
  }
  exchange->bulk_put = transmit.source.length > config_.inline_bytes_max;
  exchange->open_get = transmit.header.type == MessageType::kGet && !transmit.sink.empty() &&
                       !transmit.routed && !transmit.next_hop_is_router;
  if (!exchange->bulk_put) exchange->inline_bytes = gather(*config_.arenas, transmit.source);
  peer->queue_pair(config_.nid).wire.push_back(exchange);
}

// The sender's side of an early end.
void MockRdmaLnd::give_up(Exchange& exchange, Errc cause) {
  exchange.withdrawn = true;
  exchange.completed = true;
  ended_.push_back({.transmit = exchange.transmit,
                    .status = std::unexpected(cause),
                    .health = health_of(cause),
                    .quarantined = exchange.open_get && exchange.offered});
}

void MockRdmaLnd::collect(Instant now) {
  std::vector<Transmit*> free_again;
  std::erase_if(outstanding_, [&](const Shared& exchange) {
    Transmit& transmit = *exchange->transmit;
    const bool cancelled = std::ranges::find(cancelled_, &transmit) != cancelled_.end();
    const bool releasing = std::ranges::find(releasing_, transmit.next_hop) != releasing_.end();
    if (exchange->finished && !exchange->completed) {
      exchange->completed = true;
      const bool placed = exchange->open_get && exchange->status.has_value();
      const Health health = exchange->status ? Health::kOk : health_of(exchange->status.error());
      ended_.push_back({.transmit = &transmit,
                        .status = exchange->status,
                        .health = health,
                        .reply_placed = placed,
                        .reply_length = placed ? exchange->moved : 0});
      return true;
    }
    if (!exchange->completed) {
      if (cancelled)
        give_up(*exchange, Errc::kCancelled);
      else if (shutting_down_ || releasing)
        give_up(*exchange, Errc::kShutdown);
      else if (now >= transmit.deadline)
        give_up(*exchange, Errc::kTimedOut);
      else
        return false;
      return !(exchange->open_get && exchange->offered);
    }
    if (!exchange->finished) return false;
    free_again.push_back(&transmit);
    return true;
  });
  cancelled_.clear();
  if (!ended_.empty()) core_.on_sent(std::exchange(ended_, {}));
  for (Transmit* const transmit : free_again)
    core_.on_quarantine_over(*transmit);
}

void MockRdmaLnd::receive(QueuePair& pair) {
  while (!pair.wire.empty() && pair.wire.front()->withdrawn) {
    // The sender has closed its memory; what waits for it here is over.
    if (pair.state == RxState::kIdle) {
      finish(pair, {});
      continue;
    }
    const bool parked = pair.state == RxState::kParked && !pair.resumed;
    const bool wanted = pair.decision.verdict == RxVerdict::kReceive;
    finish(pair, {});
    if (parked)
      core_.on_parked_gone(pair.rx, Errc::kAborted);
    else if (wanted)
      core_.on_received(pair.rx, std::unexpected(Errc::kAborted), Health::kLocalAborted);
  }
  if (pair.state == RxState::kParked) {
    if (!pair.resumed) return;
    pair.resumed = false;
    return act(pair);
  }
  if (pair.wire.empty()) return;
  if (pair.state == RxState::kReceiving) return move_bytes(pair, *pair.wire.front());
  Exchange& exchange = *pair.wire.front();
  exchange.offered = true;
  ++pair.rx.generation;
  pair.decision = core_.on_header({.header = exchange.header,
                                   .from = pair.from,
                                   .link = pair.link,
                                   .rx = pair.rx,
                                   .reply_by_lnd = exchange.open_get});
  act(pair);
}

void MockRdmaLnd::act(QueuePair& pair) {
  const RxDecision& decision = pair.decision;
  if (decision.link != nullptr) pair.link = decision.link;
  const bool answer = pair.wire.front()->open_get;
  switch (decision.verdict) {
    case RxVerdict::kReceive: pair.state = RxState::kReceiving; break;
    case RxVerdict::kPark: pair.state = RxState::kParked; break;
    case RxVerdict::kDrop:
      // A PUT that nobody wants is over and well; a requester that waits is told why.
      finish(pair, answer ? Result<void>(std::unexpected(decision.reason)) : Result<void>());
      break;
    case RxVerdict::kReject:
      while (!pair.wire.empty())
        finish(pair, std::unexpected(Errc::kReset));
      break;
  }
}

void MockRdmaLnd::move_bytes(QueuePair& pair, Exchange& exchange) {
  const RxDecision& decision = pair.decision;
  const Payload wanted{decision.target.fragments, decision.target.offset, decision.length};
  if (exchange.open_get) {
    scatter(*config_.arenas, exchange.transmit->sink, 0, gather(*config_.arenas, wanted));
    exchange.moved = decision.length;
  } else if (decision.length > 0) {
    const std::vector<std::byte> bytes = exchange.bulk_put
                                             ? gather(*config_.arenas, exchange.transmit->source)
                                             : exchange.inline_bytes;
    scatter(*config_.arenas, decision.target, 0, std::span(bytes).first(decision.length));
  }
  finish(pair, {});
  core_.on_received(pair.rx, {}, Health::kOk);
}

void MockRdmaLnd::finish(QueuePair& pair, Result<void> status) {
  Exchange& exchange = *pair.wire.front();
  exchange.finished = true;
  exchange.status = status;
  pair.wire.pop_front();
  pair.state = RxState::kIdle;
  pair.resumed = false;
}

void MockRdmaLnd::lose(QueuePair& pair, Errc cause) {
  const bool parked = pair.state == RxState::kParked && !pair.resumed;
  const bool wanted =
      pair.state != RxState::kIdle && !parked && pair.decision.verdict == RxVerdict::kReceive;
  while (!pair.wire.empty())
    finish(pair, std::unexpected(Errc::kReset));
  if (parked) core_.on_parked_gone(pair.rx, cause);
  if (wanted) core_.on_received(pair.rx, std::unexpected(cause), health_of(cause));
}

void MockRdmaLnd::cancel(Transmit& transmit) {
  cancelled_.push_back(&transmit);
}
void MockRdmaLnd::release_peer(PeerLink& link) {
  releasing_.push_back(&link);
}

bool MockRdmaLnd::idle() const {
  return queue_.empty() && outstanding_.empty() && releasing_.empty() &&
         std::ranges::all_of(pairs_, [](const auto& pair) { return pair->wire.empty(); });
}

MockRdmaLnd::QueuePair& MockRdmaLnd::queue_pair(const Nid& from) {
  for (const auto& pair : pairs_) {
    if (pair->from == from) return *pair;
  }
  QueuePair& made = *pairs_.emplace_back(std::make_unique<QueuePair>());
  made.from = from;
  made.rx.index = static_cast<std::uint32_t>(pairs_.size() - 1);
  return made;
}

}  // namespace plnet::mocks
