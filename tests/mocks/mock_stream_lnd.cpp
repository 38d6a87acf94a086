// SPDX-License-Identifier: BSD-3-Clause
#include "tests/mocks/mock_stream_lnd.hpp"

#include <algorithm>

namespace plnet::mocks {

using namespace lnet;

MockStreamLnd::MockStreamLnd(const MockLndConfig& config, Network& network, LndUpcalls& core)
    : config_(config),
      traits_{.name = "mock-stream", .net_type = NetType::kTcp, .lnd_timeout = config.lnd_timeout},
      network_(network),
      core_(core) {
  network_.add(config.nid, *this);
}

std::size_t MockStreamLnd::send(std::span<Transmit* const> burst) {
  if (shutting_down_) return 0;
  const std::size_t count = std::min(burst.size(), config_.in_flight_max - queue_.size());
  queue_.insert(queue_.end(), burst.begin(), burst.begin() + static_cast<std::ptrdiff_t>(count));
  return count;
}

void MockStreamLnd::resume(RxHandle rx, const RxDecision& decision) {
  if (rx.index >= inbound_.size() || !(inbound_[rx.index]->rx == rx) ||
      inbound_[rx.index]->state != RxState::kParked || inbound_[rx.index]->resumed) {
    ++stale_resumes_;
    return;
  }
  inbound_[rx.index]->decision = decision;
  inbound_[rx.index]->resumed = true;
}

unsigned MockStreamLnd::flush(Instant now) {
  unsigned work = 0;
  std::vector<Completion> ended;
  std::vector<Nid> full;  // a full connection keeps the order of what is behind
  std::deque<Transmit*> kept;
  for (Transmit* const message : queue_) {
    const Nid& to = message->next_hop->nid;
    const bool blocked = std::ranges::find(full, to) != full.end();
    const bool dead = std::ranges::find(cancelled_, message) != cancelled_.end() ||
                      shutting_down_ || now >= message->deadline ||
                      std::ranges::find(releasing_, message->next_hop) != releasing_.end();
    if ((!blocked || dead) && transmit(*message, now, ended)) {
      ++work;
    } else {
      full.push_back(to);
      kept.push_back(message);
    }
  }
  queue_ = kept;
  cancelled_.clear();
  if (!ended.empty()) core_.on_sent(ended);
  for (PeerLink* const link : std::exchange(releasing_, {})) {
    for (const auto& connection : inbound_) {
      if (!(connection->from == link->nid)) continue;
      lose(*connection, Errc::kShutdown);
      connection->link = nullptr;
    }
    link->lnd_peer = nullptr;
    core_.on_peer_released(*link);
    ++work;
  }
  for (std::size_t i = 0; i < inbound_.size(); ++i) {
    const std::size_t before = inbound_[i]->wire.size() + inbound_[i]->done;
    if (shutting_down_) lose(*inbound_[i], Errc::kShutdown);
    receive(*inbound_[i]);
    work += before != inbound_[i]->wire.size() + inbound_[i]->done ? 1 : 0;
  }
  return work;
}

// False: the connection has no room now.
bool MockStreamLnd::transmit(Transmit& message, Instant now, std::vector<Completion>& ended) {
  const auto fail = [&](Errc code, Health health) {
    ended.push_back({.transmit = &message, .status = std::unexpected(code), .health = health});
    return true;
  };
  if (std::ranges::find(cancelled_, &message) != cancelled_.end()) {
    return fail(Errc::kCancelled, Health::kOk);
  }
  if (shutting_down_ || std::ranges::find(releasing_, message.next_hop) != releasing_.end()) {
    return fail(Errc::kShutdown, Health::kLocalAborted);
  }
  if (now >= message.deadline) return fail(Errc::kTimedOut, Health::kLocalTimeout);
  MockStreamLnd* const peer = network_.find(message.next_hop->nid);
  if (peer == nullptr) return fail(Errc::kRefused, Health::kRemoteDropped);
  Inbound& connection = peer->inbound(config_.nid);
  if (connection.wire.size() >= config_.window) return false;
  connection.wire.push_back({message.header, gather(*config_.arenas, message.source)});
  ended.push_back({.transmit = &message});
  return true;
}

// One header or one piece of payload.
void MockStreamLnd::receive(Inbound& connection) {
  if (connection.state == RxState::kParked) {
    if (!connection.resumed) return;
    connection.resumed = false;
    return act(connection);
  }
  if (connection.wire.empty()) return;
  const Message& message = connection.wire.front();
  if (connection.state == RxState::kIdle) {
    ++connection.rx.generation;
    connection.decision = core_.on_header({.header = message.header,
                                           .from = connection.from,
                                           .link = connection.link,
                                           .rx = connection.rx});
    return act(connection);
  }
  const std::uint32_t left = connection.decision.length - connection.done;
  const std::uint32_t take = std::min(left, config_.piece_bytes);
  scatter(*config_.arenas, connection.decision.target, connection.done,
          std::span(message.bytes).subspan(connection.done, take));
  connection.done += take;
  if (connection.done < connection.decision.length) return;
  connection.done = 0;
  connection.wire.pop_front();
  connection.state = RxState::kIdle;
  core_.on_received(connection.rx, {}, Health::kOk);
}

void MockStreamLnd::act(Inbound& connection) {
  const RxDecision& decision = connection.decision;
  if (decision.link != nullptr) connection.link = decision.link;
  switch (decision.verdict) {
    case RxVerdict::kReceive:
      PLNET_CHECK(decision.length <= connection.wire.front().bytes.size(), "more than there is");
      connection.state = RxState::kReceiving;
      break;
    case RxVerdict::kPark: connection.state = RxState::kParked; break;
    case RxVerdict::kDrop:
      connection.wire.pop_front();
      connection.state = RxState::kIdle;
      break;
    case RxVerdict::kReject:
      connection.wire.clear();
      connection.state = RxState::kIdle;
      break;
  }
}

void MockStreamLnd::lose(Inbound& connection, Errc cause) {
  const RxState was = connection.state;
  // A decision that has come already is carried out on nothing: a receive fails, a drop is done.
  const bool decided = connection.resumed;
  const RxVerdict verdict = connection.decision.verdict;
  connection.state = RxState::kIdle;
  connection.resumed = false;
  connection.done = 0;
  connection.wire.clear();
  if (was == RxState::kParked && !decided) core_.on_parked_gone(connection.rx, cause);
  if (was == RxState::kReceiving || (decided && verdict == RxVerdict::kReceive)) {
    core_.on_received(connection.rx, std::unexpected(cause), health_of(cause));
  }
}

void MockStreamLnd::cancel(Transmit& transmit) {
  cancelled_.push_back(&transmit);
}
void MockStreamLnd::release_peer(PeerLink& link) {
  releasing_.push_back(&link);
}

void MockStreamLnd::break_connection(const Nid& peer) {
  for (const auto& connection : inbound_) {
    if (connection->from == peer) lose(*connection, Errc::kReset);
  }
}

bool MockStreamLnd::idle() const {
  return queue_.empty() && releasing_.empty() &&
         std::ranges::all_of(inbound_, [](const auto& connection) {
           return connection->wire.empty() && connection->state == RxState::kIdle;
         });
}

MockStreamLnd::Inbound& MockStreamLnd::inbound(const Nid& from) {
  for (const auto& connection : inbound_) {
    if (connection->from == from) return *connection;
  }
  Inbound& made = *inbound_.emplace_back(std::make_unique<Inbound>());
  made.from = from;
  made.rx.index = static_cast<std::uint32_t>(inbound_.size() - 1);
  return made;
}

}  // namespace plnet::mocks
