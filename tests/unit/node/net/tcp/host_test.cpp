// SPDX-License-Identifier: BSD-3-Clause
// Complete nodes in one process that communicate over loopback sockets, turned by one thread.
#include "node/net/tcp/host.hpp"

#include <functional>
#include <optional>

#include "tests/unit/node/net/tcp/side.hpp"

namespace plnet::node::tcp_host_test {
namespace {

using lnet::Nid;

struct Ping final : lnet::PingRequest {
  void done(Result<void> outcome, const lnet::PingView* /*buffer*/) override { result = outcome; }
  std::optional<Result<void>> result;
};

class TcpNodes : public ::testing::TestWithParam<unsigned> {
 protected:
  void make(unsigned index, std::uint64_t incarnation = 1) {
    sides[index].reset();
    sides[index] = std::make_unique<TcpSide>(
        SideSetup{.shards = GetParam(), .incarnation = incarnation}, clock);
  }
  [[nodiscard]] bool run(const std::function<bool()>& done) {
    for (unsigned turn = 0; turn < kTurnsMax; ++turn) {
      if (done()) return true;
      clock.advance(std::chrono::microseconds(10));
      for (const auto& side : sides) {
        if (side != nullptr) side->turn(clock.now());
      }
    }
    return false;
  }
  [[nodiscard]] Result<void> ping(unsigned from, const Nid& to) {
    Ping ping;
    ping.target = {to, lnet::kLustrePid};
    ping.timeout = std::chrono::seconds(15);
    sides[from]->node->coordinator().ping(ping);
    EXPECT_TRUE(run([&] { return ping.result.has_value(); }));
    return ping.result.value_or(std::unexpected(Errc::kTimedOut));
  }
  void add(unsigned index) {
    const auto added = sides[index]->add(nid_of(index + 1));
    ASSERT_TRUE(added) << added.error().what;
    const lnet::Ni* const ni = sides[index]->node->coordinator().local().ni(nid_of(index + 1));
    ASSERT_TRUE(run([&] { return ni->plugged.get(); }));
  }

  ManualClock clock;
  std::array<std::unique_ptr<TcpSide>, 2> sides;
};

// Path selection yields such pairs for multi-rail peers with NIDs of both families on one network.
TEST_P(TcpNodes, NodesOfDifferentFamiliesPingEachOther) {
  Nid v6 = Nid::of(lnet::NetType::kTcp, 0, 0);
  v6.size = Nid::kLargeSize;
  v6.address_be[15] = 1;  // ::1
  for (const unsigned caller : {0U, 1U}) {
    make(0, 1 + caller);
    make(1, 3 + caller);
    if (!sides[0]->tcp->privileged()) GTEST_SKIP() << "IPv6 needs reserved ports";
    add(0);
    if (const auto added = sides[1]->add(v6); !added) GTEST_SKIP() << added.error().what;
    const lnet::Ni* const ni = sides[1]->node->coordinator().local().ni(v6);
    ASSERT_TRUE(run([&] { return ni->plugged.get(); }));
    EXPECT_TRUE(ping(caller, caller == 0 ? v6 : nid_of(1)));
  }
}

TEST_P(TcpNodes, PingEachOther) {
  for (const unsigned index : {0U, 1U}) {
    make(index);
    add(index);
  }
  EXPECT_TRUE(ping(0, nid_of(2)));
  EXPECT_TRUE(ping(1, nid_of(1)));
}

TEST_P(TcpNodes, BringConnectionsToTheHomeOfTheirPeer) {
  for (const unsigned index : {0U, 1U}) {
    make(index);
    add(index);
  }
  ASSERT_TRUE(ping(0, nid_of(2)));
  const lnet::PeerNi* const peer = sides[1]->node->coordinator().peers().find(nid_of(1));
  ASSERT_NE(peer, nullptr);
  for (unsigned shard = 0; shard < GetParam(); ++shard)
    EXPECT_EQ(sides[1]->arrived(shard) > 0, shard == peer->home);
}

TEST_P(TcpNodes, AnswerAgainAfterARestart) {
  for (const unsigned index : {0U, 1U}) {
    make(index);
    add(index);
  }
  ASSERT_TRUE(ping(0, nid_of(2)));
  make(1, 2);
  add(1);
  EXPECT_TRUE(run([&] { return ping(0, nid_of(2)).has_value(); }));
}

TEST_P(TcpNodes, CloseTheConnectionsOfARemovedInterface) {
  for (const unsigned index : {0U, 1U}) {
    make(index);
    add(index);
  }
  ASSERT_TRUE(ping(0, nid_of(2)));
  EXPECT_GT(sides[1]->open_streams(), 0U);
  sides[1]->remove(nid_of(2));
  EXPECT_TRUE(run([&] {
    return sides[1]->open_streams() == 0 && sides[0]->open_streams() == 0 &&
           sides[1]->node->releasing_nis() == 0;
  }));
  EXPECT_FALSE(ping(0, nid_of(2)));
  ASSERT_TRUE(sides[1]->add(nid_of(2))) << "the address is free again";
  EXPECT_TRUE(run([&] { return ping(0, nid_of(2)).has_value(); }));
}

TEST_P(TcpNodes, NameAUsedPort) {
  make(0);
  make(1);
  add(0);
  const auto taken = sides[1]->add(nid_of(1));
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, Errc::kBusy);
  EXPECT_NE(taken.error().what.find(":21988"), std::string::npos) << taken.error().what;
  EXPECT_NE(taken.error().what.find("ksocklnd"), std::string::npos) << taken.error().what;
}

// Every system refuses it, since the budget is a number of 16 bits; the refusal shows that the
// option was set.
TEST(TcpHostSockets, HaveTheBusyPollOptionsOfTheNode) {
  const auto tcp = std::move(TcpHost::create({.shards = 1,
                                              .options = options_of_test(),
                                              .streams_max = 8,
                                              .busy_poll = {.usec = 50, .budget = 1U << 20U}}))
                       .value();
  EXPECT_NE(tcp->busy_poll_refusal(), "");
  drivers::TcpDevice& device = tcp->place(0).device();
  socklnd::ConnectRequest request;
  request.addresses.remote = socket_address(nid_of(1));
  request.addresses.remote.port = 21'988;
  request.privileged_port = false;
  EXPECT_TRUE(device.connect(request).has_value());
  const auto row = static_cast<std::size_t>(drivers::TcpTable::Id::kOptionFailures);
  EXPECT_EQ(device.counters().value(row), 1U);
}

INSTANTIATE_TEST_SUITE_P(Shards, TcpNodes, ::testing::Values(1U, 2U));

}  // namespace
}  // namespace plnet::node::tcp_host_test
