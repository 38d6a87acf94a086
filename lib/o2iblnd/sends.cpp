// SPDX-License-Identifier: BSD-3-Clause
// Queues, credits and posting.
#include "lib/o2iblnd/sends.hpp"

#include <cstring>

#include "lib/base/check.hpp"
#include "lib/o2iblnd/write_chain.hpp"

namespace plnet::o2iblnd {

namespace {

using lnet::MessageType;

// The peer's fragments lie behind the longest message of those that write.
constexpr std::size_t kSinkAt = 512;
static_assert(kSinkAt >= kPutRequestBytes &&
              kSinkAt + kFragmentsMax * sizeof(FragmentWire) <= kMessageBytes);

std::int32_t code_of(Errc cause) {
  return -errno_of(cause);
}

}  // namespace

Sends::Sends(Environment& environment, TxPool& pool, Connections& connections, InboundEnds& ends)
    : environment_(environment), pool_(pool), connections_(connections), ends_(ends) {}

bool Sends::accept(lnet::Transmit& transmit) {
  PLNET_DEBUG_CHECK(transmit.next_hop != nullptr, "the core has chosen the next hop");
  Tx* const tx = pool_.take(false);
  if (tx == nullptr) return false;
  tx->transmit = &transmit;
  transmit.lnd_state = pool_.index_of(*tx);
  tx->state = State::kWaiting;
  outgoing_.push_back(*tx);
  return true;
}

void Sends::wait(Tx& tx, Peer& peer) {
  tx.deadline = environment_.now + waiting_timeout(environment_.timeout);
  peer.waiting.push_back(tx);
}

void Sends::queue(Tx& tx, Connection& connection) {
  PLNET_DEBUG_CHECK(tx.connection == nullptr && connection.is_open(),
                    "a message is queued once, on an established connection");
  tx.connection = &connection;
  tx.state = State::kQueued;
  tx.deadline = environment_.now + environment_.timeout;
  choose_kind(tx);
  enqueue(tx);
}

// A GET that leaves as IMMEDIATE is answered by a REPLY. kiblnd_send().
void Sends::choose_kind(Tx& tx) {
  const lnet::Transmit& transmit = *tx.transmit;
  const bool bulk = environment_.config.always_bulk;
  const auto fits = [bulk](std::uint32_t bytes) { return !bulk && bytes <= kInlineBytesMax; };
  tx.kind = Kind::kImmediate;
  tx.source = transmit.source;
  tx.bytes = 0;
  switch (transmit.header.type) {
    case MessageType::kPut:
    case MessageType::kReply:
      tx.bytes = transmit.source.length;
      if (tx.bytes > 0 && !fits(tx.bytes)) tx.kind = Kind::kPutRequest;
      break;
    case MessageType::kGet: {
      if (transmit.routed || transmit.next_hop_is_router) break;
      if (transmit.sink.empty() || fits(transmit.sink.length)) break;
      const auto sink =
          lay_open(transmit.sink, transmit.sink.length, environment_.driver,
                   tx.connection->offer.max_frags, Kind::kGetRequest, pool_.bytes(tx));
      if (!sink) break;
      tx.kind = Kind::kGetRequest;
      tx.sink = sink->buffer;
      tx.mapping = sink->mapping;
      break;
    }
    default: break;
  }
}

void Sends::enqueue(Tx& tx) {
  PLNET_CHECK(tx.connection != nullptr && !tx.linked(), "a message is queued on one connection");
  Connection& connection = *tx.connection;
  switch (tx.kind) {
    case Kind::kPutRequest:
    case Kind::kGetRequest: connection.for_answer.push_back(tx); break;
    case Kind::kImmediate: connection.messages.push_back(tx); break;
    case Kind::kNoop:
      (connection.credits.is_v1() ? connection.noops : connection.free_of_cost).push_back(tx);
      break;
    default: connection.free_of_cost.push_back(tx); break;
  }
  connections_.serve_soon(connection);
}

Tx* Sends::new_reply(Connection& connection, Kind kind, Inbound* inbound) {
  Tx* const tx = pool_.take(true);
  if (tx == nullptr) {
    environment_.count(Id::kNoReply);
    return nullptr;
  }
  tx->kind = kind;
  tx->state = State::kQueued;
  tx->connection = &connection;
  tx->inbound = inbound;
  tx->deadline = environment_.now + environment_.timeout;
  return tx;
}

bool Sends::answer(Connection& connection, Kind kind, std::int32_t status, std::uint64_t cookie,
                   Inbound* inbound) {
  Tx* const tx = new_reply(connection, kind, inbound);
  if (tx == nullptr) return false;
  tx->code = status;
  tx->peer_cookie = cookie;
  enqueue(*tx);
  return true;
}

Result<bool> Sends::grant(Connection& connection, Inbound& inbound) {
  Tx* const tx = new_reply(connection, Kind::kPutAck, &inbound);
  if (tx == nullptr) return false;
  const auto sink = lay_open(inbound.decision.target, inbound.decision.length, environment_.driver,
                             connection.offer.max_frags, Kind::kPutAck, pool_.bytes(*tx));
  if (!sink) {
    pool_.give_unused(*tx);
    if (sink.error() == Errc::kNoSpace) return false;
    return std::unexpected(sink.error());
  }
  tx->sink = sink->buffer;
  tx->mapping = sink->mapping;
  tx->bytes = inbound.decision.length;
  tx->peer_cookie = inbound.cookie;
  enqueue(*tx);
  return true;
}

bool Sends::write_reply(Connection& connection, Inbound& inbound) {
  Tx* const tx = new_reply(connection, Kind::kGetDone, &inbound);
  if (tx == nullptr) return false;
  tx->source = inbound.wanted_payload();
  tx->bytes = inbound.decision.length;
  tx->code = static_cast<std::int32_t>(tx->bytes);
  tx->peer_cookie = inbound.cookie;
  keep_sink(*tx, inbound.sink);
  enqueue(*tx);
  return true;
}

// Copied out of a receive buffer that is posted again.
void Sends::keep_sink(Tx& tx, const RemoteBuffer& sink) {
  const std::uint32_t count = sink.fragments.count();
  PLNET_CHECK(count <= kFragmentsMax, "decode() has bounded the fragments");
  const std::span<std::byte> place = pool_.bytes(tx).subspan(kSinkAt, count * sizeof(FragmentWire));
  for (std::uint32_t i = 0; i < count; ++i) {
    const FragmentWire fragment = sink.fragments.at(i);
    std::memcpy(place.data() + i * sizeof fragment, &fragment, sizeof fragment);
  }
  tx.sink = {sink.key, {place, false}};
}

Message Sends::message_of(const Tx& tx) const {
  const Connection& connection = *tx.connection;
  Message message{.kind = tx.kind,
                  .version = connection.offer.version,
                  .credits = static_cast<std::uint8_t>(connection.credits.owed()),
                  .source_nid = environment_.self.nid,
                  .source_stamp = environment_.self.incarnation,
                  .destination_nid = connection.peer->nid64,
                  .destination_stamp = connection.incarnation,
                  .cookie = tx.cookie,
                  .status = tx.code};
  if (tx.kind == Kind::kPutAck || tx.kind == Kind::kGetRequest) message.buffer = tx.sink;
  if (tx.transmit != nullptr && tx.kind != Kind::kPutDone) {
    message.header = tx.transmit->header;
  } else {
    message.cookie = tx.peer_cookie;
    message.sink_cookie = tx.cookie;
  }
  return message;
}

// One piece is sent from its place; several pieces, or bytes for a checksum, are gathered.
void Sends::bring_payload(Tx& tx) {
  tx.gathered = false;
  if (tx.kind != Kind::kImmediate || tx.bytes == 0) return;
  unsigned pieces = 0;
  lnet::for_each_piece(tx.source, [&](const Fragment& piece) {
    tx.piece = piece;
    ++pieces;
  });
  tx.gathered = pieces == 1 && environment_.tunables.cksum == 0;
  if (tx.gathered) return;
  PLNET_CHECK(kImmediateBytes + tx.bytes <= kMessageBytes, "the payload fits into the message");
  std::byte* to = pool_.bytes(tx).data() + kImmediateBytes;
  lnet::for_each_piece(tx.source, [&](const Fragment& piece) {
    environment_.copy_payload(to, environment_.config.arenas->bytes(piece));
    to += piece.length;
  });
}

// The writes, if any, and the message behind them, whose completion is that of the chain.
std::size_t Sends::make_chain(Tx& tx) {
  const std::uint32_t index = pool_.index_of(tx);
  std::size_t used = 0;
  if ((tx.kind == Kind::kPutDone || tx.kind == Kind::kGetDone) && tx.bytes > 0 && tx.code > 0) {
    const WriteRules rules{.pieces_max = static_cast<unsigned>(environment_.tunables.wrq_sge),
                           .writes_max = tx.connection->offer.max_frags,
                           .cookie = cookie_of(CookieKind::kWrite, index)};
    const auto writes =
        make_writes(tx.source, tx.bytes, tx.sink, rules, std::span(chain_).first(kFragmentsMax));
    if (writes) {
      used = *writes;
    } else {
      tx.code = code_of(writes.error());
      tx.fail(writes.error(), Health::kRemoteError);
    }
  }
  bring_payload(tx);
  const std::uint32_t payload = tx.kind == Kind::kImmediate ? tx.bytes : 0;
  const std::span<std::byte> out = pool_.bytes(tx);
  tx.head_bytes = static_cast<std::uint16_t>(encode(message_of(tx), payload, out));
  const std::uint32_t here = tx.head_bytes + (tx.gathered ? 0 : payload);
  PLNET_CHECK(here <= kMessageBytes && used < chain_.size(), "a chain has room for its message");
  if (environment_.tunables.cksum != 0)
    set_checksum(out.first(here), environment_.config.char_sign);
  WorkRequest& send = chain_[used];
  send.kind = WorkKind::kSend;
  send.piece_count = tx.gathered ? 2 : 1;
  send.pieces[0] = pool_.buffer(tx, here);
  if (tx.gathered) send.pieces[1] = tx.piece;
  send.cookie = cookie_of(CookieKind::kSend, index);
  return used + 1;
}

Sends::Posting Sends::post(Connection& connection, Tx& tx, bool costs_credit) {
  PLNET_CHECK(tx.connection == &connection && tx.linked(), "a queued message is posted");
  PLNET_DEBUG_CHECK(tx.state == State::kQueued || tx.state == State::kGranted,
                    "only a queued message is posted");
  if (!connection.credits.may_post(costs_credit, tx.kind)) return Posting::kNotYet;
  const std::size_t length = make_chain(tx);
  if (!environment_.driver.post_chain(connection.id, std::span(chain_).first(length))) {
    environment_.count(Id::kPostsRefused);
    // Completions make room; if none is under way, the next turn retries.
    if (environment_.sends_posted == 0) {
      connections_.serve_soon(connection);
    } else if (connection.credits.sends_posted() == 0) {
      connections_.serve_when_freed(connection);
    }
    return Posting::kNoRoom;
  }
  connection.credits.posted(costs_credit, tx.kind);
  connection.last_send = environment_.now;
  environment_.count(Id::kWrites, length - 1);
  tx.unlink();
  ++tx.sending;
  ++environment_.sends_posted;
  connection.posted.push_back(tx);
  run(tx, Event::kPosted);
  return Posting::kDone;
}

Credits::Waiting Sends::waiting(const Connection& connection) const {
  return {.nocredit = !connection.free_of_cost.empty(),
          .messages = !connection.messages.empty(),
          .noop = !connection.noops.empty()};
}

bool Sends::needs_keepalive(const Connection& connection) const {
  const Duration silence = std::chrono::seconds(environment_.tunables.keepalive);
  return silence > Duration{} && environment_.now - connection.last_send > silence;
}

bool Sends::noop_is_due(const Connection& connection) const {
  return !connection.credits.noops_full() &&
         connection.credits.needs_noop(waiting(connection), needs_keepalive(connection));
}

void Sends::send_noop(Connection& connection) {
  Tx* const tx = new_reply(connection, Kind::kNoop, nullptr);
  if (tx == nullptr) return connections_.serve_when_freed(connection);
  enqueue(*tx);
}

Sends::Posting Sends::post_next(Connection& connection) {
  if (Tx* const tx = connection.free_of_cost.front()) {
    if (tx->kind != Kind::kNoop) return post(connection, *tx, false);
    // Another message may have carried its credits meanwhile.
    tx->unlink();
    if (!noop_is_due(connection)) {
      end(*tx);
      return Posting::kDone;
    }
    connection.free_of_cost.push_front(*tx);
    return post(connection, *tx, false);
  }
  if (Tx* const tx = connection.noops.front()) {
    tx->unlink();
    if (!noop_is_due(connection)) {
      end(*tx);
      return Posting::kDone;
    }
    connection.noops.push_front(*tx);
    return post(connection, *tx, true);
  }
  Tx* const tx = connection.messages.front();
  return tx == nullptr ? Posting::kNotYet : post(connection, *tx, true);
}

void Sends::serve(Connection& connection) {
  if (!connection.is_open()) return;
  connections_.repost(connection);
  while (!connection.for_answer.empty() && connection.credits.reserve()) {
    Tx& tx = *connection.for_answer.pop_front();
    PLNET_DEBUG_CHECK(!tx.reserved, "one answer is reserved for a request");
    tx.reserved = true;
    connection.messages.push_back(tx);
  }
  if (noop_is_due(connection)) send_noop(connection);
  Posting last = Posting::kDone;
  while (last == Posting::kDone && connection.is_open())
    last = post_next(connection);
  if (connection.messages.empty() || last == Posting::kNoRoom) return;
  const bool could = connection.credits.may_post(true, connection.messages.front()->kind);
  if (connection.credits.credits() == 0) environment_.count(Id::kNoCredit);
  if (could) environment_.count(Id::kIdleWithCredit);
}

bool Sends::is_late(const Connection& connection) const {
  const auto late = [this](const Tx& tx) { return tx.deadline <= environment_.now; };
  return connection.messages.any_of(late) || connection.noops.any_of(late) ||
         connection.for_answer.any_of(late) || connection.free_of_cost.any_of(late) ||
         connection.posted.any_of(late);
}

void Sends::expire(IntrusiveList<Tx>& list) {
  list.for_each([this](Tx& tx) {
    const bool waits = tx.state == State::kWaiting;
    const bool own = tx.transmit != nullptr && tx.transmit->deadline <= environment_.now;
    if (!own && !(waits && tx.deadline <= environment_.now)) return;
    if (!waits && tx.state != State::kQueued) return;
    environment_.count(Id::kExpired);
    give_up(tx, Errc::kTimedOut, health_when_late(tx.state));
  });
}

void Sends::cancel(lnet::Transmit& transmit) {
  Tx* const tx = pool_.at(static_cast<std::uint32_t>(transmit.lnd_state));
  PLNET_CHECK(tx != nullptr && tx->transmit == &transmit, "the core has lent this message");
  if (tx->state != State::kWaiting && tx->state != State::kQueued) return;
  if (!tx->status) return;
  tx->unlink();
  tx->fail(Errc::kCancelled, Health::kOk);
  given_up_.push_back(*tx);
}

void Sends::end_cancelled() {
  while (Tx* const tx = given_up_.pop_front()) {
    PLNET_DEBUG_CHECK(!tx->status.has_value(), "a cancelled message has failed");
    run(*tx, Event::kGiveUp);
  }
}

void Sends::give_up(Tx& tx, Errc cause, Health health) {
  tx.fail(cause, health);
  run(tx, Event::kGiveUp);
}

void Sends::give_up_all(IntrusiveList<Tx>& list, Errc cause, Health health) {
  while (Tx* const tx = list.front())
    give_up(*tx, cause, health);
}

bool Sends::has_any_of(const lnet::PeerLink* link) {
  bool any = false;
  pool_.for_each([&](const Tx& tx) {
    any = any || (tx.transmit != nullptr && (link == nullptr || tx.transmit->next_hop == link));
  });
  return any;
}

}  // namespace plnet::o2iblnd
