// SPDX-License-Identifier: BSD-3-Clause
#include "tests/mocks/fake_core.hpp"

#include <algorithm>
#include <cstring>

namespace plnet::mocks {

using namespace lnet;

namespace {

std::uint64_t key_of(const Nid& nid) {
  std::uint64_t key = 0;
  std::memcpy(&key, &nid, sizeof key);  // the first eight bytes name an IPv4 or numeric NID
  return key;
}

bool is_answer(const MessageHeader& header) {
  return header.type == MessageType::kAck || header.type == MessageType::kReply;
}

// Every byte depends on the message and on its position.
std::byte pattern(std::uint64_t bits, std::uint32_t position) {
  return static_cast<std::byte>((bits * 131 + position * 7ULL + (position >> 8)) & 0xff);
}

}  // namespace

struct FakeCore::Operation {
  enum class State { kQueued, kAccepted, kEnded, kQuarantined };
  Transmit transmit;
  State state = State::kQueued;
  std::uint64_t bits = 0;
  bool answered = false;
};

struct FakeCore::Receive {
  enum class State { kReceiving, kParked };
  RxHandle rx;
  MessageHeader header;
  Nid from;
  bool reply_by_lnd = false;
  State state = State::kReceiving;
  unsigned turns_left = 0;
  Payload target;
  std::uint64_t bits = 0;
};

FakeCore::FakeCore(const FakeCoreConfig& config) : config_(config), random_(config.seed) {}
FakeCore::~FakeCore() = default;

PeerLink& FakeCore::link(const Nid& nid) {
  auto& slot = links_[key_of(nid)];
  if (!slot) slot = std::make_unique<PeerLink>(PeerLink{.nid = nid});
  return *slot;
}

FakeCore::Operation& FakeCore::begin(const Nid& to, MessageType type) {
  Operation& operation = *operations_.emplace_back(std::make_unique<Operation>());
  operation.bits = next_bits_++;
  Transmit& transmit = operation.transmit;
  transmit.header = {.destination = to, .source = config_.nid, .type = type};
  transmit.next_hop = &link(to);
  by_transmit_[&transmit] = &operation;
  by_bits_[operation.bits] = &operation;
  to_send_.push_back(&transmit);
  return operation;
}

Transmit& FakeCore::put(const Nid& to, std::uint32_t length, bool ack, Instant deadline) {
  Operation& operation = begin(to, MessageType::kPut);
  Transmit& transmit = operation.transmit;
  transmit.deadline = deadline;
  transmit.header.payload_length = length;
  transmit.source = place(length);
  fill(transmit.source, operation.bits);
  PutArea area{.match_bits = operation.bits};
  if (ack) area.ack_handle = {key_of(config_.nid), operation.bits};
  transmit.header.set_area(area);
  return transmit;
}

Transmit& FakeCore::get(const Nid& to, std::uint32_t length, Instant deadline) {
  Operation& operation = begin(to, MessageType::kGet);
  Transmit& transmit = operation.transmit;
  transmit.deadline = deadline;
  transmit.sink = place(length);
  transmit.header.set_area(GetArea{.return_handle = {key_of(config_.nid), operation.bits},
                                   .match_bits = operation.bits,
                                   .sink_length = length});
  return transmit;
}

void FakeCore::cancel(Transmit& transmit) {
  const Operation& operation = *by_transmit_.at(&transmit);
  if (operation.state == Operation::State::kAccepted) lnd_->cancel(transmit);
}

void FakeCore::release_peer(const Nid& nid) {
  PeerLink& peer = link(nid);
  releasing_.insert(&peer);
  lnd_->release_peer(peer);
}

void FakeCore::resume_due(bool all) {
  std::vector<Receive*> due;
  for (auto& [unused, receive] : receives_) {
    if (receive->state != Receive::State::kParked) continue;
    if (all || receive->turns_left == 0) {
      due.push_back(receive.get());
    } else {
      --receive->turns_left;
    }
  }
  for (Receive* const receive : due) {
    receive->state = Receive::State::kReceiving;
    const RxHandle rx = receive->rx;
    const RxDecision decision = decide(*receive);
    if (decision.verdict == RxVerdict::kDrop) receives_.erase(key(rx));
    in_resume_ = true;
    lnd_->resume(rx, decision);
    in_resume_ = false;
  }
}

void FakeCore::resume_all() {
  resume_due(true);
}

unsigned FakeCore::turn(Instant now) {
  resume_due(false);
  unsigned work = 0;
  while (!to_send_.empty()) {
    std::vector<Transmit*> burst(
        to_send_.begin(),
        to_send_.begin() + static_cast<std::ptrdiff_t>(std::min(config_.burst, to_send_.size())));
    in_send_ = true;
    const std::size_t taken = lnd_->send(burst);
    in_send_ = false;
    if (taken > burst.size()) breach("send() took more than was offered");
    for (std::size_t i = 0; i < std::min(taken, burst.size()); ++i) {
      by_transmit_.at(burst[i])->state = Operation::State::kAccepted;
      to_send_.pop_front();
      ++tally_.accepted;
      ++work;
    }
    if (taken < burst.size()) break;
  }
  return work + lnd_->flush(now);
}

bool FakeCore::settled() const {
  const bool open = std::ranges::any_of(operations_, [](const auto& operation) {
    return operation->state != Operation::State::kEnded;
  });
  return !open && receives_.empty() && releasing_.empty();
}

RxDecision FakeCore::on_header(const RxOffer& offer) {
  if (in_send_ || in_resume_) breach("on_header() from inside send() or resume()");
  if (receives_.contains(key(offer.rx))) breach("on_header() reuses a handle that is open");
  if (offer.link != nullptr && !(offer.link->nid == offer.from)) {
    breach("on_header() names another peer's link");
  }
  if (!config_.check_bytes && offer.header.type > MessageType::kReply) {
    return {.verdict = RxVerdict::kReject};
  }
  const bool is_get = offer.header.type == MessageType::kGet;
  const bool bare = is_get || offer.header.type == MessageType::kAck;
  const std::uint32_t length =
      is_get ? offer.header.area<GetArea>().sink_length : offer.header.payload_length;
  if (length > config_.payload_max || (bare && offer.header.payload_length > 0)) {
    return {.verdict = RxVerdict::kReject};
  }
  auto receive = std::make_unique<Receive>();
  receive->rx = offer.rx;
  receive->header = offer.header;
  receive->from = offer.from;
  receive->reply_by_lnd = offer.reply_by_lnd;
  Receive& kept = *receive;
  receives_[key(offer.rx)] = std::move(receive);
  if (random_.below(100) < config_.park_percent) {
    kept.state = Receive::State::kParked;
    kept.turns_left = static_cast<unsigned>(random_.below(config_.park_turns_max + 1));
    ++tally_.parked;
    return {.verdict = RxVerdict::kPark, .link = &link(offer.from)};
  }
  const RxDecision decision = decide(kept);
  if (decision.verdict == RxVerdict::kDrop) receives_.erase(key(offer.rx));
  return decision;
}

FakeCore::Operation* FakeCore::asked(const MessageHeader& answer) const {
  const WireHandle handle = answer.type == MessageType::kAck ? answer.area<AckArea>().destination
                                                             : answer.area<ReplyArea>().destination;
  const auto found = by_bits_.find(handle.object_cookie);
  const bool ours = handle.interface_cookie == key_of(config_.nid) && found != by_bits_.end();
  return ours ? found->second : nullptr;
}

RxDecision FakeCore::decide(Receive& receive) {
  RxDecision decision{.link = &link(receive.from)};
  const MessageHeader& header = receive.header;
  // LNet sees a header before its checksum can be compared, and drops messages without a match.
  const bool stray = !config_.check_bytes && is_answer(header) && asked(header) == nullptr;
  if (stray || random_.below(100) < config_.drop_percent) {
    ++tally_.dropped;
    return decision;
  }
  decision.verdict = RxVerdict::kReceive;
  if (header.type == MessageType::kPut) receive.bits = header.area<PutArea>().match_bits;
  if (header.type == MessageType::kReply) {
    receive.bits = header.area<ReplyArea>().destination.object_cookie;
  }
  if (receive.reply_by_lnd) {
    const auto area = header.area<GetArea>();
    decision.length = area.sink_length;
    decision.target = place(area.sink_length);
    fill(decision.target, area.match_bits);
  } else if (header.type == MessageType::kPut || header.type == MessageType::kReply) {
    decision.length = header.payload_length;
    decision.target = place(header.payload_length);
  }
  receive.target = decision.target;
  return decision;
}

void FakeCore::on_received(RxHandle rx, Result<void> status, Health health) {
  if (in_send_ || in_resume_) breach("on_received() from inside send() or resume()");
  const auto found = receives_.find(key(rx));
  if (found == receives_.end()) return breach("on_received() for a message that is not open");
  if (found->second->state != Receive::State::kReceiving) {
    return breach("on_received() for a message that is parked");
  }
  if (status && health != Health::kOk) breach("on_received() is ok but its health is not");
  const std::unique_ptr<Receive> receive = std::move(found->second);
  receives_.erase(found);
  if (!status) {
    ++tally_.receive_failures;
    return;
  }
  answer(*receive);
}

// The work of an end node on a completely received message.
void FakeCore::answer(const Receive& receive) {
  const MessageHeader& header = receive.header;
  switch (header.type) {
    case MessageType::kPut: {
      const auto area = header.area<PutArea>();
      ++tally_.puts;
      order_.push_back(area.match_bits);
      verify(receive.target, receive.bits);
      if (area.ack_handle.is_none()) return;
      Operation& ack = begin(header.source, MessageType::kAck);
      ack.transmit.header.set_area(AckArea{.destination = area.ack_handle,
                                           .match_bits = area.match_bits,
                                           .accepted_length = header.payload_length});
      return;
    }
    case MessageType::kGet: {
      ++tally_.gets;
      if (receive.reply_by_lnd) {
        ++tally_.served_by_lnd;
        return;
      }
      const auto area = header.area<GetArea>();
      Operation& reply = begin(header.source, MessageType::kReply);
      reply.transmit.header.payload_length = area.sink_length;
      reply.transmit.header.set_area(ReplyArea{.destination = area.return_handle});
      reply.transmit.source = place(area.sink_length);
      fill(reply.transmit.source, area.match_bits);
      return;
    }
    case MessageType::kAck:
    case MessageType::kReply: {
      const bool ack = header.type == MessageType::kAck;
      Operation* const operation = asked(header);
      if (operation == nullptr) return breach("an answer names no message of ours");
      if (operation->answered) ++tally_.duplicates;
      operation->answered = true;
      ++(ack ? tally_.acks : tally_.replies);
      if (!ack) verify(receive.target, receive.bits);
      return;
    }
    default: breach("a message of no known type");
  }
}

void FakeCore::on_sent(std::span<const Completion> burst) {
  if (in_send_ || in_resume_) breach("on_sent() from inside send() or resume()");
  for (const Completion& completion : burst) {
    const auto found = by_transmit_.find(completion.transmit);
    if (found == by_transmit_.end()) {
      breach("on_sent() for a message that is not ours");
      continue;
    }
    Operation& operation = *found->second;
    if (operation.state != Operation::State::kAccepted) {
      breach("on_sent() for a message that the LND does not have");
      continue;
    }
    operation.state =
        completion.quarantined ? Operation::State::kQuarantined : Operation::State::kEnded;
    if (completion.quarantined) ++tally_.quarantined;
    if (completion.status) {
      ++tally_.sent;
      if (completion.health != Health::kOk) breach("on_sent() is ok but its health is not");
    } else {
      ++(completion.status.error() == Errc::kCancelled ? tally_.cancelled : tally_.failed);
    }
    if (completion.reply_placed) {
      if (completion.transmit->header.type != MessageType::kGet) breach("reply placed, not a GET");
      ++tally_.replies_placed;
      Payload sink = completion.transmit->sink;
      if (completion.reply_length > sink.length) breach("reply longer than its sink");
      sink.length = std::min(completion.reply_length, sink.length);
      verify(sink, operation.bits);
    }
    completions_.push_back(completion);
  }
}

void FakeCore::on_parked_gone(RxHandle rx, Errc) {
  const auto found = receives_.find(key(rx));
  if (found == receives_.end() || found->second->state != Receive::State::kParked) {
    return breach("on_parked_gone() for a message that is not parked");
  }
  receives_.erase(found);
  ++tally_.parked_gone;
}

void FakeCore::on_quarantine_over(Transmit& transmit) {
  const auto found = by_transmit_.find(&transmit);
  if (found == by_transmit_.end() || found->second->state != Operation::State::kQuarantined) {
    return breach("on_quarantine_over() for a message that is not in quarantine");
  }
  found->second->state = Operation::State::kEnded;
}

void FakeCore::on_lane(PeerLink&, LaneId, bool, bool) {}

void FakeCore::on_peer(const Nid& /*nid*/, PeerNotice notice, Instant /*when*/) {
  notices_.push_back(notice);
}

void FakeCore::on_unreachable(const Nid& /*nid*/, Errc cause) {
  troubles_.push_back(cause);
}

void FakeCore::on_peer_released(PeerLink& released) {
  if (releasing_.erase(&released) == 0) return breach("on_peer_released() unasked");
  if (released.lnd_peer != nullptr) breach("a released link still holds the LND's half");
  const bool open = std::ranges::any_of(operations_, [&](const auto& operation) {
    return operation->transmit.next_hop == &released &&
           operation->state == Operation::State::kAccepted;
  });
  if (open) breach("on_peer_released() before the end of a message to the peer");
  ++tally_.peers_released;
}

void FakeCore::on_interface(InterfaceState state, Errc) {
  interface_states_.push_back(state);
}

Payload FakeCore::place(std::uint32_t length) {
  if (length == 0) return {};
  PLNET_CHECK(used_bytes_ + length <= config_.memory_bytes, "the test needs more memory");
  // Two fragments where possible, so that scattered payloads are the common case.
  const std::uint32_t first = length > 8 ? length / 3 : length;
  const std::uint64_t at = config_.memory.offset + used_bytes_;
  used_bytes_ += length;
  auto& pieces = fragments_.emplace_back();
  pieces[0] = {{config_.memory.arena, at}, first};
  pieces[1] = {{config_.memory.arena, at + first}, length - first};
  return {.fragments = std::span(pieces).first(first < length ? 2 : 1), .length = length};
}

void FakeCore::fill(const Payload& payload, std::uint64_t bits) {
  std::uint32_t position = 0;
  for_each_piece(payload, [&](const Fragment& piece) {
    for (std::byte& byte : config_.arenas->bytes(piece))
      byte = pattern(bits, position++);
  });
}

void FakeCore::verify(const Payload& payload, std::uint64_t bits) {
  if (!config_.check_bytes) return;
  std::uint32_t position = 0;
  bool wrong = false;
  for_each_piece(payload, [&](const Fragment& piece) {
    for (const std::byte byte : config_.arenas->bytes(piece))
      wrong |= byte != pattern(bits, position++);
  });
  if (wrong) ++tally_.wrong_bytes;
}

void FakeCore::breach(const std::string& what) {
  breaches_.push_back(what);
}

}  // namespace plnet::mocks
