// SPDX-License-Identifier: BSD-3-Clause
#include "lib/selftest/responder.hpp"

#include <cstring>

namespace plnet::selftest {

namespace {

constexpr unsigned kTurnBurst = 256;  // keeps a turn short
// While other peers wait, the peer that holds most loses an RPC without progress for this long, one
// per kStallLookInterval.
constexpr Duration kStallPatience = std::chrono::seconds(5);
constexpr Duration kStallLookInterval = std::chrono::milliseconds(100);

std::size_t buffers_of(std::span<const ServedService> services) {
  std::size_t sum = 0;
  for (const ServedService& service : services)
    sum += service.buffers;
  return sum;
}

// All requests begin with these fields.
struct RequestStart {
  std::uint64_t reply_id = 0;
  template <class Self, class Fields>
  static constexpr void each(Self& self, Fields&& fields) {
    fields(self.reply_id);
  }
};
// All replies begin with these fields: the answer to a sender of another version.
struct ReplyStart {
  Status status = Status::kOk;
  template <class Self, class Fields>
  static constexpr void each(Self& self, Fields&& fields) {
    fields(self.status);
  }
};

ListNode<ByAge>& place_by_age(ServerRpc& rpc) {
  return rpc;
}

}  // namespace

Responder::Responder(lnet::DataOperations& operations, RpcStatistics& statistics,
                     const Setup& setup, WorkMemory& memory)
    : operations_(operations),
      statistics_(statistics),
      services_(setup.services.begin(), setup.services.end()),
      rpcs_(setup.rpcs),
      buffer_count_(buffers_of(setup.services)),
      buffers_(std::make_unique<Buffer[]>(buffer_count_)),
      shares_(setup.rpcs, buffer_count_) {
  rpc_events_.responder = this;
  std::size_t next = 0;
  for (const ServedService& service : services_) {
    PLNET_CHECK(service.handler != nullptr, "a service has a handler");
    for (std::size_t i = 0; i < service.buffers; ++i, ++next) {
      buffers_[next].service = &service;
      buffers_[next].slot.take_from(memory);
    }
  }
  for (std::uint32_t i = 0; i < rpcs_.capacity(); ++i) {
    ServerRpc& rpc = rpcs_.at(i);
    rpc.bulk_.rpc = rpc.reply_.rpc = &rpc;
    rpc.reply_slot_.take_from(memory);
    rpc.reply_.fragment = rpc.reply_slot_.fragment;
  }
}

Responder::~Responder() = default;

std::size_t Responder::memory_bytes(const Setup& setup) {
  return (buffers_of(setup.services) + setup.rpcs) * kMessageSlotBytes;
}

// --- Buffers ---

void Responder::open() {
  open_ = true;
  for (std::size_t i = 0; i < buffer_count_; ++i) {
    Buffer& buffer = buffers_[i];
    if (!buffer.posted && !buffer.linked()) post(buffer);
  }
}

void Responder::close() {
  open_ = false;
  while (shares_.drop_waiting() != nullptr)
    statistics_.add(RpcCount::kDropped);
  while (unposted_.pop_front() != nullptr) {
  }
  for (std::size_t i = 0; i < buffer_count_; ++i) {
    if (buffers_[i].posted) (void)operations_.unlink(buffers_[i].md);
  }
  for (const ServedService& service : services_)
    abort_all(service.service);
}

bool Responder::closed() const {
  return !open_ && posted_ == 0 && idle();
}

void Responder::post(Buffer& buffer) {
  const auto attached =
      operations_.attach({.portal = portal_of(buffer.service->service),
                          .match_bits = static_cast<std::uint64_t>(buffer.service->service)},
                         {.fragments = std::span(&buffer.slot.fragment, 1),
                          .length = kMessageBytes,
                          .threshold = 1,
                          .options = lnet::kMdPut,
                          .user = &buffer,
                          .handler = this});
  if (!attached) {
    statistics_.add(RpcCount::kUnposted);
    unposted_.push_back(buffer);
    return;
  }
  buffer.md = attached->md;
  buffer.posted = true;
  buffer.good = false;
  ++posted_;
}

// An event of a request buffer.
void Responder::on_event(const lnet::Event& event) {
  Buffer& buffer = *static_cast<Buffer*>(event.user);
  if (event.kind == lnet::EventKind::kPut) {
    statistics_.add(RpcCount::kReceived);
    if (event.status) {
      buffer.good = true;
      buffer.length = event.accepted_length;
      buffer.peer = event.source;
      buffer.self = event.target.nid;
    } else {
      statistics_.add(RpcCount::kErrors);
      statistics_.add(RpcCount::kDropped);
    }
  }
  if (!event.unlinked) return;
  buffer.posted = false;
  --posted_;
  if (buffer.good) {
    filled(buffer);
  } else if (open_) {
    post(buffer);
  }
}

void Responder::filled(Buffer& buffer) {
  if (!open_) return statistics_.add(RpcCount::kDropped);
  if (shares_.take(buffer.peer.nid)) return accept(buffer, *rpcs_.take());
  statistics_.add(RpcCount::kWaited);
  shares_.wait(buffer.peer.nid, buffer);
}

void Responder::accept(Buffer& buffer, ServerRpc& rpc) {
  PLNET_CHECK(!rpc.posted() && !rpc.linked(), "taken while it is under way");
  std::memcpy(rpc.message_.data(), buffer.slot.bytes, kMessageBytes);
  rpc.bad_ = buffer.length != kMessageBytes;
  rpc.handler_ = buffer.service->handler;
  rpc.service_ = buffer.service->service;
  rpc.peer_ = buffer.peer;
  rpc.self_ = buffer.self;
  rpc.context = nullptr;
  rpc.bulk_.reset();
  rpc.reply_.reset();
  rpc.state_ = ServerRpc::State::kFresh;
  to_turn(rpc);
  post(buffer);
}

// --- States of an RPC ---

void Responder::to_turn(ServerRpc& rpc) {
  if (!rpc.linked()) turn_.push_back(rpc);
}

unsigned Responder::poll(Instant now) {
  now_ = now;
  unsigned work = expire();
  if (shares_.any_waits() && now >= look_at_) {
    look_at_ = now + kStallLookInterval;
    if (const auto greediest = shares_.greediest()) end_stalled(*greediest, false);
  }
  for (; work < kTurnBurst; ++work) {
    ServerRpc* const rpc = turn_.pop_front();
    if (rpc == nullptr) break;
    look_at(*rpc);
  }
  while (open_ && !unposted_.empty()) {
    Buffer& buffer = *unposted_.pop_front();
    post(buffer);
    if (!buffer.posted) break;
    ++work;
  }
  return work;
}

// A reply under way ends soon by itself.
unsigned Responder::expire() {
  using State = ServerRpc::State;
  unsigned expired = 0;
  for (ServerRpc* oldest = by_age_.front(); oldest != nullptr && oldest->deadline_ <= now_;
       oldest = by_age_.front()) {
    place_by_age(*oldest).unlink();
    if (oldest->state_ != State::kHandled && oldest->state_ != State::kBulk) continue;
    end(*oldest, false);
    ++expired;
  }
  return expired;
}

void Responder::end_stalled(const lnet::Nid& peer, bool in_bulk_only) {
  using State = ServerRpc::State;
  ServerRpc* stalled = nullptr;
  by_age_.for_each([&](ServerRpc& rpc) {
    const bool counts =
        rpc.state_ == State::kBulk || (rpc.state_ == State::kHandled && !in_bulk_only);
    if (!counts || rpc.peer_.nid != peer) return;
    if (stalled == nullptr || rpc.since_ < stalled->since_) stalled = &rpc;
  });
  if (stalled == nullptr || now_ < stalled->since_ + kStallPatience) return;
  statistics_.add(RpcCount::kStalled);
  end(*stalled, false);
}

void Responder::look_at(ServerRpc& rpc) {
  using State = ServerRpc::State;
  switch (rpc.state_) {
    case State::kFresh: return hand_over(rpc);
    case State::kHandled: return;
    case State::kBulk:
      if (rpc.bulk_.happened && (!rpc.bulk_.posted || !rpc.bulk_.status)) finish_bulk(rpc);
      return;
    case State::kReply:
      if (rpc.reply_.happened && !rpc.reply_.posted) end(rpc, rpc.reply_.status.has_value());
      return;
    case State::kOver:
      if (!rpc.posted()) release(rpc);
      return;
  }
}

void Responder::hand_over(ServerRpc& rpc) {
  const auto header = decode_header(rpc.message_);
  if (rpc.bad_ || !header || header->header.type != request_of(rpc.service_)) {
    statistics_.add(RpcCount::kMalformed);
    return end(rpc, false);
  }
  rpc.header_ = *header;
  rpc.state_ = ServerRpc::State::kHandled;
  // The time limit begins here, since messages may arrive before a turn knows the time.
  rpc.since_ = now_;
  rpc.deadline_ = now_ + kRpcTimeout;
  by_age_.push_back(rpc);
  rpc.reply_id_ = rpc.request<RequestStart>().reply_id;
  if (header->header.version == kVersion) return rpc.handler_->on_request(rpc);
  encode(Header{.type = reply_to(header->header.type), .features = kFeaturesKnown},
         ReplyStart{Status::kProtocol}, rpc.reply_slot_.span());
  send_reply(rpc);
}

void Responder::pull(ServerRpc& rpc, std::uint64_t bulk_id, const Fragment& into) {
  move_bulk(rpc, bulk_id, into, true);
}

void Responder::push(ServerRpc& rpc, std::uint64_t bulk_id, const Fragment& from) {
  move_bulk(rpc, bulk_id, from, false);
}

void Responder::move_bulk(ServerRpc& rpc, std::uint64_t bulk_id, const Fragment& memory,
                          bool pulls) {
  PLNET_CHECK(rpc.state_ == ServerRpc::State::kHandled && !rpc.posted(), "one thing at a time");
  rpc.state_ = ServerRpc::State::kBulk;
  rpc.since_ = now_;
  rpc.pulls_ = pulls;
  rpc.bulk_.fragment = memory;
  // The GET has LNet's time limit, whatever the node's settings: nothing else ends its wait.
  const auto bound = operations_.bind({.fragments = std::span(&rpc.bulk_.fragment, 1),
                                       .length = memory.length,
                                       .threshold = pulls ? 2 : 1,
                                       .options = pulls ? lnet::kMdTrackResponse : 0U,
                                       .user = &rpc.bulk_,
                                       .handler = &rpc_events_});
  if (!bound) return end(rpc, false);
  rpc.bulk_.begin(*bound, pulls ? 2 : 1);
  Result<void> begun;
  if (pulls) {
    begun = operations_.get(
        *bound,
        {.target = rpc.peer_, .from = rpc.self_, .portal = kRdmaPortal, .match_bits = bulk_id});
  } else {
    begun = operations_.put(*bound, {.target = rpc.peer_,
                                     .from = rpc.self_,
                                     .portal = kRdmaPortal,
                                     .match_bits = bulk_id,
                                     .ack = false});
  }
  if (!begun) end(rpc, false);
}

void Responder::finish_bulk(ServerRpc& rpc) {
  if (!rpc.bulk_.status) return end(rpc, false);
  statistics_.add(rpc.pulls_ ? RpcCount::kBulkGot : RpcCount::kBulkPut, rpc.bulk_.length);
  rpc.state_ = ServerRpc::State::kHandled;
  rpc.handler_->on_bulk(rpc);
}

void Responder::send_reply(ServerRpc& rpc) {
  PLNET_CHECK(rpc.state_ == ServerRpc::State::kHandled && !rpc.posted(), "one thing at a time");
  rpc.state_ = ServerRpc::State::kReply;
  const auto bound = operations_.bind({.fragments = std::span(&rpc.reply_.fragment, 1),
                                       .length = kMessageBytes,
                                       .threshold = 1,
                                       .user = &rpc.reply_,
                                       .handler = &rpc_events_});
  if (!bound) return end(rpc, false);
  rpc.reply_.begin(*bound, 1);
  const auto begun = operations_.put(*bound, {.target = rpc.peer_,
                                              .from = rpc.self_,
                                              .portal = kRdmaPortal,
                                              .match_bits = rpc.reply_id_,
                                              .ack = false});
  if (!begun) end(rpc, false);
}

void Responder::on_rpc_event(const lnet::Event& event) {
  auto& leg = *static_cast<ServerRpc::Leg*>(event.user);
  leg.take(event);
  if (!event.status && event.status.error() != Errc::kCancelled) statistics_.add(RpcCount::kErrors);
  // A GET that was never sent has its next event only when its response is overdue, far later than
  // any timeout here.
  if (leg.happened && (!leg.posted || !leg.status)) to_turn(*leg.rpc);
}

void Responder::drop(ServerRpc& rpc) {
  PLNET_CHECK(rpc.state_ == ServerRpc::State::kHandled, "it is not the handler's any more");
  end(rpc, false);
}

void Responder::abort_all(Service service) {
  rpcs_.for_each_lent([&](ServerRpc& rpc) {
    if (rpc.service_ == service && rpc.state_ != ServerRpc::State::kOver) end(rpc, false);
  });
}

// Outstanding MDs return by events, some of them within this function.
void Responder::end(ServerRpc& rpc, bool answered) {
  if (!answered) statistics_.add(RpcCount::kDropped);
  rpc.state_ = ServerRpc::State::kOver;
  for (ServerRpc::Leg* const leg : {&rpc.bulk_, &rpc.reply_}) {
    if (leg->posted) (void)operations_.unlink(leg->md);
  }
  if (rpc.linked()) rpc.unlink();  // it may be in a list of its handler
  if (!rpc.posted()) to_turn(rpc);
}

void Responder::release(ServerRpc& rpc) {
  if (place_by_age(rpc).linked()) place_by_age(rpc).unlink();
  rpc.handler_->on_end(rpc);
  rpcs_.give(&rpc);
  shares_.give(rpc.peer_.nid);
  while (Buffer* const buffer = shares_.next())
    accept(*buffer, *rpcs_.take());
}

}  // namespace plnet::selftest
