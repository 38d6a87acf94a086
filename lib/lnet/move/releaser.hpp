// SPDX-License-Identifier: BSD-3-Clause
// Removes a peer NI from every shard after it has left the directory: messages that were to go to
// it end at its home, then the LNDs release their links.
//
// An errand visits the shards twice. On the first round it goes to each shard and from there to the
// home, behind all messages that this shard had sent there. The home ends the messages that wait,
// and waits for those under way. On the second round the LNDs of each shard release their links.
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

// Called on the shard from which the errand was sent.
class ReleaseDone {
 public:
  virtual ~ReleaseDone() = default;
  virtual void released(Errand& errand) = 0;
};

class Releaser {
 public:
  Releaser(ShardCore& core, Sender& sender) : core_(core), sender_(sender) {}
  // On the shard where errands begin.
  void connect(ReleaseDone& done) { done_ = &done; }

  // `errand` comes back in ReleaseDone::released().
  void begin(Errand& errand, PeerNi& peer_ni);
  // Does the step of an errand from a mailbox, or from this shard's own inbox.
  void deliver(Errand& errand);
  // Moves on errands that waited for messages or LNDs. Once a turn; returns how many.
  unsigned step();

  // An NI is being removed: its LND releases all links.
  void release_links(const NiPort& port);
  void on_link_released(PeerLink& link);
  [[nodiscard]] bool busy() const { return !waiting_.empty(); }
  // The next step() moves an errand on. Other waits end with a message or a link, which wakes the
  // shard.
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
