// SPDX-License-Identifier: BSD-3-Clause
// The conformance list, points 6 to 8, on every backend through the driver's endpoint: kfilnd's
// messages and bulk, failures of operations, teardown under load.
#include <algorithm>

#include "tests/unit/drivers/cassini/joint/grounds.hpp"
#include "tests/unit/drivers/cassini/joint/seed_count.hpp"

namespace plnet::cassini::conformance_endpoint_test {
namespace {

using conformance::BufferOrder;

class CassiniEndpointList : public GroundTest {};
PLNET_ON_EVERY_GROUND(CassiniEndpointList);

TEST_P(CassiniEndpointList, Messages) {
  GroundBench bench(*ground());
  conformance::check_messages(bench, 1, 60, BufferOrder::kAny);
}

TEST_P(CassiniEndpointList, Tagged) {
  GroundBench bench(*ground());
  conformance::check_tagged(bench, 1, 20);
}

TEST_P(CassiniEndpointList, Failures) {
  GroundBench bench(*ground());
  conformance::check_failures(bench);
}

// The NICs decide which of the two wins; the report must be true in either case.
TEST_P(CassiniEndpointList, CancelAgainstArrival) {
  for (std::uint64_t seed = 1; seed <= seed_count(5); ++seed) {
    SCOPED_TRACE(seed);
    GroundBench bench(*ground());
    (void)conformance::check_cancel_race(bench, seed);
    if (HasFailure()) return;
  }
}

// Final codes as LNet sees them.
TEST_P(CassiniEndpointList, AnAbsentPeerIsNoRoute) {
  for (const unsigned vni : {255U, 10U}) {
    GroundBench bench(*ground());
    bench.vni[1] = vni;
    conformance::EndpointPair pair(bench);
    auto& near = pair.users[0];
    const std::uint64_t nic = vni == 255 ? 0x77777 : bench.sides[1].nic;
    const kfilnd::Target nobody{near.driver->resolve(nic, 4).value(), 0};
    const std::array<std::byte, 8> header{};
    ASSERT_TRUE(near.driver->send(nobody, header, {}, 3));
    ASSERT_TRUE(bench.run([&] { return near.ended.contains(3); }));
    EXPECT_EQ(near.ended.at(3).status, std::unexpected(Errc::kNoRoute));
  }
}

TEST_P(CassiniEndpointList, NoBufferIsRefusedAfterAWhile) {
  GroundBench bench(*ground());
  conformance::EndpointPair pair(bench);
  auto& near = pair.users[0];
  const std::array<std::byte, 8> header{};
  ASSERT_TRUE(near.driver->send(pair.peers[0], header, {}, 3));
  ASSERT_TRUE(bench.run([&] { return near.ended.contains(3); }));
  EXPECT_EQ(near.ended.at(3).status, std::unexpected(Errc::kRefused));
  EXPECT_GT(bench.sides[0].endpoint->stats().get(CassiniCounters::Id::kReposts), 1U);
}

// Fills the posted buffers with the smallest messages and writes all tagged buffers while the
// receiver reads no event.
unsigned long long dropped_while_standing_still(GroundBench& bench) {
  constexpr std::uint32_t kBuffer = 65536;
  constexpr std::uint32_t kTags = 60;
  bench.config.receive_bytes_max = std::uint64_t{2} * kBuffer;
  conformance::EndpointPair pair(bench);
  auto& [near, far] = pair.users;
  for (std::uint64_t i = 0; i < 2; ++i)
    EXPECT_TRUE(far.driver->post_multi_receive({{0, i * kBuffer}, kBuffer}, i + 1));
  EXPECT_EQ(far.driver->post_multi_receive({{0, 0}, 4096}, 3), std::unexpected(Errc::kAgain))
      << "more than there is room for events of";
  const Fragment place{{0, 3ULL * kBuffer}, 64};
  for (kfilnd::Tag tag = 1; tag <= kTags; ++tag) {
    EXPECT_TRUE(far.driver->post_tagged(pair.peers[1], tag, false, conformance::payload_of(place),
                                        1000 + tag));
  }
  unsigned turns = 100;  // until everything is posted
  EXPECT_TRUE(bench.run([&] { return turns-- == 0; }));
  bench.sides[1].stands_still = true;
  const std::array<std::byte, 100> header{};
  std::uint64_t sent = 0, delivered = 0;
  std::size_t told = 0;
  bool is_full = false;
  EXPECT_TRUE(bench.run([&] {
    for (; told < near.log.size(); ++told) {
      delivered += near.log[told].status ? 1U : 0U;
      is_full = is_full || !near.log[told].status;
    }
    while (!is_full && sent - told < 32 && near.driver->send(pair.peers[0], header, {}, sent + 1))
      ++sent;
    return is_full && told == sent;
  }));
  EXPECT_GE(delivered, 2 * ((kBuffer - 4096) / 100));
  for (kfilnd::Tag tag = 1; tag <= kTags; ++tag) {
    EXPECT_TRUE(near.post(bench, [&] {
      return near.driver->write_tagged(pair.peers[0], tag, conformance::payload_of(place),
                                       1'000'000 + tag);
    }));
  }
  EXPECT_TRUE(bench.run([&] { return near.ended.contains(1'000'000 + kTags); }));
  bench.sides[1].stands_still = false;
  const auto& stats = bench.sides[1].endpoint->stats();
  const auto dropped = [&] { return stats.get(CassiniCounters::Id::kEventsDropped); };
  EXPECT_TRUE(bench.run([&] {
    return dropped() > 0 || (stats.get(CassiniCounters::Id::kMessages) == delivered &&
                             far.ended.contains(1000 + kTags));
  }));
  return dropped();
}

TEST_P(CassiniEndpointList, AReaderThatStandsStillLosesNothing) {
  {
    GroundBench bench(*ground());
    EXPECT_EQ(dropped_while_standing_still(bench), 0U);
  }
  GroundBench bench(*ground());
  bench.config.receive_event_bytes = 65536;
  EXPECT_GT(dropped_while_standing_still(bench), 0U) << "there is more than that";
}

// All operations are under way when one end is destroyed, and then the other.
TEST_P(CassiniEndpointList, TeardownUnderLoad) {
  for (unsigned turns = 0; turns < 20; ++turns) {
    SCOPED_TRACE(turns);
    GroundBench bench(*ground());
    conformance::EndpointPair pair(bench);
    auto& [near, far] = pair.users;
    const Fragment buffer{{0, 0}, 65536};
    const lnet::Payload payload{{&buffer, 1}, 0, 65536};
    const std::array<std::byte, 8> header{};
    ASSERT_TRUE(far.driver->post_multi_receive(buffer, 1));
    ASSERT_TRUE(near.driver->post_tagged(pair.peers[0], 7, false, payload, 2));
    ASSERT_TRUE(near.driver->send(pair.peers[0], header, {}, 3));
    ASSERT_TRUE(far.driver->write_tagged(pair.peers[1], 7, payload, 4));
    unsigned left = turns;
    ASSERT_TRUE(bench.run([&] { return left-- == 0; }));
    bench.sides[turns % 2].endpoint.reset();
    left = 20;
    ASSERT_TRUE(bench.run([&] { return left-- == 0; }));
  }
}

// The longest length that a short event can carry, and one byte more.
TEST_P(CassiniEndpointList, LengthsAroundTwentyBits) {
  GroundBench bench(*ground());
  conformance::EndpointPair pair(bench);
  auto& [near, far] = pair.users;
  const Fragment whole{{0, 0}, 1U << 20U};
  for (const std::uint32_t length : {0xfffffU, 0x100000U}) {
    const lnet::Payload payload{{&whole, 1}, 0, length};
    std::ranges::fill(bench.memory(0), std::byte{0});
    std::ranges::fill(bench.memory(1), std::byte{7});
    ASSERT_TRUE(near.driver->post_tagged(pair.peers[0], length, false, payload, length));
    ASSERT_TRUE(far.driver->write_tagged(pair.peers[1], length, payload, length));
    ASSERT_TRUE(
        bench.run([&] { return near.ended.contains(length) && far.ended.contains(length); }));
    EXPECT_EQ(near.ended.at(length).event, kfilnd::FabricEvent::kTaggedWritten);
    EXPECT_EQ(near.ended.at(length).length, length);
    EXPECT_TRUE(far.ended.at(length).status);
    EXPECT_EQ(std::ranges::count(bench.memory(0), std::byte{7}), std::ptrdiff_t{length});
  }
}

}  // namespace
}  // namespace plnet::cassini::conformance_endpoint_test
