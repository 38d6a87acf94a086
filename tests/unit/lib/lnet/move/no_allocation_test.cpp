// SPDX-License-Identifier: BSD-3-Clause
// After start the message path allocates nothing and frees nothing, for every outcome of a message.
// It is a test of its own because it replaces operator new.
#include <array>
#include <vector>

#include <gtest/gtest.h>

#include "drivers/net/null/device.hpp"
#include "lib/base/random.hpp"
#include "tests/mocks/core_node.hpp"
#include "tests/unit/drivers/counting_new.hpp"

namespace plnet::lnet::no_allocation_test {
namespace {

using testrig::heap_calls_of;
using testrig::HeapCalls;

constexpr PortalId kLazy = 7;
constexpr PortalId kEager = 8;

struct CountEvents final : EventHandler {
  void on_event(const Event& event) override { ++kinds[static_cast<std::size_t>(event.kind)]; }
  [[nodiscard]] std::uint64_t of(EventKind kind) const {
    return kinds[static_cast<std::size_t>(kind)];
  }
  std::array<std::uint64_t, 8> kinds{};
};

constexpr std::size_t kPeers = 200;

Nid peer_nid(std::uint64_t number) {
  return Nid::of(NetType::kTcp, 0, 100 + static_cast<std::uint32_t>(number));
}

struct Rig {
  Rig()
      : memory(1U << 16),
        node({.shards = 2,
              .nids = {Nid::of(NetType::kTcp, 0, 1)},
              .limits = {.peer_ports = kPeers + 16,
                         .extra_links = 16,
                         .messages = 256,
                         .receives = 256,
                         .descriptors = 64,
                         .match_entries = 64},
              .peers = kPeers + 16,
              .tunables = {.peer_credits = 2, .credits = 16},
              .arenas = with_memory()},
             [this](NiPort& port, ShardId shard) {
               const drivers::NullConfig config{.mode = drivers::NullMode::kEcho,
                                                .in_flight_max = 64,
                                                .peers_max = kPeers + 16,
                                                .arenas = &arenas};
               auto lnd = std::make_unique<drivers::NullLnd>(config, port, random);
               lnds[shard] = lnd.get();
               return lnd;
             }) {
    node.set_lazy(kLazy, true);
  }

  const ArenaTable* with_memory() {
    (void)arenas.add({.base = memory.data(), .size = memory.size()}).value();
    return &arenas;
  }
  // A PUT from this peer arrives.
  RxDecision offer(unsigned shard, std::uint64_t peer, RxHandle rx, PortalId portal) {
    MessageHeader header{.destination = Nid::of(NetType::kTcp, 0, 1),
                         .source = peer_nid(peer),
                         .type = MessageType::kPut};
    header.payload_length = 10;
    header.set_area(PutArea{.match_bits = 1, .portal = portal});
    return node.shard(shard).core().ports[1]->on_header(
        {.header = header, .from = header.source, .rx = rx});
  }
  void turns(unsigned count, Duration time = std::chrono::microseconds(10)) {
    for (unsigned i = 0; i < count; ++i)
      node.turn(now += time);
  }

  Random random{1};
  std::vector<std::byte> memory;
  std::array<Fragment, 1> fragments{Fragment{{0, 0}, 1U << 16}};
  ArenaTable arenas;
  std::array<drivers::NullLnd*, 2> lnds{};
  Instant now{std::chrono::seconds(1)};
  mocks::CoreNode node;
};

TEST(NoAllocation, TheCounterCounts) {
  EXPECT_EQ(heap_calls_of([] { ::operator delete(::operator new(1)); }), (HeapCalls{1, 1}));
}

TEST(NoAllocation, OnThePathOfAMessageWithAnyOutcome) {
  Rig rig;
  CountEvents user;
  std::array<MdHandle, 2> mds;
  const MdSpec spec{.fragments = rig.fragments, .length = 100, .handler = &user};
  for (unsigned i = 0; i < 2; ++i)
    mds[i] = rig.node.shard(i).bind(spec).value();
  const auto calls = heap_calls_of([&] {
    std::uint32_t rx = 1;
    for (unsigned round = 0; round < 3000; ++round) {
      Shard& shard = rig.node.shard(round % 2);
      const MdHandle md = mds[round % 2];
      // To new and known peers, beyond the credits of both kinds; some messages time out.
      for (unsigned i = 0; i < 4; ++i) {
        const ProcessId to{peer_nid(round < 1000 ? round / 5 : round % 7)};
        (void)shard.put(md, {.target = to, .portal = kEager, .match_bits = 1});
        (void)shard.get(md, {.target = to, .portal = kEager, .match_bits = 1});
      }
      (void)shard.put(md, {.target = {ShardCore::kLoopbackNid}, .portal = kEager});
      (void)shard.put(md, {.target = {Nid::of(NetType::kTcp, 9, 1)}});  // no path
      // Dropped at once, parked and matched, parked and cancelled.
      (void)rig.offer(round % 2, round % 50, {rx++, 9}, kEager);
      const RxHandle parked{rx++, 9};
      const bool waits =
          rig.offer(round % 2, round % 50, parked, kLazy).verdict == RxVerdict::kPark;
      rig.turns(round % 3);
      if (waits) rig.node.shard(round % 2).core().ports[1]->on_parked_gone(parked, Errc::kReset);
      if (round % 100 == 0) rig.turns(3, std::chrono::milliseconds(700));
    }
    rig.turns(400, std::chrono::milliseconds(10));
  });
  EXPECT_EQ(calls, HeapCalls{});
  EXPECT_GT(user.of(EventKind::kAck), 5000U);
  EXPECT_GT(user.of(EventKind::kReply), 5000U);
  ShardCore& core = rig.node.shard(0).core();
  EXPECT_GT(core.causes.get(Cause::kTxNoPath), 1000U);
  EXPECT_GT(core.causes.get(Cause::kDroppedPutNoMatch), 1000U);
  EXPECT_GT(core.causes.get(Cause::kDroppedConnectionLost), 200U);
  EXPECT_GT(core.causes.get(Cause::kCrossedHome), 1000U);
}

TEST(NoAllocation, MessagesThatTimeOutInTheirQueues) {
  Rig rig;
  CountEvents user;
  const MdHandle md =
      rig.node.shard(0).bind({.fragments = rig.fragments, .length = 100, .handler = &user}).value();
  rig.turns(1);
  const auto calls = heap_calls_of([&] {
    for (unsigned i = 0; i < 100; ++i)
      (void)rig.node.shard(0).put(md, {.target = {peer_nid(1)}, .portal = kEager});
    rig.turns(1, std::chrono::microseconds(1));
    rig.turns(1, std::chrono::seconds(200));
    rig.turns(50);
  });
  EXPECT_EQ(calls, HeapCalls{});
  EXPECT_EQ(user.of(EventKind::kSend), 100U);
}

}  // namespace
}  // namespace plnet::lnet::no_allocation_test
