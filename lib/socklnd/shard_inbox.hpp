// SPDX-License-Identifier: BSD-3-Clause
// The inbox of the TCP interfaces of one shard: connections from the acceptor, and notes about
// lanes from other shards. The poller of the shard's sockets empties it first.
#pragma once

#include <cstddef>
#include <vector>

#include "lib/base/counters.hpp"
#include "lib/base/doorbell.hpp"
#include "lib/base/ring.hpp"
#include "lib/socklnd/lane_exchange.hpp"
#include "lib/socklnd/lnd.hpp"
#include "lib/socklnd/peer_homes.hpp"
#include "lib/socklnd/stream_switch.hpp"

namespace plnet::socklnd {

#define PLNET_SHARD_INBOX_COUNTERS(X)                                                       \
  X(kArrived, "arrived", "connections", kCount,                                             \
    "accepted connections that reached their home shard")                                   \
  X(kHomeless, "homeless", "connections", kCount, "closed: their NI was removed meanwhile") \
  X(kNoRoom, "no_room", "connections", kCount, "closed: the shard has its maximum of connections")

PLNET_COUNTERS(ShardInboxTable, PLNET_SHARD_INBOX_COUNTERS);

class EnrolledLnd;

class ShardInbox {
 public:
  // `arrivals_max`: connections on their way home. The acceptor refuses further ones, and their
  // peers retry.
  ShardInbox(StreamSwitch& streams, std::size_t arrivals_max)
      : arrivals_(arrivals_max), streams_(streams) {}

  // Called before the first poll.
  void set_doorbell(Doorbell& doorbell) { doorbell_ = &doorbell; }
  // Null: the shard is alone in its CPT.
  void set_lanes(LaneEnd* lanes) { lanes_ = lanes; }

  // Called by the shard of the acceptor.
  [[nodiscard]] bool has_room() const { return arrivals_.size() < arrivals_.capacity(); }
  void bring(const Arrival& arrival);

  // Called by the shard of the inbox. Takes at most `most` arrivals, since each needs some system
  // calls, and no more than the driver has `room` for.
  unsigned take_arrivals(std::size_t most, std::size_t room);
  unsigned collect_lane_notes();
  // The interfaces have gone: discards all arrivals.
  void discard_all();
  [[nodiscard]] bool empty() const {
    return arrivals_.empty() && (lanes_ == nullptr || lanes_->empty());
  }

  [[nodiscard]] StreamSwitch& streams() { return streams_; }
  [[nodiscard]] LaneEnd* lanes() const { return lanes_; }
  [[nodiscard]] const std::vector<EnrolledLnd*>& lnds() const { return lnds_; }
  // Null: no such NI here. While an NI is replaced there are two: this is the new one.
  [[nodiscard]] EnrolledLnd* lnd(const lnet::Nid& nid) const;
  [[nodiscard]] CounterView counters() const { return counters_.view(); }

 private:
  friend class EnrolledLnd;
  using Id = ShardInboxTable::Id;

  [[nodiscard]] EnrolledLnd* lnd_of(const Lane& lane) const;
  void refuse(const Arrival& arrival, Id why);

  Counters<ShardInboxTable> counters_;
  SpscRing<Arrival> arrivals_;
  StreamSwitch& streams_;
  Doorbell* doorbell_ = nullptr;
  LaneEnd* lanes_ = nullptr;
  std::vector<EnrolledLnd*> lnds_;  // a handful, the oldest first
};

// The LND of one NI on one shard. The inbox knows it from its construction to its destruction.
class EnrolledLnd final : public SockLnd {
 public:
  EnrolledLnd(const SockLndConfig& config, lnet::LndUpcalls& core, ShardInbox& inbox);
  ~EnrolledLnd() override;

  [[nodiscard]] const lnet::Nid& nid() const { return nid_; }
  [[nodiscard]] std::uint64_t incarnation() const { return incarnation_; }

 private:
  const lnet::Nid nid_;
  const std::uint64_t incarnation_;
  ShardInbox& inbox_;
};

}  // namespace plnet::socklnd
