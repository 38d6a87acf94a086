// SPDX-License-Identifier: BSD-3-Clause
// The table of transitions at work: completions, answers, the end of a connection.
#include "lib/base/check.hpp"
#include "lib/o2iblnd/sends.hpp"

namespace plnet::o2iblnd {

const std::array<Sends::Handler, kTxActions> Sends::kHandlers = {nullptr,
#define PLNET_X(action, function) &Sends::function,
                                                                 PLNET_O2IBLND_ACTIONS(PLNET_X)
#undef PLNET_X
};

namespace {

// The device, or memory unknown to it, is the cause: the peer is not involved.
Health health_of_failure(Errc cause) {
  const bool ours = cause == Errc::kInvalid || cause == Errc::kNetworkDown;
  return ours ? Health::kLocalError : Health::kRemoteError;
}

}  // namespace

void Sends::run(Tx& tx, Event event) {
  const TxAction action = action_for(tx.state, event);
  if (action == TxAction::kNone) {
    environment_.count(Id::kUnexpected);
    return;
  }
  (this->*kHandlers[static_cast<std::size_t>(action)])(tx);
}

void Sends::on_sent(const WorkCompletion& completion) {
  Connection* const connection = connections_.find(completion.queue_pair);
  if (kind_of(completion.cookie) == CookieKind::kWrite) {
    // Only a failed write has a completion; the message behind it is flushed.
    if (connection == nullptr) return;
    Tx* const chain = pool_.at(index_of(completion.cookie));
    if (chain != nullptr && chain->connection == connection && !completion.status)
      chain->fail(Errc::kIo, health_of_failure(completion.status.error()));
    return connections_.close(*connection, Errc::kIo);
  }
  Tx* const tx = pool_.at(index_of(completion.cookie));
  if (tx == nullptr || tx->sending == 0 || tx->connection == nullptr ||
      tx->connection->id != completion.queue_pair)
    return environment_.count(Id::kStray);
  Connection& own = *tx->connection;
  PLNET_CHECK(environment_.sends_posted > 0, "posted sends are counted");
  --tx->sending;
  --environment_.sends_posted;
  ++environment_.freed;
  own.credits.completed(tx->kind);
  if (completion.status) {
    own.peer->last_alive = environment_.now;
  } else {
    // Without a receive the peer has not seen a request, but perhaps a part of a chain.
    const bool unseen = completion.status.error() == Errc::kNoSpace && tx->transmit != nullptr &&
                        (tx->state == State::kSending || tx->state == State::kAsking);
    if (!tx->answered)
      tx->fail(Errc::kIo,
               unseen ? Health::kRemoteDropped : health_of_failure(completion.status.error()));
    connections_.close(own, Errc::kIo);
  }
  connections_.serve_soon(own);
  run(*tx, Event::kSent);
}

bool Sends::on_answer(Connection& connection, const Message& message) {
  const Kind asked = message.kind == Kind::kPutNak    ? Kind::kPutRequest
                     : message.kind == Kind::kPutDone ? Kind::kPutAck
                                                      : Kind::kGetRequest;
  Tx* const tx = pool_.find(message.cookie);
  if (tx == nullptr || tx->connection != &connection || tx->kind != asked) return false;
  if (tx->state != State::kAsking && tx->state != State::kAsked) return false;
  const std::uint32_t room = asked == Kind::kGetRequest ? tx->transmit->sink.length
                             : asked == Kind::kPutAck   ? tx->bytes
                                                        : 0;
  if (message.status < 0) {
    constexpr std::int32_t kErrnoMax = 4095;
    const bool known = message.status >= -kErrnoMax;
    tx->fail(known ? errc_of_errno(-message.status) : Errc::kProtocol, Health::kRemoteError);
  } else if (static_cast<std::uint32_t>(message.status) > room) {
    environment_.count(Id::kBadStatus);
    return false;
  } else if (asked == Kind::kGetRequest) {
    tx->bytes = static_cast<std::uint32_t>(message.status);
  }
  run(*tx, Event::kAnswer);
  return true;
}

bool Sends::on_grant(Connection& connection, const Message& message) {
  Tx* const tx = pool_.find(message.cookie);
  if (tx == nullptr || tx->connection != &connection || tx->kind != Kind::kPutRequest) return false;
  if (tx->state != State::kAsking && tx->state != State::kAsked) return false;
  const std::uint64_t wanted = message.buffer.fragments.total();
  tx->kind = Kind::kPutDone;
  tx->peer_cookie = message.sink_cookie;
  keep_sink(*tx, message.buffer);
  if (wanted > tx->bytes) {
    tx->code = -errno_of(Errc::kProtocol);
    tx->fail(Errc::kProtocol, Health::kRemoteError);
  } else {
    tx->bytes = static_cast<std::uint32_t>(wanted);
    tx->code = static_cast<std::int32_t>(wanted);
  }
  run(*tx, Event::kGrant);
  return true;
}

void Sends::end_all(Connection& connection) {
  const auto close = [this](IntrusiveList<Tx>& list) {
    list.for_each([this](Tx& tx) { run(tx, Event::kClose); });
  };
  close(connection.posted);  // first: others may join this list
  close(connection.noops);
  close(connection.messages);
  close(connection.for_answer);
  close(connection.free_of_cost);
}

void Sends::drain_all(Connection& connection) {
  while (Tx* const tx = connection.posted.front()) {
    if (tx->sending > 0) {  // the driver has not completed it
      environment_.count(Id::kUnexpected);
      PLNET_CHECK(environment_.sends_posted >= tx->sending, "posted sends are counted");
      environment_.sends_posted -= tx->sending;
      tx->sending = 0;
    }
    run(*tx, Event::kDrain);
    if (connection.posted.front() == tx) tx->unlink();
  }
}

void Sends::begin(Tx& tx) {
  tx.state = tx.asks() ? State::kAsking : State::kSending;
  tx.sink_open = tx.kind == Kind::kGetRequest || tx.kind == Kind::kPutAck;
  switch (tx.kind) {
    case Kind::kImmediate: return environment_.count(Id::kImmediates);
    case Kind::kPutRequest: return environment_.count(Id::kPutRequests);
    case Kind::kGetRequest: return environment_.count(Id::kGetRequests);
    case Kind::kPutNak: return environment_.count(Id::kNaks);
    case Kind::kNoop: return environment_.count(Id::kNoops);
    default: return;
  }
}

void Sends::await_answer(Tx& tx) {
  tx.state = State::kAsked;
}

void Sends::await_sent(Tx& tx) {
  tx.state = State::kAnswered;
  tx.answered = true;
  tx.sink_open = false;
}

// The request's own send may complete later.
void Sends::queue_writes(Tx& tx) {
  PLNET_DEBUG_CHECK(tx.kind == Kind::kPutDone, "a grant is answered by writes");
  tx.state = State::kGranted;
  tx.deadline = environment_.now + environment_.timeout;
  tx.unlink();
  enqueue(tx);
}

void Sends::write(Tx& tx) {
  tx.state = State::kWriting;
}

void Sends::go_on(Tx& /*tx*/) {}

void Sends::end_if_last(Tx& tx) {
  if (tx.sending == 0) end(tx);
}

// Status and health by the cause of the end and the state of the message.
void Sends::end_closed(Tx& tx) {
  PLNET_CHECK(tx.connection != nullptr, "the connection of the message has ended");
  const Errc cause = tx.connection->cause;
  if (tx.answered) {
    // No message is lost.
  } else if (cause == Errc::kShutdown) {
    tx.fail(Errc::kShutdown, Health::kLocalAborted);
  } else if (cause == Errc::kTimedOut) {
    tx.fail(Errc::kAborted, health_when_late(tx.state));
  } else {
    const bool posted = tx.sending > 0 && tx.state != State::kGranted;
    tx.fail(posted ? Errc::kIo : Errc::kAborted, health_when_closed(tx.state));
  }
  if (tx.sink_open && tx.transmit != nullptr) {
    tx.state = State::kQuarantined;
    environment_.count(Id::kQuarantined);
    environment_.complete(
        {.transmit = tx.transmit, .status = tx.status, .health = tx.health, .quarantined = true});
  } else if (tx.sink_open) {
    tx.state = State::kDraining;
  } else if (tx.sending > 0) {
    if (tx.state == State::kGranted) {
      tx.unlink();
      tx.connection->posted.push_back(tx);
    }
    tx.state = State::kFlushing;
  } else {
    end(tx);
  }
}

void Sends::end(Tx& tx) {
  PLNET_DEBUG_CHECK(tx.state != State::kFree && tx.sending == 0,
                    "a message ends once, when the device has nothing of it");
  if (tx.reserved && tx.state == State::kQueued) tx.connection->credits.give_back_reserve();
  const bool placed = tx.kind == Kind::kGetRequest && tx.status.has_value();
  if (tx.transmit != nullptr)
    environment_.complete({.transmit = tx.transmit,
                           .status = tx.status,
                           .health = tx.health,
                           .reply_placed = placed,
                           .reply_length = placed ? tx.bytes : 0});
  Inbound* const inbound = tx.inbound;
  const Result<void> status = tx.status;
  const Health health = tx.health;
  pool_.give(tx);
  if (inbound != nullptr) ends_.on_answered(*inbound, status, health);
}

void Sends::end_quarantine(Tx& tx) {
  PLNET_CHECK(tx.transmit != nullptr, "only messages of the core are quarantined");
  lnet::Transmit& transmit = *tx.transmit;
  pool_.give(tx);
  environment_.report();  // the core learns of the quarantine before its end
  environment_.core.on_quarantine_over(transmit);
}

}  // namespace plnet::o2iblnd
