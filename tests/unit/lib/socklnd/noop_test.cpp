// SPDX-License-Identifier: BSD-3-Clause
// NOOPs that are cut anywhere: a frame in progress is completed unchanged.
#include <gtest/gtest.h>

#include "tests/unit/lib/socklnd/scripted_streams.hpp"

namespace plnet::socklnd::noop_test {
namespace {

using std::chrono::seconds;
using Id = SockLndCounters::Id;

constexpr std::uint64_t kRequest = 0x0203;

Frame frame_at(const Bytes& bytes, std::size_t at) {
  return decode_frame(std::span(bytes).subspan(at).first<kFrameBytes>(), false);
}

Frame noop(std::uint64_t cookie) {
  return {.type = kFrameNoop, .cookies = {0, cookie}};
}

// The tail of one NOOP behind the head of another would acknowledge something else.
TEST(SocklndNoops, AKeepaliveThatWasBegunIsEndedBeforeAnAcknowledgement) {
  for (std::size_t cut = 1; cut < kFrameBytes; ++cut) {
    ScriptedLnd node({.sock_timeout = 8});
    const auto stream = node.arrive(ConnectionType::kBulkIn);
    node.driver.at(stream).room = cut;
    node.pass(seconds(36));
    ASSERT_EQ(node.driver.at(stream).written.size(), cut);
    node.driver.say(stream, node.message(kRequest, 0));
    node.turn();
    node.driver.give_room(stream, SIZE_MAX);
    node.turn();
    const Bytes& written = node.driver.at(stream).written;
    ASSERT_EQ(written.size(), 2 * kFrameBytes);
    EXPECT_EQ(frame_at(written, 0), noop(kKeepaliveCookie)) << cut;
    EXPECT_EQ(frame_at(written, kFrameBytes), noop(kRequest)) << cut;
    EXPECT_EQ(node.lnd->count(Id::kKeepalivesSent), 1U);
    EXPECT_EQ(node.lnd->count(Id::kAcksSent), 1U);
  }
}

TEST(SocklndNoops, AnAcknowledgementThatWasBegunIsEndedBeforeTheNext) {
  for (std::size_t cut = 1; cut < kFrameBytes; ++cut) {
    ScriptedLnd node({});
    const auto stream = node.arrive(ConnectionType::kControl);
    node.driver.at(stream).room = cut;
    node.driver.say(stream, node.message(kRequest, 0));
    node.turn();
    node.driver.say(stream, node.message(kRequest + 1, 0));
    node.turn();
    ASSERT_EQ(node.driver.at(stream).written.size(), cut);
    node.driver.give_room(stream, SIZE_MAX);
    node.turn();
    const Bytes& written = node.driver.at(stream).written;
    ASSERT_EQ(written.size(), 2 * kFrameBytes);
    EXPECT_EQ(frame_at(written, 0), noop(kRequest)) << cut;
    EXPECT_EQ(frame_at(written, kFrameBytes), noop(kRequest + 1)) << cut;
  }
}

}  // namespace
}  // namespace plnet::socklnd::noop_test
