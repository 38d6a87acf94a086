// SPDX-License-Identifier: BSD-3-Clause
#include "lib/socklnd/kept_payloads.hpp"

#include "lib/base/check.hpp"

namespace plnet::socklnd {

using Id = SockLndCounters::Id;
using Rx = Connection::Rx;
using State = Connection::State;

KeptPayloads::KeptPayloads(Environment& environment, Connections& connections, Noops& noops)
    : environment_(environment), connections_(connections), noops_(noops) {}

void KeptPayloads::wait_for_rest(Connection& connection) {
  const std::uint32_t least = environment_.config.relay_bytes_min;
  const bool wanted = connection.state == State::kOpen && connection.rx == Rx::kReceiving &&
                      connection.decision.may_keep && !connection.awaited && least > 0;
  if (!wanted || connection.framing.left_unseen() < least) return;
  connection.awaited = true;
  (void)environment_.driver().await(connection.stream, connection.framing.left_unseen());
}

void KeptPayloads::on_awaited(Connection& connection) {
  const bool still = connection.state == State::kOpen && connection.rx == Rx::kReceiving;
  if (!still || !connection.awaited) return;  // the driver waited for an earlier message
  PLNET_DEBUG_CHECK(!connection.ListNode<Keeping>::linked() && !connection.away,
                    "a connection keeps one payload");
  connection.heard_since = true;
  connection.rx = Rx::kKept;
  environment_.driver().pause_reading(connection.stream);
  new_.push_back(connection);
  connections_.serve_soon(connection);
  environment_.core.on_kept(connections_.handle_of(connection), *this);
}

Connection* KeptPayloads::find(lnet::RxHandle rx) {
  Connection* const connection = connections_.find(rx);
  return connection != nullptr && connection->rx == Rx::kKept ? connection : nullptr;
}

Result<void> KeptPayloads::bring(lnet::RxHandle rx) {
  Connection* const connection = find(rx);
  if (connection == nullptr) return {};
  environment_.count(Id::kBrought);
  while (connection->framing.left_unseen() > 0) {
    const std::span<std::byte> to = connection->framing.destination(*environment_.config.arenas);
    PLNET_CHECK(!to.empty(), "a payload that is not whole has a destination");
    if (const Result<void> got = environment_.driver().fetch(connection->stream, to); !got) {
      lose(*connection, got.error());
      return got;
    }
    on_relayed(*connection, to.size());
  }
  finish(*connection);
  return {};
}

void KeptPayloads::lose(Connection& connection, Errc cause) {
  PLNET_CHECK(environment_.receiving > 0, "a kept payload is not over yet");
  PLNET_CHECK(connection.rx == Rx::kKept, "only a kept payload is lost with its socket");
  environment_.count(Id::kKeptLost);
  environment_.core.on_kept_lost(connections_.handle_of(connection));
  connection.rx = Rx::kNone;
  connection.ListNode<Keeping>::unlink();
  --environment_.receiving;
  environment_.driver().resume_reading(connection.stream);  // the end can be reported
  connections_.close(connection, Id::kClosedError, cause, false);
}

void KeptPayloads::on_relayed(Connection& connection, std::size_t bytes) {
  PLNET_CHECK(connection.rx == Rx::kKept, "only a kept payload leaves its socket like this");
  connection.read += bytes;
  connection.framing.passed_by(static_cast<std::uint32_t>(bytes));
}

void KeptPayloads::finish(Connection& connection) {
  PLNET_DEBUG_CHECK(connection.rx == Rx::kKept && connection.framing.left_unseen() == 0,
                    "all bytes of a kept payload have left its socket");
  std::span<const std::byte> nothing;
  const Framing::Step step = connection.framing.next(nothing, *environment_.config.arenas);
  PLNET_CHECK(step == Framing::Step::kWanted, "the payload is complete");
  PLNET_CHECK(environment_.receiving > 0, "a kept payload is not over yet");
  connection.rx = Rx::kNone;
  connection.ListNode<Keeping>::unlink();
  --environment_.receiving;
  if (connection.state != State::kOpen) return;
  connection.boundary = true;
  connections_.serve_soon(connection);
  if (const std::uint64_t cookie = connection.framing.request_cookie(); cookie != 0)
    noops_.acknowledge(connection, cookie);
  // Tells the driver that the end of the stream may be reported again, even if waiting
  // acknowledgements then pause reading.
  environment_.driver().resume_reading(connection.stream);
  if (connection.paused()) environment_.driver().pause_reading(connection.stream);
}

void KeptPayloads::bring_old() {
  while (Connection* const connection = before_.front())
    (void)bring(connections_.handle_of(*connection));  // the core has a note of those that are lost
  before_.splice_back(new_);
}

}  // namespace plnet::socklnd
