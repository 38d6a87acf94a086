// SPDX-License-Identifier: BSD-3-Clause
// More peers to greet than concurrent HELLOs: absent nodes do not block others.
#include <gtest/gtest.h>

#include "tests/unit/lib/kfilnd/scripted_endpoint.hpp"

namespace plnet::kfilnd::greetings_test {
namespace {

using Call = ScriptedEndpoint::Call;
using enum FabricEvent;
using std::chrono::seconds;

class KfilndGreetings : public testing::Test {
 public:
  ~KfilndGreetings() override { node.expect_clean(); }

  // The only outstanding HELLO, to this peer.
  ScriptedEndpoint::Post greeting(unsigned peer) {
    EXPECT_EQ(node.endpoint.waiting(Call::kSend), 1U);
    const ScriptedEndpoint::Post post = node.endpoint.take(Call::kSend);
    EXPECT_EQ(post.message.kind, Kind::kHelloRequest);
    EXPECT_EQ(post.message.destination_nid, nid64_of(peer));
    return post;
  }
  void fail(const ScriptedEndpoint::Post& post) {
    node.done(kSent, post, std::unexpected(Errc::kNoRoute));
  }
  void answer(unsigned peer) {
    node.hello(Kind::kHelloResponse, {.rx_base = 3, .session_key = 77}, peer);
  }

  ScriptedNode node{{.hellos_max = 1}};
};

TEST_F(KfilndGreetings, WaitForOthersAndAreNotFailures) {
  node.put(100, 1);
  const auto first = greeting(1);
  node.put(100, 2);
  node.put(100, 3);
  EXPECT_EQ(node.endpoint.waiting(Call::kSend), 0U);
  EXPECT_EQ(node.completions(), 0U) << "a handshake is under way, as far as they can tell";
  EXPECT_EQ(node.count(LndId::kHellosPutOff), 2U);
  EXPECT_EQ(node.count(LndId::kHellosFailed), 0U);
  fail(first);
  EXPECT_EQ(node.completions(), 1U);
  EXPECT_EQ(node.count(LndId::kHellosFailed), 1U);
  node.done(kSent, greeting(2));  // a delivered HELLO makes room
  fail(greeting(3));
  answer(2);
  EXPECT_EQ(node.endpoint.take(Call::kSend).message.kind, Kind::kImmediate);
  EXPECT_EQ(node.completions(), 2U);
  EXPECT_EQ(node.count(LndId::kHellosSent), 3U);
}

TEST_F(KfilndGreetings, SilentPeersDoNotDelayOthers) {
  node.put(100, 1);
  fail(greeting(1));
  node.put(100, 2);
  const auto second = greeting(2);
  node.put(100, 1);
  node.put(100, 3);
  fail(second);
  fail(greeting(3));
  fail(greeting(1));
  EXPECT_EQ(node.completions(), 4U);
}

TEST_F(KfilndGreetings, TheLatestSenderIsGreetedFirst) {
  node.put(100, 1);
  const auto first = greeting(1);
  node.put(100, 2);
  node.put(100, 3);
  node.hello(Kind::kHelloRequest, {.rx_base = 3, .session_key = 77}, 3);
  node.hello(Kind::kHelloRequest, {.rx_base = 3, .session_key = 77}, 4);
  for (int i = 0; i < 2; ++i) {
    const auto response = node.endpoint.take(Call::kSend);
    EXPECT_EQ(response.message.kind, Kind::kHelloResponse) << "that needs no turn";
    node.done(kSent, response);
  }
  fail(first);
  for (const unsigned peer : {4U, 3U, 2U})
    node.done(kSent, greeting(peer));
}

// Neither peer is in the list of waiting peers any more.
TEST_F(KfilndGreetings, AnsweringAndForgottenPeersAreNotGreeted) {
  node.put(100, 1);
  const auto first = greeting(1);
  node.put(100, 2);
  node.put(100, 3);
  answer(2);
  node.done(kSent, node.endpoint.take(Call::kSend));
  EXPECT_EQ(node.completions(), 1U);
  node.turn(seconds(64));
  EXPECT_EQ(node.completions(), 3U) << "for half of the timeout, no more";
  EXPECT_EQ(node.lnd->peer(nid_of(3))->hello_state, HelloState::kInit);
  node.lnd->shut_down();
  node.turn();
  fail(first);
  node.turn();
  EXPECT_EQ(node.endpoint.waiting(Call::kSend), 0U);
  EXPECT_TRUE(node.lnd->idle());
}

// A poller that may sleep stays awake when the end of a HELLO has made room.
TEST_F(KfilndGreetings, AreDueAsSoonAsThereIsRoom) {
  node.put(100, 1);
  const auto first = greeting(1);
  node.put(100, 2);
  EXPECT_GT(node.lnd->next_deadline(), node.now);
  node.tell({.event = kSent, .cookie = first.cookie});
  EXPECT_LE(node.lnd->next_deadline(), node.now);
  node.turn();
  node.done(kSent, greeting(2));
}

}  // namespace
}  // namespace plnet::kfilnd::greetings_test
