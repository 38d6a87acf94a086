// SPDX-License-Identifier: BSD-3-Clause
// A node of LNet: its shards, their shared data, and its coordinator. It knows no thread: a program
// polls each shard from its own thread, and the simulator from one. All other calls are made on the
// coordinator's thread (shard 0), unless the call says otherwise.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "lib/base/check.hpp"
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
  std::uint64_t interface_cookie = 1;  // unlike that of any earlier run
  std::uint32_t pid = kLustrePid;
  const ArenaTable* arenas = nullptr;
  std::vector<RouterMemory> router_memory;  // of each shard; empty: the node cannot forward
  PingMemory control_memory;                // Coordinator::memory_bytes() of some arena
  const CptDistances* distances = nullptr;
  std::span<Doorbell* const> doorbells;  // one for each shard
  std::span<const TapSlot> taps{};       // one for each shard; empty: no captures
  Instant start{};
};

class Node final : PeerRequests, ReleaseDone, CoordinatorHost {
 public:
  // Allocates everything.
  explicit Node(const NodeSetup& setup);
  ~Node() override;
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  [[nodiscard]] unsigned shards() const { return static_cast<unsigned>(shards_.size()); }
  // A turn of a shard's thread: begin_turn(), its devices, poll(), quiescent().
  [[nodiscard]] Shard& shard(unsigned number) {
    PLNET_CHECK(number < shards_.size(), "the shard is one of the node");
    return *shards_[number];
  }
  [[nodiscard]] const Shard& shard(unsigned number) const { return *shards_[number]; }
  void quiescent(unsigned shard) { qsbr_.quiescent(readers_[shard]); }
  // A sleeping thread holds nothing.
  void offline(unsigned shard) { qsbr_.offline(readers_[shard]); }
  void online(unsigned shard) { qsbr_.online(readers_[shard]); }
  // In place of turns, while no thread polls the shards: replaced objects can be used again.
  void pass_unturned();
  // After the turn of shard 0, on its thread: peers, discovery, releases.
  unsigned coordinate(Instant now);
  [[nodiscard]] Instant next_coordination(Instant now) { return coordinator_->next_deadline(now); }

  [[nodiscard]] Parameters& parameters() { return shared_.parameters; }
  [[nodiscard]] const NodeShared& shared() const { return shared_; }
  [[nodiscard]] Coordinator& coordinator() { return *coordinator_; }
  [[nodiscard]] const Coordinator& coordinator() const { return *coordinator_; }

  // Fills in `config.shards`. Before any shard is polled: its ports exist at once. Later, on the
  // thread of shard 0: its ports exist some turns later, and messages wait for that.
  [[nodiscard]] Outcome<Ni*> add_ni(NiSetup config, LndMaker& maker);
  // On the thread of shard 0. Ends all messages of the NI; releasing_nis() says when it is gone.
  [[nodiscard]] Outcome<void> remove_ni(const Nid& nid);
  [[nodiscard]] std::size_t releasing_nis() const { return unplugs_.size(); }
  // On the thread of shard 0: the CPT of the home of this peer NI, present or future. Absent:
  // unknown until it exists.
  [[nodiscard]] std::optional<std::uint16_t> cpt_of(const Nid& nid) const;
  // The tx credits of the NI on each shard that serves it.
  [[nodiscard]] static std::int32_t credits_of(const Ni& ni);
  // PUTs without a match wait on a lazy portal. Any thread.
  void set_lazy(PortalId portal, bool lazy);
  // Router buffers of the whole node; 0: sized automatically (flow/pool_sizing.hpp). On the thread
  // of shard 0; the other shards follow some turns later. kNoMemory: more than the node was made
  // for.
  [[nodiscard]] Outcome<void> set_router_buffers(const BufferCounts& wanted);
  // kNoMemory: the node has no buffers and would drop every message.
  [[nodiscard]] Outcome<void> check_router_memory() const;
  // From now on NIs are added to a running node.
  void set_running() { running_ = true; }

  // No message is under way or waits, on any shard. For a node whose shards are not polled.
  [[nodiscard]] bool idle() const;

 private:
  struct PlugNi;
  struct UnplugNi;
  struct ResizeBuffers;
  struct CountUnsent;

  void plug_loopback();
  void plug_here(Shard& shard, Ni& ni, LndMaker& maker);
  [[nodiscard]] ShardSet shards_of(const std::vector<std::uint16_t>& cpts) const;

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
