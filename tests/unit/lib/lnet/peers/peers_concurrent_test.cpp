// SPDX-License-Identifier: BSD-3-Clause
// Readers look peers up and walk their views while the writer creates, merges and deletes them; the
// thread sanitizer runs this as well.
#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "lib/base/random.hpp"
#include "lib/lnet/peers/peer_directory.hpp"
#include "lib/lnet/peers/peer_rules.hpp"

namespace plnet::lnet::peers_concurrent_test {
namespace {

constexpr std::uint32_t kNids = 48;

Nid nid_of(std::uint64_t number) {
  return Nid::of(NetType::kTcp, static_cast<std::uint16_t>(number % 3),
                 0x0a000000 + static_cast<std::uint32_t>(number));
}

// Homes that answer some time after they were asked.
struct SlowHomes final : PeerDirectoryHooks {
  void release_peer_ni(PeerNi& ni) override { asked.push_back(&ni); }
  void on_peer_gone(Peer& /*peer*/) override {}
  std::vector<PeerNi*> asked;
};

// Readers see consistent data: the interface is the requested one for as long as the reader holds
// it, and its peer lists well-formed interfaces.
void read(const PeerDirectory& directory, Qsbr& qsbr, std::uint64_t seed,
          const std::atomic<bool>& stop, std::atomic<int>& wrong,
          std::atomic<std::uint64_t>& found) {
  Random random(seed);
  const auto me = qsbr.register_reader().value();
  qsbr.online(me);
  while (!stop.load(std::memory_order_relaxed)) {
    const Nid wanted = nid_of(random.below(kNids));
    const PeerNi* ni = directory.find(wanted);
    if (ni != nullptr) {
      const Peer& peer = *ni->peer.load(std::memory_order_acquire);
      const PeerView& view = peer.seen();
      std::size_t listed = 0;
      for (const PeerNetView& net : view.nets) {
        for (const PeerNi* each : view.on(net)) {
          if (each->net != net.net || each->nid.net() != net.net) ++wrong;
          ++listed;
        }
      }
      if (listed != view.nis.size() || ni->nid != wanted) ++wrong;
      found.fetch_add(1, std::memory_order_relaxed);
    }
    qsbr.quiescent(me);
  }
  qsbr.offline(me);
}

TEST(PeerDirectory, ReadersSeeWholePeersWhileTheyChange) {
  constexpr int kReaders = 2;
  constexpr int kSteps = 20000;
  Qsbr qsbr(kReaders, 16);
  HashPlacement placement(CptHash(1), {{0, 1}});
  SlowHomes homes;
  PeerDirectory directory({.peers = 64,
                           .peer_nis = 128,
                           .peers_over_2 = 32,
                           .peers_over_8 = 8,
                           .peers_over_40 = 2,
                           .kept_for_own = 1},
                          qsbr, placement, homes);
  PeerRules rules(directory);
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  std::atomic<std::uint64_t> found{0};
  std::vector<std::thread> readers;
  readers.reserve(kReaders);
  for (std::uint64_t i = 0; i < kReaders; ++i)
    readers.emplace_back([&, i] { read(directory, qsbr, 100 + i, stop, wrong, found); });

  Random random(7);
  const Instant now{std::chrono::hours(1)};
  for (int step = 0; step < kSteps || (found.load() == 0 && step < kSteps * 100); ++step) {
    const Nid nid = nid_of(random.below(kNids));
    PeerRecord* peer = directory.peer_of(nid);
    switch (random.below(4)) {
      case 0: (void)directory.create_by_traffic({nid}, now); break;
      case 1:
        if (peer != nullptr)
          (void)rules.add_nid(*peer, nid_of(random.below(kNids)), kPeerMultiRail);
        break;
      case 2:
        if (peer != nullptr) (void)rules.delete_nid(*peer, nid, kPeerMultiRail);
        break;
      default:
        if (peer != nullptr && random.chance(0.2)) directory.destroy(*peer);
        break;
    }
    directory.commit();
    directory.step(8);
    if (!homes.asked.empty() && random.chance(0.5)) {
      directory.peer_ni_released(*homes.asked.back());
      homes.asked.pop_back();
    }
    if (random.chance(0.01)) std::this_thread::yield();
  }
  stop.store(true);
  for (auto& reader : readers)
    reader.join();
  EXPECT_EQ(wrong.load(), 0);
  EXPECT_GT(found.load(), 0U);
  directory.for_each([&](PeerRecord& peer) { directory.destroy(peer); });
  directory.commit();
  for (int i = 0; i < 64; ++i) {
    directory.step(1000);
    for (PeerNi* ni : homes.asked)
      directory.peer_ni_released(*ni);
    homes.asked.clear();
  }
  EXPECT_FALSE(directory.waiting());
  EXPECT_EQ(directory.counters().get(PeerTable::Id::kPeerNis), 0U);
  EXPECT_EQ(placement.load_of(0) + placement.load_of(1), 0U);
}

}  // namespace
}  // namespace plnet::lnet::peers_concurrent_test
