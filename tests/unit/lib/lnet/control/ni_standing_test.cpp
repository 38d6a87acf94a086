// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/control/ni_standing.hpp"

#include <set>
#include <string>

#include <gtest/gtest.h>

#include "lib/lnet/peers/health.hpp"

namespace plnet::lnet::ni_standing_test {
namespace {

constexpr NiFacts kWell{.health = kHealthMax};

TEST(NiStanding, AHealthyNiIsUp) {
  EXPECT_EQ(judge_ni(NiCause::kNone, kWell), NiCause::kNone);
}

TEST(NiStanding, ADeviceThatHasFailedIsDownUntilItIsBack) {
  NiFacts facts = kWell;
  facts.fatal = true;
  facts.pinged = true;
  EXPECT_EQ(judge_ni(NiCause::kNone, facts), NiCause::kDevice) << "it knows better";
  EXPECT_EQ(judge_ni(NiCause::kDevice, kWell), NiCause::kNone);
}

TEST(NiStanding, TheDriverStatusHoldsUntilAPing) {
  NiFacts facts = kWell;
  facts.lnd_down = true;
  EXPECT_EQ(judge_ni(NiCause::kNone, facts), NiCause::kDriver);
  facts.pinged = true;
  EXPECT_EQ(judge_ni(NiCause::kDriver, facts), NiCause::kNone);
}

TEST(NiStanding, ARoutersSilentNetworkIsDownUntilItsNiIsPinged) {
  NiFacts facts = kWell;
  facts.routing = facts.silent = true;
  EXPECT_EQ(judge_ni(NiCause::kNone, facts), NiCause::kSilence);
  facts.silent = false;  // its sibling NI was pinged
  EXPECT_EQ(judge_ni(NiCause::kSilence, facts), NiCause::kSilence);
  facts.pinged = true;
  EXPECT_EQ(judge_ni(NiCause::kSilence, facts), NiCause::kNone);
}

TEST(NiStanding, SilenceIsOfRoutersOnly) {
  NiFacts facts = kWell;
  facts.silent = true;
  EXPECT_EQ(judge_ni(NiCause::kNone, facts), NiCause::kNone);
  EXPECT_EQ(judge_ni(NiCause::kSilence, facts), NiCause::kNone) << "routing was turned off";
}

TEST(NiStanding, HealthTakesItDownAtNothingAndUpAtTheMaximum) {
  NiFacts facts = kWell;
  facts.health = 1;
  EXPECT_EQ(judge_ni(NiCause::kNone, facts), NiCause::kNone);
  facts.health = 0;
  EXPECT_EQ(judge_ni(NiCause::kNone, facts), NiCause::kHealth);
  facts.health = kHealthMax - 1;
  facts.pinged = true;
  EXPECT_EQ(judge_ni(NiCause::kHealth, facts), NiCause::kHealth);
  EXPECT_EQ(judge_ni(NiCause::kHealth, kWell), NiCause::kNone);
}

TEST(NiStanding, EveryCauseHasWordsOfItsOwn) {
  std::set<std::string> texts;
#define PLNET_X(name, text) texts.insert(std::string(text_of(NiCause::name)));
  PLNET_NI_CAUSES(PLNET_X)
#undef PLNET_X
  EXPECT_EQ(texts.size(), 6U);
  EXPECT_EQ(text_of(NiCause::kNone), "");
}

}  // namespace
}  // namespace plnet::lnet::ni_standing_test
