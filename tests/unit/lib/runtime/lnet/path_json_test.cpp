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

TEST(PathJson, TheVerdictAgreesWithItsParts) {
  lnet::PathReport report = forwarded();
  Json path = path_to_json(report)["path"];
  EXPECT_EQ(path["verdict"], "requests and answers go to 10.0.0.2@tcp1 by 10.0.0.2@tcp1");
  EXPECT_TRUE(path["reachable"].get<bool>());
  EXPECT_TRUE(path["answers reachable"].get<bool>());
  EXPECT_FALSE(path.contains("why"));
  EXPECT_FALSE(path.contains("notes"));
  const auto obstacle = [&report] {
    const Json shown = path_to_json(report)["path"];
    EXPECT_FALSE(shown["reachable"].get<bool>()) << shown;
    EXPECT_TRUE(shown["verdict"].get<std::string>().ends_with(shown["why"].get<std::string>()))
        << shown;
    return shown["why"].get<std::string>();
  };
  report.step->hop_stalled = true;
  EXPECT_TRUE(obstacle().contains("dropped_hop_stalled"));
  report.step->hop_down = true;
  EXPECT_TRUE(obstacle().contains("dropped_hop_down"));
  report.step->hop_trouble = Errc::kTimedOut;
  report.step->hop_trouble_text = "no answer for 12 s";
  EXPECT_TRUE(obstacle().contains("no answer for 12 s"));
  report.denied = {{.rule = 3}};
  report.is_denied = true;
  EXPECT_TRUE(obstacle().contains("access rule 3"));
  report.routing = false;
  EXPECT_TRUE(obstacle().contains("routing is off"));
  report.step = std::unexpected(Errc::kNoRoute);
  EXPECT_EQ(obstacle(), text_of(Errc::kNoRoute));
}

TEST(PathJson, AnswersThatTakeAnotherWayHaveTheirOwnPartOfTheVerdict) {
  lnet::PathReport report = forwarded();
  report.of_answers = report.step.value();
  report.of_answers->next_hop = kNear;
  report.of_answers->hop_down = true;
  const Json path = path_to_json(report)["path"];
  EXPECT_TRUE(says(path["verdict"],
                   "requests go to 10.0.0.2@tcp1 by 10.0.0.2@tcp1; answers (ACK, REPLY) do not "
                   "pass: the next hop is down"))
      << path;
  EXPECT_TRUE(path["reachable"].get<bool>());
  EXPECT_FALSE(path["answers reachable"].get<bool>());
  EXPECT_TRUE(says(path["answers"]["why"], "dropped_hop_down"));
}

TEST(PathJson, ARuleForOneNetworkIsACondition) {
  lnet::PathReport report = forwarded();
  report.denied = {{.rule = 3, .from = kFar.net()}};
  const Json path = path_to_json(report)["path"];
  EXPECT_TRUE(path["reachable"].get<bool>());
  EXPECT_TRUE(says(path["notes"][0], "if it comes in by tcp1")) << path;
}

TEST(PathJson, OwnMessagesToANextHopThatIsDownAreSentAllTheSame) {
  lnet::PathReport report = forwarded();
  report.forwarded = false;
  report.step->hop_down = true;
  const Json path = path_to_json(report)["path"];
  EXPECT_EQ(path["verdict"], "messages go to 10.0.0.2@tcp1 by 10.0.0.2@tcp1");
  EXPECT_FALSE(path.contains("answers reachable"));
}

TEST(PathJson, AGatewayIsToldApartFromTheDestinationBeyondIt) {
  lnet::PathReport report{.question = {kNear, kFar}};
  const Nid gateway = Nid::of(NetType::kTcp, 0, 0x0a00000a);
  report.step = lnet::PathStep{.ni = kNear,
                               .next_hop = gateway,
                               .destination = kFar,
                               .route = lnet::RouteSetup{.net = kFar.net(), .gateway = gateway}};
  Json path = path_to_json(report)["path"];
  EXPECT_TRUE(path["reachable"].get<bool>());
  EXPECT_TRUE(path["gateway reachable"].get<bool>());
  EXPECT_EQ(path["destination"], "0 requests without an answer in the last minute");
  EXPECT_EQ(path["verdict"], "messages go to 10.0.0.10@tcp by 10.0.0.1@tcp");
  report.unanswered = 3;
  path = path_to_json(report)["path"];
  EXPECT_FALSE(path["reachable"].get<bool>());
  EXPECT_TRUE(path["gateway reachable"].get<bool>());
  EXPECT_EQ(path["why"],
            "the gateway takes the messages, and the destination does not answer: 3 requests "
            "without an answer in the last minute; on 10.0.0.10@tcp: lnetctl route explain "
            "10.0.0.1@tcp 10.0.0.2@tcp1");
  EXPECT_EQ(path["verdict"].get<std::string>(),
            "messages go to 10.0.0.10@tcp by 10.0.0.1@tcp; " + path["why"].get<std::string>());
  report.step->hop_trouble = Errc::kTimedOut;
  path = path_to_json(report)["path"];
  EXPECT_FALSE(path["gateway reachable"].get<bool>());
  EXPECT_TRUE(says(path["why"], "the next hop cannot be connected"));
}

}  // namespace
}  // namespace plnet::runtime
