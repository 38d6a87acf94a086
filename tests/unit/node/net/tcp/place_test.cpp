// SPDX-License-Identifier: BSD-3-Clause
#include "node/net/tcp/place.hpp"

#include <array>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

namespace plnet::node::tcp_place_test {
namespace {

class TcpPlaceAlone : public ::testing::Test {
 protected:
  void SetUp() override {
    auto opened = TcpPlace::open({.connections_max = 4});
    ASSERT_TRUE(opened) << opened.error().what;
    place = std::move(*opened);
    place->inbox().set_doorbell(bell);
  }
  [[nodiscard]] std::uint64_t count(socklnd::ShardInboxTable::Id id) const {
    return place->inbox().counters().value(static_cast<std::size_t>(id));
  }
  // Returns the other end.
  [[nodiscard]] int bring_one() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    place->inbox().bring({.stream = {.descriptor = ends[0], .addresses = {}}});
    return ends[1];
  }
  static bool is_closed(int other_end) {
    char byte = 0;
    const bool closed = ::recv(other_end, &byte, 1, MSG_DONTWAIT) == 0;
    ::close(other_end);
    return closed;
  }

  SilentDoorbell bell;
  std::unique_ptr<TcpPlace> place;
};

TEST_F(TcpPlaceAlone, MakesNoSystemCallWithoutATcpNetwork) {
  EXPECT_EQ(place->poll({}), 0U);
  EXPECT_EQ(place->device().counters().value(
                static_cast<std::size_t>(drivers::TcpTable::Id::kEpollWaits)),
            0U);
  EXPECT_EQ(place->next_deadline(), Instant::max());
}

TEST_F(TcpPlaceAlone, ClosesAConnectionWhoseInterfaceHasGone) {
  const int other_end = bring_one();
  EXPECT_EQ(place->next_deadline(), Instant::min());
  EXPECT_EQ(place->poll({}), 1U);
  EXPECT_EQ(count(socklnd::ShardInboxTable::Id::kHomeless), 1U);
  EXPECT_TRUE(is_closed(other_end));
}

TEST_F(TcpPlaceAlone, ClosesConnectionsInTransitAtItsEnd) {
  const int other_end = bring_one();
  place.reset();
  EXPECT_TRUE(is_closed(other_end));
}

TEST_F(TcpPlaceAlone, ReportsMissingRoom) {
  for (std::size_t i = 0; i < TcpPlace::kArrivalsMax; ++i) {
    ASSERT_TRUE(place->inbox().has_room());
    place->inbox().bring({});
  }
  EXPECT_FALSE(place->inbox().has_room());
  EXPECT_EQ(place->poll({}), TcpPlace::kTakenPerTurn);
  EXPECT_TRUE(place->inbox().has_room());
}

}  // namespace
}  // namespace plnet::node::tcp_place_test
