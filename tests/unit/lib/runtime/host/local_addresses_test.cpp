// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/host/local_addresses.hpp"

#include <gtest/gtest.h>

namespace plnet::runtime {
namespace {

// Every machine has a loopback interface, and hardly any IPv6 one is without a link-local address.
TEST(LocalAddresses, AreThoseByWhichOthersFindThisMachine) {
  const auto addresses = local_addresses();
  ASSERT_TRUE(addresses.has_value());
  for (const LocalAddress& each : *addresses) {
    EXPECT_FALSE(each.interface.empty());
    EXPECT_NE(each.interface, "lo");
    const bool loopback = !each.is_v6 && each.bytes_be[0] == 127;
    const bool link_local = each.is_v6 && each.bytes_be[0] == 0xfe && each.bytes_be[1] == 0x80;
    EXPECT_FALSE(loopback || link_local) << each.interface;
  }
}

}  // namespace
}  // namespace plnet::runtime
