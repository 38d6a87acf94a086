// SPDX-License-Identifier: BSD-3-Clause
#include "node/host/lnet_host.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "lib/lnet/control/coordinator.hpp"
#include "lib/lnet/control/ping_exchanges.hpp"
#include "lib/lnet/node/node.hpp"
#include "lib/lnet/peers/peer_directory.hpp"
#include "node/host/lnet_shard.hpp"
#include "node/host/machine.hpp"
#include "node/host/ni_resolver.hpp"
#include "node/host/open_families.hpp"
#include "node/host/peer_count.hpp"
#include "node/host/residents.hpp"

namespace plnet::node {
namespace {

// A node with fewer is unusable.
constexpr std::size_t kDescriptorsMin = 128;

// Messages to all peers of a site go out in batches of this size. An exchange with a dead node
// keeps its slot for the time of a transaction. At most an eighth of the arena.
std::size_t exchanges(std::size_t peers, std::size_t arena_bytes) {
  constexpr std::size_t kLeast = 64;
  constexpr std::size_t kMost = 512;
  const std::size_t room = arena_bytes / 8 / lnet::kPingSlotBytes;
  return std::clamp(std::min(peers / 8, room), kLeast, kMost);
}

// All shards get the same: the largest need of any of them.
std::size_t resident_descriptors(const Residents* residents, std::size_t shards) {
  std::size_t most = 0;
  for (unsigned shard = 0; residents != nullptr && shard < shards; ++shard)
    most = std::max(most, residents->needs(shard).descriptors);
  return most;
}

lnet::NodeSetup setup_of(const LnetHost::Parts& parts, const RecordCounts& records) {
  lnet::NodeSetup setup;
  setup.cpt_of_shard = parts.machine.cpt_of_shard();
  const std::size_t shards = setup.cpt_of_shard.size();
  setup.placement = parts.placement;
  setup.coordinator.peers = peer_limits(parts.limits);
  const std::size_t peers = setup.coordinator.peers.peers;
  setup.coordinator.waiting_for_peers = std::max(setup.coordinator.waiting_for_peers, peers / 4);
  setup.coordinator.exchanges = exchanges(peers, parts.machine.arenas().arena(0).size);
  auto& limits = setup.shard_limits;
  limits.peer_ports = setup.coordinator.peers.peer_nis;
  // If a network has several NIs, each of them may meet each peer.
  limits.extra_links = 3 * limits.peer_ports;
  limits.messages = records.messages;
  limits.receives = records.receives;
  limits.descriptors = limits.match_entries =
      parts.limits.descriptors != 0
          ? std::max<std::size_t>(parts.limits.descriptors, kDescriptorsMin)
          : 2 * records.own;
  limits.descriptors += resident_descriptors(parts.residents, shards);
  limits.match_entries = limits.descriptors;
  setup.arenas = &parts.machine.arenas();
  setup.router_memory = parts.machine.router_memory();
  const std::size_t forwards = std::min(limits.messages, limits.receives);
  for (lnet::RouterMemory& each : setup.router_memory)
    each.budget.records = std::min(each.budget.records, static_cast<std::uint32_t>(forwards));
  return setup;
}

lnet::CptDistances distances_of(const runtime::CptPlan& plan) {
  std::vector<std::uint32_t> matrix;
  for (const auto& cpt : plan.cpts)
    matrix.insert(matrix.end(), cpt.distance_to_cpt.begin(), cpt.distance_to_cpt.end());
  return {static_cast<std::uint16_t>(plan.cpts.size()), std::move(matrix)};
}

}  // namespace

static_assert(runtime::kAutoShards <= lnet::kShardsMax, "the automatic number of shards is valid");

Outcome<std::unique_ptr<LnetHost>> LnetHost::create(const Parts& parts) {
  std::unique_ptr<LnetHost> host(new LnetHost(parts));
  if (host->shards() > lnet::kShardsMax) {
    return failure(Errc::kTooBig,
                   fmt::format("the plan has {} shards, expected at most {} with LNet; "
                               "`cpts: shards_per_cpt` takes fewer",
                               host->shards(), lnet::kShardsMax));
  }
  // The coordinator's memory is the front of the first arena, that of CPT 0, where it runs.
  const std::size_t needed = lnet::Coordinator::memory_bytes(host->setup_->coordinator);
  const Arena& arena = parts.machine.arenas().arena(0);
  if (arena.size < needed) {
    return failure(Errc::kNoMemory, fmt::format("LNet needs {} bytes of the first arena, which "
                                                "has {}; `memory: arena_mib` gives it more",
                                                needed, arena.size));
  }
  host->setup_->control_memory = {.at = {.arena = 0, .offset = 0},
                                  .bytes = std::span(arena.base, needed)};
  return host;
}

LnetHost::LnetHost(const Parts& parts)
    : machine_(parts.machine),
      residents_(parts.residents),
      families_(parts.families),
      clock_(parts.clock),
      wall_clock_(parts.wall_clock),
      metrics_(parts.metrics),
      records_(record_counts(parts.limits, parts.configured, parts.machine.cpts().shard_count)),
      setup_(std::make_unique<lnet::NodeSetup>(setup_of(parts, records_))),
      distances_(distances_of(parts.machine.cpts())) {
  setup_->distances = &distances_;
  for (unsigned i = 0; i < setup_->cpt_of_shard.size(); ++i)
    places_.push_back(std::make_unique<LnetShard>(i));
  taps_ = std::make_unique<lnet::TapSlot[]>(places_.size());
  setup_->taps = taps();
}

LnetHost::~LnetHost() {
  discard();
}

const ArenaTable& LnetHost::arenas() const {
  return machine_.arenas();
}

std::size_t LnetHost::cpts() const {
  return machine_.cpts().cpts.size();
}

ResidentPlace LnetHost::resident_place(unsigned shard) {
  constexpr std::uint64_t kAlign = 4096;
  constexpr std::uint64_t kMost = std::uint64_t{1} << 31U;
  const auto node_of = [this](unsigned number) {
    return machine_.cpts().cpts[setup_->cpt_of_shard[number]].memory_node;
  };
  // Arenas are in the order in which their NUMA nodes first appear among the CPTs.
  std::vector<unsigned> nodes;
  const auto needed_by = [this](unsigned number) {
    const std::uint64_t bytes = residents_ == nullptr ? 0 : residents_->needs(number).bytes;
    return (bytes + kAlign - 1) / kAlign * kAlign;
  };
  unsigned before = 0;
  unsigned sharing = 0;
  std::uint64_t needed_before = 0;
  std::uint64_t needed = 0;
  for (unsigned each = 0; each < shards(); ++each) {
    if (std::ranges::find(nodes, node_of(each)) == nodes.end()) nodes.push_back(node_of(each));
    if (node_of(each) != node_of(shard)) continue;
    ++sharing;
    needed += needed_by(each);
    if (each >= shard) continue;
    ++before;
    needed_before += needed_by(each);
  }
  const auto arena = static_cast<ArenaId>(std::ranges::find(nodes, node_of(shard)) - nodes.begin());
  const std::uint64_t taken = arena == 0 ? setup_->control_memory.bytes.size() : 0;
  const std::uint64_t first = (taken + kAlign - 1) / kAlign * kAlign;
  const std::uint64_t share =
      (setup_->arenas->arena(arena).size - first - needed) / sharing / kAlign * kAlign;
  return {.shard = shard,
          .lnet = places_[shard].get(),
          .memory = {{arena, first + before * share + needed_before},
                     static_cast<std::uint32_t>(std::min(share + needed_by(shard), kMost))},
          .arenas = setup_->arenas};
}

void LnetHost::set_doorbells(std::vector<Doorbell*> doorbells) {
  doorbells_ = std::move(doorbells);
  for (const auto& host : families_.hosts())
    host->connect(*places_[0], doorbells_);
}

lnet::Node& LnetHost::build() {
  PLNET_CHECK(node_ == nullptr, "one node at a time");
  PLNET_CHECK(doorbells_.size() == places_.size(), "a doorbell for each shard");
  setup_->doorbells = doorbells_;
  setup_->start = clock_.now();
  setup_->interface_cookie = static_cast<std::uint64_t>(
      std::chrono::nanoseconds(wall_clock_.now().time_since_epoch()).count());
  setup_->coordinator.fault_seed = setup_->interface_cookie;
  setup_->coordinator.route_seed = setup_->interface_cookie;
  node_ = std::make_unique<lnet::Node>(*setup_);
  add_metrics();
  return *node_;
}

void LnetHost::discard() {
  for (const auto id : metric_ids_)
    metrics_.remove(id);
  metric_ids_.clear();
  for (const auto& place : places_)
    place->set_node_owner(nullptr);
  node_.reset();
  makers_.clear();
}

// LNet's present LND timeout; a node takes it over when it is built.
Duration LnetHost::lnet_lnd_timeout() const {
  const lnet::Parameters defaults;
  return std::chrono::seconds(node_ == nullptr ? defaults.lnd_timeout_s()
                                               : node_->shared().parameters.lnd_timeout_s());
}

Outcome<ResolvedNi> LnetHost::resolve(lnet::NetId net, const lnet::NiConfig& ni) const {
  auto resolved = NiResolver(families_).resolve(net, ni, cpts(), lnet_lnd_timeout());
  if (resolved) {
    resolved->setup.incarnation = static_cast<std::uint64_t>(
        std::chrono::nanoseconds(wall_clock_.now().time_since_epoch()).count());
  }
  return resolved;
}

NetworkMaker& LnetHost::maker(lnet::NetType type, const NetworkFamily& family) {
  auto& maker = makers_[{&family, type}];
  if (maker == nullptr) {
    maker = families_.host_of(family).maker(type, {.arenas = setup_->arenas,
                                                   .messages = records_.own,
                                                   .peers = setup_->shard_limits.peer_ports,
                                                   .clock = &clock_,
                                                   .lnet_lnd_timeout = lnet_lnd_timeout(),
                                                   .node = node_.get()});
  }
  return *maker;
}

void LnetHost::add_metrics() {
  const auto add = [this](std::string object, std::vector<runtime::MetricLabel> labels,
                          CounterView view) {
    metric_ids_.push_back(metrics_.add(std::move(object), std::move(labels), view));
  };
  for (unsigned i = 0; i < shards(); ++i) {
    const lnet::ShardCore& core = node_->shard(i).core();
    const std::vector<runtime::MetricLabel> labels{{"shard", std::to_string(i)},
                                                   {"cpt", std::to_string(core.cpt)}};
    add("lnet", labels, core.statistics.view());
    add("lnet_cause", labels, core.causes.view());
    add("lnet_wait", labels, core.waits.counters());
    add("lnet_reach", labels, core.reach->counters().view());
    add("lnet_match", labels, core.match.counters().view());
    add("lnet_buffers", labels, core.buffers.counters());
  }
  const lnet::Coordinator& coordinator = node_->coordinator();
  add("lnet_peers", {}, coordinator.peers().counters().view());
  add("lnet_coordinator", {}, coordinator.counters().view());
  add("lnet_discovery", {}, coordinator.discovery().counters().view());
  add("lnet_gateways", {}, coordinator.gateway_checks().counters().view());
  add("lnet_recovery", {}, coordinator.recovery().counters().view());
  add("lnet_ping_target", {}, coordinator.ping_target().counters().view());
}

}  // namespace plnet::node
