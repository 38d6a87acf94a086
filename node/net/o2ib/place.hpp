// SPDX-License-Identifier: BSD-3-Clause
// The place of o2ib networks on a poller: the NIs of this shard with their queue pairs, and connect
// requests from the shard of the listeners. Always in the poller's list; without an NI it does
// nothing.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "lib/base/counters.hpp"
#include "lib/base/doorbell.hpp"
#include "lib/base/pollable.hpp"
#include "lib/base/ring.hpp"
#include "lib/lnet/node/introductions.hpp"
#include "lib/o2iblnd/lnd.hpp"
#include "node/net/o2ib/adapter.hpp"
#include "node/net/o2ib/complaints.hpp"
#include "node/net/o2ib/seats.hpp"

namespace plnet::node {

class O2ibDoors;
class O2ibPlace;

// Events of all devices of the node, read on shard 0.
class O2ibEvents {
 public:
  virtual ~O2ibEvents() = default;
  virtual unsigned poll_events(Instant now) = 0;
  // The node has devices, also without an NI: a device that is removed is released.
  [[nodiscard]] virtual bool has_devices() const = 0;
};

// The adapters of a node, by the address of their interface.
class O2ibAdapters {
 public:
  virtual ~O2ibAdapters() = default;
  // Any thread. The adapter opened last for the address; null: none.
  [[nodiscard]] virtual O2ibAdapter* adapter(std::uint32_t address) const = 0;
};

// The access rules of the node, for the LND of one NI on one shard.
class O2ibGate final : public o2iblnd::PeerGate {
 public:
  // The node outlives the gate, and the NI is not removed from the shard before.
  O2ibGate(const lnet::NodeShared& node, lnet::ShardId shard, const lnet::Ni& ni)
      : node_(node), shard_(shard), ni_(ni) {}
  [[nodiscard]] bool admits(const lnet::Nid& peer) override {
    return lnet::admits_owner(node_, shard_, {peer, ni_.nid});
  }

 private:
  const lnet::NodeShared& node_;
  const lnet::ShardId shard_;
  const lnet::Ni& ni_;
};

// The parts under an LND, made before it and destroyed after it.
struct O2ibGround {
  O2ibShare share;
  std::unique_ptr<O2ibGate> gate;
};

// The LND of an NI on a shard, listed where it is polled. Owned by its shard.
class O2ibNi final : private O2ibGround, public o2iblnd::O2ibLnd {
 public:
  O2ibNi(O2ibPlace& place, O2ibGround ground, const o2iblnd::O2ibLndConfig& config,
         lnet::LndUpcalls& core);
  ~O2ibNi() override;

  unsigned poll(Instant now) { return share.pairs->pollable().poll(now); }
  [[nodiscard]] const lnet::Nid& nid() const { return nid_; }
  [[nodiscard]] std::uint64_t incarnation() const { return incarnation_; }
  [[nodiscard]] O2ibQueuePairs& pairs() { return *share.pairs; }
  // The state of its network interface, beside the device's own.
  void set_link(bool up) { share.relay->set_link(up); }

 private:
  const lnet::Nid nid_;
  const std::uint64_t incarnation_;
  O2ibPlace& place_;
};

struct O2ibArrival {
  O2ibRequest request;
  O2ibAdapter* adapter = nullptr;
  lnet::Nid local;
};

#define PLNET_O2IB_PLACE_COUNTERS(X)                                                     \
  X(kArrived, "arrived", "connections", kCount, "connect requests passed to this shard") \
  X(kHomeless, "homeless", "connections", kCount,                                        \
    "connect requests rejected because the NI was removed")
PLNET_COUNTERS(O2ibPlaceTable, PLNET_O2IB_PLACE_COUNTERS);

class O2ibPlace final : public Pollable {
 public:
  static constexpr std::size_t kArrivalsMax = 256;  // requests on their way to this shard
  static constexpr unsigned kTakenPerTurn = 8;      // each costs some system calls
  // The longest nap of a shard that reads events of devices.
  static constexpr Duration kEventInterval = std::chrono::microseconds(200);

  O2ibPlace() { nis_.reserve(2 * std::size_t{kO2ibNisMax}); }
  ~O2ibPlace() override;

  // Called before polling starts: gives this shard the listeners and the events of devices.
  void set_doors(O2ibDoors& doors, O2ibEvents& events) {
    doors_ = &doors;
    events_ = &events;
  }
  void set_doorbell(Doorbell& doorbell) { doorbell_ = &doorbell; }
  // Called before polling starts. Null: the shard is alone in its CPT and has no lanes.
  void set_lanes(o2iblnd::LaneEnd* lanes, const O2ibAdapters& adapters) {
    lanes_ = lanes;
    adapters_ = &adapters;
  }

  // For the shard of the listeners. False: too many are on their way.
  [[nodiscard]] bool bring(const O2ibArrival& arrival);

  // For the shard itself from here on.
  unsigned poll(Instant now) override;
  [[nodiscard]] std::string_view name() const override { return "o2ib"; }
  // A completion queue rings no doorbell: a shard with one naps.
  [[nodiscard]] bool woken_by_doorbell() const override;
  [[nodiscard]] Instant next_deadline() const override;

  [[nodiscard]] const std::vector<O2ibNi*>& nis() const { return nis_; }
  // Null: no such NI here. During a replacement there are two: this is the one that stays.
  [[nodiscard]] O2ibNi* ni(const lnet::Nid& nid) const;
  [[nodiscard]] o2iblnd::LaneEnd* lanes() const { return lanes_; }
  [[nodiscard]] O2ibComplaints& complaints() { return complaints_; }
  [[nodiscard]] CounterView counters() const { return counters_.view(); }

 private:
  friend class O2ibNi;
  using Id = O2ibPlaceTable::Id;

  unsigned take_arrivals();
  unsigned collect_lane_notes();
  void turn_down(const o2iblnd::LaneNote& note);

  Counters<O2ibPlaceTable> counters_;
  O2ibComplaints complaints_;
  SpscRing<O2ibArrival> arrivals_{kArrivalsMax};
  Doorbell* doorbell_ = nullptr;
  o2iblnd::LaneEnd* lanes_ = nullptr;
  const O2ibAdapters* adapters_ = nullptr;
  O2ibDoors* doors_ = nullptr;  // null, like the next one, on all other shards
  O2ibEvents* events_ = nullptr;
  Instant look_again_at_{};   // time of the next look for events
  std::vector<O2ibNi*> nis_;  // oldest first
};

}  // namespace plnet::node
