// SPDX-License-Identifier: BSD-3-Clause
// Nodes with several shards on one kfi interface: homes are those of the peer directory.
#include "tests/unit/lib/kfilnd/core_site.hpp"

namespace plnet::kfilnd::contexts_core_test {
namespace {

using drivers::SimShape;

constexpr unsigned kClients = 6;
constexpr std::uint32_t kLength = 65536;

class KfilndContextsCore : public CoreSite {
 protected:
  // Builds the server and its clients.
  void build_around(std::uint64_t seed, const SimShape& shape, const CoreShape& server,
                    unsigned contexts_of_clients) {
    std::vector<CoreShape> shapes{server};
    shapes.insert(shapes.end(), kClients, {.contexts = contexts_of_clients});
    build(seed, shape, shapes);
  }
  [[nodiscard]] CoreOnKfi& server() { return node(0); }
  // The contexts on which the server has this peer as a regular one, not as a guest.
  [[nodiscard]] std::vector<unsigned> contexts_with(const Nid& peer) {
    std::vector<unsigned> found;
    for (unsigned i = 0; i < server().contexts(); ++i) {
      const Peer* const known = server().lnd(i).peer(peer);
      if (known != nullptr && !known->guest) found.push_back(i);
    }
    return found;
  }
  // All nodes copy both ways, the clients first.
  void exchange() {
    for (unsigned i = 1; i <= kClients; ++i) {
      server().attach(i, kLength, kMdPut);
      node(i).put(server().nid, i, kLength, true);
      server().attach(100 + i, kLength, kMdGet);
      node(i).get(server().nid, 100 + i, kLength);
    }
    ASSERT_TRUE(run([&] {
      return server().events(EventKind::kPut) == kClients &&
             server().events(EventKind::kGet) == kClients;
    }));
    for (unsigned i = 1; i <= kClients; ++i) {
      node(i).attach(200 + i, kLength, kMdPut);
      server().put(node(i).nid, 200 + i, kLength, true);
    }
    ASSERT_TRUE(run([&] { return server().events(EventKind::kAck) == kClients; }));
  }
};

TEST_F(KfilndContextsCore, PeersHaveTheirHomesWhereTheDirectoryHasThem) {
  drivers::for_each_seed(20, [&](std::uint64_t seed) {
    build_around(seed, seed % 2 == 0 ? SimShape::rough() : SimShape::calm(), {.contexts = 3},
                 seed % 4 < 2 ? 1 : 2);
    exchange();
    std::array<unsigned, 3> homes{};
    for (unsigned i = 1; i <= kClients; ++i) {
      const PeerNi* const peer = server().node().coordinator().peers().find(node(i).nid);
      ASSERT_NE(peer, nullptr);
      ++homes[peer->home];
      EXPECT_EQ(contexts_with(node(i).nid), std::vector<unsigned>{peer->home});
      EXPECT_EQ(node(i).failures, 0U);
    }
    EXPECT_EQ(homes, (std::array<unsigned, 3>{2, 2, 2})) << "all shards have their share";
    EXPECT_EQ(server().failures, 0U);
    EXPECT_GT(server().count(KfiLndCounters::Id::kHandedOver), 0U) << "greetings come to context 0";
    EXPECT_EQ(server().count(KfiLndCounters::Id::kUnexpected), 0U);
    ASSERT_TRUE(run([&] { return server().idle(); }));
  });
}

// Peers without room are refused, and the others do not wait for them.
TEST_F(KfilndContextsCore, StrangersWithoutRoomAreTurnedAway) {
  build(1, SimShape::calm(),
        std::vector<CoreShape>(kClients + 1, {.contexts = 2, .peers = 4, .kfi_timeout = 5}));
  for (unsigned i = 1; i <= kClients; ++i) {
    server().attach(i, 8, kMdPut);
    node(i).put(server().nid, i, 8, true);
  }
  ASSERT_TRUE(run([&] {
    unsigned failed = 0;
    for (unsigned i = 1; i <= kClients; ++i)
      failed += node(i).failures;
    return server().events(EventKind::kPut) == 4 && failed == 2;
  }));
  EXPECT_GE(server().count(KfiLndCounters::Id::kPeersRefused), 2U);
  EXPECT_TRUE(run([&] { return server().idle(); }));
}

}  // namespace
}  // namespace plnet::kfilnd::contexts_core_test
