// SPDX-License-Identifier: BSD-3-Clause
// Greetings of unknown senders, and old frames that are sent again.
#include <cstring>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "drivers/net/cassini/soft/link/link_layer.hpp"
#include "drivers/net/cassini/soft/link/session_offer.hpp"
#include "tests/unit/drivers/cassini/link/link_rig.hpp"
#include "tests/unit/drivers/seeds.hpp"

namespace plnet::cassini::soft::link::link_greetings_test {
namespace {

using drivers::for_each_seed;

std::vector<std::byte> whole(const Frame& frame, std::span<const std::byte> payload) {
  std::vector<std::byte> bytes(kFrameHeaderBytes + payload.size());
  if (!payload.empty())
    std::memcpy(bytes.data() + kFrameHeaderBytes, payload.data(), payload.size());
  encode_frame(frame, payload.size(), payload_checksum(payload),
               std::span(bytes).first<kFrameHeaderBytes>());
  return bytes;
}

// A complete greeting as any station on the Ethernet could send it.
std::vector<std::byte> greeting(NicAddress from, Mac mac, std::uint32_t epoch, Sequence first) {
  const auto offer = encode_offer({.packet_bytes_max = 1000, .window = kWindowMax});
  const Frame frame{.destination_mac = mac_of(1),
                    .source_mac = mac,
                    .type = FrameType::kHello,
                    .destination = 1,
                    .source = from,
                    .source_epoch = epoch,
                    .sequence = first};
  return whole(frame, offer);
}

TEST(LinkGreetings, StrangersThatGreetTakeNoMoreThanTheirShareOfTheRecords) {
  auto options = Rig::small_options();
  options.peers = 8;
  Rig rig(34, 3, options);
  ASSERT_TRUE(rig.stream(1, 10, 100 * kMs));
  for (NicAddress from = 100; from < 150; ++from) {
    rig[0].layer->receive(greeting(from, mac_of(50), 7, 0), rig.cable.now_ns, rig[0]);
    rig.run(10'000);
  }
  EXPECT_EQ(rig[0].count(LinkCount::kPeers), 1U + 4);
  EXPECT_EQ(rig[0].count(LinkCount::kStrangersDropped), 50U - 4);
  EXPECT_EQ(rig[0].layer->find_peer(100), nullptr);
  EXPECT_NE(rig[0].layer->find_peer(149), nullptr) << "the oldest goes, the newest stays";
  EXPECT_TRUE(rig[0].layer->find_peer(2)->is_proven);
  // Greetings to many addresses use records: free ones first, then those of unknown senders.
  for (NicAddress to = 200; to < 206; ++to)
    ASSERT_TRUE(rig[0].send(to, 1));
  EXPECT_EQ(rig[0].count(LinkCount::kPeersExhausted), 0U);
  EXPECT_NE(rig[0].layer->find_peer(2), nullptr);
  EXPECT_EQ(rig[0].count(LinkCount::kPeers), 8U);
}

TEST(LinkGreetings, AnOldGreetingEndsNoSession) {
  for_each_seed(30, [](std::uint64_t seed) {
    Rig rig(seed);
    Random random(seed);
    ASSERT_TRUE(rig.stream(1, 100, 100 * kMs));
    ASSERT_TRUE(rig[1].send(1, 1));
    const std::uint32_t own = rig[0].layer->find_peer(2)->own_epoch;
    std::uint32_t next = 101;
    for (int i = 0; i < 60; ++i) {
      // One of three old sessions of the peer, from its MAC or from another.
      const auto old = greeting(2, random.chance(0.5) ? mac_of(2) : mac_of(60),
                                static_cast<std::uint32_t>(random.between(1, 3)), 5);
      rig[0].layer->receive(old, rig.cable.now_ns, rig[0]);
      for (int j = 0; j < 5; ++j)
        ASSERT_TRUE(rig[0].send(2, next++));
      rig.run(random.below(2 * kMs));
    }
    rig.run(50 * kMs);
    EXPECT_EQ(rig[1].got[1], numbers(1, next - 1));
    EXPECT_EQ(rig[0].layer->find_peer(2)->own_epoch, own) << "the session is the one it was";
    EXPECT_EQ(rig[0].layer->find_peer(2)->mac, mac_of(2));
    for (std::size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(rig[i].count(LinkCount::kPeersRestarted), 0U);
      EXPECT_EQ(rig[i].count(LinkCount::kPeersMoved), 0U);
    }
  });
}

TEST(LinkGreetings, AnOldGreetingDelaysNoRestart) {
  Rig rig(35);
  ASSERT_TRUE(rig.stream(1, 10, 100 * kMs));
  rig[0].layer->receive(greeting(2, mac_of(2), 3, 5), rig.cable.now_ns, rig[0]);
  rig.run(kMs);
  rig[1].start(2);
  ASSERT_TRUE(rig[1].send(1, 77));
  ASSERT_TRUE(rig.run_until(2 * kMs, [&] { return !rig[0].got[2].empty(); }));
  EXPECT_EQ(rig[0].count(LinkCount::kPeersRestarted), 1U);
}

// Data of a closed session: the peer is asked whether the open session is still valid.
TEST(LinkGreetings, AnOldPacketEndsNoSession) {
  Rig rig(36);
  ASSERT_TRUE(rig.stream(1, 10, 100 * kMs));
  const std::uint32_t own = rig[0].layer->find_peer(2)->own_epoch;
  for (int i = 0; i < 20; ++i) {
    rig.run(20 * kMs);
    const Frame frame{.destination_mac = mac_of(1),
                      .source_mac = mac_of(2),
                      .type = FrameType::kData,
                      .destination = 1,
                      .source = 2,
                      .destination_epoch = 5,
                      .source_epoch = 6};
    rig[0].layer->receive(whole(frame, {}), rig.cable.now_ns, rig[0]);
  }
  EXPECT_EQ(rig[0].layer->find_peer(2)->own_epoch, own);
  EXPECT_EQ(rig[0].count(LinkCount::kPeersRestarted), 0U);
  EXPECT_EQ(rig[0].count(LinkCount::kStale), 20U);
}

// Acknowledgements after an offer withdraw it: a peer that accepted the offer would wait for it for
// ever.
TEST(LinkGreetings, AnOfferIsOverWhenThePeerTakesMoreInTheOpenSession) {
  Rig rig(37);
  ASSERT_TRUE(rig.stream(1, 10, 100 * kMs));
  rig.run(kMs);
  rig[0].layer->receive(greeting(2, mac_of(2), 9, 0), rig.cable.now_ns, rig[0]);
  const Peer& peer = *rig[0].layer->find_peer(2);
  const std::uint32_t own = peer.own_epoch;
  const Frame taken{.destination_mac = mac_of(1),
                    .source_mac = mac_of(2),
                    .type = FrameType::kAck,
                    .destination = 1,
                    .source = 2,
                    .destination_epoch = peer.candidate.own_epoch,
                    .source_epoch = 9,
                    .ack = peer.candidate.send_first};
  ASSERT_TRUE(rig.stream(11, 20, 100 * kMs));
  rig.run(kMs);
  rig[0].layer->receive(whole(taken, {}), rig.cable.now_ns, rig[0]);
  EXPECT_EQ(peer.own_epoch, own);
  EXPECT_EQ(rig[0].count(LinkCount::kPeersRestarted), 0U);
  // An offer that is repeated and accepted at once becomes the session.
  rig[0].layer->receive(greeting(2, mac_of(2), 9, 0), rig.cable.now_ns, rig[0]);
  Frame again = taken;
  again.destination_epoch = peer.candidate.own_epoch;
  again.ack = peer.candidate.send_first;
  EXPECT_NE(again.destination_epoch, taken.destination_epoch);
  rig[0].layer->receive(whole(again, {}), rig.cable.now_ns, rig[0]);
  EXPECT_EQ(peer.own_epoch, again.destination_epoch);
  EXPECT_EQ(peer.peer_epoch, 9U);
  EXPECT_EQ(rig[0].count(LinkCount::kPeersRestarted), 1U);
}

}  // namespace
}  // namespace plnet::cassini::soft::link::link_greetings_test
