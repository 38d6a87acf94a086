// SPDX-License-Identifier: BSD-3-Clause
// A node of LNet: its shards, what they share, and its coordinator. What a program or the simulator
// puts together; it knows no thread. Whoever owns it polls the shards, each from its own thread,
// and makes all other calls on the coordinator's thread (shard 0) unless they say otherwise.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "lib/base/doorbell.hpp"
#include "lib/base/qsbr.hpp"
#include "lib/lnet/control/coordinator.hpp"
#include "lib/lnet/node/shard.hpp"
#include "lib/lnet/paths/cpt_distances.hpp"
#include "lib/lnet/peers/placement.hpp"

namespace plnet::lnet {

// Makes the LNDs of NIs. Called on the thread of the shard.
class LndMaker {
 public:
  virtual ~LndMaker() = default;
  [[nodiscard]] virtual std::unique_ptr<Lnd> make(NiPort& port, ShardId shard) = 0;
};

struct NodeSetup {
  std::vector<std::uint16_t> cpt_of_shard{0};  // one for each shard
  ShardLimits shard_limits;
  CoordinatorLimits coordinator;
  PlacementRule placement = PlacementRule::kV217;
  std::uint64_t interface_cookie = 1;  // differs from that of every earlier run
  std::uint32_t pid = kLustrePid;
  const ArenaTable* arenas = nullptr;
  std::vector<RouterMemory> router_memory;  // of each shard; empty: it cannot forward
  PingMemory control_memory;                // Coordinator::memory_bytes() of some arena
  const CptDistances* distances = nullptr;
  std::span<Doorbell* const> doorbells;  // one for each shard
  std::span<const TapSlot> taps{};       // one for each shard; empty: nobody listens
  Instant start{};
};

class Node final : PeerRequests, ReleaseDone, CoordinatorHost {
 public:
  // Everything is allocated here.
  explicit Node(const NodeSetup& setup);
  ~Node() override;
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  [[nodiscard]] unsigned shards() const { return static_cast<unsigned>(shards_.size()); }
  // A turn of a shard's thread: begin_turn(), its devices, poll(), quiescent().
  [[nodiscard]] Shard& shard(unsigned number) { return *shards_[number]; }
  [[nodiscard]] const Shard& shard(unsigned number) const { return *shards_[number]; }
  void quiescent(unsigned shard) { qsbr_.quiescent(readers_[shard]); }
  // A thread that sleeps holds nothing.
  void offline(unsigned shard) { qsbr_.offline(readers_[shard]); }
  void online(unsigned shard) { qsbr_.online(readers_[shard]); }
  // In place of turns, while nobody turns any shard: what was replaced can be used again.
  void pass_unturned();
  // After the turn of shard 0, on its thread: peers, discovery, what is to be released.
  unsigned coordinate(Instant now);
  [[nodiscard]] Instant next_coordination(Instant now) { return coordinator_->next_deadline(now); }

  [[nodiscard]] Parameters& parameters() { return shared_.parameters; }
  [[nodiscard]] const NodeShared& shared() const { return shared_; }
  [[nodiscard]] Coordinator& coordinator() { return *coordinator_; }
  [[nodiscard]] const Coordinator& coordinator() const { return *coordinator_; }

  // `config.shards` is filled in. Before any shard is polled: its ports are there at once. Later,
  // on the thread of shard 0: its ports are there some turns later, and messages wait for that.
  [[nodiscard]] Outcome<Ni*> add_ni(NiSetup config, LndMaker& maker);
  // On the thread of shard 0. Ends what uses it; it is gone when releasing_nis() says so.
  [[nodiscard]] Outcome<void> remove_ni(const Nid& nid);
  [[nodiscard]] std::size_t releasing_nis() const { return unplugs_.size(); }
  // On the thread of shard 0: the CPT where the peer NI with this NID is at home, or will be.
  // Absent: not known before it is there.
  [[nodiscard]] std::optional<std::uint16_t> cpt_of(const Nid& nid) const;
  // A portal on which PUTs wait for a match entry. Any thread.
  void set_lazy(PortalId portal, bool lazy);
  // Router buffers of the whole node, 0: as it needs them (flow/pool_sizing.hpp). On the thread of
  // shard 0; the others have theirs some turns later. kNoMemory: more than the node was made for.
  [[nodiscard]] Outcome<void> set_router_buffers(const BufferCounts& wanted);
  // kNoMemory: it has none and could only drop what it is to forward.
  [[nodiscard]] Outcome<void> check_router_memory() const;
  // From now on NIs are added to a running node.
  void set_running() { running_ = true; }

  // Nothing is under way or waits, on any shard. For a node whose shards stand still.
  [[nodiscard]] bool idle() const;

 private:
  struct PlugNi;
  struct UnplugNi;
  struct ResizeBuffers;
  struct CountUnsent;

  void plug_loopback();
  void plug_here(Shard& shard, Ni& ni, LndMaker& maker);
  [[nodiscard]] ShardSet shards_of(const std::vector<std::uint16_t>& cpts) const;
  [[nodiscard]] std::int32_t credits_of(const Ni& ni) const;

  // PeerRequests.
  void want_peer(Parcel& parcel, const WantedPeer& wanted) override;
  void discover(Message& message, const Nid& nid) override;
  void nis_changed() override { coordinator_->tell_of_changed(); }
  // ReleaseDone.
  void released(Errand& errand) override;
  // CoordinatorHost.
  [[nodiscard]] DataOperations& data() override { return *shards_[0]; }
  void wait_over(Parcel& parcel) override { shards_[0]->wait_over(parcel); }
  void release_peer_ni(PeerNi& ni) override;
  void release_ni(Ni& ni) override;
  void end_pushes() override;
  void hop_lost() override { shared_.notify_hop_lost(); }
  [[nodiscard]] RoutedLoad routed_load() const override;
  void count_unsent(Instant since) override;
  void publish_faults(const FaultView* view) override;
  void publish_routes(const RouteView& view) override {
    shared_.routes.store(&view, std::memory_order_release);
  }
  void publish_access(const AccessView* view) override;
  [[nodiscard]] Instant now() const override { return shards_[0]->core().now; }

  const NodeSetup setup_;
  Qsbr qsbr_;
  std::vector<Qsbr::Reader> readers_;
  const std::unique_ptr<Placement> placement_;
  PortalDirectory portals_;
  MailboxGrid<Parcel> mail_;
  const RouteView no_routes_;  // until the coordinator has some
  NodeShared shared_;
  std::vector<std::unique_ptr<Shard>> shards_;
  std::unique_ptr<Coordinator> coordinator_;

  Pool<Errand> errands_;
  std::vector<PeerNi*> to_release_;  // no errand was free; has its full capacity from the start
  std::vector<std::unique_ptr<PlugNi>> plugs_;
  std::vector<std::unique_ptr<UnplugNi>> unplugs_;
  std::unique_ptr<ResizeBuffers> resize_;  // null: none was needed yet
  const std::unique_ptr<CountUnsent> count_unsent_;
  bool running_ = false;
};

}  // namespace plnet::lnet
