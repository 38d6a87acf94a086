// SPDX-License-Identifier: BSD-3-Clause
// The memory of a peer record. Allocators of sanitizers do not report it.
#include <gtest/gtest.h>
#include <malloc.h>

#include "lib/lnet/peers/peer_directory.hpp"

namespace plnet::lnet::peer_memory_test {
namespace {

struct NoHooks final : PeerDirectoryHooks {
  void release_peer_ni(PeerNi& /*ni*/) override {}
  void on_peer_gone(Peer& /*peer*/) override {}
};

TEST(PeerDirectoryMemory, APeerWithOneInterfaceTakesAtMost700Bytes) {
  constexpr std::size_t kPeers = 32768;
  const PeerLimits limits{.peers = kPeers,
                          .peer_nis = kPeers,
                          .peers_over_2 = 1,
                          .peers_over_8 = 1,
                          .peers_over_40 = 1};
  Qsbr qsbr(1, 1);
  HashPlacement placement(CptHash(1), {{0}});
  NoHooks hooks;
  const auto used = [] {
    const auto info = mallinfo2();
    return info.uordblks + info.hblkhd;
  };
  const auto before = used();
  const PeerDirectory directory(limits, qsbr, placement, hooks);
  const auto bytes = (used() - before) / kPeers;
  RecordProperty("bytes_per_peer", static_cast<int>(bytes));
  GTEST_LOG_(INFO) << "peer record " << sizeof(PeerRecord) << ", peer NI " << sizeof(PeerNiRecord)
                   << ", peer net " << sizeof(PeerNetRecord) << "; with table and views " << bytes
                   << " bytes a peer";
  if (bytes == 0) GTEST_SKIP() << "this allocator does not report sizes";
  EXPECT_LE(bytes, 700U);
}

}  // namespace
}  // namespace plnet::lnet::peer_memory_test
