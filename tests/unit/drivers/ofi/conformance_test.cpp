// SPDX-License-Identifier: BSD-3-Clause
// The contract of lib/kfilnd/fabric_endpoint.hpp on real providers, and the limits of unknown
// senders.
#include <algorithm>
#include <array>
#include <cstring>

#include <gtest/gtest.h>
#include <rdma/fi_errno.h>

#include "lib/base/random.hpp"
#include "tests/unit/drivers/ofi/rig.hpp"

namespace plnet::ofi {
namespace {

using kfilnd::FabricEvent;
using Id = OfiCounters::Id;
using OfiConformance = OfiTest;

TEST_P(OfiConformance, Messages) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    OfiBench bench(GetParam());
    conformance::check_messages(bench, seed, 200);
    if (HasFailure()) return;
  }
}

TEST_P(OfiConformance, Tagged) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    OfiBench bench(GetParam());
    conformance::check_tagged(bench, seed, 60);
    if (HasFailure()) return;
  }
}

TEST_P(OfiConformance, CancelAgainstArrival) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(seed);
    OfiBench bench(GetParam());
    (void)conformance::check_cancel_race(bench, seed);
    if (HasFailure()) return;
  }
}

TEST_P(OfiConformance, Failures) {
  OfiBench bench(GetParam());
  conformance::check_failures(bench);
}

TEST_P(OfiConformance, ScatteredBulkIsBounced) {
  OfiBench bench(GetParam());
  conformance::EndpointPair pair(bench);
  auto& [near, far] = pair.users;
  const std::array<Fragment, 2> holes{{{{0, 100}, 3000}, {{0, 8000}, 5000}}};
  const lnet::Payload scattered{holes, 0, 8000};
  const Fragment whole{{0, 30'000}, 8000};
  for (std::uint32_t i = 0; i < 8000; ++i)
    bench.memory(1)[30'000 + i] = static_cast<std::byte>(i * 7);
  ASSERT_TRUE(near.driver->post_tagged(pair.peers[0], 1, false, scattered, 1));
  ASSERT_TRUE(far.driver->write_tagged(pair.peers[1], 1, conformance::payload_of(whole), 1));
  ASSERT_TRUE(bench.run([&] { return near.ended.contains(1) && far.ended.contains(1); }));
  EXPECT_TRUE(std::ranges::equal(bench.memory(0).subspan(100, 3000),
                                 bench.memory(1).subspan(30'000, 3000)));
  EXPECT_TRUE(std::ranges::equal(bench.memory(0).subspan(8000, 5000),
                                 bench.memory(1).subspan(33'000, 5000)));
  std::ranges::fill(bench.memory(1).subspan(30'000, 8000), std::byte{});
  ASSERT_TRUE(near.driver->post_tagged(pair.peers[0], 2, true, scattered, 2));
  ASSERT_TRUE(far.driver->read_tagged(pair.peers[1], 2, conformance::payload_of(whole), 2));
  ASSERT_TRUE(bench.run([&] { return near.ended.contains(2) && far.ended.contains(2); }));
  EXPECT_EQ(near.ended[2].event, FabricEvent::kTaggedRead);
  EXPECT_EQ(bench.memory(1)[30'100], static_cast<std::byte>(700 & 0xff));
  EXPECT_EQ(bench.sides[0].endpoint->stats().get(Id::kBounces), 2U);
}

// Peers' requests to us need blocks as well: both sides post as much as they may, and both
// continue.
TEST_P(OfiConformance, ScatteredBulkOfBothSidesEnds) {
  OfiBench bench(GetParam());
  conformance::EndpointPair pair(bench);
  const std::array<Fragment, 2> holes{{{{0, 100}, 3000}, {{0, 8000}, 5000}}};
  const lnet::Payload scattered{holes, 0, 8000};
  ASSERT_EQ(endpoint_config(0).bulk_blocks, 2U);
  std::array<kfilnd::Tag, 2> open{};
  for (unsigned side = 0; side < 2; ++side) {
    auto& driver = *pair.users[side].driver;
    while (open[side] < 2 &&
           driver.post_tagged(pair.peers[side], open[side], true, scattered, open[side]))
      ++open[side];
  }
  EXPECT_EQ(open[0], 1U) << "the other block is for what the peer asks";
  EXPECT_EQ(open[1], 1U);
  for (unsigned side = 0; side < 2; ++side) {
    auto& user = pair.users[side];
    ASSERT_TRUE(user.driver->read_tagged(pair.peers[side], 0, scattered, 10));
  }
  ASSERT_TRUE(bench.run([&] {
    return std::ranges::all_of(pair.users, [](const conformance::EndpointUser& user) {
      return user.ended.contains(0) && user.ended.contains(10);
    });
  }));
  for (conformance::EndpointUser& user : pair.users) {
    EXPECT_EQ(user.ended[0].event, FabricEvent::kTaggedRead);
    EXPECT_TRUE(user.ended[10].status.has_value());
  }
}

// A peer with several contexts answers from the context that is the home of our node.
TEST_P(OfiConformance, AnyContextOfAPeerUsesPostedBuffers) {
  OfiBench bench(GetParam());
  conformance::EndpointPair pair(bench);
  auto& near = pair.users[0];
  Side other;
  conformance::EndpointUser there;
  EndpointConfig config = endpoint_config(1);
  config.limits.receive_contexts = 4;
  config.limits.receive_context = 3;
  other.device =
      Device::open(device_config(GetParam(), 1, bench.addresses()), other.arenas).value();
  other.endpoint = Endpoint::create(*other.device, config, there).value();
  const auto [nic, service] = bench.process(0);
  const kfilnd::Target to{other.endpoint->resolve(nic, service).value(), 0};
  const Fragment buffer{{0, 0}, 4096};
  const lnet::Payload payload = conformance::payload_of(buffer);
  std::ranges::fill(std::span(other.memory).first(4096), std::byte{5});
  ASSERT_TRUE(near.driver->post_tagged(pair.peers[0], 1, false, payload, 1));
  ASSERT_TRUE(near.driver->post_tagged(pair.peers[0], 2, true, payload, 2));
  ASSERT_TRUE(near.driver->post_tagged(pair.peers[0], 3, true, payload, 3));
  const auto both = [&](std::uint64_t cookie) {
    return bench.run([&] {
      (void)other.endpoint->poll(bench.now);
      return near.ended.contains(cookie) && there.ended.contains(cookie);
    });
  };
  ASSERT_TRUE(other.endpoint->write_tagged(to, 1, payload, 1));
  ASSERT_TRUE(both(1));
  EXPECT_EQ(near.ended[1].event, FabricEvent::kTaggedWritten);
  EXPECT_EQ(bench.memory(0)[4095], std::byte{5});
  ASSERT_TRUE(other.endpoint->read_tagged(to, 2, payload, 2));
  ASSERT_TRUE(both(2));
  EXPECT_EQ(near.ended[2].event, FabricEvent::kTaggedRead);
  ASSERT_TRUE(other.endpoint->answer_tagged(to, 3, 9, 3));
  ASSERT_TRUE(both(3));
  EXPECT_EQ(near.ended[3].event, FabricEvent::kTaggedMessage);
  EXPECT_TRUE(std::ranges::all_of(there.ended,
                                  [](const auto& each) { return each.second.status.has_value(); }));
}

TEST_P(OfiConformance, DestructionAtEveryTurn) {
  if (GetParam().family == Family::kName)
    GTEST_SKIP() << "libfabric 1.17's shm gives two endpoints of one process one mapping, and the "
                    "first that goes takes it along; PeerLeavesAtEveryTurn has them in two";
  for (unsigned turns = 0; turns < 12; ++turns) {
    SCOPED_TRACE(turns);
    OfiBench bench(GetParam());
    conformance::EndpointPair pair(bench);
    auto& [near, far] = pair.users;
    const Fragment buffer{{0, 0}, 65536};
    const lnet::Payload payload{{&buffer, 1}, 0, 5000};
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

// Peers that start later are not mixed up and are found when they start.
TEST_P(OfiConformance, PeersComeLate) {
  OfiBench bench(GetParam());
  conformance::EndpointUser near;
  conformance::EndpointUser far;
  near.driver = &bench.make(0, near);
  const auto [nic, service] = bench.process(1);
  const kfilnd::Target nobody{near.driver->resolve(nic, service + 2).value(), 0};
  const kfilnd::Target late{near.driver->resolve(nic, service).value(), 0};
  const kfilnd::Target neither{near.driver->resolve(nic, service + 1).value(), 0};
  const std::array<std::byte, 8> header{};
  ASSERT_TRUE(near.driver->send(nobody, header, {}, 1));
  ASSERT_TRUE(near.driver->send(late, header, {}, 2));
  ASSERT_TRUE(near.driver->send(neither, header, {}, 3));
  unsigned left = 10;
  ASSERT_TRUE(bench.run([&] { return left-- == 0; }));
  EXPECT_TRUE(near.ended.empty());
  far.driver = &bench.make(1, far);
  const Fragment buffer{{0, 0}, 65536};
  ASSERT_TRUE(far.driver->post_multi_receive(buffer, 1));
  ASSERT_TRUE(bench.run([&] { return near.ended.size() == 3; }));
  EXPECT_TRUE(near.ended[2].status.has_value());
  EXPECT_FALSE(near.ended[1].status.has_value());
  EXPECT_FALSE(near.ended[3].status.has_value());
  EXPECT_EQ(bench.sides[1].endpoint->stats().get(Id::kMessages), 1U);
}

// Our endpoint and one of an unknown sender that uses the provider without the protocol.
class Stranger {
 public:
  Stranger(const Provider& provider, const Site& site, const Process& victim) {
    const ArenaTable none;
    device_ = Device::open(device_config(provider, 2, site), none).value();
    EXPECT_TRUE(device_->open_port(port_, 0, 1, 64, 64).has_value());
    const AddressRule rule = device_config(provider, 0, site).addresses;
    const auto address = address_of(rule, victim, life_at(victim)).value();
    EXPECT_EQ(fi_av_insert(port_.addresses, address.bytes.data(), 1, &to_, 0, nullptr), 1);
  }
  bool send(std::span<const std::byte> bytes) {
    fi_cq_msg_entry entry{};
    (void)fi_cq_read(port_.tx_queue, &entry, 1);
    return fi_inject(port_.endpoint, bytes.data(), bytes.size(), to_) == 0;
  }

 private:
  std::unique_ptr<Device> device_;
  Port port_;
  fi_addr_t to_ = FI_ADDR_NOTAVAIL;
};

TEST_P(OfiConformance, GarbageIsCountedAndRefused) {
  OfiBench bench(GetParam());
  conformance::EndpointPair pair(bench);
  auto& user = pair.users[0];
  const auto [nic, service] = bench.process(0);
  const Fragment buffer{{0, 0}, 65536};
  ASSERT_TRUE(user.driver->post_multi_receive(buffer, 1));
  ASSERT_TRUE(user.driver->post_tagged(pair.peers[0], 7, true, conformance::payload_of(buffer), 2));
  Stranger stranger(GetParam(), bench.addresses(), {nic, service, 0});
  const Stats& stats = bench.sides[0].endpoint->stats();
  Random random(5);
  for (unsigned i = 0; i < 300; ++i) {
    std::array<std::byte, 124> bytes{};  // as long as two records, and at most the inject size of
                                         // the providers
    for (std::byte& byte : bytes)
      byte = static_cast<std::byte>(random.next());
    std::size_t length = bytes.size();
    const bool noise = i % 3 == 0;
    if (noise) {
      length = 1 + random.below(bytes.size());
    } else {
      // Well-formed records from an unknown sender about a transfer that does not exist.
      encode(PacketHeader{.records = 2, .incarnation = 9, .from = {nic, service + 2, 0}},
             std::span(bytes).first<PacketHeader::kBytes>());
      for (std::size_t at = PacketHeader::kBytes; at < bytes.size(); at += Record::kBytes) {
        bytes[at] = static_cast<std::byte>(1 + random.below(9));
        bytes[at + 1] = std::byte{0};
        bytes[at + 4] = std::byte{7};  // the right tag, if it were for this peer
        bytes[at + 5] = bytes[at + 6] = bytes[at + 7] = std::byte{0};
      }
    }
    const std::uint64_t before =
        stats.get(Id::kGarbage) + stats.get(Id::kStale) + stats.get(Id::kNoMatch);
    ASSERT_TRUE(bench.run([&] { return stranger.send(std::span(bytes).first(length)); }));
    ASSERT_TRUE(bench.run([&] {
      return stats.get(Id::kGarbage) + stats.get(Id::kStale) + stats.get(Id::kNoMatch) > before;
    })) << "packet "
        << i << " was neither counted nor refused";
  }
  EXPECT_GE(stats.get(Id::kGarbage), 100U);
  EXPECT_GT(stats.get(Id::kStale), 50U);
  EXPECT_GT(stats.get(Id::kNoMatch), 50U);
  EXPECT_TRUE(user.log.empty()) << "nothing of it reached the LND";
  EXPECT_TRUE(user.driver->cancel_tagged(7).has_value()) << "the tag is still open";
}

// There is room for one unknown sender: the latest one gets it. A context of a resolved peer needs
// none.
TEST_P(OfiConformance, StrangersMakeRoomForEachOther) {
  OfiBench bench(GetParam());
  bench.strangers_max = 1;
  conformance::EndpointPair pair(bench);
  const auto [nic, service] = bench.process(0);
  const auto [peer_nic, peer_service] = bench.process(1);
  Stranger stranger(GetParam(), bench.addresses(), {nic, service, 0});
  const Stats& stats = bench.sides[0].endpoint->stats();
  const auto hear = [&](const Process& from, std::uint32_t incarnation) {
    std::array<std::byte, PacketHeader::kBytes + Record::kBytes> bytes{};
    encode(PacketHeader{.records = 1, .incarnation = incarnation, .from = from},
           std::span(bytes).first<PacketHeader::kBytes>());
    encode(Record{.kind = RecordKind::kDelivered}, bytes.data() + PacketHeader::kBytes);
    const std::uint64_t before = stats.get(Id::kStale);
    return bench.run([&] { return stranger.send(bytes); }) && bench.run([&] {
      return stats.get(Id::kStale) > before || stats.get(Id::kStrangersRefused) > 0;
    });
  };
  const Process first{nic, service + 2, 0};
  const Process second{nic, service + 3, 0};
  ASSERT_TRUE(hear(first, 1));
  ASSERT_TRUE(hear(second, 1));
  EXPECT_EQ(stats.get(Id::kStrangersRefused), 0U);
  ASSERT_TRUE(hear(second, 2));
  EXPECT_EQ(stats.get(Id::kRestarts), 1U) << "it is known";
  ASSERT_TRUE(hear({peer_nic, peer_service, 3}, 1));
  ASSERT_TRUE(hear(second, 3));
  EXPECT_EQ(stats.get(Id::kRestarts), 2U) << "it still is";
  ASSERT_TRUE(hear(first, 2));
  EXPECT_EQ(stats.get(Id::kRestarts), 2U) << "it was created anew";
  EXPECT_EQ(stats.get(Id::kStrangersRefused), 0U);
}

// No receiver matched the data, so the peer counts as absent. A refusal of the peer itself arrives
// in a record.
TEST(OfiErrors, ARefusedConnectionIsNoRoute) {
  EXPECT_EQ(errc_of(-FI_ECONNREFUSED), Errc::kNoRoute);
  EXPECT_EQ(errc_of(FI_EHOSTUNREACH), Errc::kNoRoute);
  EXPECT_EQ(errc_of(FI_ETIMEDOUT), Errc::kTimedOut);
  EXPECT_EQ(errc_of(FI_EIO), Errc::kIo);
}

INSTANTIATE_TEST_SUITE_P(, OfiConformance, testing::Values(kShm, kNet), provider_name);

}  // namespace
}  // namespace plnet::ofi
