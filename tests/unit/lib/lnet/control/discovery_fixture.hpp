// SPDX-License-Identifier: BSD-3-Clause
// A node, and a peer with two NIDs for it to discover.
#pragma once

#include <chrono>
#include <cstdint>

#include <gtest/gtest.h>

#include "lib/lnet/control/discovery.hpp"
#include "tests/unit/lib/lnet/control/test_node.hpp"

namespace plnet::lnet {

class DiscoveryTest : public ::testing::Test {
 protected:
  using Id = DiscoveryTable::Id;
  static inline const Nid kOurs = nid("10.0.0.1@tcp");
  static inline const Nid kTheirs = nid("10.0.0.2@tcp");
  static inline const Nid kSecond = nid("10.0.0.3@tcp");
  static inline const Nid kThird = nid("10.0.1.2@tcp1");

  Result<void> discover(const Nid& of, bool force = false) {
    TestDiscover request;
    request.nid = of;
    node_.coordinator.discover(request, force);
    run(network_, {&node_}, std::chrono::seconds(400));
    EXPECT_EQ(request.times, 1) << "told once";
    return request.result;
  }
  std::uint32_t state(const Nid& of) {
    const Peer* peer = node_.peer(of);
    return peer == nullptr ? 0xdead : peer->state.get();
  }
  void settle(Duration until = std::chrono::seconds(1)) { run(network_, {&node_}, until); }

  static constexpr std::uint32_t kGood = kPeerDiscovered | kPeerNidsUpToDate;

  FakeNetwork network_;
  TestNode node_{network_, {kOurs}};
  RawPeer far_{network_, {kTheirs, kSecond}};
};

}  // namespace plnet::lnet
