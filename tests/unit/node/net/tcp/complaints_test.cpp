// SPDX-License-Identifier: BSD-3-Clause
#include "node/net/tcp/complaints.hpp"

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "node/net/tcp/host.hpp"

namespace plnet::node::tcp_complaints_test {
namespace {

using socklnd::Complaint;

constexpr runtime::LogSite kFirst{runtime::LogLevel::kWarning, "bad_input", {"from", "cause"}};

const lnet::Nid kPeer = lnet::Nid::of(lnet::NetType::kTcp, 0, 0x0a000001);

Complaint of_peer(std::string_view cause) {
  return {.nid = kPeer, .address = {}, .cause = cause};
}

TEST(TcpComplaints, NameANidOrAnAddressWithoutPort) {
  EXPECT_EQ(culprit_of(of_peer("x")), "10.0.0.1@tcp");
  Complaint stranger{.nid = lnet::Nid::any(), .address = socket_address(kPeer), .cause = "x"};
  stranger.address.port = 4711;
  EXPECT_EQ(culprit_of(stranger), "10.0.0.1");
  stranger.address.ip = {0xfd, 0x88};
  EXPECT_EQ(culprit_of(stranger), "[fd88::]");
}

TEST(TcpComplaints, AreLoggedOnceAndCountedEachTime) {
  std::vector<std::string> lines;
  ManualClock clock;
  const runtime::SystemWallClock wall_clock;
  runtime::LogOptions options;
  options.descriptor = -1;
  options.capture = [&](std::string_view line) { lines.emplace_back(line); };
  const auto log = std::move(*runtime::Log::open(options, clock, wall_clock));
  runtime::OnceLog once(*log, {kFirst, kFirst}, clock);
  TcpComplaints complaints;
  for (unsigned i = 0; i < 10; ++i)
    complaints.tell(of_peer("closed_bad_frame"));
  complaints.tell(of_peer("closed_checksum"));
  complaints.say(once);
  EXPECT_EQ(lines.size(), 2U);
  EXPECT_EQ(complaints.counters().value(0), 11U);
  EXPECT_EQ(complaints.counters().value(1), 0U);
}

TEST(TcpComplaints, SurplusLinesAreCounted) {
  TcpComplaints complaints;
  for (std::size_t i = 0; i < TcpComplaints::kWaitingMax + 3; ++i)
    complaints.tell(of_peer("closed_bad_frame"));
  EXPECT_EQ(complaints.counters().value(1), 3U);
}

}  // namespace
}  // namespace plnet::node::tcp_complaints_test
