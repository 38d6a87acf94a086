// SPDX-License-Identifier: BSD-3-Clause
// The 512 privileged ports, with more peers than that.
#include <array>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "drivers/net/tcp/ports.hpp"
#include "drivers/net/tcp/socket.hpp"
#include "tests/unit/drivers/stream_counter.hpp"
#include "tests/unit/drivers/tcp_rig.hpp"

namespace plnet::drivers {
namespace {

using socklnd::ConnectRequest;
using socklnd::SocketAddress;
using testrig::StreamCounter;
using Id = TcpTable::Id;

// Listeners that never accept: the system completes connections for them.
class Listeners {
 public:
  void add(const SocketAddress& address) {
    auto socket = open_socket(address);
    ASSERT_TRUE(socket.has_value());
    const SystemAddress at(address);
    ASSERT_EQ(::bind(socket->get(), at.get(), at.size), 0) << text_of(address);
    ASSERT_EQ(::listen(socket->get(), 1024), 0);
    sockets_.push_back(std::move(*socket));
  }

 private:
  std::vector<TcpSocket> sockets_;
};

bool may_use_privileged_ports() {
  auto socket = open_socket(own_loopback(1));
  const SystemAddress at(own_loopback(1, 777));
  return ::bind(socket->get(), at.get(), at.size) == 0;
}

// False if the process may not have so many descriptors.
bool allow_descriptors(rlim_t count) {
  rlimit limit{};
  (void)::getrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur >= count) return true;
  limit.rlim_cur = count;
  return limit.rlim_max >= count && ::setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

// Drops this thread's capability to use privileged ports, for every user that runs the test.
class NoPrivilege {
 public:
  NoPrivilege() {
    EXPECT_EQ(::syscall(SYS_capget, &header_, before_.data()), 0);
    auto now = before_;
    now[0].effective &= ~(1U << CAP_NET_BIND_SERVICE);
    EXPECT_EQ(::syscall(SYS_capset, &header_, now.data()), 0);
  }
  ~NoPrivilege() { EXPECT_EQ(::syscall(SYS_capset, &header_, before_.data()), 0); }
  NoPrivilege(const NoPrivilege&) = delete;
  NoPrivilege& operator=(const NoPrivilege&) = delete;

 private:
  __user_cap_header_struct header_{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> before_{};
};

class TcpPortsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!may_use_privileged_ports())
      GTEST_SKIP() << "needs CAP_NET_BIND_SERVICE to use ports below 1024";
    if (!allow_descriptors(3000)) GTEST_SKIP() << "needs 3000 file descriptors";
    device = open_device({.connections_max = 2048}, events);
  }
  ConnectRequest request_to(const SocketAddress& remote) {
    ConnectRequest request;
    request.addresses = {.local = own_loopback(250, 0), .remote = remote};
    return request;
  }
  bool run(const std::function<bool()>& done) {
    for (unsigned turn = 0; turn < TcpBench::kTurnsMax && !done(); ++turn)
      device->poll({});
    return done();
  }
  StreamCounter events;
  std::unique_ptr<TcpDevice> device;
};

TEST_F(TcpPortsTest, MorePeersThanPrivilegedPorts) {
  constexpr unsigned kPeers = 640;
  constexpr unsigned kPerAddress = 128;
  Listeners listeners;
  for (unsigned i = 0; i < kPeers; ++i) {
    const auto port = static_cast<std::uint16_t>(kTcpTestPort + i % kPerAddress);
    const SocketAddress peer = own_loopback(1 + i / kPerAddress, port);
    listeners.add(peer);
    ASSERT_TRUE(device->connect(request_to(peer)).has_value()) << i;
  }
  ASSERT_TRUE(run([&] { return events.connected == kPeers; }));
  EXPECT_EQ(events.ports.size(), TcpPorts::kCount) << "all were used, some of them twice";
  EXPECT_EQ(*events.ports.begin(), 512);
  EXPECT_EQ(*events.ports.rbegin(), 1023);
  EXPECT_EQ(count_of(*device, Id::kPortTries), kPeers) << "none of them in vain";
}

TEST_F(TcpPortsTest, TowardsOnePeerTheyRunOutAndComeBack) {
  const SocketAddress peer = own_loopback(1);
  Listeners listeners;
  listeners.add(peer);
  listeners.add(own_loopback(2));
  socklnd::StreamId first;
  for (unsigned i = 0; i < TcpPorts::kCount; ++i) {
    const auto id = device->connect(request_to(peer));
    ASSERT_TRUE(id.has_value()) << i;
    if (i == 0) first = *id;
  }
  constexpr unsigned kCalls = TcpPorts::kCount / TcpPorts::kTriesPerCall;
  for (unsigned call = 1; call <= kCalls; ++call) {
    const std::uint64_t before = count_of(*device, Id::kPortTries);
    const auto id = device->connect(request_to(peer));
    EXPECT_EQ(id.error(), call < kCalls ? Errc::kAgain : Errc::kBusy) << call;
    EXPECT_LE(count_of(*device, Id::kPortTries) - before, TcpPorts::kTriesPerCall);
  }
  EXPECT_EQ(count_of(*device, Id::kPortsExhausted), 1U);
  EXPECT_TRUE(device->connect(request_to(own_loopback(2))).has_value()) << "others have their own";
  ASSERT_TRUE(run([&] { return events.connected == TcpPorts::kCount + 1; }));
  EXPECT_EQ(events.ports.size(), TcpPorts::kCount);
  device->close(first, Errc::kShutdown);
  // The port is free once the system has received the peer's FIN.
  bool again = false;
  EXPECT_TRUE(
      run([&] { return again |= !again && device->connect(request_to(peer)).has_value(); }));
}

TEST_F(TcpPortsTest, APortWithAListenerIsSkipped) {
  Listeners listeners;
  listeners.add(own_loopback(250, 1023));
  listeners.add(own_loopback(250, 1022));
  listeners.add(own_loopback(1));
  ASSERT_TRUE(device->connect(request_to(own_loopback(1))).has_value());
  ASSERT_TRUE(run([&] { return events.connected == 1; }));
  EXPECT_EQ(*events.ports.begin(), 1021);
}

// Otherwise two nodes that connect to each other at the same time could meet in one simultaneous
// open.
TEST_F(TcpPortsTest, TheDestinationsPortIsNoSource) {
  Listeners listeners;
  listeners.add(own_loopback(1, 1022));
  for (unsigned i = 0; i < 2; ++i)
    ASSERT_TRUE(device->connect(request_to(own_loopback(1, 1022))).has_value());
  ASSERT_TRUE(run([&] { return events.connected == 2; }));
  EXPECT_EQ(events.ports, (std::set<std::uint16_t>{1021, 1023}));
}

TEST_F(TcpPortsTest, AChosenSourcePortIsTakenOrRefused) {
  Listeners listeners;
  listeners.add(own_loopback(1));
  ConnectRequest request = request_to(own_loopback(1));
  request.addresses.local.port = 700;
  ASSERT_TRUE(device->connect(request).has_value());
  ASSERT_TRUE(run([&] { return events.connected == 1; }));
  EXPECT_EQ(*events.ports.begin(), 700);
  EXPECT_EQ(device->connect(request).error(), Errc::kBusy);
}

TEST_F(TcpPortsTest, ASourceAddressThatIsNotOursIsRefused) {
  ConnectRequest request = request_to(own_loopback(1));
  request.addresses.local.ip[12] = 203;
  EXPECT_EQ(device->connect(request).error(), Errc::kNotFound);
  request.privileged_port = false;
  EXPECT_EQ(device->connect(request).error(), Errc::kNotFound);
  const std::string words = explain_connect_failure(Errc::kNotFound, request);
  EXPECT_NE(words.find("is not of this machine"), std::string::npos) << words;
}

TEST(TcpPorts, MissingPrivilegeIsReported) {
  const NoPrivilege none;
  if (may_use_privileged_ports()) GTEST_SKIP() << "here everybody may use ports below 1024";
  StreamCounter events;
  const auto device = open_device({.connections_max = 8}, events);
  ConnectRequest request;
  request.addresses.remote = own_loopback(1);
  EXPECT_EQ(device->connect(request).error(), Errc::kNotPermitted);
  EXPECT_EQ(count_of(*device, Id::kPortTries), 1U) << "the others would report the same";
  EXPECT_EQ(device->listen(own_loopback(1, 988), 8, {}).error(), Errc::kNotPermitted);
  for (const std::string& words : {explain_connect_failure(Errc::kNotPermitted, request),
                                   explain_listen_failure(Errc::kNotPermitted, own_loopback(1))})
    EXPECT_NE(words.find("CAP_NET_BIND_SERVICE"), std::string::npos) << words;
}

TEST(TcpPorts, RequestsThatMakeNoSenseAreRefused) {
  TcpStats stats;
  TcpCongestion congestion{std::string(TcpCongestion::kSystem), stats};
  TcpPorts ports(congestion, stats);
  ConnectRequest request;
  EXPECT_EQ(ports.connect(request).error(), Errc::kInvalid) << "no destination";
  request.addresses.remote = own_loopback(1);
  request.addresses.local = own_loopback_v6();
  EXPECT_EQ(ports.connect(request).error(), Errc::kInvalid) << "IPv6 to IPv4";
  request.addresses.remote.port = 0;
  request.addresses.local = {};
  EXPECT_EQ(ports.connect(request).error(), Errc::kInvalid) << "no port";
}

TEST(TcpSocketText, AddressesInWords) {
  SocketAddress address;
  EXPECT_EQ(text_of(address), "[::]:0");
  address.ip = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 168, 1, 10};
  address.port = 988;
  EXPECT_EQ(text_of(address), "192.168.1.10:988");
  address.ip = {0x20, 0x01, 0x0d, 0xb8};
  address.ip[15] = 0x14;
  EXPECT_EQ(text_of(address), "[2001:db8::14]:988");
  EXPECT_EQ(address_of(SystemAddress(address).storage), address);
}

}  // namespace
}  // namespace plnet::drivers
