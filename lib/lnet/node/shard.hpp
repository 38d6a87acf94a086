// SPDX-License-Identifier: BSD-3-Clause
// LNet on one shard: a poller polls it, LNDs are plugged into it, programs call it. The polling
// thread owns all of it.
#pragma once

#include <memory>
#include <vector>

#include "lib/base/check.hpp"
#include "lib/base/pollable.hpp"
#include "lib/lnet/api/data_operations.hpp"
#include "lib/lnet/move/receiver.hpp"
#include "lib/lnet/move/releaser.hpp"
#include "lib/lnet/move/sender.hpp"
#include "lib/lnet/move/shard_core.hpp"

namespace plnet::lnet {

// The request of a parcel with ParcelStep::kWantPeer.
[[nodiscard]] WantedPeer wanted_peer(const Parcel& parcel);

// The services of the coordinator for shards; only the shard that hosts it has them. Each call for
// a parcel ends in Shard::wait_over(), from inside the call or later.
class PeerRequests {
 public:
  virtual ~PeerRequests() = default;
  // Finds or makes the peer NI of this NID.
  virtual void want_peer(Parcel& parcel, const WantedPeer& wanted) = 0;
  // Waits until the peer is up to date, or cannot be.
  virtual void discover(Message& message, const Nid& nid) = 0;
  // The state of an NI has changed (NodeShared::ni_changed).
  virtual void nis_changed() = 0;
};

class Shard;

// A function that a shard runs in its turn; Shard::call() sends it.
struct Call : Parcel {
  Call() : Parcel(ParcelKind::kCall) {}
  virtual ~Call() = default;
  // False: not yet; the shard tries again in its next turn. True: the call may be gone, or on its
  // way to another shard.
  [[nodiscard]] virtual bool run(Shard& shard) = 0;
  // The condition that it waits for on this shard is met.
  [[nodiscard]] virtual bool can_run(const Shard& /*shard*/) const { return true; }
};

class Shard final : public DataOperations, public Pollable, MatchHooks, PeerIdentity {
 public:
  // Allocates everything.
  Shard(NodeShared& node, ShardId number, std::uint16_t cpt, Instant start);
  ~Shard() override;
  Shard(const Shard&) = delete;
  Shard& operator=(const Shard&) = delete;

  // An NI is plugged in: make its LND with the port as its core, then attach it to the port.
  // `credits`: of the NI on this shard; 0: without limit.
  NiPort& add_port(Ni& ni, std::int32_t credits);
  // Ends the messages that wait for the NI and shuts its LND down; port_idle() says when the port
  // can be removed.
  void close_port(const Ni& ni);
  [[nodiscard]] bool port_idle(const Ni& ni) const;
  void remove_port(const Ni& ni);

  // Ends the messages that wait here for the NI, by ports on any shard.
  void fail_waiting(const Ni& ni) { sender_.hops.fail_waiting(ni, Errc::kShutdown); }
  [[nodiscard]] bool uses(const Ni& ni) const {
    PLNET_CHECK(ni.number < core_.ni_users.size(), "the number of an NI is dense");
    return core_.ni_users[ni.number] != 0;
  }

  // From this shard to another, or to itself.
  void call(Call& call, ShardId to) {
    core_.post(call, to, ParcelStep::kErrand);
    core_.outbox.flush();  // the caller need not turn this shard
  }

  void host(PeerRequests& requests, ReleaseDone& released);
  void wait_over(Parcel& parcel) {
    PLNET_DEBUG_CHECK(parcel.origin < node_.shards, "a parcel goes home to a shard of this node");
    core_.post(parcel, parcel.origin, ParcelStep::kWaitOver);
    core_.outbox.flush();
  }
  [[nodiscard]] Releaser& releaser() { return releaser_; }

  // Begins a turn: sets its time. LNDs make upcalls from now on.
  void begin_turn(Instant now) {
    core_.now = now;
    core_.looked_ahead.clear();
  }

  // DataOperations.
  [[nodiscard]] Result<Attached> attach(const MeSpec& me, const MdSpec& md) override {
    return core_.match.attach(me, md);
  }
  [[nodiscard]] Result<MdHandle> bind(const MdSpec& md) override { return core_.match.bind(md); }
  Result<void> unlink(MdHandle md) override { return core_.match.unlink(md); }
  Result<void> unlink(MeHandle me) override { return core_.match.unlink(me); }
  Result<void> put(MdHandle md, const PutSpec& put) override {
    return sender_.originator.put(md, put);
  }
  Result<void> get(MdHandle md, const GetSpec& get) override {
    return sender_.originator.get(md, get);
  }
  [[nodiscard]] bool is_down(const Nid& ours, const Nid& theirs) const override;
  [[nodiscard]] ShardId shard() const override { return core_.id; }

  // Pollable: after the devices.
  unsigned poll(Instant now) override;
  [[nodiscard]] std::string_view name() const override { return "lnet"; }
  [[nodiscard]] bool woken_by_doorbell() const override { return true; }
  [[nodiscard]] Instant next_deadline() const override;

  // No message is under way, waits or arrives here.
  [[nodiscard]] bool idle() const;
  [[nodiscard]] const ShardCore& core() const { return core_; }
  [[nodiscard]] ShardCore& core() { return core_; }
  [[nodiscard]] std::span<const std::unique_ptr<NiPort>> ports() const { return ports_; }

 private:
  unsigned collect_mail();
  void fetch_note(const Parcel& parcel) const;
  void deliver_together(std::span<Parcel* const> burst);
  void run(Call& call);
  void deliver(Parcel& parcel);
  void coordinate(Parcel& parcel);
  unsigned end_delays();
  void sweep(Timer& timer, Instant now);

  // Hooks of the match table.
  void on_lazy_attach(PortalId portal) override;
  void on_response_timeout(const ResponseTimeout& timeout) override;
  void on_given_up(const Nid& beyond) override;
  [[nodiscard]] bool same_peer(const Nid& entry, const Nid& source) const override;

  NodeShared& node_;
  ShardCore core_;
  Sender sender_;
  Receiver receiver_;
  Releaser releaser_;
  Timer sweep_timer_ = Timer::calling<&Shard::sweep>(*this);
  std::vector<std::unique_ptr<NiPort>> ports_;
  IntrusiveList<Parcel> calls_;  // calls that could not run yet
  PeerRequests* requests_ = nullptr;
  bool routed_ = false;  // in the turn before
};

}  // namespace plnet::lnet
