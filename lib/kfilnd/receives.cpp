// SPDX-License-Identifier: BSD-3-Clause
#include "lib/kfilnd/receives.hpp"

#include <cstring>

#include "lib/base/check.hpp"
#include "lib/lnet/flow/parked_share.hpp"

namespace plnet::kfilnd {

namespace {

using lnet::RxVerdict;

static_assert(static_cast<std::size_t>(KfiLndCounters::Id::kLength) -
                      static_cast<std::size_t>(KfiLndCounters::Id::kShort) + 1 ==
                  kRefusals,
              "a counter for each refusal, in their order");

KfiLndCounters::Id counter_of(Refusal refusal) {
  return static_cast<KfiLndCounters::Id>(static_cast<std::size_t>(KfiLndCounters::Id::kShort) +
                                         static_cast<std::size_t>(refusal));
}

// The context to which an answer, or a message, for the sender goes.
unsigned context_named_by(const Message& message) {
  if (message.is_hello()) return message.hello.rx_base;
  return message.is_bulk() ? message.response_rx : 0;
}

std::uint64_t number_of(Errc cause) {
  return static_cast<std::uint64_t>(errno_of(cause));
}

// The payload of an IMMEDIATE message; a header of another type has none.
std::uint32_t immediate_bytes(const lnet::MessageHeader& header) {
  const bool has_payload =
      header.type == lnet::MessageType::kPut || header.type == lnet::MessageType::kReply;
  return has_payload ? header.payload_length : 0;
}

}  // namespace

void Receives::on_buffer(const FabricCompletion& completion) {
  MultiReceive& buffers = store_.buffers();
  if (!buffers.knows(completion.cookie)) return environment_.count(Id::kStrayCompletions);
  const auto index = static_cast<std::uint32_t>(completion.cookie);
  if (completion.event == FabricEvent::kMessage && completion.status &&
      !environment_.shutting_down) {
    if (!transactions_.has_room(Quota::kReceives) ||
        !accept(index, buffers.message(index, completion.offset, completion.length)))
      put_off(index, completion.offset, completion.length);
  }
  if (completion.event != FabricEvent::kBufferUnlinked && !completion.buffer_unlinked) return;
  buffers.unlinked(index);
  if (buffers.posted() == 0) environment_.count(Id::kNoBufferPosted);
}

bool Receives::accept(std::uint32_t buffer, std::span<const std::byte> bytes) {
  Transaction* const one = transactions_.begin(Quota::kReceives);
  PLNET_CHECK(one != nullptr, "the caller has looked for room");
  const DecodeRules rules{.own_nid = environment_.nid64,
                          .verify_checksum = environment_.config.tunables.cksum != 0};
  if (const auto refusal = decode(bytes, rules, one->message)) {
    environment_.count(counter_of(*refusal));
    transactions_.drop(*one);
    return true;
  }
  // No operation can go to such a context. The sender is at fault: our interface is healthy.
  if (context_named_by(one->message) >= environment_.driver.limits().peer_contexts) {
    environment_.count(Id::kNoContext);
    transactions_.drop(*one);
    return true;
  }
  const auto peer = senders_.find(one->message);
  if (!peer) {
    transactions_.drop(*one);
    return peer.error() != Errc::kAgain;
  }
  transactions_.set_peer(*one, **peer);
  begin(*one, buffer, bytes);
  return true;
}

void Receives::begin(Transaction& one, std::uint32_t buffer, std::span<const std::byte> bytes) {
  one.kind = one.message.kind;
  if (one.message.is_hello()) return machine_.run(one, Event::kRxHello);
  if (one.kind == Kind::kImmediate) {
    environment_.count(Id::kReceivedImmediate);
    one.bytes = immediate_bytes(one.message.header);
    PLNET_CHECK(bytes.size() >= kImmediateBytes + one.bytes, "decode() has compared the lengths");
    store_.hold(one, buffer, bytes.subspan(kImmediateBytes, one.bytes));
  } else if (one.kind == Kind::kBulkPut) {
    environment_.count(Id::kReceivedBulkPut);
    one.bytes = one.message.header.payload_length;
  } else {
    environment_.count(Id::kReceivedBulkGet);
    one.bytes = one.message.header.area<lnet::GetArea>().sink_length;
  }
  machine_.run(one, Event::kRxOk);
}

// As many messages as may be are under way, or too many strangers write at once, or the home of the
// sender is not known yet. A message in its buffer keeps others from sending, which is intended. It
// is dropped if there are more than all credits allow, or when it has waited for too long.
void Receives::put_off(std::uint32_t buffer, std::uint32_t offset, std::uint32_t length) {
  if (backlog_.full()) return environment_.count(Id::kNoTransaction);
  environment_.count(Id::kPutOff);
  store_.buffers().hold(buffer);
  backlog_.push({buffer, offset, length, environment_.now + environment_.timeout / 2});
}

unsigned Receives::run_backlog() {
  unsigned work = 0;
  unsigned refused = 0;
  for (std::size_t left = backlog_.size(); left > 0 && refused < kPutOffAtOnce; --left) {
    if (!environment_.shutting_down && !transactions_.has_room(Quota::kReceives)) break;
    const Backlog::Entry one = backlog_.pop();
    if (!environment_.shutting_down &&
        !accept(one.buffer, store_.buffers().message(one.buffer, one.offset, one.length))) {
      ++refused;
      if (environment_.now < one.until) {
        backlog_.push(one);
        continue;
      }
      environment_.count(Id::kTooLate);
    }
    store_.buffers().let_go(one.buffer);
    ++work;
  }
  return work;
}

bool Receives::wait_for_hello(Transaction& one) {
  Peer& peer = *one.peer;
  if (peer.state != PeerState::kNew) return false;
  const bool needs_hello = peer.needs_hello(environment_.now, environment_.timeout, false);
  const bool failed = one.early && (peer.removed || needs_hello);
  if (!failed && needs_hello) (void)hellos_.send_hello(peer);
  hellos_.send_hello_first(peer);
  if (one.message.is_bulk() && one.message.version == 1) {
    environment_.count(Id::kEarlyV1);  // its tag depends on the HELLO that has not come
    transactions_.fail(one, Errc::kProtocol, Health::kLocalDropped);
    return true;
  }
  const bool first = !one.early;
  // The HELLO that the message waits for needs a transaction too.
  const bool crowded = first && transactions_.early_crowded();
  if (first) {
    transactions_.set_early(one);
    environment_.count(Id::kEarly);
  }
  // A message that waited in its receive buffer would keep others from sending to us.
  if (failed || crowded || environment_.now >= one.replay_deadline || environment_.shutting_down ||
      (first && !store_.copy_out(one))) {
    environment_.count(Id::kEarlyDropped);
    transactions_.fail(one, Errc::kTimedOut, Health::kNetworkTimeout);
    return true;
  }
  one.again = Event::kRxOk;
  transactions_.throttle(one);
  return true;
}

void Receives::offer(Transaction& one, const EventStatus& what) {
  if (wait_for_hello(one)) return;
  Peer& peer = *one.peer;
  if (environment_.shutting_down)
    return transactions_.fail(one, Errc::kShutdown, Health::kLocalAborted);
  if (peer.guest) {
    senders_.report_guest(peer);
    if (one.message.is_bulk() && one.message.version == 1) {
      environment_.count(Id::kEarlyV1);  // only its home knows its tags
      return transactions_.fail(one, Errc::kProtocol, Health::kLocalDropped);
    }
  }
  if (peer.needs_hello(environment_.now, environment_.timeout, false))
    (void)hellos_.send_hello(peer);
  peers_.on_heard(peer);
  // The key of a later HELLO is not the one that the message means.
  if (one.message.version == 1) one.message.session_key = peer.remote_session_key;
  transactions_.enter(one, State::kImmRecv);
  PLNET_DEBUG_CHECK(!one.offered, "a message is offered to the core once");
  one.offered = true;
  one.decision = environment_.core.on_header({.header = one.message.header,
                                              .from = peer.nid,
                                              .link = peer.link,
                                              .rx = transactions_.handle_of(one),
                                              .reply_by_lnd = one.kind == Kind::kBulkGet});
  PLNET_DEBUG_CHECK(is_sound(one.decision), "a decision of the core is complete");
  act_on_decision(one, what);
}

void Receives::resume(lnet::RxHandle rx, const lnet::RxDecision& decision) {
  PLNET_DEBUG_CHECK(is_sound(decision), "a decision of the core is complete");
  PLNET_CHECK(decision.verdict != RxVerdict::kPark, "a message is parked once");
  Transaction* const one = transactions_.find_parked(rx);
  if (one == nullptr) return environment_.count(Id::kStaleResumes);
  one->parked = false;
  PLNET_CHECK(one->peer->parked > 0, "a parked message is counted");
  --one->peer->parked;
  one->decision = decision;
  one->again = Event::kRxOk;
  transactions_.run_soon(*one);
}

void Receives::act_on_decision(Transaction& one, const EventStatus& what) {
  const lnet::RxDecision& decision = one.decision;
  if (decision.link != nullptr && !one.peer->removed && !releases_.is_releasing(*decision.link))
    Peers::bind(*one.peer, decision.link);
  const bool bulk = one.message.is_bulk();
  switch (decision.verdict) {
    case RxVerdict::kPark: return park(one);
    case RxVerdict::kReceive:
      one.wanted = true;
      if (!bulk) return receive_immediate(one);
      if (decision.length > one.bytes) {  // the peer has fewer bytes
        one.update(std::unexpected(Errc::kProtocol), Health::kLocalError);
        one.answer = number_of(Errc::kProtocol);
        break;
      }
      one.answer = 0;
      if (decision.length > 0) return machine_.run(one, Event::kInitTagRma, what);
      break;
    case RxVerdict::kDrop:
      if (!bulk) return transactions_.end(one);
      one.answer = one.kind == Kind::kBulkGet ? number_of(decision.reason) : 0;
      break;
    case RxVerdict::kReject:
      environment_.count(Id::kRejected);
      if (!bulk) return transactions_.end(one);
      one.answer = number_of(Errc::kProtocol);
      break;
  }
  machine_.run(one, Event::kSkipTagRma, what);
}

void Receives::receive_immediate(Transaction& one) {
  if (one.decision.length > one.payload.size())
    return transactions_.fail(one, Errc::kProtocol, Health::kLocalError);
  std::span<const std::byte> left = one.payload;
  lnet::for_each_piece(one.wanted_payload(), [&](const Fragment& piece) {
    std::memcpy(environment_.config.arenas->bytes(piece).data(), left.data(), piece.length);
    left = left.subspan(piece.length);
  });
  transactions_.end(one);
}

// kfilnd promises no order of messages, so only this one waits.
void Receives::park(Transaction& one) {
  PLNET_DEBUG_CHECK(!one.parked, "a message is parked once");
  if (!lnet::may_park(one.peer->parked, transactions_.room(Quota::kReceives)))
    return refuse_to_park(one);
  ++one.peer->parked;
  one.parked = true;
  if (one.copy_slot == 0 && !store_.copy_out(one)) environment_.count(Id::kHeldBuffers);
}

// The peer of a bulk request waits for an answer, and gets one.
void Receives::refuse_to_park(Transaction& one) {
  environment_.count(Id::kParkedShare);
  environment_.core.on_parked_gone(transactions_.handle_of(one), Errc::kNoSpace);
  if (!one.message.is_bulk()) return transactions_.end(one);
  one.answer = number_of(Errc::kNoSpace);
  machine_.run(one, Event::kSkipTagRma);
}

Tag Receives::remote_tag(const Transaction& one) {
  return tag_of(one.message.session_key, one.message.key);
}

Target Receives::bulk_target(const Transaction& one) {
  return {one.peer->address, one.message.response_rx};
}

void Receives::on_posted(Transaction& one, Result<void> posted, State next, Event again) {
  if (posted) {
    Transactions::set_posted(one, Transaction::kRemotePosted);
    return transactions_.enter(one, next);
  }
  if (posted.error() != Errc::kAgain)
    return transactions_.fail(one, posted.error(), Health::kLocalError);
  if (environment_.now >= one.deadline)
    return transactions_.fail(one, Errc::kTimedOut, Health::kLocalError);
  transactions_.block(one, again);
}

void Receives::move_payload(Transaction& one, const EventStatus& /*what*/) {
  store_.leave_buffer(one);
  EndpointDriver& driver = environment_.driver;
  const lnet::Payload payload = one.wanted_payload();
  PLNET_CHECK(payload.length > 0 && payload.length <= one.bytes, "the peer has these bytes");
  const std::uint64_t cookie = transactions_.cookie_of(one);
  const auto posted = one.kind == Kind::kBulkPut
                          ? driver.read_tagged(bulk_target(one), remote_tag(one), payload, cookie)
                          : driver.write_tagged(bulk_target(one), remote_tag(one), payload, cookie);
  on_posted(one, posted, State::kWaitTagRmaComp, Event::kInitTagRma);
}

void Receives::answer_without_payload(Transaction& one, const EventStatus& /*what*/) {
  store_.leave_buffer(one);
  const auto posted = environment_.driver.answer_tagged(bulk_target(one), remote_tag(one),
                                                        one.answer, transactions_.cookie_of(one));
  if (posted) environment_.count(Id::kSkips);
  on_posted(one, posted, State::kWaitTagComp, Event::kSkipTagRma);
}

void Receives::remote_done(Transaction& one, const EventStatus& /*what*/) {
  PLNET_DEBUG_CHECK(!one.initiator, "only the target moves payload by remote operations");
  peers_.on_heard(*one.peer);
  transactions_.end(one);
}

void Receives::remote_failed(Transaction& one, const EventStatus& what) {
  PLNET_CHECK(!one.initiator, "only the target moves payload by remote operations");
  const Errc cause = what.status ? Errc::kIo : what.status.error();
  one.update(std::unexpected(cause),
             cause == Errc::kTimedOut ? Health::kNetworkTimeout : Health::kRemoteError);
  peers_.on_failure(one, cause, false);
  transactions_.end(one);
}

}  // namespace plnet::kfilnd
