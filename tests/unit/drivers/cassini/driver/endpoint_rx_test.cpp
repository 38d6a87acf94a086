// SPDX-License-Identifier: BSD-3-Clause
// Operations of peers on our buffers, with their events in every order that the NIC may use.
#include "tests/unit/drivers/cassini/driver/scripted_nic.hpp"

namespace plnet::cassini::endpoint_rx_test {
namespace {

using Id = CassiniCounters::Id;
using kfilnd::FabricEvent;

class CassiniRx : public EndpointTest {
 public:
  const Fragment buffer{{0, 0x1000}, 20000};
  const lnet::Payload payload{{&buffer, 1}, 0, 5000};

  TargetCommand post_tagged(std::uint32_t tag, bool peer_reads, std::uint64_t cookie) {
    EXPECT_TRUE(endpoint->post_tagged(peer, tag, peer_reads, payload, cookie));
    return only_target();
  }
  TargetCommand post_buffer(std::uint64_t cookie) {
    EXPECT_TRUE(endpoint->post_multi_receive(buffer, cookie));
    return only_target();
  }
  void message(const TargetCommand& entry, std::uint32_t offset, std::uint32_t length,
               bool unlinked = false, ReturnCode code = ReturnCode::kOk) {
    nic.event(nic.receive_queue(),
              TargetLongEvent{.auto_unlinked = unlinked,
                              .match_bits = match_bits::kMessage,
                              .buffer_id = entry.buffer_id,
                              .mlength = length,
                              .rlength = length,
                              .start = entry.start + offset},
              EventType::kPut, code);
  }
  void operation(const TargetCommand& entry, EventType type, std::uint64_t bits,
                 std::uint32_t length, std::uint64_t data = 0) {
    nic.event(nic.receive_queue(),
              TargetEvent{.header_data = data,
                          .auto_unlinked = 1,
                          .match_bits = bits,
                          .buffer_id = entry.buffer_id,
                          .length = length},
              type);
  }
  void unlinked(const TargetCommand& entry, ReturnCode code) {
    nic.event(nic.receive_queue(), TargetLongEvent{.buffer_id = entry.buffer_id},
              EventType::kUnlink, code);
  }
};

TEST_F(CassiniRx, EntriesEqualTheKernelsExceptForReadAccess) {
  nic.info.min_free_shift = 8;
  start();
  const TargetCommand receive = post_buffer(1);
  EXPECT_EQ(receive.command, command_byte(CommandType::kQueue, SizeCode::k64, opcode::kAppend));
  EXPECT_EQ(receive.ptlte_index, 12);
  EXPECT_EQ(receive.ptl_list, 0);
  EXPECT_EQ(receive.op_put + receive.unrestricted_body_ro + receive.unrestricted_end_ro +
                receive.event_link_disable + receive.event_unlink_disable,
            5);
  EXPECT_EQ(receive.op_get, 0) << "messages of others";
  EXPECT_EQ(receive.manage_local, 1);
  EXPECT_EQ(receive.use_once, 0);
  EXPECT_EQ(receive.min_free, 16U) << "4096 in units of 256";
  EXPECT_EQ(receive.length, 20000U);
  EXPECT_EQ(receive.match_id, kMatchAny);
  EXPECT_EQ(receive.match_bits, 0x0100'0000'0000'0000U);
  EXPECT_EQ(receive.ignore_bits, 0x0010'0000'0000'0000U);
  const TargetCommand tagged = post_tagged(0x10001, true, 2);
  EXPECT_EQ(tagged.op_get + tagged.op_put, 2);
  EXPECT_EQ(tagged.use_once, 1);
  EXPECT_EQ(tagged.manage_local, 0);
  EXPECT_EQ(tagged.min_free, 0U);
  EXPECT_EQ(tagged.length, 5000U);
  EXPECT_EQ(tagged.match_id, 1U << 23U | 0x2b3U) << "directed at the peer";
  EXPECT_EQ(tagged.match_bits, 0x0140'0000'0001'0001U);
  EXPECT_EQ(tagged.ignore_bits, 0x0030'0000'0000'0000U);
  EXPECT_NE(tagged.buffer_id, receive.buffer_id);
}

TEST_F(CassiniRx, TaggedBufferServesOneOperation) {
  start();
  operation(post_tagged(1, true, 10), EventType::kGet, match_bits::tagged_rma(1), 5000);
  auto done = next();
  EXPECT_EQ(done.event, FabricEvent::kTaggedRead);
  EXPECT_EQ(done.length, 5000U);
  EXPECT_EQ(endpoint->cancel_tagged(1).error(), Errc::kNotFound);
  operation(post_tagged(1, false, 11), EventType::kPut, match_bits::tagged_rma(1), 17);
  done = next();
  EXPECT_EQ(done.event, FabricEvent::kTaggedWritten);
  EXPECT_EQ(done.length, 17U);
  EXPECT_EQ(done.cookie, 11U);
  operation(post_tagged(1, true, 12), EventType::kPut, match_bits::tagged_data(1), 0, 0xabcd);
  done = next();
  EXPECT_EQ(done.event, FabricEvent::kTaggedMessage);
  EXPECT_EQ(done.data, 0xabcdU);
  EXPECT_EQ(endpoint->receiver().in_use(), 0U);
}

TEST_F(CassiniRx, LongEventsAndErrorsOfTaggedBuffers) {
  start();
  TargetCommand entry = post_tagged(1, true, 10);
  nic.event(nic.receive_queue(),
            TargetLongEvent{.auto_unlinked = 1,
                            .match_bits = match_bits::tagged_rma(1),
                            .buffer_id = entry.buffer_id,
                            .mlength = 5000,
                            .rlength = 9000},
            EventType::kGet);
  EXPECT_EQ(next().status.error(), Errc::kTooBig) << "truncated";
  entry = post_tagged(1, true, 11);
  nic.event(
      nic.receive_queue(),
      TargetLongEvent{
          .match_bits = match_bits::tagged_rma(1), .buffer_id = entry.buffer_id, .rlength = 5000},
      EventType::kGet, ReturnCode::kNoTranslation);
  auto done = next();
  EXPECT_EQ(done.event, FabricEvent::kTaggedFailed);
  EXPECT_EQ(done.status.error(), Errc::kIo);
  operation(post_tagged(1, true, 12), EventType::kPut, match_bits::tagged_rma(1), 5);
  done = next();
  EXPECT_EQ(done.event, FabricEvent::kTaggedFailed) << "written where it should be read";
  EXPECT_EQ(done.status.error(), Errc::kProtocol);
}

TEST_F(CassiniRx, CancelThatWins) {
  start();
  const TargetCommand entry = post_tagged(1, false, 10);
  ASSERT_TRUE(endpoint->cancel_tagged(1));
  ASSERT_TRUE(endpoint->cancel_tagged(1)) << "once more is nothing";
  const TargetCommand unlink = only_target();
  EXPECT_EQ(opcode_of(unlink.command), opcode::kUnlink);
  EXPECT_EQ(unlink.buffer_id, entry.buffer_id);
  EXPECT_EQ(endpoint->post_tagged(peer, 1, false, payload, 11).error(), Errc::kExists);
  unlinked(entry, ReturnCode::kOk);
  EXPECT_EQ(next().event, FabricEvent::kTaggedCancelled);
  EXPECT_TRUE(nic.invalidated.empty()) << "used once, and not yet: nobody has begun";
  operation(entry, EventType::kPut, match_bits::tagged_rma(1), 5);
  poll();
  EXPECT_TRUE(upper.log.empty()) << "an event of a removed buffer";
  EXPECT_EQ(counted(Id::kStaleEvents), 1U);
}

TEST_F(CassiniRx, ALateEventOfAnEntryBeforeEndsNothing) {
  start();
  const TargetCommand entry = post_tagged(2, false, 10);
  operation(entry, EventType::kPut, match_bits::tagged_rma(1), 5);
  operation(entry, EventType::kPut, match_bits::kMessage, 5);
  poll();
  EXPECT_TRUE(upper.log.empty());
  EXPECT_EQ(counted(Id::kStaleEvents), 2U);
  operation(entry, EventType::kPut, match_bits::tagged_rma(2), 5);
  EXPECT_EQ(next().event, FabricEvent::kTaggedWritten);
}

TEST_F(CassiniRx, CancelThatLosesInEitherOrderOfEvents) {
  start();
  for (const bool event_first : {true, false}) {
    const TargetCommand entry = post_tagged(1, false, 10);
    ASSERT_TRUE(endpoint->cancel_tagged(1));
    (void)only_target();
    if (event_first) operation(entry, EventType::kPut, match_bits::tagged_rma(1), 5);
    if (!event_first) unlinked(entry, ReturnCode::kEntryNotFound);
    poll();
    EXPECT_EQ(upper.log.size(), event_first ? 1U : 0U);
    EXPECT_EQ(endpoint->receiver().in_use(), 1U) << "the id waits for both events";
    if (!event_first) operation(entry, EventType::kPut, match_bits::tagged_rma(1), 5);
    if (event_first) unlinked(entry, ReturnCode::kEntryNotFound);
    poll();
    ASSERT_EQ(upper.log.size(), 1U);
    EXPECT_EQ(upper.log.front().event, FabricEvent::kTaggedWritten);
    EXPECT_EQ(endpoint->receiver().in_use(), 0U);
    upper.log.clear();
  }
  EXPECT_TRUE(nic.invalidated.empty());
}

TEST_F(CassiniRx, EntryThatFindsNoPlaceIsAppendedAgain) {
  start();
  const TargetCommand entry = post_tagged(1, false, 10);
  unsigned appends = 1;
  for (unsigned round = 0; round < 5; ++round) {
    nic.event(nic.receive_queue(), TargetLongEvent{.buffer_id = entry.buffer_id}, EventType::kLink,
              ReturnCode::kNoSpace);
    poll();
    EXPECT_TRUE(nic.targets().empty()) << "not at once";
    poll(std::chrono::milliseconds(20));
    const auto again = nic.targets();
    ASSERT_EQ(again.size(), 1U);
    EXPECT_EQ(again[0], entry);
    ++appends;
  }
  EXPECT_EQ(counted(Id::kNoEntry), appends - 1);
  // A cancel of an entry that waits, and a cancel while its UNLINK is under way.
  nic.event(nic.receive_queue(), TargetLongEvent{.buffer_id = entry.buffer_id}, EventType::kLink,
            ReturnCode::kNoSpace);
  poll();
  ASSERT_TRUE(endpoint->cancel_tagged(1));
  poll();
  EXPECT_EQ(next().event, FabricEvent::kTaggedCancelled);
  const TargetCommand other = post_tagged(2, false, 11);
  ASSERT_TRUE(endpoint->cancel_tagged(2));
  (void)only_target();
  nic.event(nic.receive_queue(), TargetLongEvent{.buffer_id = other.buffer_id}, EventType::kLink,
            ReturnCode::kNoSpace);
  unlinked(other, ReturnCode::kEntryNotFound);
  EXPECT_EQ(next().event, FabricEvent::kTaggedCancelled);
  EXPECT_EQ(endpoint->receiver().in_use(), 0U);
}

TEST_F(CassiniRx, ABufferEndsAfterAllItsMessagesInAnyOrder) {
  start();
  const TargetCommand entry = post_buffer(77);
  message(entry, 0, 6000);
  message(entry, 12000, 6000, true);
  message(entry, 6000, 6000);
  const auto first = next();
  EXPECT_EQ(first.event, FabricEvent::kMessage);
  EXPECT_EQ(first.offset, 0U);
  EXPECT_FALSE(first.buffer_unlinked);
  const auto second = next();
  EXPECT_EQ(second.offset, 12000U);
  EXPECT_FALSE(second.buffer_unlinked) << "one before it is still on its way";
  const auto third = next();
  EXPECT_EQ(third.offset, 6000U);
  EXPECT_TRUE(third.buffer_unlinked);
  EXPECT_EQ(endpoint->receiver().in_use(), 0U);
}

// A read brings no message but uses the space of one: the NIC may still write before it.
TEST_F(CassiniRx, AReadThatFillsABufferDoesNotEndItBeforeItsMessages) {
  start();
  const TargetCommand entry = post_buffer(77);
  nic.event(nic.receive_queue(),
            TargetLongEvent{.auto_unlinked = 1,
                            .match_bits = match_bits::kMessage,
                            .buffer_id = entry.buffer_id,
                            .mlength = 14000,
                            .rlength = 14000,
                            .start = entry.start + 6000},
            EventType::kGet);
  poll();
  EXPECT_TRUE(upper.log.empty()) << "a message of 6000 bytes is still on its way";
  EXPECT_EQ(counted(Id::kStrangeEvents), 1U);
  message(entry, 0, 6000);
  const auto done = next();
  EXPECT_EQ(done.event, FabricEvent::kMessage);
  EXPECT_EQ(done.length, 6000U);
  EXPECT_TRUE(done.buffer_unlinked);
  EXPECT_EQ(endpoint->receiver().in_use(), 0U);
}

TEST_F(CassiniRx, FailedMessageIsCountedAndStillEndsItsBuffer) {
  start();
  const TargetCommand entry = post_buffer(77);
  message(entry, 0, 9000);
  EXPECT_EQ(next().length, 9000U);
  message(entry, 9000, 8000, true, ReturnCode::kUncor);
  const auto done = next();
  EXPECT_EQ(done.event, FabricEvent::kBufferUnlinked);
  EXPECT_EQ(done.cookie, 77U);
  EXPECT_EQ(counted(Id::kMessagesLost), 1U);
  const TargetCommand other = post_buffer(78);
  message(other, 19000, 2000);
  poll();
  EXPECT_TRUE(upper.log.empty()) << "reaches past its buffer";
  EXPECT_EQ(counted(Id::kStrangeEvents), 1U);
}

TEST_F(CassiniRx, ScatteredSinkIsBounced) {
  start();
  const std::array<Fragment, 2> apart{{{{0, 0}, 10}, {{0, 500}, 10}}};
  ASSERT_TRUE(endpoint->post_tagged(peer, 5, false, {apart, 0, 20}, 1));
  const TargetCommand entry = only_target();
  EXPECT_EQ(entry.length, 20U);
  operation(entry, EventType::kPut, match_bits::tagged_rma(5), 15);
  EXPECT_EQ(next().event, FabricEvent::kTaggedWritten);
  EXPECT_EQ(counted(Id::kBounces), 1U);
}

TEST_F(CassiniRx, AnEmptyBufferHasAnEntry) {
  start();
  ASSERT_TRUE(endpoint->post_tagged(peer, 5, false, {}, 1));
  const TargetCommand entry = only_target();
  EXPECT_EQ(entry.length, 1U);
  operation(entry, EventType::kPut, match_bits::tagged_data(5), 0, 3);
  EXPECT_EQ(next().event, FabricEvent::kTaggedMessage);
}

TEST_F(CassiniRx, BuffersPostedBeforeThePortalIsEnabledWait) {
  open();
  ASSERT_TRUE(endpoint->post_multi_receive(buffer, 1));
  poll();
  EXPECT_EQ(nic.targets().size(), 1U) << "SETSTATE alone";
  nic.portal_state(PortalState::kEnabled);
  poll();
  const auto commands = nic.targets();
  ASSERT_EQ(commands.size(), 1U);
  EXPECT_EQ(opcode_of(commands[0].command), opcode::kAppend);
}

TEST_F(CassiniRx, DisabledPortalIsEnabledWithTheDropCount) {
  start();
  for (unsigned round = 0; round < 3; ++round) {
    nic.drops = 20 + round;
    nic.portal_state(PortalState::kDisabled);
    poll();
    EXPECT_FALSE(endpoint->receiver().portal().enabled());
    poll(std::chrono::milliseconds(1));
    const auto commands = nic.take(*nic.target);
    ASSERT_EQ(commands.size(), 1U);
    EXPECT_EQ(SetStateCommand::decode(commands[0]).drop_count, 20 + round) << "drops went on";
    poll(std::chrono::milliseconds(1));
    EXPECT_TRUE(nic.take(*nic.target).empty()) << "asked once";
  }
  nic.portal_state(PortalState::kEnabled);
  poll();
  EXPECT_TRUE(endpoint->receiver().portal().enabled());
  EXPECT_EQ(counted(Id::kPortalDisabled), 3U);
}

TEST_F(CassiniRx, APortalThatDoesNotAnswerIsAskedAgain) {
  open();
  poll();
  EXPECT_EQ(nic.take(*nic.target).size(), 1U);
  poll(std::chrono::milliseconds(900));
  EXPECT_TRUE(nic.take(*nic.target).empty()) << "it may only be slow";
  poll(std::chrono::milliseconds(200));
  auto commands = nic.take(*nic.target);
  ASSERT_EQ(commands.size(), 1U);
  EXPECT_EQ(SetStateCommand::decode(commands[0]).drop_count, kIgnoreDrops);
  nic.portal_state(PortalState::kEnabled);
  poll();
  nic.drops = 20;
  nic.portal_state(PortalState::kDisabled);
  poll();
  poll(std::chrono::milliseconds(1));
  EXPECT_EQ(nic.take(*nic.target).size(), 1U);
  nic.drops = 21;
  poll(std::chrono::seconds(2));
  commands = nic.take(*nic.target);
  ASSERT_EQ(commands.size(), 1U);
  EXPECT_EQ(SetStateCommand::decode(commands[0]).drop_count, 21U) << "drops went on";
  EXPECT_EQ(counted(Id::kPortalAskedAgain), 2U);
}

TEST_F(CassiniRx, ShutDownUnderLoad) {
  start();
  const std::array<std::byte, 8> header{};
  const TargetCommand tagged = post_tagged(1, false, 1);
  const TargetCommand used = post_tagged(2, false, 2);
  const TargetCommand receive = post_buffer(3);
  ASSERT_TRUE(endpoint->send(peer, header, {}, 4));
  const DmaCommand put = only_sent();
  ASSERT_TRUE(endpoint->send(peer, header, {}, 5));
  nic.answer(only_sent(), ReturnCode::kEntryNotFound);
  poll();
  endpoint->shut_down();
  EXPECT_EQ(endpoint->send(peer, header, {}, 6).error(), Errc::kShutdown);
  EXPECT_EQ(endpoint->post_multi_receive(buffer, 6).error(), Errc::kShutdown);
  EXPECT_EQ(next().cookie, 5U) << "waiting requests are not posted any more";
  EXPECT_FALSE(endpoint->quiet());
  EXPECT_EQ(nic.targets().size(), 3U);
  unlinked(tagged, ReturnCode::kOk);
  operation(used, EventType::kPut, match_bits::tagged_rma(2), 5);
  unlinked(used, ReturnCode::kEntryNotFound);
  unlinked(receive, ReturnCode::kOk);
  poll();
  EXPECT_FALSE(endpoint->quiet()) << "the NIC still reads for the send";
  nic.answer(put);
  for (unsigned i = 0; i < 3; ++i)
    poll();
  EXPECT_TRUE(endpoint->quiet());
  std::map<std::uint64_t, FabricEvent> ended;
  for (const auto& completion : upper.log)
    EXPECT_TRUE(ended.emplace(completion.cookie, completion.event).second);
  EXPECT_EQ(ended, (std::map<std::uint64_t, FabricEvent>{{1, FabricEvent::kTaggedCancelled},
                                                         {2, FabricEvent::kTaggedWritten},
                                                         {3, FabricEvent::kBufferUnlinked},
                                                         {4, FabricEvent::kSent}}));
}

TEST_F(CassiniRx, BufferThatCannotBeCutOffIsNotGivenBackAlone) {
  start();
  const TargetCommand entry = post_buffer(10);
  endpoint->shut_down();
  (void)only_target();
  nic.failing = "invalidate";
  unlinked(entry, ReturnCode::kOk);
  EXPECT_EQ(next().event, FabricEvent::kBufferUnlinked);
  EXPECT_EQ(nic.alive["portal"], 0U) << "all of it went, so that nothing can reach the buffer";
}

TEST_F(CassiniRx, UnexpectedEventsAreCounted) {
  start();
  nic.event(nic.receive_queue(), TargetLongEvent{.buffer_id = 0}, EventType::kPut);
  nic.event(nic.receive_queue(), TargetLongEvent{.buffer_id = 999}, EventType::kUnlink);
  nic.event(nic.transmit_queue(), TimestampEvent{}, EventType::kTimestamp);
  const TargetCommand entry = post_tagged(1, false, 1);
  unlinked(entry, ReturnCode::kOk);
  poll();
  EXPECT_EQ(counted(Id::kStaleEvents), 2U);
  EXPECT_EQ(counted(Id::kStrangeEvents), 2U);
  EXPECT_TRUE(upper.log.empty());
}

}  // namespace
}  // namespace plnet::cassini::endpoint_rx_test
