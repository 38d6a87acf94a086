// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-sim/host.hpp"

#include <algorithm>

#include "apps/lnet-sim/left_for_ever.hpp"
#include "apps/lnet-sim/node/peer_limits.hpp"
#include "apps/lnet-sim/tapped_lnd.hpp"

namespace plnet::sim {

using namespace lnet;

namespace {

constexpr std::size_t kExchanges = 4;
constexpr std::uint32_t kSlotAlign = 64;
// Control, bulk in and bulk out, and as many that come while those go.
constexpr std::size_t kStreamsPerPeer = 10;

}  // namespace

std::uint32_t slot_bytes_of(const TrafficPlan& plan) {
  return (plan.size_max + kSlotAlign) / kSlotAlign * kSlotAlign;
}

Host::Host(World& world, std::uint32_t number)
    : world_(world),
      number_(number),
      group_(world.layout.group_of(number)),
      shards_count_(world.layout.shards_of(number)),
      id_(world.network.add_host()),
      routes_(world.layout.routes_of(number)) {
  for (const unsigned net : group_.nets) {
    const NetPlan& plan = world.config.nets[net];
    for (unsigned i = 0; i < plan.interfaces; ++i) {
      nids_.push_back(world.layout.nid(net, i, number));
      nets_.push_back(&plan);
      if (plan.kind == NetKind::kKfi) continue;
      (void)world.network.add_address(id_, drivers::mapped_ipv4(nids_.back().address32()));
    }
  }
  make_memory();
  const auto shape = world.config.shape();
  for (unsigned shard = 0; shard < shards_count_; ++shard) {
    lcores_.push_back(std::make_unique<drivers::SimShard>(world.network, id_, shape.shard,
                                                          world.config.seed, number * 64 + shard));
    bells_.push_back(lcores_.back().get());
    turns_.push_back(std::make_unique<Turn>(*this, shard));
    lcores_.back()->add(*turns_.back());
  }
}

Host::~Host() = default;

std::size_t Host::remote_nis() const {
  return world_.layout.peer_nis(number_);
}

// Where nobody routes, health decides only between several interfaces; thousands of nodes with one
// each do without.
std::size_t Host::recovering_max() const {
  const auto& nets = world_.config.nets;
  const bool several = nets.size() > 1 || nets.front().interfaces > 1;
  return forwarded_max() > 0 || several ? remote_nis() : 0;
}

RdmaLndConfig Host::rdma_config() const {
  const std::size_t per_net = remote_nis();
  return {.shards = shards_count_,
          .arenas = &arenas_,
          .lazy = &world_.lazy,
          .peers_max = remote_nis() + 16,
          .pairs_max = per_net * (world_.layout.shards_max() + 2),
          .lnd_timeout = std::chrono::seconds(world_.config.lnd_timeout_s)};
}

std::size_t Host::rdma_nets() const {
  return static_cast<std::size_t>(std::ranges::count(nets_, NetKind::kRdma, &NetPlan::kind));
}

std::size_t Host::slot_count() const {
  const TrafficPlan& plan = world_.config.traffic;
  const bool for_others = plan.put_unique + plan.put_lazy + plan.put_managed > 0;
  return std::size_t{shards_count_} * (plan.window + 3 * Program::kWildcardEntries + 2U) +
         (for_others
              ? std::min(std::size_t{world_.config.nodes} * plan.operations, std::size_t{1024})
              : 0U);
}

void Host::make_memory() {
  ping_bytes_ = Coordinator::memory_bytes(coordinator_limits(1, kExchanges + routes_.size()));
  lnd_bytes_ = (RdmaLnd::memory_bytes(rdma_config()) + 4095) / 4096 * 4096;
  std::uint64_t bytes = ping_bytes_ + rdma_nets() * shards_count_ * lnd_bytes_ + 4096 +
                        slot_count() * slot_bytes_of(world_.config.traffic);
  kfi_memory_ = (bytes + 4095) / 4096 * 4096;
  bytes = kfi_memory_ + kfi_bytes();
  const BufferCounts buffers = buffers_of_shard(group_.buffers, shards_count_);
  for (unsigned shard = 0; is_router() && shard < shards_count_; ++shard) {
    router_memory_.push_back({.at = {0, bytes}, .most = buffers});
    bytes += RouterMemory::bytes(buffers);
  }
  if (world_.config.is_lazy()) {
    const auto arena = world_.lazy.make_arena(bytes);
    PLNET_CHECK(arena.has_value(), "address space was reserved for all hosts");
    (void)arenas_.add(*arena);
  } else {
    plain_.reset(static_cast<std::byte*>(std::calloc(bytes, 1)));
    PLNET_CHECK(plain_ != nullptr, "there is memory for all hosts");
    (void)arenas_.add({.base = plain_.get(), .size = bytes});
  }
}

void Host::start() {
  PLNET_CHECK(state_ == State::kOff, "it is off before it is started");
  const SiteConfig& config = world_.config;
  cookie_ = world_.next_cookie++;
  world_.trails.began(*this, world_.loop.now());
  life_ = {};
  link_holds_.assign(nids_.size(), {});
  const std::uint64_t slots_at =
      (ping_bytes_ + 63) / 64 * 64 + lnd_bytes_ * rdma_nets() * shards_count_;
  slots_ =
      std::make_unique<MemorySlots>(world_.lazy, arenas_, BufferAddress{0, slots_at},
                                    slot_bytes_of(config.traffic), slot_count(), cookie_ << 24);
  NodeSetup setup;
  setup.cpt_of_shard.assign(shards_count_, 0);
  for (unsigned i = 0; i < shards_count_; ++i)
    setup.cpt_of_shard[i] = static_cast<std::uint16_t>(i);
  const std::size_t traffic = (std::size_t{config.traffic.window} + 8) * 4;
  const std::size_t forwarded = forwarded_max();
  // What is pinged, each exchange of ours, and some to spare.
  const std::size_t own_descriptors = 12 + kExchanges + routes_.size();
  const bool has_tcp = std::ranges::find(nets_, NetKind::kTcp, &NetPlan::kind) != nets_.end();
  setup.shard_limits = {.peer_ports = remote_nis() + 4,
                        .extra_links = remote_nis() * nids_.size() + 4,
                        .lane_sets = has_tcp ? remote_nis() * nids_.size() : 0,
                        .messages = traffic + forwarded,
                        .receives = traffic + forwarded + neighbour_credits(),
                        .descriptors = slot_count() + own_descriptors,
                        .match_entries = slot_count() + own_descriptors,
                        .routes = 16 + routes_.size(),
                        .talkers = forwarded > 0 ? 16U : 8U};
  setup.coordinator = coordinator_limits(remote_nis() + 4, kExchanges + routes_.size());
  // As many as there can be.
  setup.coordinator.waiting_for_peers =
      shards_count_ * (setup.shard_limits.messages + setup.shard_limits.receives);
  setup.coordinator.recovering = std::min(setup.coordinator.recovering, recovering_max());
  setup.coordinator.route_seed = config.seed * 65'537 + number_;
  setup.router_memory = router_memory_;
  setup.interface_cookie = cookie_;
  setup.arenas = &arenas_;
  setup.control_memory = {
      .at = {0, 0}, .bytes = arenas_.bytes({{0, 0}, static_cast<std::uint32_t>(ping_bytes_)})};
  setup.doorbells = bells_;
  setup.start = world_.loop.now();
  node_ = std::make_unique<Node>(setup);
  Parameters& parameters = node_->parameters();
  parameters.transaction_timeout_s.set(static_cast<std::int32_t>(config.transaction_timeout_s));
  parameters.discovery.set(config.discovery ? 1 : 0);
  node_->set_lazy(Program::kLazyPortal, true);
  begin_routing();
  start_tcp();
  for (const Nid& nid : nids_) {
    const auto interface = static_cast<std::size_t>(&nid - nids_.data());
    NiSetup ni{.nid = nid, .cpts = cpts_of(interface)};
    ni.tunables.peer_credits = kPeerCredits;
    ni.tunables.credits = 64;
    ni.tunables.lends_credits = nets_[interface]->kind == NetKind::kTcp;
    ni.lnd_timeout = std::chrono::seconds(config.lnd_timeout_s);
    PLNET_CHECK(node_->add_ni(ni, *this).has_value(), "NIDs of a site differ");
    if (nets_[interface]->kind == NetKind::kTcp) tcp_->listen(nid);
  }
  node_->set_running();
  add_routes();
  const bool idle = world_.stopping || !world_.layout.begins_anything(number_);
  for (unsigned shard = 0; shard < shards_count_; ++shard) {
    const unsigned share = config.traffic.operations / shards_count_ +
                           (shard < config.traffic.operations % shards_count_ ? 1U : 0U);
    programs_.push_back(std::make_unique<Program>(*this, static_cast<ShardId>(shard),
                                                  idle ? 0 : share, slot_count()));
  }
  state_ = State::kUp;
  retired_ = false;
  for (unsigned shard = 0; shard < shards_count_; ++shard) {
    lcores_[shard]->set_running(true);
    node_->shard(shard).begin_turn(world_.loop.now());
    programs_[shard]->start(world_.loop.now());
  }
  for (const Nid& nid : links_down_)
    tell_of_link(nid, false);
}

// One driver serves all its networks, so it has the faults of the first.
void Host::start_tcp() {
  const auto first = std::ranges::find(nets_, NetKind::kTcp, &NetPlan::kind);
  if (first == nets_.end()) return;
  const SiteConfig& config = world_.config;
  tcp_ = std::make_unique<TcpStreams>(
      TcpStreams::Parts{.fabric = world_.streams,
                        .host = id_,
                        .lcores = lcores_,
                        .streams_max = remote_nis() * kStreamsPerPeer * nids_.size() + 64,
                        .faults = world_.stopping ? drivers::FaultPlan{} : (*first)->faults,
                        .random = Random(config.seed + std::uint64_t{number_} * 64).fork("tcp")});
  tcp_->set_node(*node_);
}

socklnd::SockLndConfig Host::tcp_config(const Ni& ni) const {
  const SiteConfig& config = world_.config;
  socklnd::SockLndConfig out{.nid = ni.nid,
                             .incarnation = ni.incarnation,
                             .arenas = &arenas_,
                             .lnet_lnd_timeout = std::chrono::seconds(config.lnd_timeout_s),
                             .peers_max = remote_nis() + 16,
                             .connections_max = remote_nis() * kStreamsPerPeer + 64,
                             .relay_bytes_min = std::uint32_t{4096} << config.seed % 6,
                             .start = world_.loop.now()};
  out.tunables.sock_timeout = 0;  // LNet's
  out.tunables.conns_per_peer = 1 + static_cast<std::int64_t>(config.seed % 2);
  return out;
}

std::unique_ptr<Lnd> Host::make(NiPort& port, ShardId shard) {
  const Nid& nid = port.ni().nid;
  const auto which = static_cast<std::size_t>(std::ranges::find(nids_, nid) - nids_.begin());
  auto tap = std::make_unique<Tap>(
      port, Tap::Books{world_.wire, life_, relays_, world_.drains, world_.trails, world_.loop},
      Tap::Place{number_, shard, cookie_, which > 0, receives_usual(nets_[which]->kind)});
  Tap& beside = *tap;
  Device& device = *devices_.emplace_back(std::make_unique<Device>(std::move(tap), which));
  return std::make_unique<TappedLnd>(make_lnd(device, which, port, shard), beside);
}

// As many as there are connections, or records of them.
std::size_t Host::receives_usual(NetKind kind) const {
  switch (kind) {
    case NetKind::kStream: return remote_nis() * (world_.layout.shards_max() + 1);
    case NetKind::kRdma: return rdma_config().pairs_max * RdmaPair::kDepth;
    case NetKind::kTcp: return remote_nis() * kStreamsPerPeer + 64;
    case NetKind::kKfi: break;
  }
  return 0;
}

std::unique_ptr<Lnd> Host::make_lnd(Device& device, std::size_t which, NiPort& port,
                                    ShardId shard) {
  const Nid& nid = port.ni().nid;
  const NetPlan& net = *nets_[which];
  if (net.kind == NetKind::kKfi) return make_kfi(device, port, shard);
  if (net.kind == NetKind::kTcp) {
    return device.make_tcp(tcp_config(port.ni()), *tcp_, shard);
  }
  const drivers::FaultPlan none;
  const Device::Place place{
      .host = id_,
      .shard = shard,
      .lcore = *lcores_[shard],
      .faults = world_.stopping ? none : net.faults,
      .random = Random(world_.config.seed + which * 4096 + std::uint64_t{number_} * 64 + shard)
                    .fork("wire")};
  if (net.kind == NetKind::kStream) {
    return device.make_stream({.nid = nid,
                               .arenas = &arenas_,
                               .lazy = &world_.lazy,
                               .peers_max = remote_nis() + 16,
                               .incoming_max = remote_nis() * (world_.layout.shards_max() + 1),
                               .lnd_timeout = std::chrono::seconds(world_.config.lnd_timeout_s)},
                              world_.streams, place);
  }
  RdmaLndConfig config = rdma_config();
  config.nid = nid;
  config.shard = shard;
  const auto before = static_cast<std::uint64_t>(
      std::ranges::count(std::span(nets_).first(which), NetKind::kRdma, &NetPlan::kind));
  config.memory = {0, (ping_bytes_ + 63) / 64 * 64 + (before * shards_count_ + shard) * lnd_bytes_};
  return device.make_rdma(config, world_.verbs, place);
}

// As a poller does: who has nothing to do may sleep for long, and holds up nobody meanwhile.
unsigned Host::Turn::poll(Instant now) {
  if (host_.state_ == State::kOff) return 0;
  host_.node_->online(shard_);
  const unsigned work = work_on(now);
  if (work == 0) host_.node_->offline(shard_);
  return work;
}

unsigned Host::Turn::work_on(Instant now) {
  Shard& shard = host_.node_->shard(shard_);
  shard.begin_turn(now);
  unsigned work = 0;
  for (const auto& device : host_.devices_) {
    if (device->shard() == shard_) work += device->poll(now);
  }
  if (host_.tcp_) work += host_.tcp_->poll(static_cast<ShardId>(shard_), now);
  work += host_.programs_[shard_]->poll(now);
  if (shard_ == 0) work += host_.look_at_held_links(now);
  work += shard.poll(now);
  host_.node_->quiescent(shard_);
  if (shard_ == 0) work += host_.node_->coordinate(now);
  return work;
}

Instant Host::Turn::next_deadline() const {
  if (host_.state_ == State::kOff) return Instant::max();
  Instant next = std::min(host_.programs_[shard_]->next_deadline(),
                          host_.node_->shard(shard_).next_deadline());
  for (const auto& device : host_.devices_) {
    if (device->shard() == shard_) next = std::min(next, device->next_deadline());
  }
  if (host_.tcp_) next = std::min(next, host_.tcp_->next_deadline(static_cast<ShardId>(shard_)));
  if (shard_ == 0) {
    next = std::min(next, host_.next_link_look());
    next = std::min(next, host_.node_->next_coordination(host_.world_.loop.now()));
  }
  return next;
}

void Host::retire() {
  if (std::exchange(retired_, true)) return;
  for (const auto& program : programs_)
    program->unlink_all();
  node_->set_lazy(Program::kLazyPortal, false);
  node_->coordinator().shut_down();
  for (unsigned shard = 0; shard < shards_count_; ++shard)
    ring(shard);
}

void Host::kill() {
  PLNET_CHECK(state_ == State::kUp, "only what runs loses power");
  protocol_errors_ = protocol_errors();
  state_ = State::kDying;
  world_.trails.lost_power(number_, world_.loop.now());
  world_.network.set_present(id_, false);
  retire();
  if (tcp_) tcp_->shut_down();
  for (const Nid& nid : nids_)
    (void)node_->remove_ni(nid);
  ring(0);
}

bool Host::quiet() const {
  return node_ == nullptr || node_->idle();
}

bool Host::gone() const {
  if (node_ == nullptr) return true;
  return retired_ && node_->idle() && (!tcp_ || tcp_->idle()) && node_->releasing_nis() == 0 &&
         node_->coordinator().quiet() &&
         std::ranges::all_of(programs_, [](const auto& program) { return program->empty(); });
}

void Host::destroy() {
  PLNET_CHECK(gone(), "what is under way ends first");
  keep_counters();
  state_ = State::kOff;
  for (const auto& lcore : lcores_)
    lcore->set_running(false);
  for (const auto& device : devices_)
    device->close();
  if (tcp_) tcp_->close();
  node_.reset();
  programs_.clear();
  devices_.clear();
  tcp_.reset();
  slots_.reset();
}

bool Host::forget(const Host& peer) {
  if (state_ != State::kUp || &peer == this) return false;
  Coordinator& coordinator = node_->coordinator();
  const PeerNi* const ni = coordinator.peers().find(peer.nids()[0]);
  if (ni == nullptr || ni->peer.load() == nullptr) return false;
  const Nid primary = ni->peer.load()->seen().primary;
  world_.trails.parted(number_, peer.number(), world_.loop.now());
  const bool deleted = coordinator.delete_peer(primary, primary, true).has_value();
  ring(0);
  return deleted;
}

void Host::abandon() {
  for (const auto& lcore : lcores_)
    lcore->set_running(false);
  leave_for_ever(node_);
  for (auto& program : programs_)
    leave_for_ever(program);
  for (const auto& device : devices_)
    device->abandon();
  state_ = State::kOff;
}

}  // namespace plnet::sim
