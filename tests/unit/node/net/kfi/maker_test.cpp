// SPDX-License-Identifier: BSD-3-Clause
#include "node/net/kfi/maker.hpp"

#include <gtest/gtest.h>

namespace plnet::node::kfi_maker_test {
namespace {

// Otherwise a receive buffer of 2 MiB would wait for a message.
TEST(KfiMaker, EveryMessageThatWaitsHasAPlaceOfItsOwn) {
  for (const std::size_t messages : {64U, 1024U, 4096U}) {
    const kfilnd::KfiLndConfig config = kfi_limits_of({.messages = messages, .peers = 100'000});
    EXPECT_EQ(config.receives_max, messages);
    EXPECT_GE(config.copies_max, config.receives_max);
    EXPECT_EQ(config.peers_max, kfilnd::PeerCache::kPeersMax);
  }
}

}  // namespace
}  // namespace plnet::node::kfi_maker_test
