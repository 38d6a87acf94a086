// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-sim/host/host.hpp"

#include <algorithm>

#include "apps/lnet-sim/host/left_for_ever.hpp"
#include "apps/lnet-sim/host/tapped_lnd.hpp"
#include "apps/lnet-sim/node/peer_limits.hpp"
#include "lib/lnet/control/peer_recovery.hpp"

namespace plnet::sim {

using namespace lnet;

namespace {

constexpr std::size_t kExchanges = 4;
constexpr std::uint32_t kSlotAlign = 64;

}  // namespace

std::uint32_t slot_bytes_of(const TrafficPlan& plan) {
  return (plan.size_max + kSlotAlign) / kSlotAlign * kSlotAlign;
}

Host::Host(World& world, std::uint32_t number)
    : world_(world),
      number_(number),
      group_(world.layout.group_of(number)),
      shards_count_(world.layout.shards_of(number)),
      id_(world.wires.network.add_host()),
      routes_(world.layout.routes_of(number)) {
  make_interfaces();
  make_memory();
  const auto shape = world.config.shape();
  for (unsigned shard = 0; shard < shards_count_; ++shard) {
    lcores_.push_back(std::make_unique<drivers::SimShard>(world.wires.network, id_, shape.shard,
                                                          world.config.seed, number * 64 + shard));
    bells_.push_back(lcores_.back().get());
    turns_.push_back(std::make_unique<Turn>(*this, shard));
    lcores_.back()->add(*turns_.back());
  }
}

Host::~Host() = default;

void Host::make_interfaces() {
  for (const unsigned net : group_.nets) {
    const NetPlan& plan = world_.config.nets[net];
    for (unsigned i = 0; i < plan.interfaces; ++i) {
      const Nid nid = world_.layout.nid(net, i, number_);
      interfaces_.push_back({.nid = nid,
                             .plan = &plan,
                             .network = world_.networks[net].get(),
                             .number = nids_.size(),
                             .peers = world_.layout.peer_nis(number_, net)});
      nids_.push_back(nid);
      if (traits_of(plan.kind).has_cables) continue;
      (void)world_.wires.network.add_address(id_, drivers::mapped_ipv4(nid.address32()));
    }
  }
}

NetLimits Host::net_limits() const {
  return {.shards = shards_count_,
          .shards_max = world_.layout.shards_max(),
          .payload_bytes = slot_bytes_of(world_.config.traffic),
          .lnd_timeout = std::chrono::seconds(world_.config.lnd_timeout_s)};
}

NodeNet& Host::net_of(std::size_t interface) const {
  return *nets_[static_cast<std::size_t>(interfaces_[interface].plan->kind)];
}

std::size_t Host::remote_nis() const {
  return world_.layout.peer_nis(number_);
}

// Without routers, health only chooses between several interfaces; thousands of nodes with one
// interface each do without.
std::size_t Host::recovering_max() const {
  const auto& nets = world_.config.nets;
  const bool several = nets.size() > 1 || nets.front().interfaces > 1;
  return forwarded_max() > 0 || several ? remote_nis() : 0;
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
  const auto up_to = [](std::uint64_t bytes, std::uint64_t bound) {
    return (bytes + bound - 1) / bound * bound;
  };
  std::uint64_t bytes = up_to(ping_bytes_, 4096);
  for (NetInterface& interface : interfaces_) {
    interface.memory = {0, bytes};
    bytes += up_to(memory_bytes(interface, net_limits()), 4096);
  }
  slots_at_ = bytes;
  bytes = up_to(bytes + slot_count() * slot_bytes_of(world_.config.traffic), 4096);
  const BufferCounts buffers = buffers_of_shard(group_.buffers, shards_count_);
  for (unsigned shard = 0; is_router() && shard < shards_count_; ++shard) {
    router_memory_.push_back({.at = {0, bytes}, .most = buffers});
    bytes += RouterMemory::bytes(buffers);
  }
  if (world_.config.is_lazy()) {
    const auto arena = world_.wires.lazy.make_arena(bytes);
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
  relayed_ = relayed();
  life_ = {};
  link_holds_.assign(nids_.size(), {});
  slots_ =
      std::make_unique<MemorySlots>(world_.wires.lazy, arenas_, BufferAddress{0, slots_at_},
                                    slot_bytes_of(config.traffic), slot_count(), cookie_ << 24);
  NodeSetup setup;
  setup.cpt_of_shard.assign(shards_count_, 0);
  for (unsigned i = 0; i < shards_count_; ++i)
    setup.cpt_of_shard[i] = static_cast<std::uint16_t>(i);
  const std::size_t traffic = (std::size_t{config.traffic.window} + 8) * 4;
  const std::size_t forwarded = forwarded_max();
  // Pings, each exchange of this node, and a reserve.
  const std::size_t own_descriptors = 12 + kExchanges + routes_.size();
  setup.shard_limits = {.peer_ports = remote_nis() + 4,
                        .extra_links = remote_nis() * nids_.size() + 4,
                        .lane_sets = remote_nis() * nids_.size(),
                        .messages = traffic + forwarded,
                        .receives = traffic + forwarded + neighbour_credits(),
                        .descriptors = slot_count() + own_descriptors,
                        .match_entries = slot_count() + own_descriptors,
                        .routes = 16 + routes_.size(),
                        .talkers = forwarded > 0 ? 16U : 8U};
  setup.coordinator = coordinator_limits(remote_nis() + 4, kExchanges + routes_.size());
  // The highest possible number.
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
  parameters.retry_count.set(static_cast<std::int32_t>(config.health.retry_count));
  parameters.health_sensitivity.set(static_cast<std::int32_t>(config.health.health_sensitivity));
  parameters.router_sensitivity.set(static_cast<std::int32_t>(config.health.router_sensitivity));
  parameters.recovery_interval_s.set(static_cast<std::int32_t>(config.health.recovery_interval_s));
  // The site must be well a minute after its faults.
  parameters.max_recovery_ping_interval_s.set(
      std::chrono::duration_cast<std::chrono::seconds>(PeerRecovery::kHopIntervalMax).count());
  node_->set_lazy(Program::kLazyPortal, true);
  begin_routing();
  make_nets();
  add_interfaces();
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
    report_link(nid, false);
}

void Host::make_nets() {
  const SiteConfig& config = world_.config;
  const NodeNetSetup setup{.wires = world_.wires,
                           .watch = *this,
                           .host = id_,
                           .node = number_,
                           .lcores = lcores_,
                           .interfaces = interfaces_,
                           .arenas = arenas_,
                           .limits = net_limits(),
                           .seed = config.seed,
                           .life = static_cast<std::uint32_t>(cookie_),
                           .is_lazy = config.is_lazy(),
                           .has_faults = !world_.stopping,
                           .start = world_.loop.now()};
  for (const NetInterface& interface : interfaces_) {
    auto& net = nets_[static_cast<std::size_t>(interface.plan->kind)];
    if (net) continue;
    net = make_node_net(interface.plan->kind, setup);
    net->set_node(*node_);
  }
}

void Host::add_interfaces() {
  for (const NetInterface& interface : interfaces_) {
    NodeNet& net = net_of(interface.number);
    NiSetup ni{.nid = interface.nid, .cpts = net.cpts_of(interface)};
    const NetPlan& plan = *interface.plan;
    ni.tunables.peer_credits = static_cast<std::int32_t>(plan.peer_credits);
    ni.tunables.credits = static_cast<std::int32_t>(plan.credits);
    // As for LNet: a number that the configuration sets is not exceeded.
    ni.tunables.lends_credits =
        traits_of(plan.kind).lends_credits && plan.peer_credits == NetPlan{}.peer_credits;
    ni.lnd_timeout = std::chrono::seconds(world_.config.lnd_timeout_s);
    PLNET_CHECK(node_->add_ni(ni, *this).has_value(), "NIDs of a site differ");
    net.listen(interface);
  }
}

std::unique_ptr<Lnd> Host::make(NiPort& port, ShardId shard) {
  const auto found = std::ranges::find(interfaces_, port.ni().nid, &NetInterface::nid);
  NodeNet& net = net_of(found->number);
  Tap& tap = *taps_.emplace_back(std::make_unique<Tap>(
      port, Tap::Books{world_.wire, life_, relays_, world_.drains, world_.trails, world_.loop},
      Tap::Place{number_, shard, cookie_, found->number > 0, net.receives_usual(*found)}));
  return std::make_unique<TappedLnd>(net.make_lnd(*found, port.ni(), tap, shard), tap);
}

// At its end a node closes its connections itself, which explains no loss.
void Host::on_connection_over(const Nid& peer) {
  if (!retired_) world_.trails.disconnected(number_, Layout::node_of(peer), world_.loop.now());
}

// As in a poller: a shard without work may sleep long, and delays no other meanwhile.
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
  for (const auto& net : host_.nets_)
    work += net ? net->poll(static_cast<ShardId>(shard_), now) : 0;
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
  for (const auto& net : host_.nets_) {
    if (net) next = std::min(next, net->next_deadline(static_cast<ShardId>(shard_)));
  }
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
  ring_all();
}

void Host::ring_all() {
  for (const auto& lcore : lcores_)
    lcore->ring();
}

void Host::kill() {
  PLNET_CHECK(state_ == State::kUp, "only a running node loses power");
  protocol_errors_ = protocol_errors();
  state_ = State::kDying;
  world_.trails.lost_power(number_, world_.loop.now());
  if (world_.rpcs != nullptr) world_.rpcs->forget(number_);
  world_.wires.network.set_present(id_, false);
  retire();
  for (const auto& net : nets_) {
    if (net) net->shut_down();
  }
  for (const Nid& nid : nids_)
    (void)node_->remove_ni(nid);
  ring(0);
}

bool Host::quiet() const {
  return node_ == nullptr || node_->idle();
}

bool Host::gone() const {
  if (node_ == nullptr) return true;
  return retired_ && node_->idle() && node_->releasing_nis() == 0 && node_->coordinator().quiet() &&
         std::ranges::all_of(nets_, [](const auto& net) { return !net || net->idle(); }) &&
         std::ranges::all_of(programs_, [](const auto& program) { return program->empty(); });
}

void Host::destroy() {
  PLNET_CHECK(gone(), "what is under way ends first");
  keep_counters();
  state_ = State::kOff;
  for (const auto& lcore : lcores_)
    lcore->set_running(false);
  for (const auto& net : nets_) {
    if (net) net->close();
  }
  node_.reset();
  programs_.clear();
  nets_ = {};
  taps_.clear();
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
  for (auto& net : nets_)
    leave_for_ever(net);
  for (auto& tap : taps_)
    leave_for_ever(tap);
  state_ = State::kOff;
}

}  // namespace plnet::sim
