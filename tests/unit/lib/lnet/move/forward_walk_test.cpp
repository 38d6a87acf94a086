// SPDX-License-Identifier: BSD-3-Clause
// Data through a router from end to end, with a stream on one side and queue pairs on the other:
// the third walk of doc/architecture.md.
#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "tests/mocks/core_node.hpp"
#include "tests/mocks/mock_rdma_lnd.hpp"
#include "tests/mocks/mock_stream_lnd.hpp"
#include "tests/unit/lib/lnet/move/site.hpp"

namespace plnet::lnet::forward_walk_test {
namespace {

constexpr std::uint32_t kBytes = kPayloadBytesMax;
constexpr BufferCounts kBuffers{{2, 2, 2}};
const Nid kClient = Nid::of(NetType::kTcp, 0, 1);
const Nid kServer = Nid::of(NetType::kO2ib, 0, 2);
const std::array<Nid, 2> kRouter{Nid::of(NetType::kTcp, 0, 9), Nid::of(NetType::kO2ib, 0, 9)};

class Walk {
 public:
  explicit Walk(unsigned shards)
      : memory_(2 * kBytes + shards * RouterMemory::bytes(kBuffers)),
        client_(node({kClient}, shards)),
        server_(node({kServer}, shards)),
        router_(node({kRouter[0], kRouter[1]}, shards)) {
    (void)arenas_.add({.base = memory_.data(), .size = memory_.size()}).value();
    router_->shared().parameters.routing.set(static_cast<std::int32_t>(RoutingState::kEnabled));
    for (unsigned i = 0; i < shards; ++i)
      EXPECT_TRUE(router_->shard(i).core().buffers.resize(kBuffers));
    add_route(*client_, kRouter[0], kServer.net());
    add_route(*server_, kRouter[1], kClient.net());
    for (std::uint32_t i = 0; i < kBytes; ++i)
      memory_[i] = static_cast<std::byte>(i * 13 + (i >> 11U));
  }

  // From the client's memory to the server's, or the other way round.
  void run(MessageType type, std::uint32_t length) {
    const bool put = type == MessageType::kPut;
    const std::array<Fragment, 1> full{Fragment{{0, 0}, kBytes}};
    const std::array<Fragment, 1> empty{Fragment{{0, kBytes}, kBytes}};
    std::fill_n(memory_.begin() + kBytes, kBytes, std::byte{0});
    Recorder user;
    Recorder target;
    Shard& shard = client_->shard(client_->shards() - 1);
    const MdHandle md =
        shard.bind({.fragments = put ? full : empty, .length = length, .handler = &user}).value();
    const Attached attached = server_->shard(0)
                                  .attach({.portal = 5, .match_bits = 7},
                                          {.fragments = put ? empty : full,
                                           .length = kBytes,
                                           .options = (put ? kMdPut : kMdGet) | kMdTruncate,
                                           .handler = &target})
                                  .value();
    const ProcessId to{kServer};
    if (put) {
      ASSERT_TRUE(
          shard.put(md, {.target = to, .portal = 5, .match_bits = 7, .ack = true}).has_value());
    } else {
      ASSERT_TRUE(shard.get(md, {.target = to, .portal = 5, .match_bits = 7}).has_value());
    }
    settle();
    EXPECT_EQ(user.count(put ? EventKind::kAck : EventKind::kReply), 1U);
    const Event arrived = target.only(put ? EventKind::kPut : EventKind::kGet);
    EXPECT_EQ(arrived.initiator.nid, kClient);
    EXPECT_EQ(arrived.sender, kRouter[1]);
    EXPECT_TRUE(std::equal(memory_.begin(), memory_.begin() + length, memory_.begin() + kBytes));
    EXPECT_TRUE(std::all_of(memory_.begin() + kBytes + length, memory_.begin() + 2 * kBytes,
                            [](std::byte byte) { return byte == std::byte{0}; }));
    (void)shard.unlink(md);
    (void)server_->shard(0).unlink(attached.md);
    settle();
  }
  [[nodiscard]] std::uint64_t routed(Statistic id) {
    std::uint64_t sum = 0;
    for (unsigned i = 0; i < router_->shards(); ++i)
      sum += router_->shard(i).core().statistics.get(id);
    return sum;
  }
  void expect_conserved() {
    unsigned number = 0;
    for (mocks::CoreNode* const node : {client_.get(), server_.get(), router_.get()})
      lnet::expect_conserved(*node, number++);
  }

 private:
  std::unique_ptr<mocks::CoreNode> node(std::vector<Nid> nids, unsigned shards) {
    mocks::CoreNodeSetup setup{.shards = shards,
                               .nids = nids,
                               .peers = 32,
                               .interface_cookie = 50 + ++made_,
                               .arenas = &arenas_};
    for (unsigned i = 0; i < shards && nids.size() > 1; ++i) {
      setup.router_memory.push_back(
          {.at = {0, 2 * kBytes + i * RouterMemory::bytes(kBuffers)}, .most = kBuffers});
    }
    return std::make_unique<mocks::CoreNode>(
        setup, [this](NiPort& port, ShardId shard) -> std::unique_ptr<Lnd> {
          const mocks::MockLndConfig config{
              .nid = port.ni().nid, .arenas = &arenas_, .piece_bytes = 100'000};
          if (config.nid.net() == kClient.net()) {
            return std::make_unique<mocks::MockStreamLnd>(config, streams_[shard], port);
          }
          return std::make_unique<mocks::MockRdmaLnd>(config, fabrics_[shard], port);
        });
  }
  void add_route(mocks::CoreNode& node, const Nid& gateway, NetId net) {
    Routes& routes = routes_.emplace_back();
    auto& route = routes.list.emplace_back(std::make_unique<Route>());
    route->spec = {.net = net, .gateway = gateway, .hops = 1};
    route->gateway.store(node.add_peer(gateway).peer.load());
    routes.view = RouteView(routes.list);
    node.shared().routes.store(&routes.view);
  }
  void settle() {
    unsigned quiet = 0;
    for (unsigned turns = 0; turns < 5000 && quiet < 24; ++turns) {
      now_ += std::chrono::microseconds(1);
      const unsigned work = client_->turn(now_) + server_->turn(now_) + router_->turn(now_);
      quiet = work == 0 ? quiet + 1 : 0;
    }
    EXPECT_EQ(quiet, 24U) << "it never becomes idle";
  }

  struct Routes {
    std::vector<std::unique_ptr<Route>> list;
    RouteView view;
  };

  std::vector<std::byte> memory_;
  ArenaTable arenas_;
  std::array<mocks::MockStreamLnd::Network, 4> streams_;
  std::array<mocks::MockRdmaLnd::Network, 4> fabrics_;
  std::deque<Routes> routes_;
  unsigned made_ = 0;
  Instant now_{std::chrono::seconds(1)};
  std::unique_ptr<mocks::CoreNode> client_;
  std::unique_ptr<mocks::CoreNode> server_;
  std::unique_ptr<mocks::CoreNode> router_;
};

TEST(ForwardWalk, EveryByteOfAPutAndOfAGetArrivesFromAStreamByQueuePairs) {
  for (const unsigned shards : {1U, 3U}) {
    Walk walk(shards);
    std::uint64_t messages = 0;
    std::uint64_t bytes = 0;
    for (const std::uint32_t length : {0U, 1U, 4096U, 4097U, kBytes}) {
      for (const MessageType type : {MessageType::kPut, MessageType::kGet}) {
        const testing::ScopedTrace where(__FILE__, __LINE__,
                                         testing::Message() << shards << " shards, " << length);
        walk.run(type, length);
        messages += 2;
        bytes += length;
      }
    }
    EXPECT_EQ(walk.routed(Statistic::kRouteCount), messages);
    EXPECT_EQ(walk.routed(Statistic::kRouteLength), bytes);
    EXPECT_EQ(walk.routed(Statistic::kDropCount), 0U);
    walk.expect_conserved();
  }
}

}  // namespace
}  // namespace plnet::lnet::forward_walk_test
