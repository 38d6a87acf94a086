// SPDX-License-Identifier: BSD-3-Clause
#include "node/admin/lnet_admin.hpp"

#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "lib/base/clock.hpp"

namespace plnet::node::lnet_admin_test {
namespace {

// Otherwise a link change between the first look and the start of listening is missed.
TEST(FollowLinks, TheSystemIsListenedToBeforeTheFirstLook) {
  const ManualClock clock;
  auto loop = runtime::EventLoop::create(clock);
  ASSERT_TRUE(loop.has_value());
  runtime::LinkWatch watch;
  std::vector<int> looks;
  const auto told = follow_links(watch, **loop, [&] { looks.push_back(watch.descriptor()); });
  ASSERT_EQ(looks.size(), 1U);
  if (!told) GTEST_SKIP() << told.error().what;
  EXPECT_GE(looks[0], 0);
}

}  // namespace
}  // namespace plnet::node::lnet_admin_test
