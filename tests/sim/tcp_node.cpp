// SPDX-License-Identifier: BSD-3-Clause
#include "tests/sim/tcp_node.hpp"

#include <algorithm>
#include <utility>

#include "tests/sim/accepting.hpp"

namespace plnet::sim {

using namespace lnet;

namespace {

constexpr std::size_t kPeers = 16;
constexpr std::size_t kStreams = 256;
constexpr std::uint64_t kControlBytes = 1U << 20U;
constexpr std::uint64_t kProgramBytes = 4U << 20U;
constexpr std::uint32_t kTakenMax = 512U << 10U;  // in total

socklnd::SocketAddress address_of(const Nid& nid) {
  return {drivers::mapped_ipv4(nid.address32()), kAcceptPort};
}

}  // namespace

TcpNode::TcpNode(const TcpNodeSetup& setup, drivers::SimStreamFabric& fabric,
                 drivers::SimShard& shard)
    : setup_(setup), memory_(kControlBytes + kProgramBytes), bells_{&shard}, streams_(kStreams) {
  PLNET_CHECK(arenas_.add({.base = memory_.data(), .size = memory_.size()}).has_value(), "room");
  driver_ = std::make_unique<drivers::SimStreamDriver>(fabric, shard.host(), streams_, shard);
  streams_.set_driver(*driver_);
  acceptor_ = std::make_unique<socklnd::Acceptor>(socklnd::AcceptorConfig{}, streams_, *this);
  NodeSetup node{.interface_cookie = setup.interface_cookie,
                 .arenas = &arenas_,
                 .control_memory = {{0, 0}, std::span(memory_).first(kControlBytes)},
                 .doorbells = bells_,
                 .start = setup.start};
  node.shard_limits = {.peer_ports = kPeers,
                       .extra_links = kPeers,
                       .messages = 256,
                       .receives = 256,
                       .descriptors = 256,
                       .match_entries = 256};
  node.coordinator.peers.peers = node.coordinator.peers.peer_nis = kPeers;
  node.coordinator.peers.kept_for_own = 0;
  node_ = std::make_unique<Node>(node);
  PLNET_CHECK(node_->add_ni({.nid = setup.nid}, *this).has_value(), "the first of its kind");
  node_->set_running();
  const auto listening = driver_->listen(address_of(setup.nid), kBacklog, {});
  PLNET_CHECK(listening.has_value(), "nobody else listens there");
  shard.add(*this);
}

TcpNode::~TcpNode() = default;

std::unique_ptr<Lnd> TcpNode::make(NiPort& port, ShardId /*shard*/) {
  auto lnd =
      std::make_unique<socklnd::SockLnd>(socklnd::SockLndConfig{.nid = port.ni().nid,
                                                                .incarnation = setup_.incarnation,
                                                                .arenas = &arenas_,
                                                                .start = setup_.start},
                                         port, streams_);
  lnd_ = lnd.get();
  return lnd;
}

std::optional<socklnd::LocalInterface> TcpNode::local(const Nid& nid) const {
  if (nid != setup_.nid) return std::nullopt;
  return socklnd::LocalInterface{.incarnation = setup_.incarnation};
}

socklnd::Room TcpNode::room_for(const socklnd::Arrival& /*arrival*/) {
  return lnd_->has_room() ? socklnd::Room::kFree : socklnd::Room::kNone;
}

void TcpNode::hand_over(const socklnd::Arrival& arrival) {
  arrivals_.push_back(arrival);
}

unsigned TcpNode::poll(Instant now) {
  node_->shard(0).begin_turn(now);
  unsigned work = driver_->poll(now);
  work += acceptor_->flush(now);
  for (const socklnd::Arrival& arrival : std::exchange(arrivals_, {})) {
    lnd_->accept(arrival);
    ++work;
  }
  work += node_->shard(0).poll(now);
  node_->quiescent(0);
  return work + node_->coordinate(now);
}

Instant TcpNode::next_deadline() const {
  const Instant strangers = acceptor_->next_deadline();
  return std::min({strangers, node_->shard(0).next_deadline(),
                   node_->next_coordination(node_->shard(0).core().now)});
}

std::span<const Fragment> TcpNode::room(std::size_t bytes) {
  PLNET_CHECK(used_ + bytes <= kProgramBytes, "the program's memory is large enough");
  fragments_.push_back({{0, kControlBytes + used_}, static_cast<std::uint32_t>(bytes)});
  used_ += bytes;
  return {&fragments_.back(), 1};
}

std::span<const Fragment> TcpNode::room(std::span<const std::byte> bytes) {
  const auto list = room(bytes.size());
  std::ranges::copy(bytes, memory_.begin() + static_cast<std::ptrdiff_t>(list[0].at.offset));
  return list;
}

void TcpNode::put(const ProcessId& to, PortalId portal, std::uint64_t match_bits,
                  std::span<const std::byte> payload) {
  const auto length = static_cast<std::uint32_t>(payload.size());
  const auto md = node_->shard(0).bind(
      {.fragments = room(payload), .length = length, .threshold = 1, .handler = this});
  const PutSpec spec{.target = to, .portal = portal, .match_bits = match_bits, .ack = false};
  if (!md || !node_->shard(0).put(*md, spec)) ++failures_;
}

void TcpNode::get(const ProcessId& to, PortalId portal, std::uint64_t match_bits,
                  std::uint32_t length) {
  const auto list = room(std::size_t{length});
  const auto md = node_->shard(0).bind({.fragments = list,
                                        .length = length,
                                        .threshold = 2,
                                        .user = const_cast<Fragment*>(list.data()),
                                        .handler = this});
  const GetSpec spec{.target = to, .portal = portal, .match_bits = match_bits};
  if (!md || !node_->shard(0).get(*md, spec)) ++failures_;
}

void TcpNode::take_puts(PortalId portal) {
  const auto list = room(std::size_t{kTakenMax});
  const auto attached = node_->shard(0).attach({.portal = portal, .ignore_bits = ~0ULL},
                                               {.fragments = list,
                                                .length = kTakenMax,
                                                .options = kMdPut,
                                                .user = const_cast<Fragment*>(list.data()),
                                                .handler = this});
  if (!attached) ++failures_;
}

void TcpNode::attach_for_get(PortalId portal, std::uint64_t match_bits,
                             std::span<const std::byte> bytes) {
  const auto length = static_cast<std::uint32_t>(bytes.size());
  const auto attached = node_->shard(0).attach(
      {.portal = portal, .match_bits = match_bits, .position = MePosition::kBefore},
      {.fragments = room(bytes),
       .length = length,
       .threshold = 1,
       .options = kMdGet | kMdManageRemote,
       .handler = this});
  if (!attached) ++failures_;
}

void TcpNode::on_event(const Event& event) {
  if (!event.status) ++failures_;
  const bool brought = event.kind == EventKind::kPut || event.kind == EventKind::kReply;
  if (!brought || event.user == nullptr) return;
  const auto& fragment = *static_cast<const Fragment*>(event.user);
  const auto from =
      memory_.begin() + static_cast<std::ptrdiff_t>(fragment.at.offset + event.offset);
  received_.emplace_back(from, from + event.accepted_length);
}

}  // namespace plnet::sim
