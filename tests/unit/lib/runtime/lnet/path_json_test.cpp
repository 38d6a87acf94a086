// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/lnet/path_json.hpp"

#include <string>

#include <gtest/gtest.h>

namespace plnet::runtime {
namespace {

using lnet::NetType;
using lnet::Nid;

const Nid kNear = Nid::of(NetType::kTcp, 0, 0x0a000001);
const Nid kFar = Nid::of(NetType::kTcp, 1, 0x0a000002);

lnet::PathReport forwarded() {
  lnet::PathReport report{.question = {kNear, kFar}, .forwarded = true};
  report.step = lnet::PathStep{.ni = kFar, .next_hop = kFar, .destination = kFar};
  report.step->place = lnet::PathStep::Place{};
  return report;
}

bool says(const Json& text, std::string_view words) {
  return text.get<std::string>().contains(words);
}

TEST(PathJson, MessagesRejectedFromAllNetworksAreNotReachable) {
  lnet::PathReport report = forwarded();
  report.rejected = {{.cause = lnet::Cause::kRejectedNotDirect}};
  const Json path = path_to_json(report)["path"];
  EXPECT_FALSE(path["reachable"].get<bool>());
  EXPECT_TRUE(says(path["why"], "(rejected_not_direct)")) << path;
  EXPECT_FALSE(path.contains("next hop"));
  EXPECT_FALSE(path.contains("notes")) << path;
  report.rejected = {{.cause = lnet::Cause::kRejectedOtherNid}};
  EXPECT_TRUE(says(path_to_json(report)["path"]["why"], "(rejected_other_nid)"));
}

TEST(PathJson, MessagesRejectedFromOneNetworkAreNoted) {
  lnet::PathReport report = forwarded();
  report.rejected = {{.cause = lnet::Cause::kRejectedNotDirect, .from = kFar.net()}};
  const Json path = path_to_json(report)["path"];
  EXPECT_TRUE(path["reachable"].get<bool>());
  ASSERT_EQ(path["notes"].size(), 1U);
  EXPECT_TRUE(says(path["notes"][0], "if that is tcp1")) << path;
}

TEST(PathJson, AStalledNextHopIsNotedWithItsCounter) {
  lnet::PathReport report = forwarded();
  EXPECT_FALSE(path_to_json(report)["path"].contains("notes"));
  report.step->hop_stalled = true;
  EXPECT_TRUE(says(path_to_json(report)["path"]["notes"][0], "dropped_hop_stalled"));
}

}  // namespace
}  // namespace plnet::runtime
