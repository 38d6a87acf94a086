// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-sim/net/tcp/tcp_net.hpp"

#include <algorithm>

namespace plnet::sim {

using namespace lnet;

namespace {

// A reserve for connections that are closing, beyond those of all possible peers.
constexpr std::size_t kSpare = 16;
// A small node has few places, so that sites meet the limit.
constexpr std::size_t kStrangersMax = 64;
// A crowd of clients that reconnect at once needs the places that lnet-router has for its peers:
// node/net/tcp/family.cpp.
constexpr std::size_t strangers_max(std::size_t peers) {
  return std::max(std::min(kStrangersMax, peers + kSpare), peers / 4);
}

}  // namespace

TcpNet::TcpNet(const NodeNetSetup& setup) : setup_(setup) {
  for (const NetInterface& each : setup.interfaces) {
    if (each.plan->kind != NetKind::kTcp) continue;
    const NetPlan* const own = owner_of(*each.plan);
    if (std::ranges::find(sockets_, own, &Sockets::of) != sockets_.end()) continue;
    const std::uint64_t number = std::uint64_t{setup.node} * 64 + sockets_.size() * 4096;
    sockets_.emplace_back(own,
                          std::make_unique<TcpStreams>(TcpStreams::Parts{
                              .fabric = setup.wires.streams,
                              .host = setup.host,
                              .lcores = setup.lcores,
                              .streams_max = streams_max(own),
                              .faults = setup.has_faults ? each.plan->faults : drivers::FaultPlan{},
                              .random = Random(setup.seed + number).fork("tcp"),
                              .strangers_max = strangers_max(each.peers)}));
  }
}

const NetPlan* TcpNet::owner_of(const NetPlan& plan) const {
  const auto first = std::ranges::find(setup_.interfaces, NetKind::kTcp,
                                       [](const NetInterface& each) { return each.plan->kind; });
  return &plan == first->plan || plan.faults.count == 0 ? nullptr : &plan;
}

// Odd seeds have two connections in each bulk direction.
std::int64_t TcpNet::conns_per_peer() const {
  return 1 + static_cast<std::int64_t>(setup_.seed % 2);
}

// Control, bulk in and bulk out, and the same number again, since new ones come while old ones
// close.
std::size_t TcpNet::connections_max(const NetInterface& of) const {
  return of.peers * static_cast<std::size_t>(2 * (1 + 2 * conns_per_peer())) + kSpare;
}

std::size_t TcpNet::streams_max(const NetPlan* own) const {
  std::size_t sum = 0;
  for (const NetInterface& each : setup_.interfaces) {
    if (each.plan->kind == NetKind::kTcp && owner_of(*each.plan) == own)
      sum += connections_max(each) + std::max(kStrangersMax, strangers_max(each.peers));
  }
  return sum;
}

TcpStreams& TcpNet::sockets_of(const NetPlan& plan) {
  return *std::ranges::find(sockets_, owner_of(plan), &Sockets::of)->streams;
}

void TcpNet::set_node(Node& node) {
  for (const Sockets& each : sockets_)
    each.streams->set_node(node);
}

std::unique_ptr<Lnd> TcpNet::make_lnd(const NetInterface& of, const Ni& ni, LndUpcalls& core,
                                      ShardId shard) {
  socklnd::SockLndConfig config{
      .nid = ni.nid,
      .incarnation = ni.incarnation,
      .arenas = &setup_.arenas,
      .lnet_lnd_timeout = setup_.limits.lnd_timeout,
      .peers_max = of.peers + kSpare,
      .connections_max = connections_max(of),
      .relay_bytes_min = std::uint32_t{4096} << setup_.seed % 6,
      .copied_bytes_max = setup_.is_lazy ? 0 : socklnd::Outgoing::kCopiedPayloadMax,
      .start = setup_.start};
  config.tunables.sock_timeout = 0;  // use LNet's
  config.tunables.conns_per_peer = conns_per_peer();
  auto lnd = sockets_of(*of.plan).make(config, core, shard);
  interfaces_.push_back({of.number, lnd.get()});
  return lnd;
}

void TcpNet::shut_down() {
  for (const Sockets& each : sockets_)
    each.streams->shut_down();
}

bool TcpNet::idle() {
  return std::ranges::all_of(sockets_, [](const Sockets& each) { return each.streams->idle(); });
}

void TcpNet::close() {
  for (const Sockets& each : sockets_)
    each.streams->close();
}

unsigned TcpNet::poll(ShardId shard, Instant now) {
  unsigned work = 0;
  for (const Sockets& each : sockets_)
    work += each.streams->poll(shard, now);
  return work;
}

Instant TcpNet::next_deadline(ShardId shard) {
  Instant next = Instant::max();
  for (const Sockets& each : sockets_)
    next = std::min(next, each.streams->next_deadline(shard));
  return next;
}

void TcpNet::calm() {
  for (const Sockets& each : sockets_)
    each.streams->calm();
}

void TcpNet::set_link(const NetInterface& of, bool up, bool held) {
  for (const Interface& each : interfaces_) {
    if (each.number == of.number) each.lnd->set_usable(up && !held);
  }
}

std::uint64_t TcpNet::faults() const {
  std::uint64_t sum = 0;
  for (const Sockets& each : sockets_)
    sum += each.streams->faults();
  return sum;
}

std::uint64_t TcpNet::connections_lost() const {
  std::uint64_t sum = 0;
  for (const Sockets& each : sockets_)
    sum += each.streams->connections_lost();
  return sum;
}

std::uint64_t TcpNet::protocol_errors() const {
  using Id = socklnd::SockLndCounters::Id;
  std::uint64_t sum = 0;
  for (const Interface& each : interfaces_) {
    for (const Id id : {Id::kAttemptVersion, Id::kAttemptIdentity, Id::kAttemptType,
                        Id::kAttemptGarbage, Id::kClosedFrame, Id::kClosedCookies,
                        Id::kClosedNoopSum, Id::kClosedSum, Id::kClosedRejected}) {
      sum += each.lnd->count(id);
    }
  }
  for (const Sockets& each : sockets_)
    sum += each.streams->strange_strangers();
  return sum;
}

}  // namespace plnet::sim
