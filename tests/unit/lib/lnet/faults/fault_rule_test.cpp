// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/faults/fault_rule.hpp"

#include <array>

#include <gtest/gtest.h>

namespace plnet::lnet::fault_rule_test {
namespace {

constexpr Instant kStart{std::chrono::seconds(1000)};

Nid tcp(std::uint32_t address) {
  return Nid::of(NetType::kTcp, 0, address);
}

MessageHeader header_of(MessageType type, std::uint32_t portal = 0) {
  MessageHeader header{.destination = tcp(1), .source = tcp(2), .type = type};
  if (type == MessageType::kPut) header.set_area(PutArea{.portal = portal});
  if (type == MessageType::kGet) header.set_area(GetArea{.portal = portal});
  return header;
}

FaultRule rule_of(const FaultSpec& spec, std::uint64_t seed = 7) {
  return {complete(spec).value(), 1, seed, kStart};
}

bool drops(FaultRule& rule, const MessageHeader& header, Instant now = kStart) {
  const Nid local = tcp(1);
  return rule.strikes(header, &local, FaultPlace::kArriving, now);
}

FaultSpec every(FaultSpec spec) {
  spec.rate = 1;
  return spec;
}

TEST(FaultRule, MatchesTheNidsOfTheHeader) {
  const MessageHeader header = header_of(MessageType::kPut);
  const auto strikes = [&](const Nid& source, const Nid& destination) {
    FaultRule rule = rule_of(every({.source = source, .destination = destination}));
    return drops(rule, header);
  };
  EXPECT_TRUE(strikes(Nid::any(), Nid::any()));
  EXPECT_TRUE(strikes(tcp(2), tcp(1)));
  EXPECT_FALSE(strikes(tcp(1), tcp(1)));
  EXPECT_FALSE(strikes(tcp(2), tcp(2)));
  EXPECT_TRUE(strikes(tcp(0xffffffff), Nid::any())) << "a whole network";
  EXPECT_FALSE(strikes(Nid::of(NetType::kTcp, 1, 0xffffffff), Nid::any()));
  EXPECT_FALSE(strikes(Nid::of(NetType::kO2ib, 0, 0xffffffff), Nid::any()));
}

TEST(FaultRule, WithALocalNidAffectsArrivingMessages) {
  const MessageHeader header = header_of(MessageType::kPut);
  FaultRule here = rule_of(every({.local = tcp(1)}));
  EXPECT_TRUE(drops(here, header));
  FaultRule elsewhere = rule_of(every({.local = tcp(3)}));
  EXPECT_FALSE(drops(elsewhere, header));
  FaultRule both = rule_of(every({.local = tcp(1), .all = true}));
  EXPECT_FALSE(both.strikes(header, nullptr, FaultPlace::kSending, kStart)) << "by whom is unknown";
}

TEST(FaultRule, MatchesTypesAndPortals) {
  FaultRule acks = rule_of(every({.types = 1}));
  EXPECT_TRUE(drops(acks, header_of(MessageType::kAck)));
  EXPECT_FALSE(drops(acks, header_of(MessageType::kPut)));
  FaultRule portal = rule_of(every({.portals = 1ULL << 63}));
  EXPECT_TRUE(drops(portal, header_of(MessageType::kGet, 63)));
  EXPECT_FALSE(drops(portal, header_of(MessageType::kPut, 62)));
  EXPECT_FALSE(drops(portal, header_of(MessageType::kPut, 127))) << "a portal off the wire";
  EXPECT_FALSE(drops(portal, header_of(MessageType::kReply)));
}

TEST(FaultRule, StrikesOneOfEachBlock) {
  for (const std::uint32_t rate : {1U, 2U, 3U, 10U}) {
    FaultRule rule = rule_of({.rate = rate});
    bool elsewhere = false;
    for (unsigned block = 0; block < 200; ++block) {
      unsigned struck = 0;
      for (std::uint32_t i = 0; i < rate; ++i) {
        if (!drops(rule, header_of(MessageType::kPut))) continue;
        ++struck;
        elsewhere = elsewhere || i != 0;
      }
      ASSERT_EQ(struck, 1U) << "rate " << rate << " block " << block;
    }
    EXPECT_EQ(elsewhere, rate > 1) << "somewhere in its block";
    EXPECT_EQ(rule.counts().struck, 200U);
    EXPECT_EQ(rule.counts().matched, 200U * rate);
  }
}

TEST(FaultRule, ARuleForEveryOtherMessageBeginsWithTheFirst) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    FaultRule rule = rule_of({.rate = 2}, seed);
    EXPECT_TRUE(drops(rule, header_of(MessageType::kPut)));
    EXPECT_FALSE(drops(rule, header_of(MessageType::kPut)));
  }
}

TEST(FaultRule, StrikesOnceInEachWindow) {
  FaultRule rule = rule_of({.interval_s = 4});
  const MessageHeader header = header_of(MessageType::kPut);
  for (unsigned window = 0; window < 50; ++window) {
    unsigned struck = 0;
    for (unsigned tick = 0; tick < 40; ++tick) {
      const Instant now = kStart + std::chrono::milliseconds(window * 4000 + tick * 100);
      if (drops(rule, header, now)) ++struck;
    }
    ASSERT_EQ(struck, 1U) << "window " << window;
  }
}

TEST(FaultRule, WithAnIntervalOfASecondStrikesAtOnce) {
  FaultRule rule = rule_of({.interval_s = 1});
  const MessageHeader header = header_of(MessageType::kPut);
  EXPECT_TRUE(drops(rule, header));
  EXPECT_FALSE(drops(rule, header, kStart + std::chrono::milliseconds(999)));
  EXPECT_TRUE(drops(rule, header, kStart + std::chrono::seconds(1)));
}

TEST(FaultRule, AfterASilenceBeginsAnotherWindow) {
  FaultRule rule = rule_of({.interval_s = 1});
  const MessageHeader header = header_of(MessageType::kPut);
  const Instant late = kStart + std::chrono::seconds(100);
  EXPECT_TRUE(drops(rule, header, late));
  EXPECT_TRUE(drops(rule, header, late)) << "the window that begins now";
  EXPECT_FALSE(drops(rule, header, late));
}

TEST(FaultRule, AtRandomStrikesAboutEveryOther) {
  FaultRule rule = rule_of({.interval_s = 10, .random = true});
  unsigned struck = 0;
  for (unsigned i = 0; i < 1000; ++i)
    struck += drops(rule, header_of(MessageType::kPut)) ? 1 : 0;
  EXPECT_GT(struck, 400U);
  EXPECT_LT(struck, 600U);
  EXPECT_EQ(rule.counts().matched, 0U) << "as in the kernel";
}

TEST(FaultRule, WithAHealthErrorAffectsSentMessages) {
  const MessageHeader header = header_of(MessageType::kPut);
  FaultRule fails = rule_of(every({.health_errors = 1U << 5}));
  EXPECT_FALSE(drops(fails, header));
  EXPECT_TRUE(fails.strikes(header, nullptr, FaultPlace::kSending, kStart));
  FaultRule loses = rule_of(every({}));
  EXPECT_FALSE(loses.strikes(header, nullptr, FaultPlace::kSending, kStart));
  FaultRule all = rule_of({.rate = 1000, .all = true});
  for (unsigned i = 0; i < 5; ++i) {
    EXPECT_TRUE(drops(all, header));
    EXPECT_TRUE(all.strikes(header, nullptr, FaultPlace::kSending, kStart));
  }
}

TEST(FaultRule, DrawsTheHealthErrorNearestToARandomOne) {
  FaultRule one = rule_of(every({.health_errors = 1U << 5}));
  FaultRule two = rule_of(every({.health_errors = 1U << 2 | 1U << 10}));
  FaultRule any = rule_of(every({.health_errors = kFaultHealthRandom}));
  FaultRule none = rule_of({.rate = 1, .all = true});
  std::array<unsigned, kHealthCount> of_two{};
  std::array<unsigned, kHealthCount> of_any{};
  for (unsigned i = 0; i < 3000; ++i) {
    EXPECT_EQ(one.draw_health(), Health::kLocalError);
    ++of_two[static_cast<std::size_t>(two.draw_health())];
    ++of_any[static_cast<std::size_t>(any.draw_health())];
    EXPECT_NE(none.draw_health(), Health::kOk);
  }
  EXPECT_EQ(of_two[2] + of_two[10], 3000U);
  EXPECT_GT(of_two[2], of_two[10]) << "0 to 5 are nearer to 2, 6 to 10 to 10";
  EXPECT_EQ(of_any[0], 0U);
  for (std::size_t i = 1; i < kHealthCount; ++i)
    EXPECT_GT(of_any[i], 0U) << i;
}

TEST(FaultRule, CountsAffectedMessagesByType) {
  FaultRule rule = rule_of(every({}));
  for (const auto type :
       {MessageType::kPut, MessageType::kPut, MessageType::kAck, MessageType::kReply})
    EXPECT_TRUE(drops(rule, header_of(type)));
  EXPECT_EQ(rule.counts(),
            (FaultCounts{.matched = 4, .put = 2, .ack = 1, .get = 0, .reply = 1, .struck = 4}));
  rule.reset(kStart);
  EXPECT_EQ(rule.counts(), FaultCounts{});
  EXPECT_TRUE(drops(rule, header_of(MessageType::kGet)));
  EXPECT_EQ(rule.counts().get, 1U);
}

TEST(FaultRule, ResetBeginsAnotherWindow) {
  FaultRule rule = rule_of({.interval_s = 1});
  const MessageHeader header = header_of(MessageType::kPut);
  EXPECT_TRUE(drops(rule, header));
  EXPECT_FALSE(drops(rule, header));
  rule.reset(kStart);
  EXPECT_TRUE(drops(rule, header));
}

}  // namespace
}  // namespace plnet::lnet::fault_rule_test
