// SPDX-License-Identifier: BSD-3-Clause
#include "tests/mocks/mock_stream_lnd.hpp"

#include <algorithm>

namespace plnet::mocks {

using namespace lnet;

MockStreamLnd::MockStreamLnd(const MockLndConfig& config, Network& network, LndUpcalls& core)
    : MockLnd(config,
              {.name = "mock-stream",
               .net_type = NetType::kTcp,
               .takes_kept = config.family != nullptr,
               .lnd_timeout = config.lnd_timeout},
              network, core) {
  network_.add(config.nid, *this);
}

std::size_t MockStreamLnd::send(std::span<Transmit* const> burst) {
  return queue_up(burst, queue_.size());
}

unsigned MockStreamLnd::flush(Instant now) {
  unsigned work = 0;
  std::vector<Completion> ended;
  std::vector<Nid> full;  // a full connection keeps the order of later messages
  std::deque<Transmit*> kept;
  for (Transmit* const message : queue_) {
    const Nid& to = message->next_hop->nid;
    const bool blocked = std::ranges::find(full, to) != full.end();
    const bool dead = is_cancelled(*message) || shutting_down_ || now >= message->deadline ||
                      is_releasing(*message->next_hop);
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
    for (const auto& connection : connections_) {
      if (!(connection->from == link->nid)) continue;
      lose(*connection, Errc::kShutdown);
      connection->link = nullptr;
    }
    link->lnd_peer = nullptr;
    core_.on_peer_released(*link);
    ++work;
  }
  for (std::size_t i = 0; i < connections_.size(); ++i) {
    const std::size_t before = connections_[i]->wire.size() + connections_[i]->done;
    if (shutting_down_) lose(*connections_[i], Errc::kShutdown);
    receive(*connections_[i]);
    work += before != connections_[i]->wire.size() + connections_[i]->done ? 1 : 0;
  }
  return work;
}

// False: the connection has no room now.
bool MockStreamLnd::transmit(Transmit& message, Instant now, std::vector<Completion>& ended) {
  const auto fail = [&](Errc code, Health health) {
    ended.push_back({.transmit = &message, .status = std::unexpected(code), .health = health});
    return true;
  };
  if (is_cancelled(message)) {
    return fail(Errc::kCancelled, Health::kOk);
  }
  if (shutting_down_ || is_releasing(*message.next_hop)) {
    return fail(Errc::kShutdown, Health::kLocalAborted);
  }
  if (now >= message.deadline) return fail(Errc::kTimedOut, Health::kLocalTimeout);
  MockStreamLnd* const peer = network_.find(message.next_hop->nid);
  if (peer == nullptr) return fail(Errc::kRefused, Health::kRemoteDropped);
  Connection& connection = peer->connection_from(config_.nid);
  if (connection.wire.size() >= config_.window) return false;
  connection.wire.push_back({message.header, bytes_of(message)});
  ended.push_back({.transmit = &message});
  return true;
}

// Receives one header or one piece of payload.
void MockStreamLnd::receive(Connection& connection) {
  if (connection.state == Connection::State::kParked) {
    if (!connection.resumed) return;
    connection.resumed = false;
    return act(connection);
  }
  if (connection.state == Connection::State::kKept) {
    if (++connection.kept_for >= config_.kept_flushes) (void)bring(connection.rx);
    return;
  }
  if (connection.wire.empty()) return;
  const Connection::Message& message = connection.wire.front();
  if (connection.state == Connection::State::kIdle) {
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
  if (connection.done < connection.decision.length) {
    if (connection.decision.may_keep && config_.family != nullptr) keep(connection);
    return;
  }
  connection.done = 0;
  connection.wire.pop_front();
  connection.state = Connection::State::kIdle;
  core_.on_received(connection.rx, {}, Health::kOk);
}

void MockStreamLnd::act(Connection& connection) {
  const RxDecision& decision = connection.decision;
  if (decision.link != nullptr) connection.link = decision.link;
  switch (decision.verdict) {
    case RxVerdict::kReceive:
      PLNET_CHECK(decision.length <= connection.wire.front().bytes.size(), "more than there is");
      connection.state = Connection::State::kReceiving;
      break;
    case RxVerdict::kPark: connection.state = Connection::State::kParked; break;
    case RxVerdict::kDrop:
      connection.wire.pop_front();
      connection.state = Connection::State::kIdle;
      break;
    case RxVerdict::kReject:
      connection.wire.clear();
      connection.state = Connection::State::kIdle;
      break;
  }
}

// The target's present bytes are invalid until the payload arrives: a premature reader finds wrong
// bytes.
void MockStreamLnd::keep(Connection& connection) {
  constexpr std::byte kStale{0xee};
  const std::uint32_t rest = connection.decision.length - connection.done;
  scatter(*config_.arenas, connection.decision.target, connection.done,
          std::vector<std::byte>(rest, kStale));
  connection.state = Connection::State::kKept;
  connection.kept_for = 0;
  ++tally_.kept;
  core_.on_kept(connection.rx, *this);
}

MockStreamConnection* MockStreamLnd::keeps(RxHandle rx) const {
  Connection& connection = *connections_.at(rx.index);
  const bool kept = connection.rx == rx && connection.state == Connection::State::kKept;
  return kept ? &connection : nullptr;
}

Result<void> MockStreamLnd::bring(RxHandle rx) {
  Connection* const connection = keeps(rx);
  if (connection == nullptr) return {};
  const std::uint32_t rest = connection->decision.length - connection->done;
  scatter(*config_.arenas, connection->decision.target, connection->done,
          std::span(connection->wire.front().bytes).subspan(connection->done, rest));
  ++tally_.brought;
  finish_kept(*connection);
  return {};
}

void MockStreamLnd::finish_kept(Connection& connection) {
  connection.done = 0;
  connection.wire.pop_front();
  connection.state = Connection::State::kIdle;
}

std::vector<std::byte> MockStreamLnd::bytes_of(Transmit& message) {
  std::vector<std::byte> bytes;
  if (message.kept) {
    message.kept = false;
    const KeptPayload kept = core_.kept_payload(message);
    PLNET_CHECK(kept.keeper != nullptr, "the core knows who keeps it");
    if (kept.keeper->family() != config_.family) {
      PLNET_CHECK(kept.keeper->bring(kept.rx).has_value(), "no mock loses a payload");
    } else if (auto& holder = *static_cast<MockStreamLnd*>(kept.keeper);
               Connection* const from = holder.keeps(kept.rx)) {
      bytes =
          gather(*config_.arenas, {message.source.fragments, message.source.offset, from->done});
      const std::vector<std::byte>& whole = from->wire.front().bytes;
      bytes.insert(bytes.end(), whole.begin() + from->done, whole.begin() + from->decision.length);
      ++holder.tally_.taken;
      holder.finish_kept(*from);
      return bytes;
    }
  }
  return gather(*config_.arenas, message.source);
}

void MockStreamLnd::lose(Connection& connection, Errc cause) {
  (void)bring(connection.rx);
  const Connection::State was = connection.state;
  // An earlier decision has no effect: a receive fails, a drop is complete.
  const bool decided = connection.resumed;
  const RxVerdict verdict = connection.decision.verdict;
  connection.state = Connection::State::kIdle;
  connection.resumed = false;
  connection.done = 0;
  connection.wire.clear();
  if (was == Connection::State::kParked && !decided) core_.on_parked_gone(connection.rx, cause);
  if (was == Connection::State::kReceiving || (decided && verdict == RxVerdict::kReceive)) {
    core_.on_received(connection.rx, std::unexpected(cause), health_of(cause));
  }
}

void MockStreamLnd::break_connection(const Nid& peer) {
  for (const auto& connection : connections_) {
    if (connection->from == peer) lose(*connection, Errc::kReset);
  }
}

bool MockStreamLnd::idle() const {
  return queue_.empty() && releasing_.empty() &&
         std::ranges::all_of(connections_, [](const auto& connection) {
           return connection->wire.empty() && connection->state == Connection::State::kIdle;
         });
}

}  // namespace plnet::mocks
