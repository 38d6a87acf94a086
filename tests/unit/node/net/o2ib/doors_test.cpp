// SPDX-License-Identifier: BSD-3-Clause
// Listeners, and the delivery of a request to the shard of its peer. Also the seats of NIs.
#include "node/net/o2ib/doors.hpp"

#include <array>

#include <gtest/gtest.h>

#include "lib/lnet/names/nid64.hpp"
#include "lib/lnet/names/nid_text.hpp"
#include "node/net/o2ib/seats.hpp"
#include "tests/unit/node/net/o2ib/fake_adapter.hpp"

namespace plnet::node::o2ib_doors_test {
namespace {

using lnet::Nid;
using o2iblnd::RejectReason;

Nid nid(const char* text) {
  return lnet::parse_nid(text).value();
}

struct Homes final : O2ibHomes {
  struct Brought {
    lnet::ShardId shard;
    O2ibRequest request;
    Nid local;
  };

  std::optional<lnet::ShardId> home_of(const Nid&, const Nid& peer) override {
    asked_for.push_back(peer);
    return home;
  }
  std::optional<lnet::ShardId> any_of(const Nid&) override { return any; }
  bool bring(lnet::ShardId shard, const O2ibRequest& request, O2ibAdapter&,
             const Nid& local) override {
    if (!has_room) return false;
    brought.push_back({shard, request, local});
    return true;
  }

  std::optional<lnet::ShardId> home = lnet::ShardId{3};
  std::optional<lnet::ShardId> any = lnet::ShardId{1};
  bool has_room = true;
  std::vector<Nid> asked_for;
  std::vector<Brought> brought;
};

class O2ibDoorsTest : public ::testing::Test {
 protected:
  static O2ibDoorNi door_ni(const char* text) { return {.nid = nid(text), .incarnation = 7}; }

  // A peer at `from` claims to be `source` and requests `destination`.
  void ask(const char* source, const char* destination, const char* from) {
    std::array<std::byte, o2iblnd::kConnectBytes> data{};
    (void)o2iblnd::encode({.kind = o2iblnd::Kind::kConnectRequest,
                           .source_nid = lnet::to_nid64(nid(source)).value,
                           .source_stamp = 5,
                           .destination_nid = lnet::to_nid64(nid(destination)).value,
                           .parameters = {.queue_depth = 8, .max_frags = 257}},
                          0, data);
    ask_with(data, from);
  }
  void ask_with(std::span<const std::byte> data, const char* from) {
    wire.asked.from = {.address = nid(from).address32(), .port = 1023};
    wire.listener->on_connect_request({}, wire.asked.from, {}, data);
  }

  FakeWire wire;
  FakeAdapter adapter{wire};
  Homes homes;
  O2ibDoors doors{homes};
};

TEST_F(O2ibDoorsTest, ARequestGoesToTheShardOfItsPeer) {
  ASSERT_TRUE(doors.open(adapter, door_ni("10.0.0.1@o2ib")));
  ask("10.0.0.2@o2ib", "10.0.0.1@o2ib", "10.0.0.2@o2ib");
  ASSERT_EQ(homes.brought.size(), 1U);
  EXPECT_EQ(homes.brought[0].shard, 3);
  EXPECT_EQ(homes.brought[0].local, nid("10.0.0.1@o2ib"));
  EXPECT_EQ(homes.asked_for, std::vector{nid("10.0.0.2@o2ib")});
  EXPECT_TRUE(wire.rejections.empty());
}

// Otherwise any host could fill the directory with peers.
TEST_F(O2ibDoorsTest, AStrangerWithTheNidOfAnotherMakesNoPeer) {
  ASSERT_TRUE(doors.open(adapter, door_ni("10.0.0.1@o2ib")));
  ask("10.0.0.2@o2ib", "10.0.0.1@o2ib", "10.0.0.9@o2ib");
  ask("10.0.0.2@o2ib5", "10.0.0.1@o2ib", "10.0.0.2@o2ib");
  ask("10.0.0.2@o2ib", "10.0.0.7@o2ib", "10.0.0.2@o2ib");
  const std::array<std::byte, 6> nonsense{};
  ask_with(nonsense, "10.0.0.2@o2ib");
  EXPECT_TRUE(homes.asked_for.empty());
  ASSERT_EQ(homes.brought.size(), 4U) << "an NI rejects them with its reasons";
  EXPECT_EQ(homes.brought[3].shard, 1);
}

TEST_F(O2ibDoorsTest, WithoutRoomForThePeerTheRequestIsRejected) {
  ASSERT_TRUE(doors.open(adapter, door_ni("10.0.0.1@o2ib")));
  homes.home.reset();
  ask("10.0.0.2@o2ib", "10.0.0.1@o2ib", "10.0.0.2@o2ib");
  ASSERT_EQ(wire.rejections.size(), 1U);
  const auto reject = o2iblnd::decode_reject(wire.rejections[0]);
  ASSERT_TRUE(reject);
  EXPECT_EQ(reject->why, RejectReason::kNoResources);
  EXPECT_EQ(reject->incarnation, 7U);
  homes.home = lnet::ShardId{0};
  homes.has_room = false;
  ask("10.0.0.2@o2ib", "10.0.0.1@o2ib", "10.0.0.2@o2ib");
  EXPECT_EQ(wire.discarded, 1U);
}

TEST_F(O2ibDoorsTest, NisOfOneAddressShareAListener) {
  ASSERT_TRUE(doors.open(adapter, door_ni("10.0.0.1@o2ib")));
  ASSERT_TRUE(doors.open(adapter, door_ni("10.0.0.1@o2ib1")));
  ASSERT_TRUE(doors.open(adapter, door_ni("10.0.0.9@o2ib")));
  EXPECT_EQ(wire.listening.size(), 2U);
  EXPECT_EQ(wire.listening[0].port, 987);
  doors.close(nid("10.0.0.9@o2ib"));
  doors.close(nid("10.0.0.1@o2ib"));
  EXPECT_EQ(wire.listening.size(), 1U);
  doors.close(nid("10.0.0.1@o2ib1"));
  EXPECT_TRUE(wire.listening.empty());
  EXPECT_TRUE(doors.empty());
  EXPECT_EQ(wire.pairs, 0U);
}

// A replaced NI exists twice for a moment.
TEST_F(O2ibDoorsTest, TheOlderOfTwoNisWithOneNidCloses) {
  ASSERT_TRUE(doors.open(adapter, door_ni("10.0.0.1@o2ib")));
  ASSERT_TRUE(doors.open(adapter, door_ni("10.0.0.1@o2ib")));
  doors.close(nid("10.0.0.1@o2ib"));
  EXPECT_FALSE(doors.empty());
  doors.close_newest(nid("10.0.0.1@o2ib"));
  EXPECT_TRUE(doors.empty());
  doors.close(nid("10.0.0.1@o2ib"));
}

TEST_F(O2ibDoorsTest, AUsedPortIsReportedWithTheNextStep) {
  wire.listen_fails = Errc::kBusy;
  const auto busy = doors.open(adapter, door_ni("10.0.0.1@o2ib"));
  ASSERT_FALSE(busy);
  EXPECT_NE(busy.error().what.find("port 987"), std::string::npos) << busy.error().what;
  EXPECT_NE(busy.error().what.find("ko2iblnd"), std::string::npos);
  wire.listen_fails = Errc::kNotPermitted;
  const auto refused = doors.open(adapter, door_ni("10.0.0.1@o2ib"));
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().what.find("CAP_NET_BIND_SERVICE"), std::string::npos);
  EXPECT_TRUE(doors.empty());
}

class O2ibSeatsTest : public O2ibDoorsTest {
 protected:
  static lnet::ShardSet both() { return lnet::ShardSet{0b11}; }
  O2ibSeats seats{{.arena = 0, .bytes_each = 1 << 20, .nis = 2, .shards = 2}};
};

TEST_F(O2ibSeatsTest, AnNiHasMemoryOfItsOwnOnEachShard) {
  ASSERT_TRUE(seats.prepare(nid("10.0.0.1@o2ib"), both(), adapter, 8));
  ASSERT_TRUE(seats.prepare(nid("10.0.0.1@o2ib1"), both(), adapter, 8));
  std::vector<O2ibShare> shares;
  for (const char* const each : {"10.0.0.1@o2ib", "10.0.0.1@o2ib1"}) {
    for (unsigned shard = 0; shard < 2; ++shard)
      shares.push_back(seats.take(nid(each), shard));
  }
  for (std::size_t i = 0; i < shares.size(); ++i) {
    EXPECT_EQ(shares[i].memory.offset, i << 20U);
    EXPECT_EQ(shares[i].connections_max, 8U);
  }
  EXPECT_EQ(wire.pairs, 4U);
}

TEST_F(O2ibSeatsTest, AreFreeAgainWithTheLastShare) {
  ASSERT_TRUE(seats.prepare(nid("10.0.0.1@o2ib"), both(), adapter, 8));
  ASSERT_TRUE(seats.prepare(nid("10.0.0.2@o2ib"), both(), adapter, 8));
  const auto full = seats.prepare(nid("10.0.0.3@o2ib"), both(), adapter, 8);
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().code, Errc::kNoSpace);
  EXPECT_NE(full.error().what.find("`plnet: o2ib: nis: 3`"), std::string::npos);
  auto first = seats.take(nid("10.0.0.1@o2ib"), 0);
  auto second = seats.take(nid("10.0.0.1@o2ib"), 1);
  seats.set_leaving(nid("10.0.0.1@o2ib"));
  EXPECT_TRUE(seats.has_leaving());
  first = {};
  EXPECT_EQ(seats.prepare(nid("10.0.0.3@o2ib"), both(), adapter, 8).error().code, Errc::kAgain);
  second = {};
  EXPECT_FALSE(seats.has_leaving());
  EXPECT_TRUE(seats.prepare(nid("10.0.0.3@o2ib"), both(), adapter, 8));
}

TEST_F(O2ibSeatsTest, UnneededSeatsAreReturned) {
  wire.make_fails = Errc::kNoMemory;
  EXPECT_FALSE(seats.prepare(nid("10.0.0.1@o2ib"), both(), adapter, 8));
  wire.make_fails.reset();
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(seats.prepare(nid("10.0.0.1@o2ib"), both(), adapter, 8));
    seats.unprepare(nid("10.0.0.1@o2ib"));
  }
  EXPECT_EQ(wire.pairs, 0U);
}

}  // namespace
}  // namespace plnet::node::o2ib_doors_test
