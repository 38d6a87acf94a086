// SPDX-License-Identifier: BSD-3-Clause
// The system's default differs from machine to machine, and so does the result for `auto`;
// tests/e2e/cases/congestion.py covers a distant peer.
#include <string>

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "drivers/net/tcp/congestion.hpp"
#include "drivers/net/tcp/socket.hpp"
#include "tests/unit/drivers/stream_counter.hpp"
#include "tests/unit/drivers/tcp_rig.hpp"

namespace plnet::drivers {
namespace {

using socklnd::StreamId;
using testrig::StreamCounter;
using Id = TcpTable::Id;

TcpSocket fresh_socket() {
  return TcpSocket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP));
}

std::string systems_own() {
  return congestion_control_of(fresh_socket().get());
}

std::string chosen_by(std::string_view wanted) {
  TcpStats stats;
  TcpCongestion congestion{std::string(wanted), stats};
  const TcpSocket socket = fresh_socket();
  congestion.choose(socket.get());
  EXPECT_EQ(stats.view().value(static_cast<std::size_t>(Id::kOptionFailures)), 0U);
  return congestion_control_of(socket.get());
}

TEST(TcpCongestion, TheSystemIsLeftAloneOrAskedByName) {
  EXPECT_EQ(chosen_by("system"), systems_own());
  EXPECT_EQ(chosen_by("reno"), "reno");
}

TEST(TcpCongestion, APacingSystemDefaultIsReplaced) {
  const std::string own = systems_own();
  const std::string chosen = chosen_by("auto");
  EXPECT_FALSE(chosen.starts_with("bbr"));
  if (!own.starts_with("bbr")) {
    EXPECT_EQ(chosen, own);
  }
}

TEST(TcpCongestion, UnavailableAlgorithmsAreRefusedAtOnce) {
  EXPECT_TRUE(try_congestion_control("auto").has_value());
  EXPECT_TRUE(try_congestion_control("system").has_value());
  EXPECT_TRUE(try_congestion_control("reno").has_value());
  const auto tried = try_congestion_control("none-such");
  ASSERT_FALSE(tried.has_value());
  EXPECT_EQ(tried.error().what,
            "tcp: congestion control `none-such` is not to be had, expected auto, system or one "
            "that `sysctl net.ipv4.tcp_available_congestion_control` lists");
  StreamCounter events;
  EXPECT_FALSE(TcpDevice::open({.congestion_control = "none-such"}, events).has_value());
}

// Connections of both kinds, also after a hand-over to another device.
TEST(TcpCongestion, StreamsThatWereMadeAndThatCameInHaveIt) {
  StreamCounter near_events;
  StreamCounter far_events;
  TcpBench bench({.connections_max = 8, .congestion_control = "reno"});
  (void)bench.make(0, near_events);
  (void)bench.make(1, far_events);
  TcpDevice& near = *bench.devices[0];
  TcpDevice& far = *bench.devices[1];
  ASSERT_TRUE(far.listen(bench.address(1), 8, {}).has_value());
  socklnd::ConnectRequest request;
  request.addresses.remote = bench.address(1);
  request.privileged_port = false;
  const StreamId made = near.connect(request).value();
  ASSERT_TRUE(bench.run([&] { return near_events.connected == 1 && far_events.accepted == 1; }));
  EXPECT_EQ(near.details(made).congestion_control, "reno");
  EXPECT_EQ(far.details(far_events.last).congestion_control, "reno");
  const auto detached = far.detach(far_events.last);
  ASSERT_TRUE(detached.has_value());
  const auto adopted = near.adopt(*detached, {});
  ASSERT_TRUE(adopted.has_value());
  EXPECT_EQ(near.details(*adopted).congestion_control, "reno");
}

}  // namespace
}  // namespace plnet::drivers
