// SPDX-License-Identifier: BSD-3-Clause
// One NI on one shard: the LND, the NI credits and the queue of messages that leave by it, and the
// messages that arrive by it. Upcalls of the LND come in here.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

#include "lib/base/check.hpp"
#include "lib/lnet/api/lnd.hpp"
#include "lib/lnet/flow/wait_queue.hpp"
#include "lib/lnet/move/message.hpp"
#include "lib/lnet/move/message_tap.hpp"
#include "lib/lnet/move/receive.hpp"
#include "lib/lnet/move/statistics.hpp"
#include "lib/lnet/peers/net_interface.hpp"

namespace plnet::lnet {

class Sender;
class Receiver;
class Releaser;

class NiPort final : public LndUpcalls {
 public:
  // `credits`: of this NI on this shard; 0: without limit. `receives`: receive records of the
  // shard.
  NiPort(Ni& ni, ShardId shard, std::int32_t credits, std::size_t messages, std::size_t receives,
         const TapSlot& tap, Sender& sender, Receiver& receiver, Releaser& releaser);

  // The LND is made with this object as its core, then attached.
  void attach(Lnd& lnd) {
    PLNET_CHECK(lnd_ == nullptr, "a port gets its LND once");
    lnd_ = &lnd;
  }
  void adopt(std::unique_ptr<Lnd> lnd) {
    PLNET_CHECK(lnd_ == nullptr && lnd != nullptr, "a port gets its LND once");
    owned_ = std::move(lnd);
    lnd_ = owned_.get();
  }
  [[nodiscard]] Lnd& lnd() {
    PLNET_DEBUG_CHECK(lnd_ != nullptr, "a port in use has its LND");
    return *lnd_;
  }
  [[nodiscard]] const Lnd& lnd() const { return *lnd_; }
  [[nodiscard]] Ni& ni() { return ni_; }
  [[nodiscard]] const Ni& ni() const { return ni_; }

  // False: no credit is left, and the message waits here. `may_borrow`: it does not wait.
  [[nodiscard]] bool take_credit(Message& message, bool may_borrow) {
    PLNET_CHECK(!message.has_ni_credit && message.ni == &ni_,
                "a message takes one credit of its NI");
    if (!limited_) return true;
    message.has_ni_credit = true;
    credit_view_.set(--credits_);
    credits_min_ = std::min(credits_min_, credits_);
    message.borrows_ni = credits_ < 0 && may_borrow;
    if (credits_ >= 0 || may_borrow) return true;
    waiting_.push_back(message);
    return false;
  }
  // Returns the message that takes the credit, if one waits.
  [[nodiscard]] Message* return_credit(Message& message) {
    if (!message.has_ni_credit) return nullptr;
    PLNET_CHECK(message.ni == &ni_ && credits_ < credits_max_,
                "a credit that comes back was given");
    message.has_ni_credit = false;
    credit_view_.set(++credits_);
    if (message.borrows_ni) [[unlikely]] {
      message.borrows_ni = false;
      return nullptr;
    }
    return waiting_.pop_front();
  }

  // Calls visit(message) for each message that waits for a credit; the visit may leave() it.
  template <class Visit>
  void for_each_waiting(Visit&& visit) {
    waiting_.for_each(visit);
  }
  // The message gives up its wait.
  void leave(Message& message) {
    PLNET_CHECK(message.has_ni_credit && !message.borrows_ni && message.linked(),
                "a message that waits leaves");
    PLNET_CHECK(credits_ < credits_max_, "a message that gives up its wait returns its credit");
    message.unlink();
    message.has_ni_credit = false;
    credit_view_.set(++credits_);
  }

  // The LND gets the message at the end of the turn.
  void hand_over(Message& message) {
    PLNET_DEBUG_CHECK(!limited_ || message.has_ni_credit,
                      "a message goes to its LND with a credit of the NI");
    PLNET_CHECK(out_tail_ - out_head_ <= out_mask_, "the ring holds every message there is");
    message.enter(SendState::kWithLnd);
    out_[out_tail_++ & out_mask_] = &message;
  }
  // Once a turn: offers messages to the LND, and lets it post them. Returns pieces of work.
  unsigned flush(Instant now);
  // Takes back a message that waits for a credit or for the LND, and returns its credit; null:
  // none.
  Message* take_back();

  void remember(Receive& receive) {
    PLNET_CHECK(receive.port == this, "a message is remembered where it arrived");
    PLNET_DEBUG_CHECK(find(receive.rx) == nullptr, "an LND names one message by a handle");
    Receive*& bucket = buckets_[receive.rx.index & bucket_mask_];
    receive.next_in_port = bucket;
    bucket = &receive;
  }
  // Null: no message with this handle arrives.
  [[nodiscard]] Receive* find(RxHandle rx) {
    Receive* at = buckets_[rx.index & bucket_mask_];
    while (at != nullptr && at->rx != rx)
      at = at->next_in_port;
    return at;
  }
  void forget(Receive& receive) {
    Receive** at = &buckets_[receive.rx.index & bucket_mask_];
    while (*at != nullptr && *at != &receive)
      at = &(*at)->next_in_port;
    PLNET_CHECK(*at == &receive, "a receive is forgotten where it was remembered");
    *at = receive.next_in_port;
  }

  // A message has arrived.
  void note_arrival(Instant now) {
    if (now - heard_ >= kHeardStep) [[unlikely]]
      publish_heard(now);
  }

  // A record that names this port keeps it alive.
  void hold() { ++users_; }
  void release() {
    PLNET_CHECK(users_ > 0, "a record that names the port keeps it");
    --users_;
  }

  [[nodiscard]] bool idle() const;
  [[nodiscard]] Instant next_deadline() const;
  [[nodiscard]] std::int32_t tx_credits() const { return credits_; }
  [[nodiscard]] std::int32_t tx_credits_max() const { return credits_max_; }
  [[nodiscard]] std::int32_t tx_credits_min() const { return credits_min_; }
  [[nodiscard]] bool closing() const { return closing_; }
  void close();

  Traffic traffic;
  Failures failures;

  void on_headers_ahead(std::span<const HeaderAhead> next) override;
  RxDecision on_header(const RxOffer& offer) override;
  void on_received(RxHandle rx, Result<void> status, Health health) override;
  void on_sent(std::span<const Completion> burst) override;
  void on_kept(RxHandle rx, PayloadKeeper& keeper) override;
  void on_kept_lost(RxHandle rx) override;
  [[nodiscard]] KeptPayload kept_payload(const Transmit& transmit) const override;
  void on_parked_gone(RxHandle rx, Errc cause) override;
  void on_quarantine_over(Transmit& transmit) override;
  void on_lane(PeerLink& link, LaneId lane, bool up, bool bulk) override;
  void on_peer(const Nid& nid, PeerNotice notice, Instant when) override;
  void on_unreachable(const Nid& nid, Errc cause) override;
  void on_peer_released(PeerLink& link) override;
  void on_interface(InterfaceState state, Errc cause) override;

 private:
  // The NI's time of arrival is written no more often: all shards read that line.
  static constexpr Duration kHeardStep = std::chrono::seconds(1);

  void publish_heard(Instant now);
  void show_sent(MessageTap& tap, std::span<Transmit* const> taken, Instant now) const;

  Ni& ni_;
  Relaxed<std::int32_t>& credit_view_;
  std::unique_ptr<Lnd> owned_;
  Lnd* lnd_ = nullptr;
  const TapSlot& tap_;
  Sender& sender_;
  Receiver& receiver_;
  Releaser& releaser_;

  const bool limited_;
  const std::int32_t credits_max_;
  std::int32_t credits_;
  std::int32_t credits_min_;
  WaitQueue<Message> waiting_;
  bool closing_ = false;

  // Messages for the LND: a ring with room for all messages of the node.
  const std::size_t out_mask_;
  const std::unique_ptr<Transmit*[]> out_;
  std::size_t out_head_ = 0;
  std::size_t out_tail_ = 0;

  // Receives by the index of their handle; LNDs number them densely.
  const std::size_t bucket_mask_;
  const std::unique_ptr<Receive*[]> buckets_;
  std::size_t users_ = 0;
  Instant heard_ = Instant{} - kHeardStep;
};

}  // namespace plnet::lnet
