// SPDX-License-Identifier: BSD-3-Clause
// Lane notices to a shard that does not have their NI.
#include <array>
#include <memory>
#include <optional>

#include <gtest/gtest.h>

#include "lib/lnet/names/nid_text.hpp"
#include "node/host/lnet_shard.hpp"
#include "node/net/o2ib/host.hpp"
#include "tests/unit/node/net/o2ib/fake_adapter.hpp"

namespace plnet::node::o2ib_lane_words_test {
namespace {

class O2ibLaneWords : public ::testing::Test {
 protected:
  O2ibLaneWords() {
    host.emplace(O2ibHost::Parts{.cpt_of_shard = {0, 1, 1},
                                 .room = {.arena = 0, .bytes_each = 1, .nis = 1, .shards = 3},
                                 .arenas = &arenas,
                                 .opener = [this](std::uint32_t, const ArenaTable&)
                                     -> Outcome<std::unique_ptr<O2ibAdapter>> {
                                   return std::make_unique<FakeAdapter>(wire);
                                 }});
    host->connect(first, std::array<Doorbell*, 3>{&bells[0], &bells[1], &bells[2]});
    EXPECT_TRUE(host->open_adapter(nid.address32()).has_value());
  }
  unsigned poll(unsigned shard) { return host->on_shard(shard)->poll(Instant{}); }

  const lnet::Nid nid = lnet::parse_nid("10.0.0.1@o2ib").value();
  std::array<SilentDoorbell, 3> bells;
  const LnetShard first{0};
  FakeWire wire;
  ArenaTable arenas;
  std::optional<O2ibHost> host;
};

TEST_F(O2ibLaneWords, AreAnsweredAndRequestsTurnedDown) {
  EXPECT_EQ(host->place(0).lanes(), nullptr) << "alone in its CPT";
  o2iblnd::LaneEnd& home = *host->place(1).lanes();
  for (const auto word : {o2iblnd::LaneWord::kTake, o2iblnd::LaneWord::kDial}) {
    o2iblnd::Lane& lane = *home.take(2);
    lane.local = nid;
    home.say(lane, word);
    EXPECT_EQ(host->on_shard(2)->next_deadline(), Instant::min());
    EXPECT_EQ(poll(2), 1U);
    EXPECT_EQ(poll(1), 1U);
    EXPECT_EQ(home.lent_to(2), 0U) << "the lane is over";
  }
  EXPECT_EQ(wire.discarded, 1U);
}

TEST_F(O2ibLaneWords, UnreadAtTheEndHaveTheirRequestsTurnedDown) {
  o2iblnd::Lane& lane = *host->place(1).lanes()->take(2);
  lane.local = nid;
  host->place(1).lanes()->say(lane, o2iblnd::LaneWord::kTake);
  host.reset();
  EXPECT_EQ(wire.discarded, 1U);
}

}  // namespace
}  // namespace plnet::node::o2ib_lane_words_test
