// SPDX-License-Identifier: BSD-3-Clause
// Takes a peer NI away from every shard once no shard can find it any more: what was chosen for it
// earlier comes to its home or ends there, then the LNDs forget it.
//
// An errand makes two tours of the shards. First it goes to each and from there to the home: what
// that shard had sent to the home before is then there too. The home ends what waits and waits for
// what is under way. On the second tour each shard has its LNDs release their links.
#pragma once

#include "lib/base/pool.hpp"
#include "lib/lnet/move/shard_core.hpp"

namespace plnet::lnet {

class Sender;

struct Errand : Parcel {
  Errand() : Parcel(ParcelKind::kErrand) {}

  enum class Phase : std::uint8_t { kFlush, kAtHome, kRelease };

  PeerNi* peer_ni = nullptr;
  Phase phase = Phase::kFlush;
  ShardId visiting = 0;
};

// Told on the shard from which the errand was sent.
class ReleaseDone {
 public:
  virtual ~ReleaseDone() = default;
  virtual void released(Errand& errand) = 0;
};

class Releaser {
 public:
  Releaser(ShardCore& core, Sender& sender) : core_(core), sender_(sender) {}
  // Only where errands begin.
  void connect(ReleaseDone& done) { done_ = &done; }

  // `errand` comes back in ReleaseDone::released().
  void begin(Errand& errand, PeerNi& peer_ni);
  // Does the step of an errand from a mailbox, or from this shard's own inbox.
  void deliver(Errand& errand);
  // What waits for messages or LNDs. Once a turn; returns what moved on.
  unsigned step();

  // An NI goes: its LND forgets everybody.
  void release_links(const NiPort& port);
  void on_link_released(PeerLink& link);
  [[nodiscard]] bool busy() const { return !waiting_.empty(); }
  // The next step() moves something on. What else waits is woken by the end of a message or a link.
  [[nodiscard]] bool has_work() const;

 private:
  void at_home(Errand& errand);
  void release_here(Errand& errand);
  void release(LndLink& link);
  void note_connections_gone(const LndLink& link);
  [[nodiscard]] bool can_move_on(const Errand& errand) const;
  void move_on(Errand& errand);

  ShardCore& core_;
  Sender& sender_;
  ReleaseDone* done_ = nullptr;
  IntrusiveList<Parcel> waiting_;
};

}  // namespace plnet::lnet
