// SPDX-License-Identifier: BSD-3-Clause
// Whole nodes of one process that talk over real sockets on loopback, turned by one thread.
#include "apps/assembly/tcp_host.hpp"

#include <functional>
#include <optional>

#include <gtest/gtest.h>
#include <unistd.h>

#include "apps/assembly/lnet_networks.hpp"
#include "apps/assembly/tcp_driver.hpp"
#include "tests/unit/apps/assembly/small_node.hpp"

namespace plnet::apps {
namespace {

using lnet::Nid;

// Of this process alone, so that tests that run at the same time do not meet.
std::uint32_t address(unsigned last) {
  const auto pid = static_cast<unsigned>(::getpid());
  return 127U << 24U | (64 + (pid >> 8U) % 128) << 16U | (pid & 0xffU) << 8U | last;
}

Nid nid_of(unsigned last) {
  return Nid::of(lnet::NetType::kTcp, 0, address(last));
}

TcpOptions options_of_test() {
  TcpOptions options;
  options.accept = socklnd::AcceptPolicy::kAll;  // who runs the tests may have no reserved ports
  options.tunables.accept_port = options.tunables.accept_port_bulk = 21'988;
  return options;
}

// Loopback answers within the system call that asks; this is for a machine that is very busy.
constexpr unsigned kTurnsMax = 2'000'000;

class Side {
  ManualClock& clock_;
  SmallNode small_;  // before those that use its memory
  const std::uint64_t incarnation_;

 public:
  Side(unsigned shards, ManualClock& clock, std::uint64_t incarnation)
      : clock_(clock), small_(shards, 32), incarnation_(incarnation) {
    for (unsigned i = 0; i < shards; ++i)
      places.push_back(std::make_unique<LnetShard>(i));
    small_.setup.interface_cookie = incarnation;
    small_.setup.start = clock.now();
    node = std::make_unique<lnet::Node>(small_.setup);
    tcp = std::move(TcpHost::create({.shards = shards,
                                     .options = options_of_test(),
                                     .streams_max = 64,
                                     .first = places[0].get()}))
              .value();
    tcp->set_doorbells(small_.doorbells);
    for (const auto& place : places)
      place->set_node_owner(node.get());
    node->set_running();
    maker_ = TcpDriver{}.maker(
        lnet::NetType::kTcp,
        {.arenas = &small_.arenas, .messages = 32, .peers = 16, .clock = &clock, .tcp = tcp.get()});
  }
  // What is under way ends first, as when LNet is taken down.
  ~Side() {
    std::vector<Nid> nids;
    for (const lnet::Ni* const ni : node->coordinator().local().nis)
      nids.push_back(ni->nid);
    for (const Nid& nid : nids)
      remove(nid);
    node->coordinator().shut_down();
    const auto quiet = [this] {
      return node->releasing_nis() == 0 && node->coordinator().quiet() && node->idle() &&
             open_streams() == 0;
    };
    for (unsigned turns = 0; !quiet() && turns < kTurnsMax; ++turns) {
      clock_.advance(std::chrono::microseconds(10));
      turn(clock_.now());
    }
    EXPECT_TRUE(quiet());
    for (const auto& place : places)
      place->set_node_owner(nullptr);
    node.reset();
  }
  Side(const Side&) = delete;
  Side& operator=(const Side&) = delete;

  [[nodiscard]] Outcome<void> add(const Nid& nid) {
    auto resolved = resolve_ni(nid.net(), {.nid = nid}, places.size(), tcp->options());
    resolved->setup.incarnation = incarnation_;
    if (auto open = maker_->open(resolved->setup); !open) return open;
    EXPECT_TRUE(node->add_ni(resolved->setup, *maker_));
    return {};
  }
  void remove(const Nid& nid) {
    maker_->close(nid);
    EXPECT_TRUE(node->remove_ni(nid));
  }
  void turn(Instant now) {
    for (unsigned i = 0; i < places.size(); ++i) {
      places[i]->opening().poll(now);
      tcp->place(i).poll(now);
      places[i]->closing().poll(now);
      places[i]->quiescent();
    }
  }
  [[nodiscard]] std::uint64_t open_streams() const {
    std::uint64_t open = 0;
    for (unsigned i = 0; i < places.size(); ++i) {
      open += tcp->place(i).device().counters().value(
          static_cast<std::size_t>(drivers::TcpTable::Id::kOpen));
    }
    return open;
  }
  [[nodiscard]] std::uint64_t arrived(unsigned shard) const {
    return tcp->place(shard).counters().value(
        static_cast<std::size_t>(TcpPlaceTable::Id::kArrived));
  }

  std::vector<std::unique_ptr<LnetShard>> places;
  std::unique_ptr<TcpHost> tcp;
  std::unique_ptr<lnet::Node> node;

 private:
  std::unique_ptr<NetworkMaker> maker_;
};

struct Ping final : lnet::PingRequest {
  void done(Result<void> outcome, const lnet::PingView* /*buffer*/) override { result = outcome; }
  std::optional<Result<void>> result;
};

class TcpNodes : public ::testing::TestWithParam<unsigned> {
 protected:
  void make(unsigned index, std::uint64_t incarnation = 1) {
    sides[index].reset();
    sides[index] = std::make_unique<Side>(GetParam(), clock, incarnation);
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
  std::array<std::unique_ptr<Side>, 2> sides;
};

// Multi-rail peers with NIDs of both families on one network get such pairs from path selection.
TEST_P(TcpNodes, OfDifferentFamiliesPingEachOther) {
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

TEST_P(TcpNodes, CloseWhatAnInterfaceHadWhenItGoes) {
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

TEST_P(TcpNodes, NameThePortThatSomebodyElseHas) {
  make(0);
  make(1);
  add(0);
  const auto taken = sides[1]->add(nid_of(1));
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, Errc::kBusy);
  EXPECT_NE(taken.error().what.find(":21988"), std::string::npos) << taken.error().what;
  EXPECT_NE(taken.error().what.find("ksocklnd"), std::string::npos) << taken.error().what;
}

// Refused by every system, since the budget is a number of 16 bits: so it shows who asked.
TEST(TcpHostSockets, AreAskedToBePolledAsTheNodeIsTold) {
  const LnetShard first(0);
  const auto tcp = std::move(TcpHost::create({.shards = 1,
                                              .options = options_of_test(),
                                              .streams_max = 8,
                                              .busy_poll = {.usec = 50, .budget = 1U << 20U},
                                              .first = &first}))
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
}  // namespace plnet::apps
