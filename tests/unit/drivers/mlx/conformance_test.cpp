// SPDX-License-Identifier: BSD-3-Clause
// The contract of lib/o2iblnd/queue_pair.hpp on a real device.
#include "tests/conformance/verbs_conformance.hpp"
#include "tests/unit/drivers/mlx/rig.hpp"

namespace plnet::mlx {
namespace {

using conformance::VerbsPair;
using conformance::VerbsUser;
using conformance::WireFault;
using MlxVerbs = MlxTest;

class MlxBench final : public conformance::VerbsBench {
 public:
  o2iblnd::VerbsDriver& make(unsigned side, o2iblnd::VerbsEvents& events) override {
    ends_[side].emplace(address(side).address, memories_[side].arenas, desk_, events);
    if (maps) ends_[side]->device->set_mapping(*maps);
    return *ends_[side]->device;
  }
  o2iblnd::VerbsDriver& make_neighbour(unsigned side, o2iblnd::VerbsEvents& events) override {
    return ends_[side]->add_neighbour(events);
  }
  bool run(const std::function<bool()>& done) override {
    for (const Instant end = time_now() + kPatience; time_now() < end;) {
      if (done()) return true;
      if (poll() == 0) (void)sched_yield();
    }
    return false;
  }
  unsigned poll() {
    unsigned work = 0;
    for (auto& end : ends_)
      work += end->poll(time_now());
    return work;
  }
  o2iblnd::Ipv4Endpoint address(unsigned side) override { return {addresses_[side], kPort}; }
  std::span<std::byte> memory(unsigned side) override {
    return {memories_[side].bytes.get(), conformance::kVerbsArenaBytes};
  }
  [[nodiscard]] std::uint64_t count(unsigned side, MlxTable::Id id) const {
    return ends_[side]->device->counters().value(static_cast<std::size_t>(id));
  }
  [[nodiscard]] std::uint64_t neighbour_count(unsigned side, MlxTable::Id id) const {
    return ends_[side]->neighbour->counters().value(static_cast<std::size_t>(id));
  }
  End& end(unsigned side) { return *ends_[side]; }
  std::optional<MapRules> maps;

 private:
  std::array<std::uint32_t, 2> addresses_ = device_addresses().value();
  std::array<EndMemory, 2> memories_{EndMemory(conformance::kVerbsArenaBytes),
                                     EndMemory(conformance::kVerbsArenaBytes)};
  std::shared_ptr<EventDesk> desk_ = EventDesk::open().value();
  std::array<std::optional<End>, 2> ends_;
};

TEST_F(MlxVerbs, Chains) {
  MlxBench bench;
  conformance::check_chains(bench, 1, 200);
  for (unsigned side = 0; side < 2; ++side) {
    EXPECT_EQ(bench.count(side, MlxTable::Id::kErrors), 0U);
    EXPECT_EQ(bench.count(side, MlxTable::Id::kStaleCompletions), 0U);
  }
  EXPECT_EQ(bench.count(0, MlxTable::Id::kInlined), 200U);
}

// The same with payload that is mapped only while it is used.
TEST_F(MlxVerbs, ChainsMappedOnDemand) {
  for (const bool keeps : {true, false}) {
    MlxBench bench;
    bench.maps = MapRules{.arenas = true, .most = 4, .open_most = 2, .keeps = keeps};
    conformance::check_chains(bench, 2, 50);
    if (HasFailure()) return;
    EXPECT_EQ(bench.count(0, MlxTable::Id::kErrors), 0U);
    const CounterView maps = bench.end(0).device->mapping_counters();
    const auto count = [&maps](MapCounters::Id id) {
      return maps.value(static_cast<std::size_t>(id));
    };
    EXPECT_GT(count(MapCounters::Id::kMisses), 0U);
    if (keeps) {
      EXPECT_GT(count(MapCounters::Id::kHits), 0U);
    }
    EXPECT_EQ(count(MapCounters::Id::kInUse), 0U);
    EXPECT_EQ(count(MapCounters::Id::kRefused), 0U);
  }
}

TEST_F(MlxVerbs, Drain) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE(seed);
    MlxBench bench;
    conformance::check_drain(bench, seed);
    if (HasFailure()) return;
    for (unsigned side = 0; side < 2; ++side) {
      EXPECT_EQ(bench.count(side, MlxTable::Id::kOpen), 0U);
      EXPECT_EQ(bench.count(side, MlxTable::Id::kDrainsForced), 0U);
    }
  }
}

TEST_F(MlxVerbs, AWrongKeyEndsTheConnection) {
  MlxBench bench;
  conformance::check_fault(bench, WireFault::kWrongKey);
}

TEST_F(MlxVerbs, AWriteOutsideTheArenaEndsTheConnection) {
  MlxBench bench;
  conformance::check_fault(bench, WireFault::kOutsideArena);
}

TEST_F(MlxVerbs, AMessageLongerThanItsReceiveEndsTheConnection) {
  MlxBench bench;
  conformance::check_fault(bench, WireFault::kTooLong);
}

TEST_F(MlxVerbs, AMessageWithoutAReceiveEndsTheConnection) {
  MlxBench bench;
  conformance::check_fault(bench, WireFault::kNoReceive);
}

TEST_F(MlxVerbs, Rejections) {
  MlxBench bench;
  conformance::check_rejections(bench);
}

TEST_F(MlxVerbs, ARequestIsAcceptedByAnotherShard) {
  MlxBench bench;
  conformance::check_handover(bench);
  EXPECT_EQ(bench.count(1, MlxTable::Id::kHandedOver), 1U);
  EXPECT_EQ(bench.count(1, MlxTable::Id::kOpen), 0U);
  EXPECT_EQ(bench.neighbour_count(1, MlxTable::Id::kEstablished), 1U);
  EXPECT_EQ(bench.neighbour_count(1, MlxTable::Id::kOpen), 0U);
  EXPECT_EQ(bench.neighbour_count(1, MlxTable::Id::kDrainsForced), 0U);
}

TEST_F(MlxVerbs, ARequestIsTurnedDownOnItsWayToAnotherShard) {
  MlxBench bench;
  conformance::check_turned_down(bench);
}

// The event that the peer has gone has no user: without the failure of accept() the queue pair
// would stay for ever.
TEST_F(MlxVerbs, ARequestIsWithdrawnOnItsWayToAnotherShard) {
  for (const unsigned polls : {0U, 2000U}) {
    SCOPED_TRACE(polls);
    MlxBench bench;
    conformance::check_withdrawn(bench, polls);
    if (HasFailure()) return;
    EXPECT_EQ(bench.neighbour_count(1, MlxTable::Id::kOpen), 0U);
    EXPECT_EQ(bench.neighbour_count(1, MlxTable::Id::kDrainsForced), 0U);
  }
}

TEST_F(MlxVerbs, ConnectToNowhereFails) {
  MlxBench bench;
  VerbsPair pair(bench);
  VerbsUser& near = pair.users[0];
  const o2iblnd::Ipv4Endpoint nowhere{bench.address(0).address | 0xf0U, kPort};
  const auto id = near.driver->connect(bench.address(0), nowhere, {8, 8}, {}, {});
  ASSERT_TRUE(id.has_value());
  near.id = *id;
  ASSERT_TRUE(bench.run([&] { return near.drained == 1; }));
  EXPECT_EQ(name_of(near.cause), name_of(Errc::kNoRoute));
}

// Writes in progress when the sink is cancelled must have ended when the queue pair of the sink has
// drained.
TEST_F(MlxVerbs, NoWriteLandsAfterTheDrain) {
  for (const unsigned polls : {0U, 3U, 9U}) {
    SCOPED_TRACE(polls);
    MlxBench bench;
    VerbsPair pair(bench);
    pair.establish();
    if (HasFailure()) return;
    auto& [near, far] = pair.users;
    constexpr std::uint32_t kBytes = 256U << 10U;
    constexpr std::uint64_t kSink = 256U << 10U;
    o2iblnd::WorkRequest write{.kind = o2iblnd::WorkKind::kWrite, .piece_count = 1, .cookie = 1};
    write.pieces[0] = {{0, kSink}, kBytes};
    const auto key = far.driver->remote_key({{0, kSink}, kBytes}).value();
    write.remote_address = key.address;
    write.remote_key = key.key;
    std::ranges::fill(bench.memory(0), std::byte{0x55});
    const std::array<o2iblnd::WorkRequest, 2> chain{write, pair.send_of(8, 2)};
    for (unsigned i = 0; i < 4; ++i)
      ASSERT_TRUE(near.driver->post_chain(*near.id, chain));
    for (unsigned i = 0; i < polls; ++i)
      (void)bench.poll();
    far.driver->to_error(*far.id);
    ASSERT_TRUE(bench.run([&] { return far.drained == 1; }));
    const auto sink = bench.memory(1).subspan(kSink, kBytes);
    std::ranges::fill(sink, std::byte{0x77});
    ASSERT_TRUE(bench.run([&] { return near.drained == 1; }));
    EXPECT_EQ(std::ranges::count(sink, std::byte{0x77}), std::ptrdiff_t{kBytes});
  }
}

}  // namespace
}  // namespace plnet::mlx
