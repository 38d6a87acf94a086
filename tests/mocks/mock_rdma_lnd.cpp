// SPDX-License-Identifier: BSD-3-Clause
#include "tests/mocks/mock_rdma_lnd.hpp"

#include <algorithm>

namespace plnet::mocks {

using namespace lnet;

MockRdmaLnd::MockRdmaLnd(const MockLndConfig& config, Network& network, LndUpcalls& core)
    : MockLnd(config,
              {.name = "mock-rdma",
               .net_type = NetType::kO2ib,
               .places_replies = true,
               .reports_timeouts = true,
               .inline_bytes_max = config.inline_bytes_max,
               .lnd_timeout = config.lnd_timeout},
              network, core) {
  network_.add(config.nid, *this);
}

std::size_t MockRdmaLnd::send(std::span<Transmit* const> burst) {
  return queue_up(burst, queue_.size() + outstanding_.size());
}

unsigned MockRdmaLnd::flush(Instant now) {
  for (Transmit* const transmit : std::exchange(queue_, {}))
    post(*transmit);
  for (std::size_t i = 0; i < connections_.size(); ++i) {
    if (shutting_down_) lose(*connections_[i], Errc::kShutdown);
    receive(*connections_[i]);
  }
  for (const PeerLink* const link : releasing_) {
    for (const auto& pair : connections_) {
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
  peer->connection_from(config_.nid).wire.push_back(exchange);
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
    const bool cancelled = is_cancelled(transmit);
    const bool releasing = is_releasing(*transmit.next_hop);
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
    // The sender has closed its memory; a message that waits for it here has ended.
    if (pair.state == QueuePair::State::kIdle) {
      finish(pair, {});
      continue;
    }
    const bool parked = pair.state == QueuePair::State::kParked && !pair.resumed;
    const bool wanted = pair.decision.verdict == RxVerdict::kReceive;
    finish(pair, {});
    if (parked)
      core_.on_parked_gone(pair.rx, Errc::kAborted);
    else if (wanted)
      core_.on_received(pair.rx, std::unexpected(Errc::kAborted), Health::kLocalAborted);
  }
  if (pair.state == QueuePair::State::kParked) {
    if (!pair.resumed) return;
    pair.resumed = false;
    return act(pair);
  }
  if (pair.wire.empty()) return;
  if (pair.state == QueuePair::State::kReceiving) return move_bytes(pair, *pair.wire.front());
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
    case RxVerdict::kReceive: pair.state = QueuePair::State::kReceiving; break;
    case RxVerdict::kPark: pair.state = QueuePair::State::kParked; break;
    case RxVerdict::kDrop:
      // An unwanted PUT ends without an error; a requester that waits gets the reason.
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
  pair.state = QueuePair::State::kIdle;
  pair.resumed = false;
}

void MockRdmaLnd::lose(QueuePair& pair, Errc cause) {
  const bool parked = pair.state == QueuePair::State::kParked && !pair.resumed;
  const bool wanted = pair.state != QueuePair::State::kIdle && !parked &&
                      pair.decision.verdict == RxVerdict::kReceive;
  while (!pair.wire.empty())
    finish(pair, std::unexpected(Errc::kReset));
  if (parked) core_.on_parked_gone(pair.rx, cause);
  if (wanted) core_.on_received(pair.rx, std::unexpected(cause), health_of(cause));
}

bool MockRdmaLnd::idle() const {
  return queue_.empty() && outstanding_.empty() && releasing_.empty() &&
         std::ranges::all_of(connections_, [](const auto& pair) { return pair->wire.empty(); });
}

}  // namespace plnet::mocks
