// SPDX-License-Identifier: BSD-3-Clause
// A peer that sends requests without end and reads no answer, beside a well-behaved one: whole
// nodes, from their streams to LNet.
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "lib/lnet/wire/header_codec.hpp"
#include "lib/lnet/wire/ping_buffer.hpp"
#include "tests/sim/replayed_kernel.hpp"
#include "tests/sim/tcp_node.hpp"
#include "tests/unit/drivers/sim_cluster.hpp"

namespace plnet::sim::starvation_test {
namespace {

using namespace lnet;
using Bytes = std::vector<std::byte>;

Nid nid_of(unsigned host) {
  return Nid::of(NetType::kTcp, 0, drivers::kFirstAddress + host);
}

class Ping final : public PingRequest {
 public:
  void done(Result<void> outcome, const PingView* /*buffer*/) override { ok = outcome.has_value(); }
  std::optional<bool> ok;
};

// Small ones, which unread data soon fills.
drivers::SimShape small_buffers() {
  drivers::SimShape shape = drivers::SimShape::calm();
  shape.stream.send_buffer_bytes = shape.stream.receive_buffer_bytes = 8192;
  return shape;
}

Bytes introduction(const Nid& from, const Nid& to) {
  Bytes bytes(socklnd::kAcceptorV2Bytes + socklnd::kHelloV4Bytes);
  std::size_t length =
      socklnd::encode_acceptor_request(to, std::span(bytes).first<socklnd::kAcceptorV2Bytes>());
  socklnd::Hello hello{.source = from, .destination = to, .source_incarnation = 5};
  hello.type = static_cast<std::int32_t>(socklnd::ConnectionType::kControl);
  length +=
      socklnd::encode_hello(hello, std::span(bytes).subspan(length).first<socklnd::kHelloV4Bytes>())
          .value();
  bytes.resize(length);
  return bytes;
}

Bytes ping(const Nid& from, const Nid& to, std::uint64_t number) {
  MessageHeader header{.destination = to, .source = from, .type = MessageType::kGet};
  header.set_area(GetArea{.return_handle = {77, number},
                          .match_bits = kPingMatchBits,
                          .portal = kPingPortal,
                          .sink_length = 4096});
  Bytes bytes(socklnd::kFrameBytes + kHeaderNid4Bytes);
  const std::span all(bytes);
  socklnd::encode_frame({.type = socklnd::kFrameLnet}, all.first<socklnd::kFrameBytes>());
  EXPECT_TRUE(encode_header_nid4(header, all.subspan<socklnd::kFrameBytes, kHeaderNid4Bytes>())
                  .has_value());
  return bytes;
}

class Starvation : public testing::Test {
 protected:
  static constexpr unsigned kVictim = 0;
  static constexpr unsigned kHostile = 1;
  static constexpr unsigned kHonest = 2;

  void TearDown() override {
    hostile.hang_up(0);
    EXPECT_TRUE(cluster.run([&] { return all_home(); })) << "it kept something";
  }
  bool all_home() {
    const auto& receives = victim->node().shard(0).core().receives;
    return receives.free_count() == receives.capacity();
  }

  std::unique_ptr<TcpNode> make(unsigned host) {
    return std::make_unique<TcpNode>(TcpNodeSetup{.nid = nid_of(host),
                                                  .incarnation = 1 + host,
                                                  .interface_cookie = 1 + host,
                                                  .start = cluster.loop.now()},
                                     fabric, *cluster.shards[host]);
  }
  // Connects, gets an answer, and reads nothing from then on.
  void befriend() {
    hostile.dial(nid_of(kVictim), 1000);
    hostile.say(0, introduction(nid_of(kHostile), nid_of(kVictim)));
    ASSERT_TRUE(cluster.run([&] { return !hostile.heard(0).empty(); }));
    hostile.stop_reading(0);
  }
  void flood(unsigned pings) {
    for (unsigned i = 0; i < pings; ++i)
      hostile.say(0, ping(nid_of(kHostile), nid_of(kVictim), i));
    cluster.loop.run_for(std::chrono::seconds(1));
  }
  bool is_answered() {
    cluster.shards[kHonest]->ring();  // a shard that slept has an old time
    cluster.loop.run_for(std::chrono::milliseconds(1));
    Ping asked;
    asked.target = {nid_of(kVictim)};
    asked.interfaces = kInterfacesMax;
    asked.deadline = cluster.loop.now() + std::chrono::seconds(2);
    honest->node().coordinator().ping(asked);
    cluster.shards[kHonest]->ring();
    EXPECT_TRUE(cluster.run([&] { return asked.ok.has_value(); }));
    return asked.ok.value_or(false);
  }
  std::uint64_t cause(Cause id) { return victim->node().shard(0).core().causes.get(id); }

  const drivers::SimShape shape = small_buffers();
  drivers::SimCluster cluster{1, shape, 3};
  drivers::SimStreamFabric fabric{cluster.network, shape.stream, 1};
  std::unique_ptr<TcpNode> victim = make(kVictim);
  std::unique_ptr<TcpNode> honest = make(kHonest);
  ReplayedKernel hostile{fabric, *cluster.shards[kHostile], nid_of(kHostile)};
};

TEST_F(Starvation, APeerThatReadsNoAnswersDoesNotKeepAnotherFromBeingAnswered) {
  EXPECT_TRUE(is_answered());
  befriend();
  flood(1000);
  EXPECT_GT(cause(Cause::kHeldPeerShare), 0U);
  for (unsigned i = 0; i < 10; ++i) {
    EXPECT_TRUE(is_answered()) << "ping " << i;
    cluster.loop.run_for(std::chrono::seconds(3));
  }
  EXPECT_EQ(cause(Cause::kDroppedNoReceive), 0U);
  EXPECT_GT(cause(Cause::kDroppedPeerShare), 0U) << "it never moves on";
}

TEST_F(Starvation, HeldRecordsReturnWhenTheConnectionCloses) {
  befriend();
  flood(1000);
  cluster.loop.run_for(std::chrono::minutes(3));
  EXPECT_GT(hostile.closed(), 0U);
  EXPECT_TRUE(all_home());
  EXPECT_TRUE(is_answered());
}

}  // namespace
}  // namespace plnet::sim::starvation_test
