// SPDX-License-Identifier: BSD-3-Clause
#include "lib/kfilnd/transactions.hpp"

#include <algorithm>

#include "lib/base/check.hpp"

namespace plnet::kfilnd {

namespace {

// A cookie is the index of the transaction and, from here on, its generation.
constexpr unsigned kGenerationShift = 32;
constexpr std::uint32_t kGenerationMask = 0xffffff;

std::array<std::size_t, kQuotas> limits_of(const Environment& environment) {
  const KfiLndConfig& config = environment.config;
  const std::size_t operations = environment.driver.limits().operations_max;
  return {static_cast<std::size_t>(config.tunables.credits), config.receives_max,
          std::min(config.hellos_max, std::max<std::size_t>(operations / 4, 1))};
}

}  // namespace

Transactions::Transactions(Environment& environment, PeerCache& peers, MessageStore& store)
    : environment_(environment),
      peers_(peers),
      store_(store),
      limits_(limits_of(environment)),
      pool_(limits_[0] + limits_[1] + limits_[2]),
      timers_(environment.config.start, kTick) {
  PLNET_CHECK(pool_.capacity() <= UINT32_MAX, "the index of a transaction fits into a cookie");
  for (const std::size_t limit : limits_)
    PLNET_CHECK(limit > 0, "room for a transaction of each kind");
}

void Transactions::set_machine(Machine& machine) {
  for (std::uint32_t i = 0; i < pool_.capacity(); ++i)
    pool_.at(i).machine = &machine;
}

// --- Begin ---

Transaction* Transactions::begin(Quota quota) {
  if (!has_room(quota)) return nullptr;
  Transaction* const one = pool_.take();
  PLNET_CHECK(one != nullptr, "the pool holds what all limits allow together");
  PLNET_CHECK(one->peer == nullptr && one->outstanding == 0 && !one->linked(),
              "a free transaction is idle");
  ++used_[place(quota)];
  one->quota = quota;
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
  one->payload = {};  // a bulk request brings none
  one->transmit = nullptr;
  one->begun = one->entered = environment_.now;
  one->deadline = environment_.now + environment_.timeout;
  one->replay_deadline = one->deadline - environment_.timeout / 2;
  return one;
}

void Transactions::give_back(Transaction& one) {
  PLNET_DEBUG_CHECK(one.state != State::kInvalid && one.outstanding == 0,
                    "a transaction ends once, when the NIC has nothing of it");
  PLNET_DEBUG_CHECK(used_[place(one.quota)] > 0, "a transaction ends once");
  --used_[place(one.quota)];
  PLNET_DEBUG_CHECK(!one.early || early_ > 0, "an early message is counted");
  if (one.early) --early_;
  one.state = State::kInvalid;
  ++one.generation;
  pool_.give(&one);
  any_ended_ = true;
}

void Transactions::set_peer(Transaction& one, Peer& peer) {
  PLNET_CHECK(one.peer == nullptr, "a transaction has one peer");
  PLNET_DEBUG_CHECK(!peer.removed, "a transaction begins with a peer of the table");
  one.peer = &peer;
  peers_.use(peer);
}

void Transactions::set_early(Transaction& one) {
  PLNET_CHECK(!one.early && one.quota == Quota::kReceives, "a message comes early once");
  one.early = true;
  ++early_;
}

// --- Names ---

std::uint64_t Transactions::cookie_of(const Transaction& one) const {
  return pool_.index_of(&one) | static_cast<std::uint64_t>(one.generation & kGenerationMask)
                                    << kGenerationShift;
}

Transaction* Transactions::find(std::uint64_t cookie, std::uint8_t operation) {
  const auto index = static_cast<std::uint32_t>(cookie);
  if (!pool_.is_lent(index)) return nullptr;
  Transaction& one = pool_.at(index);
  if ((one.generation & kGenerationMask) !=
      (static_cast<std::uint32_t>(cookie >> kGenerationShift) & kGenerationMask))
    return nullptr;
  return (one.outstanding & operation) != 0 ? &one : nullptr;
}

Transaction* Transactions::find_parked(lnet::RxHandle rx) {
  if (!pool_.is_lent(rx.index)) return nullptr;
  Transaction& one = pool_.at(rx.index);
  return one.generation == rx.generation && one.parked ? &one : nullptr;
}

Transaction& Transactions::of_message(const lnet::Transmit& transmit) {
  Transaction& one = pool_.at(static_cast<std::uint32_t>(transmit.lnd_state));
  PLNET_CHECK(one.transmit == &transmit, "the core has lent this message");
  return one;
}

// --- Wait ---

void Transactions::block(Transaction& one, Event again) {
  environment_.count(KfiLndCounters::Id::kReplays);
  one.again = again;
  if (!one.linked()) blocked_.push_back(one);
}

void Transactions::throttle(Transaction& one) {
  PLNET_CHECK(one.peer != nullptr && one.state == State::kIdle,
              "only a transaction that has posted nothing waits for a HELLO");
  environment_.count(KfiLndCounters::Id::kThrottled);
  one.peer->throttled.push_back(one);
  start_timer(one, one.replay_deadline);
}

Instant Transactions::next_deadline() const {
  const Instant next = timers_.next_deadline();
  return blocked_.empty() ? next : std::min(next, environment_.now + kReplayInterval);
}

// --- Act ---

void Transactions::enter(Transaction& one, State state) {
  PLNET_DEBUG_CHECK(one.state != State::kInvalid, "a free transaction has no states");
  PLNET_DEBUG_CHECK(one.state != state, "a transition leads to another state");
  side_of(one).add_state(one.bytes, one.state, environment_.now - one.entered);
  one.entered = environment_.now;
  one.state = state;
}

Result<void> Transactions::post_message(Transaction& one, const Message& message,
                                        const lnet::Payload& payload) {
  PLNET_CHECK(one.peer != nullptr, "a message goes to a peer");
  PLNET_DEBUG_CHECK(message.is_hello() || message.version != 0, "a request states its version");
  const ArenaTable& arenas = *environment_.config.arenas;
  Head head;
  const std::size_t length = encode(message, payload.length, head);
  if (environment_.config.tunables.cksum != 0) {
    Checksum checksum;
    checksum.add(std::span(head).first(length));
    lnet::for_each_piece(payload,
                         [&](const Fragment& piece) { checksum.add(arenas.bytes(piece)); });
    set_checksum(checksum.value(), head);
  }
  const auto posted = environment_.driver.send(
      one.peer->untagged_target(), std::span(head).first(length), payload, cookie_of(one));
  if (posted) set_posted(one, Transaction::kSendPosted);
  return posted;
}

// --- End ---

void Transactions::end(Transaction& one) {
  if (one.outstanding == 0) return finalize(one);
  if (one.state != State::kFail) enter(one, State::kFail);
  if (!one.quarantined && !one.timer.running()) start_grace(one);
}

void Transactions::fail(Transaction& one, Errc cause, Health health) {
  one.update(std::unexpected(cause), health);
  end(one);
}

void Transactions::tell_core(Transaction& one) {
  PLNET_CHECK(one.transmit != nullptr, "only messages of the core are reported to it");
  const bool placed = one.reply_placed && one.status.has_value();
  environment_.complete({.transmit = one.transmit,
                         .status = one.status,
                         .health = one.health,
                         .reply_placed = placed,
                         .reply_length = placed ? one.bytes : 0,
                         .quarantined = one.quarantined});
}

void Transactions::finalize(Transaction& one) {
  PLNET_CHECK(one.outstanding == 0, "the NIC has no operation of it");
  PLNET_CHECK(!one.parked, "a parked message is not over");
  SideStatistics& side = side_of(one);
  side.add_state(one.bytes, one.state, environment_.now - one.entered);
  side.add_total(one.bytes, environment_.now - one.begun);
  stop_timer(one);
  if (one.linked()) one.unlink();
  store_.free(one);
  if (one.key != 0) keys_.give(one.key);
  if (one.peer != nullptr) peers_.release(*one.peer);
  one.peer = nullptr;
  lnet::Transmit* const transmit = one.transmit;
  if (transmit != nullptr && !one.quarantined) tell_core(one);
  const lnet::RxHandle rx = handle_of(one);
  const bool wanted = one.wanted;
  const bool quarantined = one.quarantined;
  const Result<void> status = one.status;
  const Health health = one.health;
  give_back(one);
  if (wanted) environment_.core.on_received(rx, status, health);
  if (quarantined && transmit != nullptr) {
    environment_.report();  // the core learns of the quarantine before its end
    environment_.core.on_quarantine_over(*transmit);
  }
}

}  // namespace plnet::kfilnd
