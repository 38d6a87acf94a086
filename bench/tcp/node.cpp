// SPDX-License-Identifier: BSD-3-Clause
#include "bench/tcp/node.hpp"

#include <algorithm>
#include <utility>

namespace plnet::bench {

using lnet::Nid;
using socklnd::Arrival;

namespace {

constexpr std::size_t kConnectionsPerPeer = 3;
constexpr std::size_t kConnectionsSpare = 8;
constexpr std::uint32_t kNear = 0x7f000001;  // 127.0.0.1
constexpr std::uint32_t kFar = 0x7f000002;
constexpr unsigned kTurnsToMeet = 2'000'000;
constexpr lnet::BufferCounts kRouterBuffers{{64, 256, 64}};

std::vector<Nid> nids_of(const TcpNodeSetup& setup) {
  std::vector<Nid> out;
  for (std::uint16_t net = 0; net < setup.nets; ++net)
    out.push_back(nid_of(setup.address, static_cast<std::uint16_t>(setup.first_net + net)));
  if (setup.other != nullptr) out.push_back(setup.other->nid);
  return out;
}

}  // namespace

Nid nid_of(std::uint32_t address, std::uint16_t net) {
  return Nid::of(lnet::NetType::kTcp, net, address);
}

socklnd::SocketAddress socket_address(std::uint32_t address, std::uint16_t port) {
  socklnd::SocketAddress out{.port = port};
  out.ip[10] = out.ip[11] = 0xff;
  for (unsigned i = 0; i < 4; ++i)
    out.ip[12 + i] = static_cast<std::uint8_t>(address >> (24 - 8 * i));
  return out;
}

TcpNode::TcpNode(const TcpNodeSetup& setup)
    : setup_(setup),
      nids_(nids_of(setup)),
      memory_(setup.memory_bytes, std::byte{1}),
      streams_(setup.peers * kConnectionsPerPeer + kConnectionsSpare) {
  PLNET_CHECK(arenas_.add({.base = memory_.data(), .size = memory_.size()}).has_value(), "room");
  std::vector<lnet::RouterMemory> router_memory;
  if (setup.routing) {
    router_memory_.resize(lnet::RouterMemory::bytes(kRouterBuffers));
    const auto arena = arenas_.add({.base = router_memory_.data(), .size = router_memory_.size()});
    router_memory.push_back({.at = {.arena = *arena, .offset = 0}, .most = kRouterBuffers});
  }
  const std::size_t connections = setup.peers * kConnectionsPerPeer + kConnectionsSpare;
  device_ = *drivers::TcpDevice::open({.connections_max = connections}, streams_);
  streams_.set_driver(*device_);
  const auto policy =
      setup.reserved_ports ? socklnd::AcceptPolicy::kSecure : socklnd::AcceptPolicy::kAll;
  acceptor_ = std::make_unique<socklnd::Acceptor>(socklnd::AcceptorConfig{.policy = policy},
                                                  streams_, *this);
  const auto make_lnd = [&](lnet::NiPort& port,
                            lnet::ShardId /*shard*/) -> std::unique_ptr<lnet::Lnd> {
    if (setup.other != nullptr && port.ni().nid == setup.other->nid)
      return setup.other->make_lnd(port, arenas_);
    socklnd::SockLndConfig config{.nid = port.ni().nid,
                                  .incarnation = setup.address,
                                  .arenas = &arenas_,
                                  .privileged = setup.reserved_ports,
                                  .peers_max = setup.peers,
                                  .connections_max = connections,
                                  .relay_bytes_min = setup.relay_bytes_min,
                                  .start = setup.clock->now()};
    config.tunables.accept_port = config.tunables.accept_port_bulk = setup.port;
    auto lnd = std::make_unique<socklnd::SockLnd>(config, port, streams_);
    lnds_.push_back(lnd.get());
    return lnd;
  };
  core_ = std::make_unique<mocks::CoreNode>(
      mocks::CoreNodeSetup{.nids = nids_,
                           .limits = {.peer_ports = setup.peers + 16,
                                      .extra_links = 16,
                                      .messages = 2048,
                                      .receives = 2048,
                                      .descriptors = setup.descriptors,
                                      .match_entries = setup.match_entries},
                           .peers = setup.peers + 16,
                           .tunables = {.peer_credits = setup.peer_credits,
                                        .credits = 256,
                                        .lends_credits = setup.peer_credits == kPeerCredits},
                           .arenas = &arenas_,
                           .router_memory = router_memory},
      make_lnd);
  if (!setup.routing) return;
  core_->shared().parameters.routing.set(static_cast<std::int32_t>(lnet::RoutingState::kEnabled));
  PLNET_CHECK(core_->shard(0).core().buffers.resize(kRouterBuffers), "the memory is for these");
}

TcpNode::~TcpNode() = default;

bool TcpNode::listen() {
  return device_->listen(socket_address(setup_.address, setup_.port), 1024, {}).has_value();
}

unsigned TcpNode::turn() {
  const Instant now = setup_.clock->now();
  core_->shard(0).begin_turn(now);
  if (!arrivals_.empty()) {
    for (const Arrival& arrival : std::exchange(arrivals_, {}))
      lnd_of(arrival.local).accept(arrival);
  }
  unsigned work = device_->poll(now);
  work += acceptor_->flush(now);
  if (setup_.other != nullptr) work += setup_.other->poll(now);
  if (resident_ != nullptr) work += resident_->poll(now);
  work += core_->turn_shard(0, now);
  (void)core_->step_directory(now);
  return work;
}

lnet::MdHandle TcpNode::source(std::uint32_t length) {
  source_ = {{.at = {0, 0}, .length = length}};
  const auto md =
      core_->shard(0).bind({.fragments = length > 0 ? std::span(source_) : std::span<Fragment>{},
                            .length = length,
                            .handler = &events});
  return md ? *md : lnet::MdHandle{};
}

// The offset comes with the request, so that each PUT lands at the same place.
void TcpNode::attach_memory(std::uint32_t length) {
  target_ = {{.at = {0, 0}, .length = length}};
  const auto attached =
      core_->shard(0).attach({.portal = kPortal, .ignore_bits = ~0ULL},
                             {.fragments = length > 0 ? std::span(target_) : std::span<Fragment>{},
                              .length = length,
                              .options = lnet::kMdPut | lnet::kMdManageRemote,
                              .handler = &events});
  PLNET_CHECK(attached.has_value(), "there is room for one match entry");
}

std::optional<socklnd::LocalInterface> TcpNode::local(const Nid& nid) const {
  if (std::ranges::find(nids_, nid) == nids_.end()) return std::nullopt;
  return socklnd::LocalInterface{.incarnation = setup_.address};
}

socklnd::Room TcpNode::room_for(const Arrival& arrival) {
  return lnd_of(arrival.local).has_room() ? socklnd::Room::kFree : socklnd::Room::kNone;
}

socklnd::SockLnd& TcpNode::lnd_of(const Nid& nid) {
  return *lnds_[static_cast<std::size_t>(std::ranges::find(nids_, nid) - nids_.begin())];
}

TcpNodePair::TcpNodePair(const TcpNodeSetup& common, std::uint32_t payload_bytes) {
  if (!listen(common)) return;
  near->know(far->nid());
  far->know(near->nid());
  turn();  // sets their clocks
  far->attach_memory(payload_bytes);
  const lnet::MdHandle source = near->source(payload_bytes);
  near->put(source, far->nid(), true);
  begun = 1;
  using Id = socklnd::SockLndCounters::Id;
  const std::size_t connections = common.reserved_ports ? kConnectionsPerPeer : 1;
  const auto met = [&] {
    return near->events.acks == 1 && near->count(Id::kOpen) == connections &&
           far->count(Id::kOpen) == connections;
  };
  for (unsigned turns = 0; turns < kTurnsToMeet && !met(); ++turns)
    turn();
  if (met() && near->events.failures == 0) md = source;
}

bool TcpNodePair::listen(TcpNodeSetup setup) {
  setup.clock = &clock;
  for (setup.port = 21'000; setup.port < 21'100; ++setup.port) {
    setup.address = kNear;
    near = std::make_unique<TcpNode>(setup);
    setup.address = kFar;
    far = std::make_unique<TcpNode>(setup);
    if (near->listen() && far->listen()) return true;
  }
  return false;
}

void TcpNodePair::settle() {
  // A PUT that has left may still be halfway into its destination.
  const auto done = [&] { return near->events.sends >= begun && far->events.puts >= begun; };
  for (unsigned turns = 0; turns < kTurnsToMeet && !done(); ++turns)
    turn();
}

}  // namespace plnet::bench
