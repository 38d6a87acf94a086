// SPDX-License-Identifier: BSD-3-Clause
// From the completion of a receive to the offer of its message.
#include "lib/o2iblnd/receives.hpp"

#include <algorithm>

#include "lib/base/check.hpp"

namespace plnet::o2iblnd {

namespace {

using Id = O2ibCounters::Id;

static_assert(static_cast<std::size_t>(Id::kFragments) - static_cast<std::size_t>(Id::kShort) + 1 ==
                  kRefusals,
              "a counter for each refusal, in their order");

Id counter_of(Refusal refusal) {
  return static_cast<Id>(static_cast<std::size_t>(Id::kShort) + static_cast<std::size_t>(refusal));
}

}  // namespace

Receives::Receives(Environment& environment, Pool<Inbound>& pool, Connections& connections,
                   Peers& peers, Sends& sends)
    : environment_(environment),
      pool_(pool),
      connections_(connections),
      peers_(peers),
      sends_(sends) {}

void Receives::on_received(const WorkCompletion& completion) {
  Rx* const rx = connections_.receive_at(index_of(completion.cookie));
  if (rx == nullptr || !rx->posted || rx->connection->id != completion.queue_pair)
    return environment_.count(Id::kStray);
  Connection& connection = *rx->connection;
  PLNET_DEBUG_CHECK(!rx->linked(), "a receive that the device has is in no list");
  rx->posted = false;
  if (connection.state == Connection::State::kClosing) return;
  if (!completion.status) return connections_.close(connection, Errc::kIo);
  rx->length = std::min(completion.length, kMessageBytes);
  if (!connection.is_open()) {
    environment_.count(Id::kEarly);
    connection.early.push_back(*rx);
    return;
  }
  on_message(connection, *rx);
}

void Receives::read_early(Connection& connection) {
  while (connection.is_open()) {
    Rx* const rx = connection.early.pop_front();
    if (rx == nullptr) return;
    on_message(connection, *rx);
  }
}

// The receive is not posted again: the connection ends.
void Receives::break_off(Connection& connection, Id why, Errc cause) {
  environment_.complain(why, connection.peer->nid);
  connections_.close(connection, cause);
}

bool Receives::is_of_this_life(const Connection& connection, const Message& message) const {
  return message.source_nid == connection.peer->nid64 &&
         message.destination_nid == environment_.self.nid &&
         message.source_stamp == connection.incarnation &&
         message.destination_stamp == environment_.self.incarnation;
}

void Receives::on_message(Connection& connection, Rx& rx) {
  PLNET_DEBUG_CHECK(connection.is_open(), "messages are read from established connections");
  Message& message = message_;
  if (const auto refusal = decode(connections_.bytes_of(rx), message))
    return break_off(connection, counter_of(*refusal));
  if (!is_of_this_life(connection, message))
    return break_off(connection, Id::kWrongLife, Errc::kStale);
  connection.peer->last_alive = environment_.now;
  if (!connection.credits.take_returned(message.credits, message.kind))
    return break_off(connection, Id::kBadCredits);
  if (message.credits > 0) connections_.serve_soon(connection);
  switch (message.kind) {
    case Kind::kNoop: return on_noop(connection, rx, message);
    case Kind::kImmediate:
    case Kind::kPutRequest:
    case Kind::kGetRequest: return on_request(connection, rx);
    case Kind::kPutNak:
    case Kind::kPutAck:
    case Kind::kPutDone:
    case Kind::kGetDone: return on_answer(connection, rx, message);
    case Kind::kConnectRequest:
    case Kind::kConnectAck: return break_off(connection, Id::kType);
  }
}

void Receives::on_noop(Connection& connection, Rx& rx, const Message& message) {
  environment_.count(Id::kReceivedNoops);
  const ReceiveUse use = connection.credits.use_of_noop(message.credits);
  if (use == ReceiveUse::kPeer && !connection.credits.may_arrive(connection.held))
    return break_off(connection, Id::kOverCredit);
  connections_.release(rx, use);
}

void Receives::on_answer(Connection& connection, Rx& rx, const Message& message) {
  const bool matched = message.kind == Kind::kPutAck ? sends_.on_grant(connection, message)
                                                     : sends_.on_answer(connection, message);
  if (!matched) return break_off(connection, Id::kUnmatched);
  if (connection.state == Connection::State::kClosing) return;
  // PUT_DONE brings back the credit of its PUT_REQ.
  const bool done = message.kind == Kind::kPutDone;
  PLNET_CHECK(!done || connection.held > 0, "a granted PUT holds its credit");
  if (done) --connection.held;
  connections_.release(rx, done ? ReceiveUse::kPeer : ReceiveUse::kReserved);
}

void Receives::on_request(Connection& connection, Rx& rx) {
  if (!connection.credits.may_arrive(connection.held))
    return break_off(connection, Id::kOverCredit);
  ++connection.held;
  const bool waits = connection.parked != nullptr || !connection.arrived.empty();
  if (!waits && offer(connection, rx, message_)) return;
  connection.arrived.push_back(rx);
  connections_.serve_soon(connection);
}

// In order: nothing behind a parked message is offered.
void Receives::offer_arrived(Connection& connection) {
  while (connection.is_open() && connection.parked == nullptr) {
    Rx* const rx = connection.arrived.pop_front();
    if (rx == nullptr) return;
    // The message was checked when it arrived, and its buffer is still ours.
    PLNET_CHECK(!decode(connections_.bytes_of(*rx), message_), "a message is understood twice");
    if (offer(connection, *rx, message_)) continue;
    connection.arrived.push_front(*rx);
    return connections_.serve_when_freed(connection);
  }
}

std::optional<std::uint32_t> Receives::payload_of(const Message& message) {
  using lnet::MessageType;
  const lnet::MessageHeader& header = message.header;
  const bool carries = header.type == MessageType::kPut || header.type == MessageType::kReply;
  if (message.kind == Kind::kGetRequest)
    return header.type == MessageType::kGet ? std::optional(0U) : std::nullopt;
  const std::uint32_t bytes = carries ? header.payload_length : 0;
  const bool fits =
      message.kind == Kind::kPutRequest ? carries : bytes <= message.nob - kImmediateBytes;
  return fits ? std::optional(bytes) : std::nullopt;
}

// False: no descriptor now.
bool Receives::offer(Connection& connection, Rx& rx, const Message& message) {
  PLNET_CHECK(rx.connection == &connection && !rx.linked(), "a buffer has one message");
  PLNET_DEBUG_CHECK(connection.parked == nullptr, "nothing is offered behind a parked message");
  Inbound* const one = pool_.take();
  if (one == nullptr) return false;
  const std::optional<std::uint32_t> length = payload_of(message);
  if (!length) {
    pool_.give(one);
    break_off(connection, Id::kLength);
    return true;
  }
  one->state = Inbound::State::kOffered;
  one->kind = message.kind;
  one->wanted = false;
  ++one->generation;
  one->connection = &connection;
  one->rx = &rx;
  one->cookie = message.cookie;
  one->header = message.header;
  one->sink = message.buffer;
  one->length = *length;
  connection.inbound.push_back(*one);
  environment_.count(one->kind == Kind::kImmediate    ? Id::kReceivedImmediates
                     : one->kind == Kind::kPutRequest ? Id::kReceivedPuts
                                                      : Id::kReceivedGets);
  const Peer& peer = *connection.peer;
  one->decision = environment_.core.on_header({.header = one->header,
                                               .from = peer.nid,
                                               .link = peer.link,
                                               .rx = {pool_.index_of(one), one->generation},
                                               .reply_by_lnd = one->kind == Kind::kGetRequest});
  PLNET_DEBUG_CHECK(is_sound(one->decision), "a decision of the core is complete");
  run_decision(*one);
  return true;
}

void Receives::resume(lnet::RxHandle rx, const lnet::RxDecision& decision) {
  PLNET_CHECK(decision.verdict != lnet::RxVerdict::kPark, "a message is parked once");
  PLNET_DEBUG_CHECK(is_sound(decision), "a decision of the core is complete");
  const bool known = pool_.is_lent(rx.index) && pool_.at(rx.index).generation == rx.generation &&
                     pool_.at(rx.index).state == Inbound::State::kParked;
  if (!known) return environment_.count(Id::kStaleResumes);
  Inbound& one = pool_.at(rx.index);
  PLNET_DEBUG_CHECK(one.connection != nullptr && one.connection->parked == &one,
                    "a parked message holds up its connection");
  one.state = Inbound::State::kDecided;
  one.decision = decision;
  one.unlink();
  decided_.push_back(one);
}

unsigned Receives::run_decided() {
  IntrusiveList<Inbound> now;
  now.splice_back(decided_);
  unsigned work = 0;
  for (; Inbound* const one = now.pop_front(); ++work)
    go_on(*one);
  if (!starved_.has_come(environment_.freed)) return work;
  IntrusiveList<Inbound> waiting;
  starved_.take(environment_.freed, waiting);
  // If one message finds no descriptor, the others would not either.
  for (; starved_.empty() && !waiting.empty(); ++work)
    go_on(*waiting.pop_front());
  starved_.put_back(waiting);
  return work;
}

void Receives::go_on(Inbound& inbound) {
  PLNET_DEBUG_CHECK(inbound.connection != nullptr && inbound.state == Inbound::State::kDecided,
                    "only decided messages go on");
  Connection& connection = *inbound.connection;
  connection.inbound.push_back(inbound);
  run_decision(inbound);
  offer_arrived(connection);
}

}  // namespace plnet::o2iblnd
