// SPDX-License-Identifier: BSD-3-Clause
// Large payloads that are forwarded from socket to socket. Once the rest of one is in the receive
// buffer it counts as received, so store and forward is kept to; but it is left there, and if the
// connection to the next hop has nothing else to do it goes past our memory. If not, or if that
// connection takes no more on the way, the rest is read into its buffer after all: nobody who sends
// to us waits for a next hop. This is over with the turn after the one in which it has begun.
#include "lib/socklnd/lnd.hpp"

namespace plnet::socklnd {

using namespace lnet;

// Whoever has sent a large one sends another, most likely, and what is read of that before it is
// awaited is copied twice. By measurement (doc/performance.md) less than this makes a relay dearer
// by up to a fifth, four times as much by a twentieth.
constexpr std::size_t kReadOfNext = 4096;

// --- As who receives ---

void SockLnd::wait_for_rest(Connection& connection) {
  const bool wanted = connection.state == State::kOpen && connection.rx == Rx::kReceiving &&
                      connection.decision.may_keep && !connection.awaited &&
                      config_.relay_bytes_min > 0;
  if (!wanted || connection.framing.left_unseen() < config_.relay_bytes_min) return;
  connection.awaited = true;
  (void)streams_.driver().await(connection.stream, connection.framing.left_unseen());
}

void SockLnd::on_awaited(std::uint32_t slot) {
  Connection& connection = connections_.at(slot);
  const bool still = connection.state == State::kOpen && connection.rx == Rx::kReceiving;
  if (!still || !connection.awaited) return;  // that of a message before this one
  connection.heard_since = true;
  connection.rx = Rx::kKept;
  streams_.driver().pause_reading(connection.stream);
  kept_.push_back(connection);
  look_at(connection);
  core_.on_kept(handle_of(connection), *this);
}

Connection* SockLnd::keeps(RxHandle rx) {
  if (!connections_.is_lent(rx.index)) return nullptr;
  Connection& connection = connections_.at(rx.index);
  return connection.generation == rx.generation && connection.rx == Rx::kKept ? &connection
                                                                              : nullptr;
}

void SockLnd::bring(RxHandle rx) {
  Connection* const connection = keeps(rx);
  if (connection == nullptr) return;
  counters_.add(Id::kBrought);
  while (connection->framing.left_unseen() > 0) {
    const std::span<std::byte> to = connection->framing.destination(*config_.arenas);
    streams_.driver().fetch(connection->stream, to);
    passed_by(*connection, to.size());
  }
  finish_kept(*connection);
}

void SockLnd::passed_by(Connection& connection, std::size_t bytes) {
  connection.read += bytes;
  connection.framing.passed_by(static_cast<std::uint32_t>(bytes));
}

void SockLnd::finish_kept(Connection& connection) {
  std::span<const std::byte> nothing;
  const Framing::Step step = connection.framing.next(nothing, *config_.arenas);
  PLNET_CHECK(step == Framing::Step::kWanted, "a payload that was kept is whole");
  connection.rx = Rx::kNone;
  connection.ListNode<Keeping>::unlink();
  --receiving_;
  if (connection.state != State::kOpen) return;
  connection.boundary = true;
  look_at(connection);
  if (const std::uint64_t cookie = connection.framing.request_cookie(); cookie != 0)
    acknowledge(connection, cookie);
  // Nothing lies in there any more that its end could take with it: the driver has to learn that
  // also if acknowledgements keep us from reading on.
  streams_.driver().resume_reading(connection.stream);
  if (connection.paused()) streams_.driver().pause_reading(connection.stream);
}

void SockLnd::bring_old() {
  while (Connection* const connection = kept_before_.front())
    bring(handle_of(*connection));
  kept_before_.splice_back(kept_);
}

// --- As who sends ---

// It can go now, and nothing goes before it.
bool SockLnd::may_relay(const Connection& connection, const Transmit& transmit) const {
  const bool free = connection.state == State::kOpen && !connection.away && !connection.blocked &&
                    !connection.has_to_send() && connection.front_sent == 0;
  const bool sealed = connection.protocol == Protocol::kV2 && config_.tunables.enable_csum != 0;
  const KeptPayload kept = core_.kept_payload(transmit);
  PLNET_CHECK(kept.keeper != nullptr, "the core knows who keeps it");
  return free && !sealed && kept.keeper->family() == &streams_;
}

void SockLnd::bring_source(Transmit& transmit) {
  if (!transmit.kept) return;
  transmit.kept = false;
  const KeptPayload kept = core_.kept_payload(transmit);
  PLNET_CHECK(kept.keeper != nullptr, "the core knows who keeps it");
  kept.keeper->bring(kept.rx);
}

void SockLnd::relay_front(Connection& connection) {
  Transmit& transmit = *connection.queue.front();
  const KeptPayload kept = core_.kept_payload(transmit);
  SockLnd& holder = *static_cast<SockLnd*>(kept.keeper);
  Connection* const from = holder.keeps(kept.rx);
  if (from == nullptr || connection.noops > 0) return bring_source(transmit);
  transmit.kept = false;
  const std::uint32_t left = from->framing.left_unseen();
  outgoing_.begin_with(transmit, connection.protocol, transmit.header.payload_length - left,
                       *config_.arenas);
  const std::size_t head = outgoing_.bytes();
  const std::size_t taken =
      streams_.driver().relay(from->stream, connection.stream, outgoing_.pieces(), left);
  counters_.add(Id::kWrites);
  if (taken > head) holder.passed_by(*from, taken - head);
  if (taken == head + left) {
    counters_.add(Id::kRelayed);
    streams_.driver().limit_next_read(from->stream, kReadOfNext);
    holder.finish_kept(*from);
  } else {
    holder.bring(kept.rx);
  }
  connection.written += taken;
  count_taken(connection, taken);
}

}  // namespace plnet::socklnd
