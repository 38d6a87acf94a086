// SPDX-License-Identifier: BSD-3-Clause
// Messages that an LND announces before it offers them: looking them up ahead changes nothing about
// their path.
#include <gtest/gtest.h>

#include "tests/unit/lib/lnet/move/gateway_rig.hpp"

namespace plnet::lnet::forward_ahead_test {
namespace {

using Rig = AcquaintedRig;
constexpr Nid kClient = Rig::kClient;
constexpr Nid kServer = Rig::kServer;
constexpr Nid kBackup = Rig::kBackup;

TEST(ForwardAhead, HeadersThatWereAnnouncedAreDecidedAboutAsIfTheyHadNotBeen) {
  Rig rig;
  PeerLink* const known = rig.offer(kClient, kServer, 100, {1, 1}).link;
  ASSERT_NE(known, nullptr);
  std::vector<MessageHeader> headers;
  for (std::uint32_t i = 0; i < 40; ++i) {  // more than one batch of look-ups
    const Nid to = i % 3 == 0   ? kServer
                   : i % 3 == 1 ? ForwardRig::server(99)
                                : ForwardRig::client(ForwardRig::kRouter);
    headers.push_back({.destination = to, .source = kClient, .type = MessageType::kPut});
  }
  std::vector<HeaderAhead> ahead;
  for (std::size_t i = 0; i < headers.size(); ++i)
    ahead.push_back({&headers[i], i % 2 == 0 ? known : nullptr});
  rig.port(kClient).on_headers_ahead(ahead);
  rig.port(kClient).on_headers_ahead({});
  EXPECT_EQ(rig.node.directory().find(ForwardRig::server(99)), nullptr) << "no peer was created";
  EXPECT_EQ(rig.forward(kClient, kServer, 100, {2, 1}), RxVerdict::kReceive);
  rig.received(kClient, {1, 1});
  rig.settle();
  rig.end_all();
  EXPECT_EQ(rig.statistic(Statistic::kRouteCount), 2U);
  rig.expect_conserved();
}

TEST(ForwardAhead, HeadersThatComeInAnotherOrderThanAnnouncedGoWhereTheySay) {
  Rig rig;
  const MessageHeader first{.destination = kServer, .source = kClient, .type = MessageType::kPut};
  const MessageHeader second{.destination = kBackup, .source = kClient, .type = MessageType::kPut};
  rig.port(kClient).on_headers_ahead({{{&first, nullptr}, {&second, nullptr}}});
  std::uint32_t index = 0;
  for (const Nid& to : {kBackup, kServer, kServer, kBackup, kBackup}) {
    const RxHandle rx{++index, 1};
    ASSERT_EQ(rig.offer(kClient, to, 100, rx).verdict, RxVerdict::kReceive);
    rig.received(kClient, rx);
  }
  rig.settle();
  ASSERT_EQ(rig.out().held.size(), 5U);
  index = 0;
  for (const Nid& to : {kBackup, kServer, kServer, kBackup, kBackup})
    EXPECT_EQ(rig.out().held[index++]->next_hop->nid, to);
  rig.end_all();
  rig.expect_conserved();
}

TEST(ForwardAhead, TheGatewayThatLeadsThereIsFoundBeforeTheMessageComes) {
  GatewayRig rig;
  rig.announce();
  for (const auto& [to, gateway] :
       {std::pair(rig.kFar, rig.kServer), std::pair(rig.kFarther, rig.kBackup)}) {
    const LookedAhead::Destination found = rig.core().looked_ahead.take(to);
    EXPECT_EQ(found.peer_ni, rig.node.directory().find(to));
    EXPECT_EQ(found.gateway.next_hop, rig.node.directory().find(gateway));
    EXPECT_EQ(found.gateway.ni, &rig.port(kServer).ni());
  }
  EXPECT_EQ(rig.core().sequences.of(rig.port(kServer).ni()), 0U) << "nothing was sent yet";
}

TEST(ForwardAhead, AnnouncedMessagesGoByTheGatewayThatLeadsThere) {
  GatewayRig rig;
  rig.announce();
  const std::vector<Nid> offered{rig.kFarther, rig.kFar, rig.kFarther,
                                 rig.kFar};  // the middle two as announced
  std::uint64_t used = 0;
  for (std::uint32_t i = 0; i < offered.size(); ++i) {
    const RxHandle rx{i + 1, 1};
    ASSERT_EQ(rig.offer(kClient, offered[i], 100, rx).verdict, RxVerdict::kReceive);
    const std::uint64_t now = rig.core().sequences.of(rig.port(kServer).ni());
    EXPECT_GT(now, used) << "round robin knows of each";
    used = now;
    rig.received(kClient, rx);
  }
  rig.settle();
  ASSERT_EQ(rig.out().held.size(), offered.size());
  for (std::size_t i = 0; i < offered.size(); ++i) {
    const Transmit& sent = *rig.out().held[i];
    EXPECT_EQ(sent.next_hop->nid, offered[i] == rig.kFar ? kServer : kBackup);
    EXPECT_EQ(sent.header.destination, offered[i]);
    EXPECT_TRUE(sent.next_hop_is_router);
  }
  rig.end_all();
  rig.expect_conserved();
}

TEST(ForwardAhead, EarlierAnnouncementsAreLookedUpAgain) {
  Rig rig;
  const MessageHeader header{.destination = kServer, .source = kClient, .type = MessageType::kPut};
  rig.port(kClient).on_headers_ahead({{{&header, nullptr}}});
  rig.node.delete_peer(kServer);
  rig.settle();
  EXPECT_EQ(rig.offer(kClient, kServer, 100, {1, 1}).verdict, RxVerdict::kPark)
      << "a peer is made first";
  rig.settle();
  EXPECT_EQ(rig.go_on(), (std::vector<RxVerdict>{RxVerdict::kReceive}));
  rig.end_all();
  rig.expect_conserved();
}

}  // namespace
}  // namespace plnet::lnet::forward_ahead_test
