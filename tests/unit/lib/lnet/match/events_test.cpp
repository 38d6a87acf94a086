// SPDX-License-Identifier: BSD-3-Clause
// The message fields of events, one by one.
#include <gtest/gtest.h>

#include "tests/unit/lib/lnet/match/fixture.hpp"

namespace plnet::lnet::events_test {
namespace {

class Events : public MatchTest {
 public:
  Events() {
    header.destination = nid_of(50);
    header.destination_pid = 51;
    header.source = nid_of(60);
    header.source_pid = 61;
  }
  const Event& finish_received(const Grant& grant) {
    (void)table.finish(grant, ReceivedMessage{header, primary, router}, {});
    return events().back();
  }
  void expect_passive(const Event& event) {
    EXPECT_EQ(event.target, (ProcessId{nid_of(50), 51}));
    EXPECT_EQ(event.initiator, (ProcessId{primary, 61}));
    EXPECT_EQ(event.source, (ProcessId{nid_of(60), 61}));
    EXPECT_EQ(event.sender, router);
    EXPECT_EQ(event.user, &user);
    EXPECT_TRUE(event.status.has_value());
  }
  [[nodiscard]] MdSpec with_user(MdSpec spec) {
    spec.user = &user;
    return spec;
  }

  const Nid primary = nid_of(70);
  const Nid router = nid_of(80);
  int user = 0;
};

TEST_F(Events, Put) {
  const MdHandle handle =
      attach(me(0x1234), with_user(md(kMdPut | kMdTruncate | kMdManageRemote, 100)));
  MatchRequest request = put(40, 0x1234);
  request.offset = 70;
  header.type = MessageType::kPut;
  header.payload_length = 40;
  header.set_area(
      PutArea{.match_bits = 0x1234, .header_data = 0xfeedface, .portal = 4, .offset = 70});
  const Event& event = finish_received(table.match(request).grant);
  expect_passive(event);
  EXPECT_EQ(event.kind, EventKind::kPut);
  EXPECT_EQ(event.message_type, MessageType::kPut);
  EXPECT_EQ(event.portal, 4U);
  EXPECT_EQ(event.match_bits, 0x1234U);
  EXPECT_EQ(event.header_data, 0xfeedfaceU);
  EXPECT_EQ(event.requested_length, 40U);
  EXPECT_EQ(event.accepted_length, 30U);
  EXPECT_EQ(event.offset, 70U);
  EXPECT_EQ(event.md, handle);
  EXPECT_EQ(event.md_options, kMdPut | kMdTruncate | kMdManageRemote);
  EXPECT_FALSE(event.unlinked);
}

TEST_F(Events, Get) {
  std::ignore = attach(me(0x1234), with_user(md(kMdGet, 100)));
  header.type = MessageType::kGet;
  header.set_area(GetArea{.match_bits = 0x1234, .portal = 4, .sink_length = 40});
  const Event& event = finish_received(table.match(get(40, 0x1234)).grant);
  expect_passive(event);
  EXPECT_EQ(event.kind, EventKind::kGet);
  EXPECT_EQ(event.message_type, MessageType::kGet);
  EXPECT_EQ(event.portal, 4U);
  EXPECT_EQ(event.match_bits, 0x1234U);
  EXPECT_EQ(event.header_data, 0U);
  EXPECT_EQ(event.requested_length, 0U);  // of the payload; a GET has none
  EXPECT_EQ(event.accepted_length, 40U);
  EXPECT_EQ(event.offset, 0U);
}

TEST_F(Events, Ack) {
  const MdHandle handle = bind(with_user(md(0, 100)));
  header.type = MessageType::kAck;
  header.set_area(AckArea{.match_bits = 0x1234, .accepted_length = 77});
  const Event& event = finish_received(respond(handle, MessageType::kAck).grant);
  expect_passive(event);
  EXPECT_EQ(event.kind, EventKind::kAck);
  EXPECT_EQ(event.message_type, MessageType::kAck);
  EXPECT_EQ(event.match_bits, 0x1234U);
  EXPECT_EQ(event.accepted_length, 77U);
  EXPECT_EQ(event.requested_length, 0U);
  EXPECT_EQ(event.portal, 0U);
  EXPECT_EQ(event.offset, 0U);
  EXPECT_EQ(event.header_data, 0U);
}

TEST_F(Events, Reply) {
  const MdHandle handle = bind(with_user(md(kMdTruncate, 100)));
  header.type = MessageType::kReply;
  header.payload_length = 120;
  header.set_area(ReplyArea{.destination = table.wire_handle(handle)});
  const Event& event = finish_received(respond(handle, MessageType::kReply, 120).grant);
  expect_passive(event);
  EXPECT_EQ(event.kind, EventKind::kReply);
  EXPECT_EQ(event.message_type, MessageType::kReply);
  EXPECT_EQ(event.match_bits, 0U);
  EXPECT_EQ(event.requested_length, 120U);
  EXPECT_EQ(event.accepted_length, 100U);
  EXPECT_EQ(event.offset, 0U);
}

TEST_F(Events, SendOfAPut) {
  const MdHandle handle = bind(with_user(md(0, 100)));
  const auto grant = start(handle, MessageType::kPut);
  header.type = MessageType::kPut;
  header.payload_length = 100;
  header.set_area(
      PutArea{.match_bits = 0x1234, .header_data = 0xfeedface, .portal = 9, .offset = 70});
  (void)table.finish(*grant, SentMessage{header, target}, {});
  const Event& event = events().back();
  EXPECT_EQ(event.kind, EventKind::kSend);
  EXPECT_EQ(event.message_type, MessageType::kPut);
  EXPECT_EQ(event.target, target);  // not the NID that the message used in the end
  EXPECT_EQ(event.initiator, (ProcessId{Nid::any(), kLustrePid}));
  EXPECT_EQ(event.source, (ProcessId{header.source, kLustrePid}));
  EXPECT_EQ(event.sender, header.destination);
  EXPECT_EQ(event.portal, 9U);
  EXPECT_EQ(event.match_bits, 0x1234U);
  EXPECT_EQ(event.header_data, 0xfeedfaceU);
  EXPECT_EQ(event.offset, 70U);
  EXPECT_EQ(event.requested_length, 100U);
  EXPECT_EQ(event.accepted_length, 100U);
  EXPECT_EQ(event.md, handle);
  EXPECT_EQ(event.user, &user);
}

TEST_F(Events, SendOfAGetThatFailed) {
  const MdHandle handle = bind(md(0, 100));
  const auto grant = start(handle, MessageType::kGet);
  header.type = MessageType::kGet;
  header.set_area(
      GetArea{.match_bits = 0x1234, .portal = 9, .source_offset = 7, .sink_length = 100});
  (void)table.finish(*grant, SentMessage{header, target}, std::unexpected(Errc::kNoRoute));
  const Event& event = events().back();
  EXPECT_EQ(event.message_type, MessageType::kGet);
  EXPECT_EQ(event.portal, 9U);
  EXPECT_EQ(event.match_bits, 0x1234U);
  EXPECT_EQ(event.header_data, 0U);
  EXPECT_EQ(event.offset, 7U);
  EXPECT_EQ(event.requested_length, 100U);
  EXPECT_EQ(event.accepted_length, 100U);
  EXPECT_EQ(event.status.error(), Errc::kNoRoute);
  EXPECT_FALSE(event.unlinked);
}

}  // namespace
}  // namespace plnet::lnet::events_test
