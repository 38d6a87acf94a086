// SPDX-License-Identifier: BSD-3-Clause
// The shards of a node without its coordinator: peers are created on request and count as
// discovered. For tests and benchmarks of the message path.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "lib/base/clock.hpp"
#include "lib/base/doorbell.hpp"
#include "lib/lnet/move/loopback_lnd.hpp"
#include "lib/lnet/node/shard.hpp"

namespace plnet::mocks {

struct CoreNodeSetup {
  unsigned shards = 1;
  std::vector<lnet::Nid> nids;         // NIs, one net each unless nets are equal
  std::vector<lnet::ShardSet> served;  // by NI: the shards with an LND for it; empty: all
  lnet::ShardLimits limits{.peer_ports = 256,
                           .extra_links = 16,
                           .messages = 64,
                           .receives = 64,
                           .descriptors = 64,
                           .match_entries = 64};
  std::size_t peers = 256;
  std::size_t kept_for_own = 0;  // of those
  std::uint64_t interface_cookie = 1;
  lnet::NiTunables tunables{};
  const ArenaTable* arenas = nullptr;
  std::vector<lnet::RouterMemory> router_memory{};  // of each shard; empty: it cannot forward
  std::vector<Doorbell*> doorbells{};               // one for each shard; empty: no shard sleeps
  std::span<const lnet::TapSlot> taps{};            // one for each shard; empty: no captures
};

class CoreNode final : public lnet::PeerRequests,
                       public lnet::ReleaseDone,
                       public lnet::PeerDirectoryHooks {
 public:
  // Makes the LND of an NI on a shard; the node keeps it.
  using MakeLnd =
      std::function<std::unique_ptr<lnet::Lnd>(lnet::NiPort& port, lnet::ShardId shard)>;

  CoreNode(const CoreNodeSetup& setup, const MakeLnd& make_lnd);
  ~CoreNode() override;
  CoreNode(const CoreNode&) = delete;
  CoreNode& operator=(const CoreNode&) = delete;

  [[nodiscard]] lnet::Shard& shard(unsigned number) { return *shards_[number]; }
  [[nodiscard]] unsigned shards() const { return static_cast<unsigned>(shards_.size()); }
  [[nodiscard]] lnet::NodeShared& shared() { return shared_; }
  [[nodiscard]] lnet::PeerDirectory& directory() { return *directory_; }
  // Changes become visible to the shards by publish_faults().
  [[nodiscard]] lnet::FaultTable& faults() { return faults_; }
  void publish_faults() { shared_.faults.store(faults_.view()); }
  [[nodiscard]] lnet::Ni& ni(unsigned number) { return *nis_[number]; }  // 0: lo

  // Path selection ignores it from now on. The caller decides about its removal.
  void forget_ni(lnet::Ni& ni);

  // Known from the start; `home` overrides the placement.
  lnet::PeerNi& add_peer(const lnet::Nid& nid, std::optional<lnet::ShardId> home = {});
  // One turn of every shard, and of the directory.
  unsigned turn(Instant now);
  // The parts of a turn, for another order.
  unsigned turn_shard(unsigned number, Instant now);
  unsigned step_directory(Instant now);
  // Turns until nothing moves, without time passing; at most `turns`.
  void settle(Instant now, unsigned turns = 1000);
  void set_lazy(lnet::PortalId portal, bool lazy);
  // Removes the peer and all messages that wait for it, some turns later.
  void delete_peer(const lnet::Nid& nid);
  [[nodiscard]] lnet::Lnd& lnd(unsigned ni, unsigned shard) {
    return shards_[shard]->core().ports[ni]->lnd();
  }
  // No peer NI is being removed, and no message waits for one.
  [[nodiscard]] bool quiet() const;
  // A message held up by discover() continues, or ends with its error.
  void end_discovery(lnet::Message& message) { shards_[0]->wait_over(message); }

  void want_peer(lnet::Parcel& parcel, const lnet::WantedPeer& wanted) override;
  void discover(lnet::Message& message, const lnet::Nid& nid) override;
  void nis_changed() override {}
  void released(lnet::Errand& errand) override;
  void release_peer_ni(lnet::PeerNi& ni) override;
  void on_peer_gone(lnet::Peer& peer) override;

  bool holds_discoveries = false;
  std::vector<lnet::Message*> held_discoveries;

 private:
  struct RoundRobin;

  const CoreNodeSetup setup_;
  Qsbr qsbr_;
  std::unique_ptr<RoundRobin> placement_;
  lnet::PortalDirectory portals_;
  std::vector<std::unique_ptr<SilentDoorbell>> bells_;
  std::vector<Doorbell*> bell_pointers_;
  std::unique_ptr<MailboxGrid<lnet::Parcel>> mail_;
  lnet::FaultTable faults_{qsbr_, Random(1)};
  lnet::NodeShared shared_;
  std::vector<std::unique_ptr<lnet::Ni>> nis_;
  std::vector<std::unique_ptr<lnet::Ni::CreditView[]>> credit_views_;
  std::vector<lnet::Ni*> ni_pointers_;
  std::vector<Relaxed<std::uint32_t>> priorities_;
  lnet::LocalView local_;
  lnet::RouteView routes_;
  std::unique_ptr<lnet::PeerDirectory> directory_;
  std::vector<std::unique_ptr<lnet::Shard>> shards_;
  std::vector<std::unique_ptr<lnet::Lnd>> lnds_;
  std::vector<Qsbr::Reader> readers_;
  void answer_want(lnet::Parcel& parcel);

  std::deque<lnet::Errand> errands_;  // a deque, since addresses must not change
  std::vector<lnet::Errand*> free_errands_;
  std::vector<lnet::Parcel*> wanting_;  // wait for room in the directory
  Instant now_{};
};

}  // namespace plnet::mocks
