// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/node/node.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "lib/base/check.hpp"
#include "lib/lnet/move/loopback_lnd.hpp"

namespace plnet::lnet {

namespace {

// Peer NIs in removal at a time; others wait their turn.
constexpr std::size_t kErrands = 64;
// Calls that exist once: ResizeBuffers, CountUnsent.
constexpr std::size_t kTours = 2;
// No object is retired by callback here: each waits for a grace period of its own.
constexpr std::size_t kRetired = 1;

std::vector<std::vector<ShardId>> by_cpt(const std::vector<std::uint16_t>& cpt_of_shard) {
  PLNET_CHECK(!cpt_of_shard.empty(), "a node has a shard");
  std::vector<std::vector<ShardId>> shards(std::ranges::max(cpt_of_shard) + 1U);
  for (std::size_t shard = 0; shard < cpt_of_shard.size(); ++shard)
    shards[cpt_of_shard[shard]].push_back(static_cast<ShardId>(shard));
  return shards;
}

// A mailbox holds all parcels that could be in it.
std::size_t parcels_of(const NodeSetup& setup) {
  if (setup.cpt_of_shard.size() == 1) return 1;
  const ShardLimits& limits = setup.shard_limits;
  const std::size_t of_shard =
      limits.messages + limits.receives + limits.receives;  // with notes of ACKs
  return of_shard * setup.cpt_of_shard.size() + kErrands + kNisMax + kTours;
}

class LoopbackMaker final : public LndMaker {
 public:
  LoopbackMaker(const ArenaTable& arenas, std::size_t messages)
      : arenas_(arenas), messages_(messages) {}
  std::unique_ptr<Lnd> make(NiPort& port, ShardId /*shard*/) override {
    return std::make_unique<LoopbackLnd>(port, arenas_, messages_);
  }

 private:
  const ArenaTable& arenas_;
  const std::size_t messages_;
};

}  // namespace

// Visits each shard that serves the NI.
struct Node::PlugNi final : Call {
  PlugNi(Node& owner, Ni& new_ni, LndMaker& lnd_maker)
      : node(owner), ni(new_ni), maker(lnd_maker) {}

  bool run(Shard& shard) override {
    if (shard.shard() == 0 && visited == node.shards()) {
      ni.plugged.set(true);
      std::erase_if(node.plugs_, [this](const auto& plug) { return plug.get() == this; });
      return true;
    }
    PLNET_CHECK(visited == shard.shard(), "a call visits each shard in turn");
    if (ni.shards[shard.shard()]) node.plug_here(shard, ni, maker);
    ++visited;
    shard.call(*this, static_cast<ShardId>(visited == node.shards() ? 0 : visited));
    return true;
  }

  Node& node;
  Ni& ni;
  LndMaker& maker;
  unsigned visited = 0;
};

// Visits every shard: messages that wait for the NI end, its port closes and is removed. Two
// rounds: the second one waits for messages under way, and by then every shard has ended those that
// wait.
struct Node::UnplugNi final : Call {
  UnplugNi(Node& owner, Ni& old_ni) : node(owner), ni(old_ni) {}

  bool run(Shard& shard) override {
    if (tour == 2 && shard.shard() == 0) {
      Node& owner = node;
      Ni& gone = ni;
      std::erase_if(owner.unplugs_, [this](const auto& unplug) { return unplug.get() == this; });
      owner.coordinator_->ni_released(gone);
      return true;
    }
    PLNET_CHECK(tour < 2, "an NI is unplugged in two rounds");
    PLNET_CHECK(visited == shard.shard(), "a call visits each shard in turn");
    if (tour == 0) {
      shard.close_port(ni);
      shard.fail_waiting(ni);
    } else {
      if (!is_done_with(shard)) return false;
      shard.remove_port(ni);
    }
    if (++visited == node.shards()) {
      visited = 0;
      ++tour;
    }
    shard.call(*this, static_cast<ShardId>(visited));
    return true;
  }
  [[nodiscard]] bool can_run(const Shard& shard) const override {
    return tour != 1 || is_done_with(shard);
  }
  [[nodiscard]] bool is_done_with(const Shard& shard) const {
    return !shard.uses(ni) && shard.port_idle(ni);
  }

  Node& node;
  Ni& ni;
  unsigned visited = 0;
  unsigned tour = 0;
};

// Visits every shard. A change meanwhile needs another round.
struct Node::ResizeBuffers final : Call {
  bool run(Shard& shard) override {
    give(shard.core());
    PLNET_CHECK(shards > shard.shard(), "a call visits the shards of the node");
    const unsigned next = shard.shard() + 1U;
    if (next < shards) {
      shard.call(*this, static_cast<ShardId>(next));
      return true;
    }
    done.store(true, std::memory_order_release);
    return true;
  }

  void give(ShardCore& core) const {
    PLNET_CHECK(core.buffers.resize(counts, automatic), "what is asked for was looked at before");
    core.forwarder.hops.look_again();
  }

  BufferCounts counts;
  PoolFlags automatic;
  unsigned shards = 0;
  std::atomic<bool> done{true};
};

// Visits every shard.
struct Node::CountUnsent final : Call {
  bool run(Shard& shard) override {
    PLNET_CHECK(shards > shard.shard(), "a call visits the shards of the node");
    for (const auto& port : shard.ports())
      bytes += port->lnd().unsent_bytes(since);
    const unsigned next = shard.shard() + 1U;
    if (next < shards) {
      shard.call(*this, static_cast<ShardId>(next));
      return true;
    }
    done.store(true, std::memory_order_release);
    return true;
  }

  Instant since = Instant::min();
  std::uint64_t bytes = 0;
  unsigned shards = 0;
  std::atomic<bool> done{true};
};

Node::Node(const NodeSetup& setup)
    : setup_(setup),
      qsbr_(setup.cpt_of_shard.size(), kRetired),
      placement_(make_placement(setup.placement, by_cpt(setup.cpt_of_shard))),
      portals_(static_cast<unsigned>(setup.cpt_of_shard.size())),
      mail_(parcels_of(setup), setup.doorbells),
      errands_(kErrands),
      count_unsent_(std::make_unique<CountUnsent>()) {
  const auto count = static_cast<unsigned>(setup.cpt_of_shard.size());
  PLNET_CHECK(count > 0, "a node has a shard");
  PLNET_CHECK(count <= kShardsMax && setup.doorbells.size() == count, "a doorbell for each shard");
  PLNET_CHECK(setup.taps.empty() || setup.taps.size() == count, "each shard has its tap");
  PLNET_CHECK(setup.router_memory.empty() || setup.router_memory.size() == count,
              "each shard has its router buffers");
  PLNET_CHECK(setup.arenas != nullptr, "a node has memory");
  for (unsigned i = 0; i < count; ++i) {
    readers_.push_back(qsbr_.register_reader().value());
    qsbr_.online(readers_.back());
  }
  shared_.shards = count;
  shared_.lazy_attached = std::make_unique<NodeShared::Notice[]>(count);
  shared_.refused_peers = std::make_unique<RefusedPeerBook[]>(count);
  shared_.limits = setup.shard_limits;
  shared_.peer_nis = setup.coordinator.peers.peer_nis;
  shared_.interface_cookie = setup.interface_cookie;
  shared_.pid = setup.pid;
  shared_.arenas = setup.arenas;
  shared_.router_memory = setup_.router_memory;
  shared_.distances = setup.distances;
  shared_.portals = &portals_;
  shared_.mail = &mail_;
  shared_.doorbells = setup.doorbells;
  shared_.taps = setup.taps;
  shared_.routes.store(&no_routes_, std::memory_order_release);
  portals_.set_lazy(kPingPortal, true);
  to_release_.reserve(setup.coordinator.peers.peer_nis);

  for (unsigned i = 0; i < count; ++i) {
    shards_.push_back(std::make_unique<Shard>(shared_, static_cast<ShardId>(i),
                                              setup.cpt_of_shard[i], setup.start));
  }
  CoordinatorLimits limits = setup.coordinator;
  limits.shards = count;
  coordinator_ =
      std::make_unique<Coordinator>(limits, qsbr_, *placement_, shared_.parameters,
                                    static_cast<CoordinatorHost&>(*this), setup.control_memory);
  shared_.directory = &coordinator_->peers();
  shared_.local.store(&coordinator_->local(), std::memory_order_release);
  shards_[0]->host(*this, *this);
  plug_loopback();
}

Node::~Node() = default;

Outcome<void> Node::check_router_memory() const {
  if (!setup_.router_memory.empty()) return {};
  return failure(Errc::kNoMemory,
                 "this node has no router buffers: it was started with routing off, and the memory "
                 "that they need was not there. Start it with routing on, or with more memory");
}

Outcome<void> Node::set_router_buffers(const BufferCounts& wanted) {
  if (auto there = check_router_memory(); !there) return there;
  const BufferCounts counts = buffers_of_shard(wanted, shards());
  const BufferCounts& most = setup_.router_memory.front().most;
  for (const BufferClass each : kAllBufferClasses) {
    if (counts[each] <= most[each]) continue;
    return failure(
        Errc::kNoMemory,
        fmt::format("router buffers: {} of {} bytes; expected at most {} until a restart, "
                    "which reserves more",
                    wanted[each], kBufferBytes[each], most[each] * shards()));
  }
  if (resize_ == nullptr) resize_ = std::make_unique<ResizeBuffers>();
  if (!resize_->done.exchange(false, std::memory_order_acquire)) {
    return failure(Errc::kBusy, "router buffers are just being changed");
  }
  resize_->counts = counts;
  resize_->automatic = automatic_pools(wanted);
  resize_->shards = shards();
  if (!running_) {
    for (const auto& shard : shards_)
      resize_->give(shard->core());
    resize_->done.store(true, std::memory_order_release);
    return {};
  }
  shards_[0]->call(*resize_, 0);
  return {};
}

void Node::plug_loopback() {
  Ni& loopback = *coordinator_->local().loopback;
  LoopbackMaker maker(*setup_.arenas, setup_.shard_limits.messages);
  for (const auto& shard : shards_)
    shard->add_port(loopback, 0)
        .adopt(maker.make(*shard->core().ports[loopback.number], shard->shard()));
  loopback.plugged.set(true);
}

void Node::plug_here(Shard& shard, Ni& ni, LndMaker& maker) {
  NiPort& port = shard.add_port(ni, credits_of(ni));
  PLNET_CHECK(ni.shards[shard.shard()], "a shard that serves the NI has its port");
  port.adopt(maker.make(port, shard.shard()));
}

// lustre-release lnet/lnet/api-ni.c: lnet_ni_tq_credits(). A shard takes the place of a kernel's
// CPT.
std::int32_t Node::credits_of(const Ni& ni) {
  const auto shards = static_cast<std::int32_t>(ni.shards.count());
  PLNET_CHECK(shards > 0, "some shard serves an NI");
  const NiTunables& tunables = ni.tunables;
  if (shards <= 1) return tunables.credits;
  const std::int32_t share = std::max(tunables.credits / shards, 8 * tunables.peer_credits);
  return std::min(tunables.credits, share);
}

ShardSet Node::shards_of(const std::vector<std::uint16_t>& cpts) const {
  ShardSet set;
  for (unsigned i = 0; i < shards(); ++i)
    set[i] = cpts.empty() || std::ranges::find(cpts, setup_.cpt_of_shard[i]) != cpts.end();
  return set;
}

Outcome<Ni*> Node::add_ni(NiSetup config, LndMaker& maker) {
  config.shards = shards_of(config.cpts);
  if (config.shards.none()) return failure(Errc::kInvalid, "no shard serves the CPTs of the NI");
  const auto added = coordinator_->add_ni(config);
  if (!added) return added;
  Ni& ni = **added;
  shared_.local.store(&coordinator_->local(), std::memory_order_release);
  if (!running_) {
    for (const auto& shard : shards_) {
      if (ni.shards[shard->shard()]) plug_here(*shard, ni, maker);
    }
    ni.plugged.set(true);
    return added;
  }
  PlugNi& plug = *plugs_.emplace_back(std::make_unique<PlugNi>(*this, ni, maker));
  shards_[0]->call(plug, 0);
  return added;
}

Outcome<void> Node::remove_ni(const Nid& nid) {
  const auto removed = coordinator_->remove_ni(nid);
  if (!removed) return removed;
  shared_.local.store(&coordinator_->local(), std::memory_order_release);
  return {};
}

void Node::release_ni(Ni& ni) {
  PLNET_CHECK(
      std::ranges::none_of(unplugs_, [&](const auto& unplug) { return &unplug->ni == &ni; }),
      "an NI is unplugged once");
  UnplugNi& unplug = *unplugs_.emplace_back(std::make_unique<UnplugNi>(*this, ni));
  shards_[0]->call(unplug, 0);
}

// Sleeping shards may hold messages that no rule holds any more.
void Node::publish_faults(const FaultView* view) {
  shared_.faults.store(view, std::memory_order_release);
  for (Doorbell* const doorbell : shared_.doorbells)
    doorbell->ring();
}

// A forwarded message counts as taken at its end; until then it is held.
RoutedLoad Node::routed_load() const {
  RoutedLoad load;
  for (const auto& shard : shards_) {
    load.held += shard->core().routed_held.get();
    load.taken += shard->core().statistics.get(Statistic::kRouteCount);
  }
  load.unsent_since = Instant::min();
  if (count_unsent_->done.load(std::memory_order_acquire)) {
    load.unsent = count_unsent_->bytes;
    load.unsent_since = count_unsent_->since;
  }
  return load;
}

void Node::count_unsent(Instant since) {
  if (!count_unsent_->done.exchange(false, std::memory_order_acquire)) return;
  count_unsent_->since = since;
  count_unsent_->bytes = 0;
  count_unsent_->shards = shards();
  shards_[0]->call(*count_unsent_, 0);
}

void Node::publish_access(const AccessView* view) {
  shared_.access.store(view, std::memory_order_release);
}

std::optional<std::uint16_t> Node::cpt_of(const Nid& nid) const {
  const PeerNi* const ni = coordinator_->directory().find(nid);
  PLNET_CHECK(ni == nullptr || ni->home < setup_.cpt_of_shard.size(),
              "the home of a peer NI is a shard of this node");
  if (ni != nullptr) return setup_.cpt_of_shard[ni->home];
  return placement_->foresee(nid, coordinator_->local());
}

void Node::set_lazy(PortalId portal, bool lazy) {
  portals_.set_lazy(portal, lazy);
  const ShardId home = portals_.home(portal);
  PLNET_CHECK(home < shards(), "the home of a portal is a shard of this node");
  shared_.lazy_attached[home].set.store(true, std::memory_order_release);
  shared_.doorbells[home]->ring();
}

// lustre-release lnet/lnet/api-ni.c: lnet_push_target_fini()
void Node::end_pushes() {
  set_lazy(kPingPortal, false);
}

void Node::pass_unturned() {
  for (unsigned i = 0; i < shards_.size(); ++i)
    online(i);  // for each shard, the state before its first turn
  coordinator_->reclaim();
}

unsigned Node::coordinate(Instant now) {
  PLNET_CHECK(shared_.coordinator == 0, "shard 0 hosts the coordinator");
  if (shared_.gateways_changed.load(std::memory_order_relaxed) != 0) {
    coordinator_->gateway_checks().look_again(
        shared_.gateways_changed.exchange(0, std::memory_order_acquire));
  }
  if (shared_.recovery_requested.load(std::memory_order_relaxed) &&
      shared_.recovery_requested.exchange(false, std::memory_order_acquire)) {
    Nid hop;
    for (const auto& shard : shards_) {
      while (shard->core().recovery_requests->pop(hop))
        coordinator_->request_recovery(hop);
    }
  }
  if (shared_.recovery_overflow.load(std::memory_order_relaxed) &&
      shared_.recovery_overflow.exchange(false, std::memory_order_acquire)) {
    coordinator_->request_all_recoveries();
  }
  unsigned work = coordinator_->step(now);
  while (!to_release_.empty()) {
    Errand* const errand = errands_.take();
    if (errand == nullptr) break;
    PeerNi& peer_ni = *to_release_.back();
    to_release_.pop_back();
    shards_[0]->releaser().begin(*errand, peer_ni);
    ++work;
  }
  return work;
}

void Node::want_peer(Parcel& parcel, const WantedPeer& wanted) {
  coordinator_->want_peer(parcel, wanted);
}

void Node::discover(Message& message, const Nid& nid) {
  PeerNi* const peer_ni = coordinator_->peers().find(nid);
  if (peer_ni == nullptr) {
    return coordinator_->want_peer(message, {.nid = nid, .demand = wanted_peer(message).demand});
  }
  coordinator_->discover(message, *peer_ni);
}

void Node::release_peer_ni(PeerNi& ni) {
  PLNET_CHECK(ni.leaving.get(), "a released peer NI has left the directory");
  PLNET_CHECK(to_release_.size() < to_release_.capacity(), "there is room for all peer NIs");
  to_release_.push_back(&ni);
}

void Node::released(Errand& errand) {
  PeerNi& peer_ni = *errand.peer_ni;
  PLNET_CHECK(peer_ni.leaving.get(), "a released peer NI has left the directory");
  PLNET_CHECK(errands_.free_count() < errands_.capacity(), "an errand that comes back was lent");
  errands_.give(&errand);
  coordinator_->peer_ni_released(peer_ni);
}

bool Node::idle() const {
  return to_release_.empty() && errands_.free_count() == errands_.capacity() && unplugs_.empty() &&
         plugs_.empty() &&
         std::ranges::all_of(shards_, [](const auto& shard) { return shard->idle(); });
}

}  // namespace plnet::lnet
