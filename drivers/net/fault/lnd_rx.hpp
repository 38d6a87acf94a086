// SPDX-License-Identifier: BSD-3-Clause
// Faults on arriving messages. A delayed message is parked at the LND below without the core's
// knowledge; a duplicated or reordered one is taken from the LND (it has no payload) and offered
// from here, under handles of this class. Both keep the rule that nothing overtakes a parked
// message of its peer.
#pragma once

#include <array>
#include <cstddef>

#include "drivers/net/fault/judge.hpp"
#include "lib/lnet/api/lnd.hpp"

namespace plnet::drivers {

inline constexpr std::size_t kTrackedMax = 512;  // messages of the LND below that need a record
inline constexpr std::size_t kReplaysMax = 64;   // messages offered from here
// Handles with this bit are of this class; an LND has far fewer messages.
inline constexpr std::uint32_t kReplayBit = 0x80000000U;

class FaultLndRx {
 public:
  FaultLndRx(FaultJudge& judge, lnet::LndUpcalls& core, const ArenaTable* arenas)
      : judge_(judge), core_(core), arenas_(arenas) {}

  lnet::RxDecision on_header(const lnet::RxOffer& offer, Instant now);
  void on_received(lnet::RxHandle rx, Result<void> status, Health health);
  void on_parked_gone(lnet::RxHandle rx, Errc cause);
  void resume(lnet::Lnd& lower, lnet::RxHandle rx, const lnet::RxDecision& decision);
  unsigned flush(lnet::Lnd& lower, Instant now);
  // Ends the messages that are offered from here and passes all others unchanged.
  void shut_down();
  // Ends the messages that are offered from here: of one peer, or of all (null).
  void forget(const lnet::PeerLink* link, Errc cause);
  [[nodiscard]] bool idle() const { return replay_count_ == 0; }
  [[nodiscard]] Instant next_deadline() const;

 private:
  enum class Note : std::uint8_t {
    kFree,
    kParked,    // by the core: messages of the same peer are not offered from here
    kDelayed,   // by this class
    kTruncate,  // on its way into the core's buffer, or parked before that
    kCorrupt,   //
    kSwallow,   // taken by this class: the core does not know its handle
  };
  struct Tracked {
    Note note = Note::kFree;
    lnet::RxHandle rx;
    lnet::MessageHeader header;
    lnet::Nid from;
    lnet::PeerLink* link = nullptr;
    bool reply_by_lnd = false;
    bool parked = false;  // kTruncate, kCorrupt: the core has not decided yet
    Instant due;
    lnet::Payload target;
    Errc error = Errc::kIo;
    Health health = Health::kOk;
  };
  enum class ReplayState : std::uint8_t { kFree, kWaiting, kParked, kResumed };
  struct Replay {
    ReplayState state = ReplayState::kFree;
    std::uint32_t generation = 0;
    unsigned times = 1;
    unsigned overtake_left = 0;
    Instant due;
    lnet::MessageHeader header;
    lnet::Nid from;
    lnet::PeerLink* link = nullptr;
    lnet::RxDecision decision;
  };

  lnet::RxDecision delay(const lnet::RxOffer& offer, Instant due);
  lnet::RxDecision spoil(const lnet::RxOffer& offer, const FaultRule& rule);
  lnet::RxDecision take(const lnet::RxOffer& offer, const FaultRule& rule, Instant now);
  lnet::RxDecision pass(const lnet::RxOffer& offer);
  lnet::RxDecision shorten(Tracked& tracked, lnet::RxDecision decision);
  void offer_again(lnet::Lnd& lower, Tracked& tracked);
  void offer_replay(Replay& replay, Instant now);
  void conclude(Replay& replay, lnet::RxVerdict verdict);
  void flip(const lnet::Payload& target);
  Tracked* track(Note note, const lnet::RxOffer& offer);
  Tracked* find(lnet::RxHandle rx);
  void untrack(Tracked& tracked);
  [[nodiscard]] bool parked_from(const lnet::Nid& from) const;
  [[nodiscard]] bool replay_parked_from(const lnet::Nid& from) const;
  [[nodiscard]] lnet::RxHandle handle(const Replay& replay) const {
    return {kReplayBit | static_cast<std::uint32_t>(&replay - replays_.data()), replay.generation};
  }

  FaultJudge& judge_;
  lnet::LndUpcalls& core_;
  const ArenaTable* arenas_;
  std::array<Tracked, kTrackedMax> tracked_{};
  std::size_t tracked_count_ = 0;
  std::array<Replay, kReplaysMax> replays_{};
  std::size_t replay_count_ = 0;
  bool shut_down_ = false;
};

}  // namespace plnet::drivers
