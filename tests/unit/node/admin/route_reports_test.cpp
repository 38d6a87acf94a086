// SPDX-License-Identifier: BSD-3-Clause
#include "node/admin/route_reports.hpp"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/node/admin/small_node.hpp"

namespace plnet::node::route_reports_test {
namespace {

// `route del` accepts any of them as the gateway.
TEST(RouteReports, ANodeHasAllOfItsNids) {
  const lnet::Nid one = lnet::Nid::of(lnet::NetType::kTcp, 0, 1);
  const lnet::Nid other = lnet::Nid::of(lnet::NetType::kTcp, 1, 1);
  const lnet::Nid stranger = lnet::Nid::of(lnet::NetType::kTcp, 0, 2);
  SmallNode small(1, 8);
  lnet::Node node(small.setup);
  ASSERT_TRUE(node.coordinator().add_peer(one, lnet::Nid::any(), true));
  ASSERT_TRUE(node.coordinator().add_peer(one, other, true));
  const lnet::PeerDirectory& directory = node.coordinator().directory();
  for (const lnet::Nid& nid : {one, other}) {
    const std::vector<lnet::Nid> nids = nids_of_node(directory, nid);
    EXPECT_EQ(nids.size(), 2U);
    EXPECT_NE(std::ranges::find(nids, one), nids.end());
    EXPECT_NE(std::ranges::find(nids, other), nids.end());
  }
  EXPECT_TRUE(nids_of_node(directory, stranger).empty());
}

}  // namespace
}  // namespace plnet::node::route_reports_test
