// SPDX-License-Identifier: BSD-3-Clause
#include "lib/selftest/requester.hpp"

#include <algorithm>

namespace plnet::selftest {

namespace {

// Users may restart an RPC that fails at once: this bounds the turn nevertheless.
constexpr unsigned kDoneBurst = 256;
// A request that LNet has completed is in doubt when an NI on its path has been down for a second:
// LNDs close connections after the same time (plnet.tcp.down_grace_msec).
constexpr Duration kWayLookInterval = std::chrono::milliseconds(500);
constexpr unsigned kDownLooksMax = 3;

}  // namespace

void ClientRpc::on_timeout(Timer& /*timer*/, Instant /*now*/) {
  requester_->expire(*this);
}

Requester::Requester(lnet::DataOperations& operations, TimerWheel& timers, RpcIds& ids,
                     RpcStatistics& statistics, std::size_t rpcs, WorkMemory& memory)
    : operations_(operations), timers_(timers), ids_(ids), statistics_(statistics), rpcs_(rpcs) {
  for (std::uint32_t i = 0; i < rpcs_.capacity(); ++i) {
    ClientRpc& rpc = rpcs_.at(i);
    rpc.requester_ = this;
    rpc.request_.rpc = rpc.reply_.rpc = rpc.bulk_.rpc = &rpc;
    rpc.request_slot_.take_from(memory);
    rpc.reply_slot_.take_from(memory);
    rpc.request_.fragment = rpc.request_slot_.fragment;
    rpc.reply_.fragment = rpc.reply_slot_.fragment;
  }
}

Requester::~Requester() {
  rpcs_.for_each_lent([this](ClientRpc& rpc) { (void)timers_.cancel(rpc.timer_); });
  (void)timers_.cancel(look_timer_);
}

ClientRpc* Requester::take(RpcUser& user, void* context) {
  ClientRpc* const rpc = rpcs_.take();
  if (rpc == nullptr) return nullptr;
  rpc->user = &user;
  rpc->context = context;
  return rpc;
}

void Requester::give(ClientRpc& rpc) {
  PLNET_CHECK(!rpc.busy_, "given back while it is under way");
  rpc.user = nullptr;
  rpcs_.give(&rpc);
}

Requester::Ids Requester::prepare(ClientRpc& rpc, const RpcSpec& spec) {
  PLNET_CHECK(!rpc.busy_ && rpc.over(), "started while it is under way");
  rpc.busy_ = true;
  ++busy_;
  rpc.spec_ = spec;
  rpc.request_.reset();
  rpc.reply_.reset();
  rpc.bulk_.reset();
  rpc.outcome_ = {};
  rpc.reply_read_ = false;
  rpc.bulk_excused_ = false;
  rpc.down_looks_ = 0;
  Ids ids{.reply = ids_.next()};
  if (spec.bulk != BulkUse::kNone) ids.bulk = ids_.next();
  return ids;
}

void Requester::send(ClientRpc& rpc, const Ids& ids, Instant now) {
  if (rpc.spec_.timeout > Duration::zero()) timers_.start(rpc.timer_, now + rpc.spec_.timeout);
  if (!look_timer_.running()) timers_.start(look_timer_, now + kWayLookInterval);
  if (const auto posted = post(rpc, ids); !posted) give_up(rpc, posted.error());
}

// The reply may arrive before put() returns, so its memory is attached first. A match entry for any
// sender would make the portal one of wildcards, as long as the node runs.
Result<void> Requester::post(ClientRpc& rpc, const Ids& ids) {
  if (!can_be_asked(rpc.spec_.target)) return std::unexpected(Errc::kInvalid);
  if (const auto open = attach_leg(rpc.reply_, ids.reply, lnet::kMdPut); !open) return open;
  if (rpc.spec_.bulk != BulkUse::kNone) {
    const bool sink = rpc.spec_.bulk == BulkUse::kSink;
    rpc.bulk_.fragment = rpc.spec_.bulk_memory;
    const auto open = attach_leg(rpc.bulk_, ids.bulk, sink ? lnet::kMdPut : lnet::kMdGet);
    if (!open) return open;
  }
  const auto bound = operations_.bind({.fragments = std::span(&rpc.request_.fragment, 1),
                                       .length = kMessageBytes,
                                       .threshold = 1,
                                       .user = &rpc.request_,
                                       .handler = this});
  if (!bound) return std::unexpected(bound.error());
  rpc.request_.begin(*bound, 1);
  return operations_.put(*bound, {.target = rpc.spec_.target,
                                  .from = rpc.spec_.from,
                                  .portal = portal_of(rpc.spec_.service),
                                  .match_bits = static_cast<std::uint64_t>(rpc.spec_.service),
                                  .ack = false});
}

Result<void> Requester::attach_leg(ClientRpc::Leg& leg, std::uint64_t id, std::uint32_t options) {
  const auto attached =
      operations_.attach({.portal = kRdmaPortal, .match = leg.rpc->spec_.target, .match_bits = id},
                         {.fragments = std::span(&leg.fragment, 1),
                          .length = leg.fragment.length,
                          .threshold = 1,
                          .options = options,
                          .user = &leg,
                          .handler = this});
  if (!attached) return std::unexpected(attached.error());
  leg.begin(attached->md, 1);
  return {};
}

void Requester::on_event(const lnet::Event& event) {
  auto& leg = *static_cast<ClientRpc::Leg*>(event.user);
  leg.take(event);
  if (!event.status) {
    if (event.status.error() != Errc::kCancelled) statistics_.add(RpcCount::kErrors);
  } else if (event.kind == lnet::EventKind::kSend) {
    statistics_.add(RpcCount::kSent);
    leg.rpc->way_ = {.ours = event.source.nid, .theirs = event.sender};
  }
  examine(*leg.rpc);
}

void Requester::examine(ClientRpc& rpc) {
  if (rpc.outcome_) follow(rpc);
  // No event is missing while the request is being posted: `request` is posted last.
  if (rpc.busy_ && rpc.over() && !rpc.linked() && (rpc.request_.happened || !rpc.outcome_))
    done_.push_back(rpc);
}

// Events come in any order; this evaluates them in their logical order.
void Requester::follow(ClientRpc& rpc) {
  if (!rpc.request_.happened) return;
  if (!rpc.request_.status) return give_up(rpc, rpc.request_.status.error());
  if (!rpc.reply_.happened) return;
  if (!rpc.reply_.status) return give_up(rpc, rpc.reply_.status.error());
  if (!rpc.reply_read_) {
    rpc.reply_read_ = true;
    if (const auto read = read_reply(rpc); !read) return give_up(rpc, read.error());
  }
  if (rpc.spec_.bulk == BulkUse::kNone || rpc.bulk_excused_ || !rpc.bulk_.happened) return;
  if (!rpc.bulk_.status) give_up(rpc, rpc.bulk_.status.error());
}

Result<void> Requester::read_reply(ClientRpc& rpc) {
  const auto received = decode_header(
      rpc.reply_slot_.span().first(std::min<std::size_t>(rpc.reply_.length, kMessageBytes)));
  if (!received) return std::unexpected(Errc::kMalformed);
  if (received->header.type != reply_to(request_of(rpc.spec_.service)))
    return std::unexpected(Errc::kMalformed);
  rpc.reply_header_ = *received;
  // All replies begin with their status.
  if (rpc.reply<BrwReply>().status == Status::kOk || rpc.spec_.bulk == BulkUse::kNone) return {};
  rpc.bulk_excused_ = true;
  if (rpc.bulk_.posted) (void)operations_.unlink(rpc.bulk_.md);
  return {};
}

void Requester::abort(ClientRpc& rpc, Errc why) {
  if (rpc.busy_ && !rpc.linked()) give_up(rpc, why);
}

void Requester::expire(ClientRpc& rpc) {
  if (!rpc.busy_ || rpc.linked()) return;
  statistics_.add(RpcCount::kExpired);
  give_up(rpc, Errc::kTimedOut);
}

// LNet completes a request when TCP has its bytes, which are lost with the connection. The reply
// also arrives by the same NIs.
void Requester::look_at_ways(Timer& /*timer*/, Instant now) {
  rpcs_.for_each_lent([this](ClientRpc& rpc) {
    if (!rpc.busy_ || rpc.linked() || !is_in_doubt(rpc)) return;
    statistics_.add(RpcCount::kInDoubt);
    give_up(rpc, Errc::kNetworkDown);
  });
  timers_.start(look_timer_, now + kWayLookInterval);
}

bool Requester::is_in_doubt(ClientRpc& rpc) const {
  const bool sent = rpc.outcome_ && rpc.request_.happened && rpc.request_.status;
  const bool down = sent && operations_.is_down(rpc.way_.ours, rpc.way_.theirs);
  rpc.down_looks_ = down ? rpc.down_looks_ + 1 : 0;
  return rpc.down_looks_ >= kDownLooksMax;
}

// The first reason counts. Outstanding MDs return by events, some of them within this function.
void Requester::give_up(ClientRpc& rpc, Errc why) {
  if (rpc.outcome_) rpc.outcome_ = std::unexpected(why);
  for (ClientRpc::Leg* const leg : {&rpc.request_, &rpc.reply_, &rpc.bulk_}) {
    if (leg->posted) (void)operations_.unlink(leg->md);
  }
  examine(rpc);
}

unsigned Requester::poll() {
  unsigned told = 0;
  for (; told < kDoneBurst; ++told) {
    ClientRpc* const rpc = done_.pop_front();
    if (rpc == nullptr) break;
    (void)timers_.cancel(rpc->timer_);
    rpc->busy_ = false;
    if (--busy_ == 0) (void)timers_.cancel(look_timer_);
    rpc->user->rpc_done(*rpc, rpc->outcome_);
  }
  return told;
}

}  // namespace plnet::selftest
