// SPDX-License-Identifier: BSD-3-Clause
// The contract with the core, and what a turn does.
#include "lib/kfilnd/lnd.hpp"

#include <algorithm>

#include "lib/lnet/names/nid64.hpp"

namespace plnet::kfilnd {

namespace {

lnet::LndTraits traits_of(const KfiLndConfig& config) {
  return {.name = "kfi",
          .net_type = lnet::NetType::kKfi,
          .places_replies = true,
          .reports_timeouts = true,
          .inline_bytes_max = config.always_bulk ? 0 : kInlineBytesMax,
          .lnd_timeout = lnd_timeout(config.tunables, config.lnet_lnd_timeout)};
}

}  // namespace

KfiLnd::KfiLnd(const KfiLndConfig& config, lnet::LndUpcalls& core, EndpointDriver& driver)
    : config_(config),
      timeout_(lnd_timeout(config.tunables, config.lnet_lnd_timeout)),
      traits_(traits_of(config)),
      nid64_(lnet::to_nid64(config.nid).value),
      hellos_max_(std::min<std::size_t>(config.hellos_max,
                                        std::max(driver.limits().operations_max / 4, 1U))),
      core_(core),
      driver_(driver),
      nic_address_(nic_address_of(config.nid)),
      now_(config.start),
      transactions_(static_cast<std::size_t>(config.tunables.credits) + config.receives_max +
                    hellos_max_),
      peers_(config.peers_max, config.first_session_key, driver),
      timers_(config.start, kTick),
      receive_(driver, *config.arenas, config.receive_memory,
               static_cast<std::size_t>(config.tunables.immediate_rx_buf_count)),
      backlog_(config.backlog_max),
      copies_(config.copies_max * kInlineBytesMax) {
  PLNET_CHECK(config.nid.is_of(lnet::NetType::kKfi) && !config.nid.is_large(), "a NID of kfi");
  PLNET_CHECK((config.mail == nullptr) == (config.homes == nullptr), "both or neither");
  PLNET_CHECK(config.mail == nullptr || config.mail->context() == driver.limits().receive_context,
              "the letters of our own context");
  for (std::uint32_t i = 0; i < transactions_.capacity(); ++i)
    transactions_.at(i).lnd = this;
  free_copies_.reserve(config.copies_max);
  for (std::size_t i = config.copies_max; i > 0; --i)
    free_copies_.push_back(static_cast<std::uint32_t>(i));
  releasing_.reserve(config.peers_max);
  (void)receive_.post_missing();
}

KfiLnd::~KfiLnd() = default;

std::size_t KfiLnd::limit(Quota quota) const {
  switch (quota) {
    case Quota::kTransmits: return static_cast<std::size_t>(config_.tunables.credits);
    case Quota::kReceives: return config_.receives_max;
    case Quota::kHellos: break;
  }
  return hellos_max_;
}

Transaction* KfiLnd::take(Quota quota) {
  if (used(quota) == limit(quota)) return nullptr;
  Transaction* const one = transactions_.take();
  PLNET_CHECK(one != nullptr, "the pool holds what all limits allow together");
  PLNET_CHECK(one->peer == nullptr && one->outstanding == 0 && !one->linked(),
              "a free one is idle");
  ++used(quota);
  one->quota = static_cast<std::uint8_t>(quota);
  one->state = State::kIdle;
  one->initiator = quota != Quota::kReceives;
  one->status = {};
  one->health = Health::kOk;
  one->early = one->quarantined = one->abandoned = one->reply_placed = false;
  one->offered = one->parked = one->wanted = false;
  one->bytes = 0;
  one->key = 0;
  one->tag = 0;
  one->buffer = one->copy_slot = 0;
  one->answer = 0;
  one->payload = {};  // of the message that it was before: a bulk request brings none
  one->transmit = nullptr;
  one->begun = one->entered = now_;
  one->deadline = now_ + timeout_;
  one->replay_deadline = one->deadline - timeout_ / 2;
  return one;
}

void KfiLnd::give(Transaction& transaction) {
  --used(static_cast<Quota>(transaction.quota));
  if (transaction.early) --early_;
  transaction.state = State::kInvalid;
  ++transaction.generation;
  transactions_.give(&transaction);
  releases_due_ = true;  // perhaps the last one of a peer that goes
}

std::size_t KfiLnd::send(std::span<lnet::Transmit* const> burst) {
  std::size_t taken = 0;
  for (lnet::Transmit* const transmit : burst) {
    Transaction* const one = take(Quota::kTransmits);
    if (one == nullptr) break;
    one->transmit = transmit;
    transmit->lnd_state = transactions_.index_of(one);
    turn_.push_back(*one);
    ++taken;
  }
  return taken;
}

void KfiLnd::resume(lnet::RxHandle rx, const lnet::RxDecision& decision) {
  const bool known = transactions_.is_lent(rx.index) &&
                     transactions_.at(rx.index).generation == rx.generation &&
                     transactions_.at(rx.index).parked;
  if (!known) return counters_.add(Id::kStaleResumes);
  Transaction& one = transactions_.at(rx.index);
  one.parked = false;
  --one.peer->parked;
  one.decision = decision;
  one.again = Event::kRxOk;
  turn_.push_back(one);
}

void KfiLnd::cancel(lnet::Transmit& transmit) {
  Transaction& one = transactions_.at(static_cast<std::uint32_t>(transmit.lnd_state));
  PLNET_CHECK(one.transmit == &transmit, "a message that we have");
  if (one.state != State::kIdle || one.abandoned) return;  // it ends when it ends
  one.abandoned = true;
  one.abandon_cause = Errc::kCancelled;
  if (one.linked()) one.unlink();
  turn_.push_back(one);
}

bool KfiLnd::is_releasing(const lnet::PeerLink& link) const {
  return std::ranges::find(releasing_, &link) != releasing_.end();
}

void KfiLnd::release_peer(lnet::PeerLink& link) {
  PLNET_CHECK(!is_releasing(link), "a peer is released once");
  releasing_.push_back(&link);
  release_asked_ = releases_due_ = true;
}

void KfiLnd::shut_down() {
  shutting_down_ = true;
  receive_.stop();
}

bool KfiLnd::idle() const {
  const bool ours = transactions() == 0 && releasing_.empty() && reported_count_ == 0 &&
                    backlog_count_ == 0 && (config_.mail == nullptr || config_.mail->empty());
  return ours && (!shutting_down_ || (driver_down_ && driver_.quiet()));
}

Instant KfiLnd::next_deadline() const {
  if (!turn_.empty() || !heard_.empty()) return Instant::min();
  if (releases_due_ && !releasing_.empty()) return Instant::min();
  if (shutting_down_ && !driver_down_) return Instant::min();
  if (backlog_count_ > 0 &&
      used_[static_cast<std::size_t>(Quota::kReceives)] < config_.receives_max)
    return Instant::min();
  if (config_.mail != nullptr && !config_.mail->empty()) return Instant::min();
  if (link_rises_ || can_greet()) return Instant::min();
  Instant next = std::min(timers_.next_deadline(), link_hold_.release_at());
  if (!blocked_.empty()) next = std::min(next, now_ + kReplayInterval);
  if (receive_.missing() > 0 && !shutting_down_) next = std::min(next, repost_at_);
  return peers_.size() > 0 ? std::min(next, now_ + kLookInterval) : next;
}

unsigned KfiLnd::flush(Instant now) {
  now_ = now;
  while (Peer* const peer = heard_.pop_front())
    peer->last_alive = now;
  if (link_rises_ || now >= link_hold_.release_at()) look_at_held_link();
  unsigned work = timers_.advance(now);
  if (receive_.missing() > 0 && now >= repost_at_) repost();
  strangers_left_ = kStrangersPerTurn;
  work += run_blocked();
  work += run_turn();
  work += read_mail();
  work += run_backlog();
  work += greet_waiting();
  if (releases_due_ && !releasing_.empty()) serve_releases();
  if (shutting_down_ && !driver_down_) {
    sweep(nullptr);
    driver_down_ = true;
    driver_.shut_down();
  }
  report();
  return work;
}

void KfiLnd::repost() {
  counters_.add(Id::kReposts, receive_.post_missing());
  repost_at_ = now_ + kReplayInterval;
}

// One that still finds no room goes to the end, so that what waits for something else is tried too.
unsigned KfiLnd::run_blocked() {
  const Transaction* first = nullptr;
  unsigned work = 0;
  for (unsigned i = 0; i < kRetriedAtOnce && !blocked_.empty(); ++i) {
    if (blocked_.front() == first) break;
    Transaction& one = *blocked_.pop_front();
    if (first == nullptr) first = &one;
    const std::uint64_t replays = counters_.get(Id::kReplays);
    run_again(one);
    if (counters_.get(Id::kReplays) == replays) ++work;
  }
  return work;
}

unsigned KfiLnd::run_turn() {
  IntrusiveList<Transaction, ForTurn> now;
  now.splice_back(turn_);
  unsigned work = 0;
  while (Transaction* const one = now.pop_front()) {
    run_again(*one);
    ++work;
  }
  return work;
}

void KfiLnd::run_again(Transaction& transaction) {
  if (transaction.state == State::kIdle) (void)timers_.cancel(transaction.timer);
  if (transaction.transmit != nullptr && transaction.peer == nullptr) return start(transaction);
  run(transaction, transaction.again);
}

// What has been begun and can be taken back is, the rest ends when the NIC says so.
void KfiLnd::abandon(Transaction& one) {
  if (one.parked) {
    one.parked = false;
    --one.peer->parked;
    one.update(std::unexpected(Errc::kShutdown), Health::kLocalAborted);
    core_.on_parked_gone({transactions_.index_of(&one), one.generation}, Errc::kShutdown);
    return end(one);
  }
  if (one.abandoned) return;
  one.abandoned = true;
  one.abandon_cause = Errc::kShutdown;
  switch (one.state) {
    case State::kIdle:
      if (one.linked()) one.unlink();
      turn_.push_back(one);
      break;
    case State::kWaitComp:
    case State::kWaitTagComp:
      if (!one.initiator) break;
      if (one.linked()) one.unlink();  // it waited for room to be taken back
      one.update(std::unexpected(Errc::kShutdown), Health::kLocalAborted);
      run(one, Event::kTimeout);
      break;
    default: break;  // what waits for room looks for itself
  }
}

// Of one link, or all there are.
void KfiLnd::sweep(const lnet::PeerLink* link) {
  transactions_.for_each_lent([&](Transaction& one) {
    if (link == nullptr || (one.transmit != nullptr && one.transmit->next_hop == link))
      abandon(one);
  });
}

void KfiLnd::serve_releases() {
  if (release_asked_) {
    release_asked_ = false;
    for (const lnet::PeerLink* const link : releasing_)
      sweep(link);
    (void)run_turn();
  }
  releases_due_ = false;
  report();  // whoever is told that a peer is gone knows how its messages ended
  std::erase_if(releasing_, [this](lnet::PeerLink* link) {
    bool busy = false;
    transactions_.for_each_lent([&](const Transaction& one) {
      busy = busy || (one.transmit != nullptr && one.transmit->next_hop == link);
    });
    if (busy) return false;
    if (auto* const peer = static_cast<Peer*>(link->lnd_peer)) bind(*peer, nullptr);
    link->lnd_peer = nullptr;
    core_.on_peer_released(*link);
    return true;
  });
}

void KfiLnd::report() {
  if (reported_count_ == 0) return;
  const std::size_t count = reported_count_;
  reported_count_ = 0;
  core_.on_sent({reported_.data(), count});
}

}  // namespace plnet::kfilnd
