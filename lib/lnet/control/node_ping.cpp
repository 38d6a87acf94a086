// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/control/node_ping.hpp"

#include <algorithm>
#include <utility>

#include "lib/base/check.hpp"

namespace plnet::lnet {

namespace {

constexpr std::uint32_t kUserPingBytesMax = 3960;  // LNET_PING_BUFFER_MAX: a page less its header

}  // namespace

void NodePing::start(PingRequest& request, Instant now, std::uint32_t interfaces_max) {
  PLNET_CHECK(!request.linked(), "a request is one ping at a time");
  PLNET_CHECK(request.exchange == nullptr, "a request has one exchange at a time");
  request.deadline = now + request.timeout;
  request.repeated = false;
  const std::uint64_t room =
      sizeof(PingInfoWire) +
      sizeof(NiLargeStatusWire) * std::uint64_t{std::min(request.interfaces, interfaces_max)};
  send(request, static_cast<std::uint32_t>(
                    std::clamp<std::uint64_t>(room, kPingBytesMin, kUserPingBytesMax)));
}

void NodePing::send(PingRequest& request, std::uint32_t bytes) {
  request.exchange = exchanges_.take(ExchangeKind::kAdmin, &request);
  if (request.exchange == nullptr) return refused_.push_back(request);
  PingExchange& exchange = *request.exchange;
  exchange.fragment.length = bytes;
  exchange.losses = losses_of(request);
  const auto bound = operations_.bind({.fragments = std::span(&exchange.fragment, 1),
                                       .length = exchange.fragment.length,
                                       .threshold = 2,
                                       .options = kMdTruncate,
                                       .user = &exchange,
                                       .handler = this});
  if (!bound) return refused_.push_back(request);
  exchange.md = *bound;
  exchange.linked = true;
  ++out_;
  waiting_.push_back(request);
  const auto sent = operations_.get(*bound, {.target = request.target,
                                             .from = request.from,
                                             .portal = kPingPortal,
                                             .match_bits = kPingMatchBits,
                                             .recovery = request.recovery});
  if (sent || request.exchange != &exchange) return;
  request.unlink();
  refused_.push_back(request);
}

// The request waits no more, and events of its exchange find nobody.
PingExchange* NodePing::leave(PingRequest& request) {
  PingExchange* const exchange = std::exchange(request.exchange, nullptr);
  if (request.linked()) request.unlink();
  PLNET_CHECK(exchange == nullptr || exchange->owner == &request,
              "the exchange is that of the request");
  if (exchange == nullptr) return nullptr;
  exchange->owner = nullptr;
  exchange->left_by = &request;
  if (exchange->linked) (void)operations_.unlink(exchange->md);
  return exchange;
}

void NodePing::let_go(PingExchange* exchange) {
  if (exchange == nullptr) return;
  PLNET_CHECK(exchange->owner == nullptr && exchange->held,
              "an exchange that is given back has no owner");
  exchange->held = false;
  exchanges_.release(*exchange);
}

void NodePing::end(PingRequest& request, Result<void> outcome, const PingView* buffer) {
  PingExchange* const exchange = leave(request);
  PLNET_CHECK(!request.linked() && (exchange == nullptr || exchange->owner == nullptr),
              "a request that has ended waits in no list");
  request.done(outcome, buffer);
  let_go(exchange);
}

std::uint32_t NodePing::losses_of(const PingRequest& request) const {
  const PeerNi* const ni = directory_.find(request.target.nid);
  return ni == nullptr ? 0 : ni->losses.get();
}

// The last connection to the peer has ended since the ping was written to it: the ping is sent
// again, once. That needs a new connection, so the failure has a cause, which is logged, and the
// person who asked does not wait for the timeout.
void NodePing::repeat_lost() {
  waiting_.for_each([this](PingRequest& request) {
    PLNET_CHECK(request.exchange != nullptr, "a ping under way has its exchange");
    const bool lost = request.exchange->losses != losses_of(request);
    if (!lost || request.repeated || request.recovery) return;
    request.repeated = true;
    const std::uint32_t bytes = request.exchange->fragment.length;
    let_go(leave(request));
    send(request, bytes);
  });
}

void NodePing::step(Instant now) {
  if (now >= next_look_) {
    repeat_lost();
    next_look_ = now + kLookInterval;
  }
  while (PingRequest* request = refused_.pop_front())
    end(*request, std::unexpected(Errc::kNoRoute), nullptr);
  waiting_.for_each([&](PingRequest& request) {
    if (request.deadline <= now) end(request, std::unexpected(Errc::kTimedOut), nullptr);
  });
}

void NodePing::shut_down() {
  while (PingRequest* request = refused_.pop_front())
    end(*request, std::unexpected(Errc::kShutdown), nullptr);
  while (PingRequest* request = waiting_.pop_front())
    end(*request, std::unexpected(Errc::kShutdown), nullptr);
}

Instant NodePing::next_deadline() {
  if (!refused_.empty()) return Instant::min();
  Instant first = Instant::max();
  waiting_.for_each([&](PingRequest& request) {
    first = std::min(first, request.deadline);
    if (!request.recovery && !request.repeated) first = std::min(first, next_look_);
  });
  return first;
}

void NodePing::on_event(const Event& event) {
  PLNET_CHECK(event.user != nullptr, "the descriptor of an exchange names it");
  PingExchange& exchange = *static_cast<PingExchange*>(event.user);
  if (event.unlinked) {
    PLNET_CHECK(out_ > 0 && exchange.linked, "a descriptor ends once");
    exchange.linked = false;
    --out_;
  }
  auto* request = static_cast<PingRequest*>(exchange.owner);
  if (request == nullptr) {
    exchanges_.release(exchange);
    return;
  }
  if (event.kind == EventKind::kReply && event.status) {
    exchange.length = std::min(event.accepted_length, exchange.fragment.length);
    const auto buffer = PingView::parse(exchange.received());
    if (!buffer) return end(*request, std::unexpected(buffer.error()), nullptr);
    const Result<void> outcome =
        buffer->truncated() ? Result<void>(std::unexpected(Errc::kTooBig)) : Result<void>();
    return end(*request, outcome, &*buffer);
  }
  if (!event.status) return end(*request, event.status, nullptr);
  if (event.kind == EventKind::kUnlink) end(*request, std::unexpected(Errc::kTimedOut), nullptr);
}

}  // namespace plnet::lnet
