// SPDX-License-Identifier: BSD-3-Clause
#include "tests/unit/lib/lnet/move/site.hpp"

#include <algorithm>

namespace plnet::lnet {

std::size_t Recorder::count(EventKind kind) const {
  return static_cast<std::size_t>(std::ranges::count(events, kind, &Event::kind));
}

Event Recorder::only(EventKind kind) const {
  EXPECT_EQ(count(kind), 1U) << "events of kind " << static_cast<int>(kind);
  const auto found = std::ranges::find(events, kind, &Event::kind);
  return found == events.end() ? Event{} : *found;
}

Site::Site(const SiteSetup& setup) : setup_(setup), memory_(setup.memory_bytes) {
  (void)arenas_.add({.base = memory_.data(), .size = memory_.size()}).value();
  for (unsigned i = 0; i < setup.shards; ++i) {
    streams_.push_back(std::make_unique<mocks::MockStreamLnd::Network>());
    fabrics_.push_back(std::make_unique<mocks::MockRdmaLnd::Network>());
  }
  for (unsigned i = 0; i < setup.nodes; ++i) {
    const mocks::MockLndConfig lnd{.nid = nid(i),
                                   .arenas = &arenas_,
                                   .in_flight_max = setup.in_flight_max,
                                   .window = setup.window,
                                   .piece_bytes = 50'000,
                                   .lnd_timeout = setup.lnd_timeout};
    const auto make = [this, lnd](NiPort& port, ShardId shard) -> std::unique_ptr<Lnd> {
      if (setup_.wire == Wire::kStream) {
        return std::make_unique<mocks::MockStreamLnd>(lnd, *streams_[shard], port);
      }
      return std::make_unique<mocks::MockRdmaLnd>(lnd, *fabrics_[shard], port);
    };
    nodes_.push_back(
        std::make_unique<mocks::CoreNode>(mocks::CoreNodeSetup{.shards = setup.shards,
                                                               .nids = {nid(i)},
                                                               .served = setup.served,
                                                               .limits = setup.limits,
                                                               .peers = setup.peers,
                                                               .interface_cookie = 100 + i,
                                                               .tunables = setup.tunables,
                                                               .arenas = &arenas_},
                                          make));
  }
}

Site::~Site() = default;

Nid Site::nid(unsigned node) const {
  return Nid::of(setup_.wire == Wire::kStream ? NetType::kTcp : NetType::kO2ib, 0, 1 + node);
}

PeerNi& Site::know(unsigned node, unsigned other, ShardId home) {
  return nodes_[node]->add_peer(nid(other), home);
}

PeerPort* Site::port(unsigned node, unsigned other, ShardId shard) {
  const PeerNi* const ni = nodes_[node]->directory().find(nid(other));
  return ni == nullptr ? nullptr : core(node, shard).peers.find(*ni);
}

const Buffer& Site::buffer(std::uint32_t length) {
  const std::uint32_t first = length > 8 ? length / 3 : length;
  PLNET_CHECK(used_ + length <= memory_.size(), "the test needs more memory");
  Buffer& made = buffers_.emplace_back();
  made.length = length;
  made.pieces = {Fragment{{0, used_}, first}, Fragment{{0, used_ + first}, length - first}};
  used_ += length;
  return made;
}

namespace {
std::byte pattern(unsigned seed, std::uint32_t at) {
  return static_cast<std::byte>((seed * 37 + at * 7 + (at >> 8) + 1) & 0xff);
}
}  // namespace

void Site::fill(const Buffer& buffer, unsigned seed) {
  std::byte* const at = memory_.data() + buffer.pieces[0].at.offset;
  for (std::uint32_t i = 0; i < buffer.length; ++i)
    at[i] = pattern(seed, i);
}

bool Site::holds(const Buffer& buffer, std::uint32_t offset, std::uint32_t length, unsigned seed) {
  const std::byte* const at = memory_.data() + buffer.pieces[0].at.offset;
  for (std::uint32_t i = 0; i < buffer.length; ++i) {
    const bool written = i >= offset && i - offset < length;
    const std::byte expected = written ? pattern(seed, i - offset) : std::byte{0};
    if (at[i] != expected) return false;
  }
  return true;
}

MdHandle Site::bind(unsigned node, unsigned number, const Buffer& buffer, EventHandler& handler,
                    std::uint32_t options, std::int32_t threshold) {
  const auto md = shard(node, number)
                      .bind({.fragments = buffer.fragments(),
                             .length = buffer.length,
                             .threshold = threshold,
                             .options = options,
                             .user = &handler,
                             .handler = &handler});
  EXPECT_TRUE(md.has_value());
  return md.value_or(MdHandle{});
}

Attached Site::attach(unsigned node, unsigned number, const MeSpec& me, const Buffer& buffer,
                      EventHandler& handler, std::uint32_t options, std::int32_t threshold) {
  const auto attached = shard(node, number)
                            .attach(me, {.fragments = buffer.fragments(),
                                         .length = buffer.length,
                                         .threshold = threshold,
                                         .options = options,
                                         .user = &handler,
                                         .handler = &handler});
  EXPECT_TRUE(attached.has_value());
  return attached.value_or(Attached{});
}

void Site::turn() {
  now_ += std::chrono::microseconds(1);
  for (const auto& node : nodes_)
    node->turn(now_);
}

void Site::turn_shard(unsigned node, unsigned shard) {
  nodes_[node]->turn_shard(shard, now_ += std::chrono::microseconds(1));
}

void Site::pass_once(Duration time) {
  now_ += time;
  turn();
}

void Site::settle() {
  constexpr unsigned kQuietTurns = 24;  // mocks do not count all of their work
  unsigned quiet = 0;
  for (unsigned turns = 0; turns < 5000 && quiet < kQuietTurns; ++turns) {
    now_ += std::chrono::microseconds(1);
    unsigned work = 0;
    for (const auto& node : nodes_)
      work += node->turn(now_);
    quiet = work == 0 ? quiet + 1 : 0;
  }
  EXPECT_GE(quiet, kQuietTurns) << "it never becomes idle";
}

void Site::pass(Duration time) {
  const Instant until = now_ + time;
  while (now_ < until) {
    now_ += std::min<Duration>(until - now_, std::chrono::milliseconds(250));
    for (const auto& node : nodes_)
      node->turn(now_);
  }
  settle();
}

std::uint64_t Site::sum(unsigned node, Statistic id) {
  std::uint64_t total = 0;
  for (unsigned i = 0; i < setup_.shards; ++i)
    total += core(node, i).statistics.get(id);
  return total;
}

std::uint64_t Site::sum(unsigned node, Cause id) {
  std::uint64_t total = 0;
  for (unsigned i = 0; i < setup_.shards; ++i)
    total += core(node, i).causes.get(id);
  return total;
}

std::uint64_t Site::traffic(unsigned node, LnetTraffic::Id id) {
  std::uint64_t total = 0;
  for (unsigned i = 0; i < setup_.shards; ++i) {
    if (const NiPort* const ni = core(node, i).ports[1]) total += ni->traffic.get(id);
  }
  return total;
}

void expect_conserved(mocks::CoreNode& node, unsigned number) {
  EXPECT_TRUE(node.quiet()) << "node " << number;
  for (unsigned i = 0; i < node.shards(); ++i) {
    const testing::ScopedTrace where(__FILE__, __LINE__,
                                     testing::Message() << "node " << number << " shard " << i);
    ShardCore& core = node.shard(i).core();
    EXPECT_TRUE(node.shard(i).idle());
    EXPECT_EQ(core.statistics.get(Statistic::kMessagesAlloc), 0U);
    EXPECT_EQ(core.messages.free_count(), core.messages.capacity());
    EXPECT_EQ(core.receives.free_count(), core.receives.capacity());
    EXPECT_EQ(core.ack_notes.free_count(), core.ack_notes.capacity());
    EXPECT_EQ(core.match.counters().get(MatchCounters::Id::kQuarantined), 0U);
    EXPECT_TRUE(core.inbox.empty() && core.decided.empty());
    for (std::size_t wait = 0; wait < kWaitNames.size(); ++wait)
      EXPECT_EQ(core.waits.waiting(static_cast<Wait>(wait)), 0U) << kWaitNames[wait];
    EXPECT_TRUE(std::ranges::all_of(core.ni_users, [](auto users) { return users == 0; }));
    EXPECT_EQ(core.buffers.held(), 0U);
    EXPECT_FALSE(core.forwarder.hops.has_work());
    core.peers.for_each([&](PeerPort& peer) {
      EXPECT_EQ(peer.client.credits, peer.client.credits_max);
      EXPECT_EQ(peer.client.waiting_count, 0U);
      EXPECT_EQ(peer.hop.held + peer.hop.handed, 0U);
      EXPECT_FALSE(peer.hop.waits() || peer.hop.stalled);
      EXPECT_EQ(peer.outstanding, 0U);
      EXPECT_EQ(peer.waiting_count, 0U);
      EXPECT_TRUE(peer.waiting.empty());
      EXPECT_EQ(peer.queued_bytes, 0U);
      EXPECT_EQ(peer.tx_credits(), peer.tx_credits_max);
      EXPECT_FALSE(peer.releasing);
      if (peer.peer_ni->home != i) return;
      EXPECT_EQ(peer.peer_ni->tx_credits.get(), peer.tx_credits_max);
      EXPECT_EQ(peer.peer_ni->queued_bytes.get(), 0U);
    });
    for (const NiPort* const ni : core.ports) {
      if (ni == nullptr) continue;
      EXPECT_TRUE(ni->idle());
      EXPECT_EQ(ni->tx_credits(), ni->tx_credits_max());
    }
  }
}

void Site::expect_conserved() {
  for (unsigned i = 0; i < nodes_.size(); ++i)
    lnet::expect_conserved(*nodes_[i], i);
}

}  // namespace plnet::lnet
