// SPDX-License-Identifier: BSD-3-Clause
// Connections that cannot be adopted, and an address that is removed and returns.
#include <gtest/gtest.h>

#include "tests/unit/lib/socklnd/scripted_streams.hpp"

namespace plnet::socklnd::lnd_interface_test {
namespace {

using lnet::InterfaceState;
using std::chrono::seconds;
using Id = SockLndCounters::Id;

TEST(SocklndInterface, AConnectionThatCannotBeAdoptedIsDiscarded) {
  ScriptedLnd node({});
  node.driver.refuse_adopt = Errc::kNoMemory;
  node.lnd->accept({.local = node.ours, .peer = {node.peer}});
  node.turn();
  EXPECT_EQ(node.lnd->count(Id::kRefusedAdopt), 1U);
  EXPECT_EQ(node.driver.discarded, 1U);
  EXPECT_EQ(node.lnd->peer({node.peer}), nullptr);
}

TEST(SocklndInterface, ASearchForASourcePortGoesOnInTheNextTurnsAndEnds) {
  ScriptedLnd node({});
  node.driver.refuse_connect = Errc::kAgain;
  node.core->put(node.peer, 10, false);
  node.turn();
  EXPECT_LE(node.driver.connects, 2U) << "not all of it in one turn";
  EXPECT_EQ(node.lnd->next_deadline(), Instant::min()) << "but without a pause";
  node.driver.refuse_connect.reset();
  node.turn();
  EXPECT_EQ(node.driver.streams.size(), 1U);
  EXPECT_EQ(node.lnd->count(Id::kAttempts), 1U);
  node.driver.refuse_connect = Errc::kAgain;
  node.driver.end(0, Errc::kRefused);
  node.pass(seconds(3));
  node.core->put(node.peer, 10, false);
  node.driver.connects = 0;
  for (unsigned i = 0; i < 100; ++i)
    node.turn();
  EXPECT_EQ(node.driver.connects, Peer::kPortSearchesMax);
  ASSERT_EQ(node.core->completions().size(), 2U);
  EXPECT_EQ(node.core->completions()[1].status.error(), Errc::kBusy);
}

TEST(SocklndInterface, AnAddressThatIsRemovedAndReturnsIsReported) {
  ScriptedLnd node({});
  const auto stream = node.arrive(ConnectionType::kControl);
  node.driver.local = false;
  node.pass(seconds(5));
  EXPECT_TRUE(node.core->interface_states().empty()) << "no checks without a failure";
  node.driver.close(ScriptedStreams::id(stream), Errc::kTimedOut);
  node.driver.report_closed();
  node.turn();
  ASSERT_EQ(node.core->interface_states(), std::vector{InterfaceState::kFatal});
  node.pass(seconds(5));
  EXPECT_EQ(node.core->interface_states().size(), 1U) << "once";
  EXPECT_LE(node.lnd->next_deadline(), node.now + seconds(1)) << "and it is looked for";
  node.driver.local = true;
  node.pass(seconds(2));
  EXPECT_EQ(node.core->interface_states(),
            (std::vector{InterfaceState::kFatal, InterfaceState::kUp}));
  EXPECT_EQ(node.lnd->next_deadline(), Instant::max());
}

TEST(SocklndInterface, AFailedConnectionDoesNotLowerTheInterface) {
  ScriptedLnd node({});
  const auto stream = node.arrive(ConnectionType::kControl);
  node.driver.close(ScriptedStreams::id(stream), Errc::kReset);
  node.driver.report_closed();
  node.pass(seconds(3));
  EXPECT_TRUE(node.core->interface_states().empty());
  EXPECT_EQ(node.lnd->next_deadline(), Instant::max());
}

void lose_address_and_link(ScriptedLnd& node) {
  const auto stream = node.arrive(ConnectionType::kControl);
  node.driver.local = false;
  node.driver.close(ScriptedStreams::id(stream), Errc::kTimedOut);
  node.pass(seconds(1));
  node.lnd->set_usable(false);
}

// One of two reasons for being down may end before the other.
TEST(SocklndInterface, AnAddressThatIsBackOnALinkThatIsDownIsNotUp) {
  ScriptedLnd node({});
  const auto states = [&] { return node.core->interface_states(); };
  lose_address_and_link(node);
  node.driver.local = true;
  node.pass(seconds(3));
  EXPECT_EQ(node.lnd->count(Id::kInterfaceBack), 1U);
  EXPECT_EQ(states(), std::vector{InterfaceState::kFatal});
  node.lnd->set_usable(true);
  node.lnd->set_usable(true);
  EXPECT_EQ(states(), (std::vector{InterfaceState::kFatal, InterfaceState::kUp}));
}

TEST(SocklndInterface, ALinkThatIsBackHasTheAddressLookedForAtOnce) {
  ScriptedLnd node({});
  lose_address_and_link(node);
  node.driver.local = true;
  node.lnd->set_usable(true);
  EXPECT_EQ(node.core->interface_states().size(), 1U);
  EXPECT_LE(node.lnd->next_deadline(), node.now);
  node.turn();
  EXPECT_EQ(node.core->interface_states(),
            (std::vector{InterfaceState::kFatal, InterfaceState::kUp}));
}

}  // namespace
}  // namespace plnet::socklnd::lnd_interface_test
