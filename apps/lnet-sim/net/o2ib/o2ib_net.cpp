// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-sim/net/o2ib/o2ib_net.hpp"

#include <algorithm>

#include "lib/o2iblnd/request_home.hpp"

namespace plnet::sim {

using namespace lnet;
using o2iblnd::O2ibLndConfig;
using Id = o2iblnd::O2ibCounters::Id;

namespace {

constexpr std::int64_t kO2ibMessages = 64;   // credits of an NI, so that no message is refused
constexpr std::int64_t kConnectionsMax = 2;  // to one peer
constexpr std::int64_t kDeepQueue = 16;      // twice the usual one
constexpr std::size_t kO2ibSpare = 16;       // for peers and connections that are closing

// The largest configuration of all seeds: memory is allocated before.
O2ibLndConfig config_of(const NetInterface& of, const NetLimits& limits) {
  const O2ibPlan& plan = of.plan->o2ib;
  O2ibLndConfig config{.nid = of.nid, .lnet_lnd_timeout = limits.lnd_timeout};
  config.tunables.timeout = 0;  // use LNet's
  config.tunables.ntx = kO2ibMessages;
  config.tunables.conns_per_peer = kConnectionsMax;
  config.tunables.peer_credits = kDeepQueue;
  config.peers_max = of.peers + kO2ibSpare;
  config.connections_max = of.peers * kConnectionsMax + kO2ibSpare;
  config.receives_max = plan.receives > 0 ? plan.receives : 8 * config.connections_max;
  config.replies_max = plan.answers;
  return config;
}

// Every other seed has nodes that differ: in queue depth, in the order of settling connection
// races, in the fragments of a write.
void vary(O2ibLndConfig& config, std::uint64_t seed, std::uint32_t node) {
  const bool differ = seed % 2 == 0;
  config.tunables.conns_per_peer = seed % 4 < 2 ? 1 : kConnectionsMax;
  if (!differ || node % 3 != 0) config.tunables.peer_credits = kDeepQueue / 2;
  if (!differ) return;
  config.tunables.wrq_sge = 1 + node % 2;
  if (node % 4 > 1) config.race_order = o2iblnd::RaceOrder::kNumber;
}

}  // namespace

O2ibNet::O2ibNet(const NodeNetSetup& setup)
    : setup_(setup),
      copier_(setup.wires.lazy),
      lanes_(std::vector<std::uint16_t>(setup.lcores.size(), 0)) {
  std::vector<Doorbell*> doorbells;
  for (const auto& lcore : setup.lcores)
    doorbells.push_back(lcore.get());
  lanes_.set_doorbells(doorbells);
}

O2ibNet::~O2ibNet() {
  turn_down_all();
}

std::uint64_t O2ibNet::bytes_of_shard(const NetInterface& of, const NetLimits& limits) {
  return o2iblnd::message_memory_bytes(config_of(of, limits));
}

std::size_t O2ibNet::receives_usual(const NetInterface& of) const {
  return config_of(of, setup_.limits).receives_max;
}

std::unique_ptr<Lnd> O2ibNet::make_lnd(const NetInterface& of, const Ni& /*ni*/, LndUpcalls& core,
                                       ShardId shard) {
  O2ibLndConfig config = config_of(of, setup_.limits);
  vary(config, setup_.seed, setup_.node);
  config.incarnation = setup_.life;
  config.arenas = &setup_.arenas;
  config.message_memory = {of.memory.arena,
                           of.memory.offset + shard * bytes_of_shard(of, setup_.limits)};
  if (setup_.is_lazy) config.copier = &copier_;
  config.lanes = lanes_.end(shard);
  config.start = setup_.start;
  const std::uint64_t place = of.number * 4096 + std::uint64_t{setup_.node} * 64 + shard;
  ports_.push_back(std::make_unique<O2ibPort>(
      O2ibPort::Setup{.interface = of.number,
                      .shard = shard,
                      .wires = setup_.wires,
                      .watch = setup_.watch,
                      .host = setup_.host,
                      .bell = *setup_.lcores[shard],
                      .faults = setup_.has_faults ? of.plan->faults : drivers::FaultPlan{},
                      .random = Random(setup_.seed + place).fork("wire"),
                      .lnd = config},
      *this));
  return ports_.back()->make_lnd(core);
}

O2ibPort* O2ibNet::port_on(std::size_t interface, ShardId shard) const {
  const auto found = std::ranges::find_if(ports_, [&](const auto& port) {
    return port->interface() == interface && port->shard() == shard;
  });
  return found == ports_.end() ? nullptr : found->get();
}

void O2ibNet::listen(const NetInterface& at) {
  port_on(at.number, 0)->listen();
}

// The port of the coordinator's shard calls this.
O2ibPort* O2ibNet::home_of(const O2ibPort& at, const o2iblnd::Ipv4Endpoint& from) {
  const Nid peer = Nid::of(NetType::kO2ib, number_of_net(at.nid().net()), from.address);
  const auto shard = o2iblnd::home_of_request(*node_, at.nid(), peer);
  return shard ? port_on(at.interface(), *shard) : nullptr;
}

// A lane belongs to an LND on its shard; the answer for a destroyed one says that it is gone.
void O2ibNet::hear(o2iblnd::LaneEnd& end, const o2iblnd::LaneNote& note) {
  const auto found = std::ranges::find_if(ports_, [&](const auto& port) {
    return port->shard() == end.shard() && port->nid() == note.lane->local;
  });
  O2ibPort* const port = found == ports_.end() ? nullptr : found->get();
  if (port != nullptr && port->hear(note)) return;
  if (port != nullptr && note.word == o2iblnd::LaneWord::kTake) port->turn_down(note.lane->request);
  end.answer_without_interface(note);
}

// Rejects requests on their way from one shard to another.
void O2ibNet::turn_down_all() {
  for (const auto& port : ports_) {
    o2iblnd::LaneEnd* const end = lanes_.end(port->shard());
    const auto turn_down = [&port](const o2iblnd::LaneNote& note) {
      if (note.word == o2iblnd::LaneWord::kTake) port->turn_down(note.lane->request);
    };
    while (end != nullptr && end->collect(turn_down) > 0) {
    }
  }
}

bool O2ibNet::idle() {
  return std::ranges::none_of(ports_, [this](const auto& port) {
    const o2iblnd::LaneEnd* const end = lanes_.end(port->shard());
    return end != nullptr && !end->empty();
  });
}

void O2ibNet::close() {
  turn_down_all();
  for (const auto& port : ports_)
    port->close();
}

unsigned O2ibNet::poll(ShardId shard, Instant now) {
  unsigned work = 0;
  if (o2iblnd::LaneEnd* const end = lanes_.end(shard))
    work += end->collect([&](const o2iblnd::LaneNote& note) { hear(*end, note); });
  for (const auto& port : ports_)
    work += port->shard() == shard ? port->poll(now) : 0;
  return work;
}

Instant O2ibNet::next_deadline(ShardId shard) {
  const o2iblnd::LaneEnd* const end = lanes_.end(shard);
  if (end != nullptr && !end->empty()) return Instant::min();
  Instant next = Instant::max();
  for (const auto& port : ports_) {
    if (port->shard() == shard) next = std::min(next, port->next_deadline());
  }
  return next;
}

void O2ibNet::calm() {
  for (const auto& port : ports_)
    port->calm();
}

void O2ibNet::set_link(const NetInterface& of, bool up, bool /*held*/) {
  for (const auto& port : ports_) {
    if (port->interface() == of.number) port->set_device(up);
  }
}

std::uint64_t O2ibNet::faults() const {
  std::uint64_t sum = 0;
  for (const auto& port : ports_)
    sum += port->faults();
  return sum;
}

std::uint64_t O2ibNet::sum_of(Id id) const {
  std::uint64_t sum = 0;
  for (const auto& port : ports_)
    sum += port->count(id);
  return sum;
}

std::uint64_t O2ibNet::connections_lost() const {
  return sum_of(Id::kLost);
}

std::uint64_t O2ibNet::protocol_errors() const {
  std::uint64_t sum = 0;
  for (const Id id :
       {Id::kRejectedFatal, Id::kUnmatched, Id::kOverCredit, Id::kBadCredits, Id::kBadStatus,
        Id::kWrongLife, Id::kLength, Id::kRejected, Id::kShort, Id::kWrongMagic, Id::kVersion,
        Id::kTruncated, Id::kChecksum, Id::kNoSource, Id::kTooSmall, Id::kType, Id::kFragments}) {
    sum += sum_of(id);
  }
  return sum;
}

void O2ibNet::count_into(NetCounts& counts) const {
  for (const auto& port : ports_)
    port->count_into(counts);
}

}  // namespace plnet::sim
