// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/move/ni_port.hpp"

#include <algorithm>
#include <bit>

#include "lib/base/check.hpp"
#include "lib/lnet/move/receiver.hpp"
#include "lib/lnet/move/releaser.hpp"
#include "lib/lnet/move/sender.hpp"

namespace plnet::lnet {

namespace {
// Receives in a bucket if all records are in use, which is rare. The messages of all connections
// use buckets everywhere in the table, so it should fit in a near cache.
constexpr std::size_t kReceivesOfBucket = 4;
}  // namespace

NiPort::NiPort(Ni& ni, ShardId shard, std::int32_t credits, std::size_t messages,
               std::size_t receives, const TapSlot& tap, Sender& sender, Receiver& receiver,
               Releaser& releaser)
    : ni_(ni),
      credit_view_(ni.tx_credits[shard].tx_credits),
      tap_(tap),
      sender_(sender),
      receiver_(receiver),
      releaser_(releaser),
      limited_(credits > 0),
      credits_max_(credits),
      credits_(credits),
      credits_min_(credits),
      out_mask_(std::bit_ceil(std::max<std::size_t>(messages, 1)) - 1),
      out_(std::make_unique<Transmit*[]>(out_mask_ + 1)),
      bucket_mask_(std::bit_ceil(std::max<std::size_t>(receives / kReceivesOfBucket, 1)) - 1),
      buckets_(std::make_unique<Receive*[]>(bucket_mask_ + 1)) {
  PLNET_CHECK(credits >= 0 && shard < kShardsMax,
              "an NI on a shard has credits, or 0 for no limit");
  credit_view_.set(credits);
}

unsigned NiPort::flush(Instant now) {
  unsigned work = 0;
  while (out_head_ != out_tail_) {
    PLNET_DEBUG_CHECK(out_tail_ - out_head_ <= out_mask_ + 1,
                      "the ring holds every message there is");
    const std::size_t at = out_head_ & out_mask_;
    const std::size_t run = std::min(out_tail_ - out_head_, out_mask_ + 1 - at);
    const std::size_t taken = lnd_->send({&out_[at], run});
    PLNET_CHECK(taken <= run, "an LND takes a prefix of the burst");
    if (MessageTap* const tap = tap_.get()) [[unlikely]]
      show_sent(*tap, {&out_[at], taken}, now);
    out_head_ += taken;
    work += static_cast<unsigned>(taken);
    if (taken < run) break;
  }
  return work + lnd_->flush(now);
}

// No message of these has ended. An LND that has kept a payload may have passed it on without its
// memory.
void NiPort::show_sent(MessageTap& tap, std::span<Transmit* const> taken, Instant now) const {
  for (const Transmit* const transmit : taken) {
    const bool carries =
        transmit->header.type == MessageType::kPut || transmit->header.type == MessageType::kReply;
    tap.on_message({.header = transmit->header,
                    .way = TapWay::kSent,
                    .interface = ni_.nid,
                    .hop = transmit->next_hop->nid,
                    .payload = carries && !transmit->kept ? transmit->source : Payload{},
                    .when = now});
  }
}

Message* NiPort::take_back() {
  PLNET_CHECK(closing_, "only a port that closes gives up its messages");
  Message* message = waiting_.pop_front();
  if (message == nullptr && out_head_ != out_tail_) {
    message = static_cast<Message*>(out_[out_head_++ & out_mask_]);
  }
  if (message == nullptr || !message->has_ni_credit) return message;
  PLNET_CHECK(credits_ < credits_max_, "a credit that comes back was given");
  message->has_ni_credit = message->borrows_ni = false;
  credit_view_.set(++credits_);
  return message;
}

void NiPort::publish_heard(Instant now) {
  heard_ = now;
  ni_.heard_ns.set(now.time_since_epoch().count());
}

bool NiPort::idle() const {
  return out_head_ == out_tail_ && users_ == 0 && lnd_->idle();
}

Instant NiPort::next_deadline() const {
  return out_head_ == out_tail_ ? lnd_->next_deadline() : Instant::min();
}

void NiPort::close() {
  PLNET_CHECK(!closing_, "a port closes once");
  PLNET_CHECK(lnd_ != nullptr, "a port that closes has its LND");
  closing_ = true;
  lnd_->shut_down();
}

void NiPort::on_headers_ahead(std::span<const HeaderAhead> next) {
  receiver_.on_headers_ahead(next);
}

RxDecision NiPort::on_header(const RxOffer& offer) {
  return receiver_.on_header(*this, offer);
}

void NiPort::on_received(RxHandle rx, Result<void> status, Health health) {
  receiver_.on_received(*this, rx, status, health);
}

void NiPort::on_sent(std::span<const Completion> burst) {
  sender_.lanes.fetch_ended(burst);
  for (const Completion& completion : burst)
    sender_.lanes.on_sent(*this, completion);
}

void NiPort::on_kept(RxHandle rx, PayloadKeeper& keeper) {
  Receive* const receive = find(rx);
  PLNET_CHECK(receive != nullptr && receive->forwarded, "only what goes on may be kept");
  PLNET_CHECK(receive->forwarding.keeper == nullptr, "a payload is kept by one LND");
  receive->forwarding.keeper = &keeper;
  receiver_.on_received(*this, rx, {}, Health::kOk);
}

void NiPort::on_kept_lost(RxHandle rx) {
  receiver_.on_kept_lost(*this, rx);
}

KeptPayload NiPort::kept_payload(const Transmit& transmit) const {
  const auto& message = static_cast<const Message&>(transmit);
  PLNET_CHECK(message.routed, "only what is forwarded is kept");
  return message.answers->kept();
}

void NiPort::on_parked_gone(RxHandle rx, Errc cause) {
  receiver_.on_parked_gone(*this, rx, cause);
}

void NiPort::on_quarantine_over(Transmit& transmit) {
  sender_.ends.on_quarantine_over(static_cast<Message&>(transmit));
}

void NiPort::on_lane(PeerLink& link, LaneId lane, bool up, bool bulk) {
  if (bulk) sender_.lanes.on_bulk_lane(link, lane, up);
}

void NiPort::on_peer(const Nid& nid, PeerNotice notice, Instant when) {
  receiver_.notices.on_peer(*this, nid, notice, when);
}

void NiPort::on_unreachable(const Nid& nid, Errc cause) {
  receiver_.notices.on_unreachable(*this, nid, cause);
}

void NiPort::on_peer_released(PeerLink& link) {
  releaser_.on_link_released(link);
}

void NiPort::on_interface(InterfaceState state, Errc /*cause*/) {
  receiver_.notices.on_interface(ni_, state);
}

}  // namespace plnet::lnet
