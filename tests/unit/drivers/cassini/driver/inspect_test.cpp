// SPDX-License-Identifier: BSD-3-Clause
// The diagnostic view of an endpoint in each of its states.
#include "drivers/net/cassini/inspect.hpp"

#include "tests/unit/drivers/cassini/driver/scripted_nic.hpp"

namespace plnet::cassini::inspect_test {
namespace {

class InspectTest : public EndpointTest {};

TEST_F(InspectTest, EndpointThatDoesNothing) {
  start();
  const EndpointView view = inspect(*endpoint);
  EXPECT_TRUE(view.running);
  EXPECT_TRUE(view.link_up);
  EXPECT_EQ(view.own, device->own());
  EXPECT_EQ(view.operations, 0U);
  EXPECT_TRUE(view.entries.empty());
  EXPECT_EQ(view.counters.info.size(), endpoint->counters().info.size());
  ASSERT_TRUE(view.queues.has_value());
  const QueuesView queues = view.queues.value_or(QueuesView{});
  EXPECT_EQ(queues.portal, 12U);
  EXPECT_EQ(queues.portal_state, PortalState::kEnabled);
  EXPECT_EQ(queues.transmit.depth, 251U) << "256, a status block of four and one unused";
  EXPECT_EQ(queues.transmit.used, 0U);
  EXPECT_EQ(queues.transmit.space, 251U);
  EXPECT_EQ(queues.target.rings, 1U) << "SETSTATE";
  EXPECT_FALSE(queues.transmit.failed_by.has_value());
  EXPECT_EQ(queues.receive_events.bytes, 8192U);
  EXPECT_EQ(queues.receive_events.depth, 127U);
  EXPECT_FALSE(queues.receive_events.used.has_value()) << "no event of the NIC yet";
  EXPECT_FALSE(queues.receive_events.dropped);
}

TEST_F(InspectTest, BuffersAndOperations) {
  start();
  const Fragment buffer{{0, 0}, 65536};
  const lnet::Payload payload{{&buffer, 1}, 0, 4096};
  const std::array<std::byte, 8> header{};
  ASSERT_TRUE(endpoint->post_multi_receive(buffer, 1));
  ASSERT_TRUE(endpoint->post_tagged(peer, 77, true, payload, 2));
  for (unsigned i = 0; i < 3; ++i)
    ASSERT_TRUE(endpoint->send(peer, header, {}, 10 + i));
  const EndpointView view = inspect(*endpoint);
  EXPECT_EQ(view.operations, 3U);
  EXPECT_EQ(view.not_ready, 0U);
  const QueuesView queues = view.queues.value_or(QueuesView{});
  EXPECT_EQ(queues.transmit.used, 3U);
  EXPECT_EQ(queues.transmit.space, 248U);
  ASSERT_EQ(view.entries.size(), 2U);
  EXPECT_FALSE(view.entries[0].tagged);
  EXPECT_EQ(view.entries[0].length, 65536U);
  EXPECT_EQ(name_of(view.entries[0].state), "linked");
  EXPECT_TRUE(view.entries[1].tagged);
  EXPECT_EQ(view.entries[1].tag, 77U);
  EXPECT_EQ(view.entries[1].length, 4096U);
  ASSERT_TRUE(endpoint->cancel_tagged(77));
  EXPECT_TRUE(inspect(*endpoint).entries[1].cancelling);
}

TEST_F(InspectTest, StatusThatTheNicWrites) {
  start();
  EventQueueStatus status{.thld_sts = 1, .event_slots_free = 100, .event_slots_rsrvd = 7};
  status.wr_ptr = 28;
  store_words({nic.event_queues.at(nic.receive_queue()).memory.queue, 64}, status.encode());
  const QueuesView queues = inspect(*endpoint).queues.value_or(QueuesView{});
  EXPECT_EQ(queues.receive_events.used, 27U);
  EXPECT_EQ(queues.receive_events.reserved, 7U);
}

TEST_F(InspectTest, QueuesThatAreGone) {
  start();
  const Fragment buffer{{0, 0}, 65536};
  ASSERT_TRUE(endpoint->post_multi_receive(buffer, 1));
  // A command fails; the next turn removes the queues.
  nic.event(nic.receive_queue(), CommandFailureEvent{.cq_id = 5, .is_target = 1, .fail_loc = 4},
            EventType::kCommandFailure, ReturnCode::kCmdInvalidArg);
  poll();
  EXPECT_FALSE(inspect(*endpoint).running);
  EXPECT_FALSE(inspect(*endpoint).queues.has_value());
  EXPECT_TRUE(inspect(*endpoint).entries.empty());
}

TEST_F(InspectTest, NicWithoutStatistics) {
  start();
  const auto view = inspect(nic, DeviceHandle{1});
  ASSERT_TRUE(view.has_value());
  EXPECT_EQ(view->info.nic_address, nic.info.nic_address);
  EXPECT_TRUE(view->statistics.empty());
  nic.failing = "device_info";
  EXPECT_FALSE(inspect(nic, DeviceHandle{1}).has_value());
}

}  // namespace
}  // namespace plnet::cassini::inspect_test
