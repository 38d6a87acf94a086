// SPDX-License-Identifier: BSD-3-Clause
// Access control of greetings: which peers may greet, and when the gate is asked.
#include <set>

#include "tests/unit/lib/kfilnd/scripted_endpoint.hpp"

namespace plnet::kfilnd::access_test {
namespace {

using Call = ScriptedEndpoint::Call;

class Gate final : public PeerGate {
 public:
  // `later`: forbidden by a rule that is added while the gate is in use.
  explicit Gate(std::set<unsigned> forbidden, const std::set<unsigned>* later = nullptr)
      : forbidden_(std::move(forbidden)), later_(later) {}
  bool admits(const lnet::Nid& peer) override {
    ++asked;
    const auto is_peer = [&](unsigned each) { return nid_of(each) == peer; };
    if (later_ != nullptr && std::ranges::any_of(*later_, is_peer)) return false;
    return std::ranges::none_of(forbidden_, is_peer);
  }

  unsigned asked = 0;

 private:
  const std::set<unsigned> forbidden_;
  const std::set<unsigned>* const later_;
};

std::vector<std::byte> put_of(unsigned from) {
  Message message = lnet_message(from, 0, Kind::kImmediate, 2, lnet::MessageType::kPut, 100);
  message.header.set_area(lnet::PutArea{.ack_handle = {}, .match_bits = 1});
  return bytes_of(message, 100);
}

TEST(KfilndAccess, AForbiddenStrangerIsNotAnswered) {
  Gate gate({1});
  ScriptedNode node({.gate = &gate});
  node.hello(Kind::kHelloRequest, {.rx_base = 3, .session_key = 7});
  EXPECT_EQ(node.endpoint.waiting(Call::kSend), 0U);
  EXPECT_EQ(node.lnd->peer(nid_of(1)), nullptr);
  EXPECT_EQ(node.count(LndId::kRefusedAccess), 1U);
  EXPECT_EQ(node.count(LndId::kHellosReceived), 0U);
  node.meet(2);
  EXPECT_EQ(node.state(2), PeerState::kUpToDate) << "others are heard";
  EXPECT_EQ(gate.asked, 2U) << "an answer is no introduction";
  node.expect_clean();
}

TEST(KfilndAccess, AForbiddenPeerIsNotGreetedForItsMessage) {
  Gate gate({1});
  ScriptedNode node({.gate = &gate});
  node.arrive(put_of(1));
  EXPECT_EQ(node.endpoint.waiting(Call::kSend), 0U);
  EXPECT_EQ(node.core->tally().puts, 0U);
  EXPECT_EQ(node.count(LndId::kRefusedAccess), 1U);
  EXPECT_EQ(node.lnd->transactions(), 0U);
  node.expect_clean();
}

// The peer greets us before it can answer our message.
TEST(KfilndAccess, PeersThatWeGreetAreNotJudged) {
  Gate gate({1});
  ScriptedNode node({.gate = &gate});
  node.put(100);
  node.done(FabricEvent::kSent, node.endpoint.take(Call::kSend));
  node.hello(Kind::kHelloRequest, {.rx_base = 3, .session_key = 77});
  node.hello(Kind::kHelloResponse, {.rx_base = 3, .session_key = 77});
  EXPECT_EQ(node.endpoint.take(Call::kSend).message.kind, Kind::kHelloResponse);
  EXPECT_EQ(node.endpoint.take(Call::kSend).message.kind, Kind::kImmediate);
  node.arrive(put_of(1));
  EXPECT_EQ(node.core->tally().puts, 1U);
  EXPECT_EQ(gate.asked, 0U);
  node.expect_clean();
}

TEST(KfilndAccess, RestartedAndReturningPeersAreJudgedAgain) {
  Gate gate({});
  ScriptedNode node({.gate = &gate});
  node.meet(1, 2, 77);
  node.arrive(put_of(1));
  node.hello(Kind::kHelloRequest, {.rx_base = 3, .session_key = 80});
  EXPECT_EQ(gate.asked, 1U) << "it has only forgotten us";
  node.hello(Kind::kHelloRequest, {.rx_base = 3, .session_key = 2});
  EXPECT_EQ(gate.asked, 2U) << "another life";
  while (node.endpoint.waiting(Call::kSend) > 0)
    node.done(FabricEvent::kSent, node.endpoint.take(Call::kSend));
  node.put(100);
  node.done(FabricEvent::kSent, node.endpoint.take(Call::kSend), std::unexpected(Errc::kClosed));
  ASSERT_EQ(node.state(), PeerState::kDown);
  node.arrive(put_of(1));
  node.arrive(put_of(1));
  EXPECT_EQ(gate.asked, 3U) << "once, by the first that comes";
}

TEST(KfilndAccess, AnUnrequestedAnswerIsJudgedLikeAGreeting) {
  std::set<unsigned> forbidden;
  Gate gate({}, &forbidden);
  ScriptedNode node({.gate = &gate});
  node.meet(1, 2, 77);
  while (node.endpoint.waiting(Call::kSend) > 0)
    node.done(FabricEvent::kSent, node.endpoint.take(Call::kSend));
  node.put(100);
  node.done(FabricEvent::kSent, node.endpoint.take(Call::kSend), std::unexpected(Errc::kClosed));
  ASSERT_EQ(node.state(), PeerState::kDown);
  forbidden.insert(1);
  node.hello(Kind::kHelloResponse, {.rx_base = 3, .session_key = 77});
  EXPECT_EQ(node.state(), PeerState::kDown);
  EXPECT_EQ(node.count(LndId::kRefusedAccess), 1U);
}

TEST(KfilndAccess, WaitingPeersAreJudgedOnce) {
  Gate gate({1, 40});
  ScriptedNode node({.peers_max = 64, .gate = &gate});
  for (unsigned i = 1; i <= 40; ++i)
    node.land(bytes_of(hello_message(i, 0, Kind::kHelloRequest, {.session_key = i})));
  for (int turns = 0; turns < 3; ++turns)
    node.turn();
  EXPECT_EQ(gate.asked, 40U);
  EXPECT_EQ(node.count(LndId::kRefusedAccess), 2U);
  EXPECT_EQ(node.count(LndId::kPeersMade), 38U);
}

}  // namespace
}  // namespace plnet::kfilnd::access_test
