// SPDX-License-Identifier: BSD-3-Clause
// The failure of the queues of one direction: which operations it ends, when, and which it leaves
// alone.
#include "drivers/net/cassini/inspect.hpp"
#include "tests/unit/drivers/cassini/driver/scripted_nic.hpp"

namespace plnet::cassini::endpoint_recovery_test {
namespace {

using Id = CassiniCounters::Id;

class CassiniRecovery : public EndpointTest {
 public:
  const Fragment buffer{{0, 0}, 65536};
  const lnet::Payload payload{{&buffer, 1}, 0, 100};
  const std::array<std::byte, 8> header{};

  // The NIC stops at this slot and reads no further transmit commands.
  void refuse_at(unsigned slot) {
    nic.transmit->memory.set_read(slot, ReturnCode::kCmdInvalidArg);
    nic.event(nic.transmit_queue(), CommandFailureEvent{.cq_id = 5, .fail_loc = 4},
              EventType::kCommandFailure, ReturnCode::kCmdInvalidArg);
    poll();
  }
  void refuse_target() {
    nic.event(nic.receive_queue(), CommandFailureEvent{.cq_id = 5, .is_target = 1, .fail_loc = 4},
              EventType::kCommandFailure, ReturnCode::kCmdInvalidArg);
    poll();
  }
  void lose_transmit_events() {
    const EventQueueStatus dropped{.unackd_dropped_event = 1};
    store_words({nic.event_queues[nic.transmit_queue()].memory.queue, 64}, dropped.encode());
    poll();
  }
};

TEST_F(CassiniRecovery, AReceiveFailureLeavesOurOwnOperationsAlone) {
  start();
  ASSERT_TRUE(endpoint->post_tagged(peer, 7, true, payload, 2));
  ASSERT_TRUE(endpoint->post_multi_receive(buffer, 3));
  ASSERT_TRUE(endpoint->write_tagged(peer, 9, payload, 1));
  const DmaCommand put = only_sent();
  refuse_target();
  EXPECT_EQ(nic.alive["portal"], 0U);
  EXPECT_EQ(nic.alive["command_queue"], 1U) << "the transmit queue stays";
  ASSERT_EQ(upper.log.size(), 2U) << "the NIC still reads for the write";
  for (const auto& completion : upper.log) {
    EXPECT_EQ(completion.status.error(), Errc::kAborted);
    EXPECT_NE(completion.cookie, 1U);
  }
  upper.log.clear();
  EXPECT_EQ(upper.links, (std::vector<std::pair<bool, std::uint64_t>>{{false, 0x1a2}}));
  EXPECT_EQ(endpoint->post_multi_receive(buffer, 4).error(), Errc::kAgain);
  ASSERT_TRUE(endpoint->send(peer, header, {}, 5)) << "the other direction goes on";
  poll();
  nic.answer(put);
  EXPECT_TRUE(next().status.has_value());
  poll(std::chrono::milliseconds(20));
  EXPECT_TRUE(endpoint->running());
  EXPECT_EQ(upper.links.back(), (std::pair<bool, std::uint64_t>{true, 0x1a2}));
  EXPECT_EQ(nic.take(*nic.target).size(), 1U) << "the portal is enabled again";
}

TEST_F(CassiniRecovery, PeersOperationsAreReportedAfterTheNicReleasedThem) {
  start();
  ASSERT_TRUE(endpoint->post_tagged(peer, 7, true, payload, 2));
  poll();
  nic.failing = "destroy_portal";
  refuse_target();
  poll(std::chrono::milliseconds(20));
  EXPECT_TRUE(upper.log.empty());
  EXPECT_EQ(nic.alive["portal"], 1U);
  nic.failing.clear();
  poll(std::chrono::seconds(2));
  EXPECT_EQ(next().status.error(), Errc::kAborted);
  EXPECT_EQ(nic.alive["portal"], 0U);
  poll(std::chrono::seconds(2));
  EXPECT_TRUE(endpoint->running());
}

// The portal and the command queue are destroyed, the event queue is not: none of them is polled
// any more.
TEST_F(CassiniRecovery, AReceiveSideThatIsHalfGoneIsNotLookedAt) {
  start();
  ASSERT_TRUE(endpoint->post_multi_receive(buffer, 3));
  const unsigned entry = only_target().buffer_id;
  endpoint->shut_down();
  EXPECT_EQ(nic.targets().size(), 0U);
  poll();
  EXPECT_EQ(only_target().buffer_id, entry) << "its UNLINK";
  nic.failing = "destroy_event_queue";
  refuse_target();
  EXPECT_EQ(nic.alive["portal"], 0U);
  EXPECT_EQ(nic.alive["event_queue"], 2U);
  nic.event(nic.receive_queue(), TargetLongEvent{.buffer_id = static_cast<std::uint16_t>(entry)},
            EventType::kUnlink);
  nic.event(nic.receive_queue(), StateChangeEvent{.ptlte_index = 12}, EventType::kStateChange);
  poll();
  EXPECT_TRUE(nic.invalidated.empty()) << "of a portal that is gone";
  EXPECT_EQ(counted(Id::kPortalDisabled), 0U);
  EXPECT_FALSE(inspect(*endpoint).queues);
  EXPECT_TRUE(upper.log.empty()) << "the NIC may still tell of it";
  nic.failing.clear();
  poll(std::chrono::seconds(2));
  EXPECT_EQ(next().cookie, 3U);
  EXPECT_TRUE(endpoint->quiet());
}

TEST_F(CassiniRecovery, ATransmitSideThatIsHalfGoneIsNotLookedAt) {
  start();
  ASSERT_TRUE(endpoint->write_tagged(peer, 9, payload, 1));
  const DmaCommand put = only_sent();
  lose_transmit_events();
  nic.failing = "destroy_event_queue";
  poll(config.drain_time);
  EXPECT_EQ(counted(Id::kQuarantined), 1U);
  EXPECT_EQ(nic.alive["command_queue"], 1U) << "to receive";
  EXPECT_EQ(nic.alive["event_queue"], 2U);
  nic.answer(put);
  for (unsigned i = 0; i < 3; ++i)
    poll(std::chrono::seconds(2));
  EXPECT_EQ(counted(Id::kStaleEvents), 0U);
  EXPECT_FALSE(inspect(*endpoint).queues);
  EXPECT_EQ(counted(Id::kEventsDropped), 1U);
  nic.failing.clear();
  poll(std::chrono::seconds(2));
  poll(std::chrono::seconds(2));
  EXPECT_TRUE(endpoint->running());
}

TEST_F(CassiniRecovery, LostReceiveEventsAreReportedOnce) {
  start();
  const EventQueueStatus dropped{.unackd_dropped_event = 1};
  store_words({nic.event_queues[nic.receive_queue()].memory.queue, 64}, dropped.encode());
  nic.failing = "unmap_portal";
  for (unsigned i = 0; i < 3; ++i)
    poll();
  EXPECT_EQ(counted(Id::kEventsDropped), 1U);
  nic.failing.clear();
  poll(std::chrono::seconds(2));
  poll(std::chrono::seconds(2));
  EXPECT_TRUE(endpoint->running());
}

TEST_F(CassiniRecovery, OnlyOperationsNotBegunAreAbortedAtOnce) {
  start();
  ASSERT_TRUE(endpoint->post_tagged(peer, 7, true, payload, 10));
  ASSERT_TRUE(endpoint->read_tagged(peer, 9, payload, 1));
  const DmaCommand get = only_sent();
  ASSERT_TRUE(endpoint->send(peer, header, {}, 2));
  nic.answer(only_sent(), ReturnCode::kEntryNotFound);
  poll();  // waits for the retry time
  ASSERT_TRUE(endpoint->write_tagged(peer, 9, payload, 3));
  ASSERT_TRUE(endpoint->send(peer, header, {}, 4));
  poll();
  refuse_at(6);  // the third command
  std::set<std::uint64_t> aborted;
  for (const auto& completion : upper.log) {
    EXPECT_EQ(completion.status.error(), Errc::kAborted);
    aborted.insert(completion.cookie);
  }
  EXPECT_EQ(aborted, (std::set<std::uint64_t>{2, 3, 4})) << "the read still writes to our memory";
  upper.log.clear();
  poll(std::chrono::seconds(30));
  EXPECT_TRUE(upper.log.empty());
  EXPECT_EQ(endpoint->send(peer, header, {}, 5).error(), Errc::kAgain);
  nic.answer(get);
  const auto done = next();
  EXPECT_EQ(done.cookie, 1U);
  EXPECT_TRUE(done.status.has_value()) << "it has really ended well";
  EXPECT_EQ(nic.alive["command_queue"], 1U) << "the target queue stays";
  nic.failing = "command_queue";
  poll(std::chrono::milliseconds(20));
  EXPECT_FALSE(endpoint->running());
  EXPECT_EQ(counted(Id::kRebuildFailures), 1U);
  nic.failing.clear();
  poll(std::chrono::seconds(2));
  EXPECT_TRUE(endpoint->running());
  EXPECT_EQ(upper.links.back(), (std::pair<bool, std::uint64_t>{true, 0x1a2}));
  ASSERT_TRUE(endpoint->send(peer, header, {}, 6));
  nic.answer(only_sent());
  EXPECT_EQ(next().cookie, 6U);
  EXPECT_EQ(endpoint->receiver().in_use(), 1U) << "the tagged buffer was never touched";
  EXPECT_EQ(counted(Id::kQuarantined), 0U);
}

TEST_F(CassiniRecovery, AFailureThatOnlyTheStatusBlockShows) {
  start();
  ASSERT_TRUE(endpoint->send(peer, header, {}, 1));
  poll();
  nic.transmit->memory.set_read(4, ReturnCode::kIllegalOp);
  EXPECT_EQ(next().status.error(), Errc::kAborted);
  EXPECT_EQ(counted(Id::kCommandFailures), 1U);
}

TEST_F(CassiniRecovery, OperationsThatNeverEndAreNotReused) {
  start();
  ASSERT_TRUE(endpoint->send(peer, header, {}, 1));          // copied
  ASSERT_TRUE(endpoint->write_tagged(peer, 9, payload, 2));  // sent from the payload's own memory
  ASSERT_TRUE(endpoint->answer_tagged(peer, 9, 0, 3));       // no payload
  poll();
  const auto commands = nic.sent();
  ASSERT_EQ(commands.size(), 3U);
  lose_transmit_events();
  EXPECT_TRUE(upper.log.empty());
  EXPECT_EQ(counted(Id::kEventsDropped), 1U);
  poll(config.drain_time);
  poll(std::chrono::milliseconds(20));
  ASSERT_EQ(upper.log.size(), 2U) << "a payload that the NIC may still read must stay put";
  EXPECT_EQ(upper.log[0].cookie, 1U);
  EXPECT_EQ(upper.log[1].cookie, 3U);
  EXPECT_EQ(upper.log[0].status.error(), Errc::kAborted);
  EXPECT_EQ(counted(Id::kQuarantined), 3U);
  EXPECT_EQ(counted(Id::kEventsDropped), 1U) << "told once";
  ASSERT_TRUE(endpoint->running());
  upper.log.clear();
  std::set<std::uint64_t> places;
  for (std::uint64_t i = 0; i < 61; ++i)
    ASSERT_TRUE(endpoint->send(peer, header, {}, i));
  EXPECT_EQ(endpoint->send(peer, header, {}, 61).error(), Errc::kAgain) << "three are out of use";
  poll();
  for (const DmaCommand& command : nic.sent())
    places.insert(command.local_addr);
  EXPECT_EQ(places.size(), 61U);
  EXPECT_FALSE(places.contains(commands[0].local_addr)) << "nor is its block";
  nic.answer(commands[0]);
  poll();
  EXPECT_TRUE(upper.log.empty()) << "too late";
  EXPECT_EQ(counted(Id::kStaleEvents), 1U);
}

TEST_F(CassiniRecovery, AnEndpointIsNotQuietWhileTheNicUsesMemory) {
  start();
  ASSERT_TRUE(endpoint->write_tagged(peer, 9, payload, 2));
  const DmaCommand put = only_sent();
  ASSERT_TRUE(endpoint->send(peer, header, {}, 3));
  poll();
  refuse_at(5);
  EXPECT_EQ(next().cookie, 3U);
  endpoint->shut_down();
  poll();
  EXPECT_FALSE(endpoint->quiet());
  nic.answer(put);
  EXPECT_EQ(next().cookie, 2U);
  EXPECT_TRUE(endpoint->quiet());
  poll(std::chrono::seconds(2));
  EXPECT_FALSE(endpoint->running()) << "nothing is made anew any more";
}

}  // namespace
}  // namespace plnet::cassini::endpoint_recovery_test
