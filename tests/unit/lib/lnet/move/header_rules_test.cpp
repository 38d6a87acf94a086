// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/move/header_rules.hpp"

#include <gtest/gtest.h>

namespace plnet::lnet::header_rules_test {
namespace {

Nid tcp(std::uint32_t address, std::uint16_t net = 0) {
  return Nid::of(NetType::kTcp, net, address);
}

class HeaderRules : public testing::Test {
 protected:
  HeaderRules() {
    ours.nid = tcp(1);
    same_net.nid = tcp(2);
    other_net.nid = tcp(1, 7);
    for (Ni* const ni : {&ours, &same_net, &other_net}) {
      ni->net = ni->nid.net();
      local.nis.push_back(ni);
    }
    header.destination = ours.nid;
    header.source = tcp(9);
    header.type = MessageType::kPut;
  }

  [[nodiscard]] HeaderRuling ruling(bool routing = false, bool open_get = false) const {
    return rule_on_header({.header = header, .from = tcp(9), .reply_by_lnd = open_get}, ours, local,
                          routing);
  }
  void expect(HeaderVerdict verdict, Cause cause) const {
    for (const bool routing : {false, true}) {
      EXPECT_EQ(ruling(routing).verdict, verdict) << "routing " << routing;
      EXPECT_EQ(ruling(routing).cause, cause) << "routing " << routing;
    }
  }
  void expect_for_us() const {
    EXPECT_EQ(ruling().verdict, HeaderVerdict::kForUs);
    EXPECT_EQ(ruling(true).verdict, HeaderVerdict::kForUs);
  }

  Ni ours, same_net, other_net;
  LocalView local;
  MessageHeader header;
};

TEST_F(HeaderRules, EachKindOfMessageForTheReceivingNiIsForUs) {
  for (const MessageType type :
       {MessageType::kPut, MessageType::kGet, MessageType::kAck, MessageType::kReply}) {
    header.type = type;
    expect_for_us();
  }
  header.type = MessageType::kGet;
  EXPECT_EQ(ruling(false, true).verdict, HeaderVerdict::kForUs) << "with an open sink";
}

TEST_F(HeaderRules, PayloadsUpToOneMebibyteComeWithPutAndReplyOnly) {
  for (const MessageType type : {MessageType::kPut, MessageType::kReply}) {
    header.type = type;
    header.payload_length = 1U << 20;
    expect_for_us();
    header.payload_length = (1U << 20) + 1;
    expect(HeaderVerdict::kReject,
           type == MessageType::kPut ? Cause::kRejectedPutLength : Cause::kRejectedReplyLength);
    header.payload_length = 0xffffffff;
    EXPECT_EQ(ruling().verdict, HeaderVerdict::kReject);
  }
  header.payload_length = 1;
  header.type = MessageType::kAck;
  expect(HeaderVerdict::kReject, Cause::kRejectedAckPayload);
  header.type = MessageType::kGet;
  expect(HeaderVerdict::kReject, Cause::kRejectedGetPayload);
}

TEST_F(HeaderRules, OtherTypesBreakTheProtocol) {
  for (const std::uint32_t type : {4U, 5U, 255U, 0xffffffffU}) {
    header.type = static_cast<MessageType>(type);
    expect(HeaderVerdict::kReject, Cause::kRejectedType);
  }
}

TEST_F(HeaderRules, TheLengthIsLookedAtBeforeTheDestination) {
  header.destination = tcp(3);
  header.type = MessageType::kAck;
  header.payload_length = 1;
  expect(HeaderVerdict::kReject, Cause::kRejectedAckPayload);
}

TEST_F(HeaderRules, MessagesForTheSenderNetworkAreRefused) {
  header.destination = tcp(3);
  expect(HeaderVerdict::kReject, Cause::kRejectedNotDirect);
  header.destination = same_net.nid;  // also ours, on the same network
  expect(HeaderVerdict::kReject, Cause::kRejectedNotDirect);
}

TEST_F(HeaderRules, OurNidOnAnotherNetworkIsRefused) {
  header.destination = other_net.nid;
  expect(HeaderVerdict::kReject, Cause::kRejectedOtherNid);
}

TEST_F(HeaderRules, AnOpenGetForAnotherNodeIsRefused) {
  header.type = MessageType::kGet;
  header.destination = tcp(3, 8);
  for (const bool routing : {false, true}) {
    EXPECT_EQ(ruling(routing, true).verdict, HeaderVerdict::kReject);
    EXPECT_EQ(ruling(routing, true).cause, Cause::kRejectedRoutedRdmaGet);
  }
}

TEST_F(HeaderRules, OnlyRoutersForwardMessagesForOtherNetworks) {
  header.destination = tcp(3, 8);
  EXPECT_EQ(ruling(false).verdict, HeaderVerdict::kDrop);
  EXPECT_EQ(ruling(false).cause, Cause::kDroppedNotRouting);
  EXPECT_EQ(ruling(true).verdict, HeaderVerdict::kForward);
}

// No further effect: a router that forwarded it has no knowledge of it.
TEST_F(HeaderRules, InvalidSourcesAndDestinationsAreDropped) {
  Nid impossible = tcp(3, 8);
  impossible.address_be.back() = 1;
  ASSERT_FALSE(impossible.is_well_formed());
  header.destination = impossible;
  expect(HeaderVerdict::kDrop, Cause::kDroppedNid);
  header.destination = tcp(3, 8);
  for (const Nid& source : {Nid::any(), impossible}) {
    header.source = source;
    expect(HeaderVerdict::kDrop, Cause::kDroppedNid);
  }
}

TEST_F(HeaderRules, APingOfAnotherIsAGetOnThePingPortalFromNoNidOfOurs) {
  header.type = MessageType::kGet;
  header.set_area(GetArea{.portal = kPingPortal});
  EXPECT_TRUE(is_ping_of_another(header, local));
  header.destination = tcp(3, 8);
  EXPECT_TRUE(is_ping_of_another(header, local)) << "for any destination";
  header.source = other_net.nid;
  EXPECT_FALSE(is_ping_of_another(header, local));
  header.source = tcp(9);
  header.payload_length = 1;
  EXPECT_FALSE(is_ping_of_another(header, local)) << "that is no GET";
  header.payload_length = 0;
  header.set_area(GetArea{.portal = 5});
  EXPECT_FALSE(is_ping_of_another(header, local));
  header.type = MessageType::kPut;
  header.set_area(PutArea{.portal = kPingPortal});
  EXPECT_FALSE(is_ping_of_another(header, local)) << "a push is no sign";
}

}  // namespace
}  // namespace plnet::lnet::header_rules_test
