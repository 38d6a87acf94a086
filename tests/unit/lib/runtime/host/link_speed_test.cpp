// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/host/link_speed.hpp"

#include <gtest/gtest.h>

namespace plnet::runtime {
namespace {

TEST(LinkSpeed, IsUnknownForMissingInterfaces) {
  EXPECT_EQ(link_speed_mbps(""), 0U);
  EXPECT_EQ(link_speed_mbps("no-such-link0"), 0U);
  EXPECT_EQ(link_speed_mbps(std::string(100, 'x')), 0U);
}

TEST(LinkSpeed, IsUnknownOfLoopbackWhichHasNone) {
  EXPECT_EQ(link_speed_mbps("lo"), 0U);
}

}  // namespace
}  // namespace plnet::runtime
