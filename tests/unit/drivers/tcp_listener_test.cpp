// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <cstdlib>
#include <string>

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>

#include "tests/unit/drivers/stream_counter.hpp"
#include "tests/unit/drivers/tcp_rig.hpp"

namespace plnet::drivers {
namespace {

using socklnd::ConnectRequest;
using socklnd::SocketAddress;
using testrig::StreamCounter;
using Id = TcpTable::Id;

TEST_F(TcpDevicePlain, StopsListening) {
  establish();
  far->stop_listening(bench.address(1));
  ASSERT_TRUE(connect().has_value());
  ASSERT_TRUE(bench.run([&] { return near_events.closed == 1; }));
  EXPECT_EQ(near_events.cause, Errc::kRefused);
  EXPECT_EQ(far_events.closed, 0U) << "accepted connections stay";
  EXPECT_TRUE(far->listen(bench.address(1), 127, {}).has_value()) << "beside what was accepted";
}

TEST_F(TcpDevicePlain, OnlyOneMayListenOnAnAddress) {
  ASSERT_TRUE(far->listen(bench.address(1), 127, {}).has_value());
  EXPECT_EQ(far->listen(bench.address(1), 127, {}).error(), Errc::kBusy);
  EXPECT_EQ(near->listen(bench.address(1), 127, {}).error(), Errc::kBusy);
  SocketAddress elsewhere = bench.address(1);
  elsewhere.ip[12] = 203;  // 203.x.y.z
  EXPECT_EQ(far->listen(elsewhere, 127, {}).error(), Errc::kNotFound);
  const std::string words = explain_listen_failure(Errc::kBusy, own_loopback(2, 988));
  EXPECT_NE(words.find(":988: somebody else listens there"), std::string::npos) << words;
}

TEST(TcpDevice, TheUnspecifiedIpv6AddressIsForBothFamilies) {
  TcpBench bench;
  StreamCounter near_events;
  StreamCounter far_events;
  bench.devices.push_back(open_device({.connections_max = 8}, near_events));
  bench.devices.push_back(open_device({.connections_max = 8}, far_events));
  SocketAddress any;
  any.port = own_loopback_v6().port;
  if (!bench.devices[1]->listen(any, 8, {})) GTEST_SKIP() << "no IPv6 on this machine";
  ConnectRequest request;
  request.privileged_port = false;
  for (const SocketAddress& to : {own_loopback_v6(), own_loopback(1, any.port)}) {
    request.addresses.remote = to;
    ASSERT_TRUE(bench.devices[0]->connect(request).has_value());
  }
  ASSERT_TRUE(bench.run([&] { return far_events.accepted == 2 && near_events.connected == 2; }));
}

TEST(TcpDevice, ShardsMayShareAListenAddress) {
  TcpBench bench({.connections_max = 64, .share_listeners = true});
  std::array<StreamCounter, 3> events;
  for (unsigned i = 0; i < 3; ++i)
    bench.devices.push_back(
        open_device({.connections_max = 64, .share_listeners = true}, events[i]));
  for (unsigned i = 1; i < 3; ++i)
    ASSERT_TRUE(bench.devices[i]->listen(bench.address(1), 127, {}).has_value());
  for (unsigned i = 0; i < 60; ++i) {
    ConnectRequest request;
    request.addresses.remote = bench.address(1);
    request.privileged_port = false;
    ASSERT_TRUE(bench.devices[0]->connect(request).has_value());
  }
  ASSERT_TRUE(bench.run([&] { return events[1].accepted + events[2].accepted == 60; }));
  EXPECT_GT(events[1].accepted, 0U);
  EXPECT_GT(events[2].accepted, 0U);
}

TEST(TcpDevice, MoreConnectionsThanStreamsAreReset) {
  TcpBench bench({.connections_max = 4});
  StreamCounter near_events;
  StreamCounter far_events;
  bench.devices.push_back(open_device({.connections_max = 64}, near_events));
  bench.devices.push_back(open_device({.connections_max = 4}, far_events));
  TcpDevice& near = *bench.devices[0];
  TcpDevice& far = *bench.devices[1];
  ASSERT_TRUE(far.listen(bench.address(1), 127, {}).has_value());
  ConnectRequest request;
  request.addresses.remote = bench.address(1);
  request.privileged_port = false;
  for (unsigned i = 0; i < 10; ++i)
    ASSERT_TRUE(near.connect(request).has_value());
  ASSERT_TRUE(bench.run([&] { return near_events.closed == 6 && far_events.accepted == 4; }));
  EXPECT_EQ(near_events.cause, Errc::kReset);
  EXPECT_EQ(count_of(far, Id::kAcceptsRefused), 6U);
  EXPECT_EQ(far.connect(request).error(), Errc::kNoMemory);
}

// A network namespace without addresses, for the lifetime of this object.
class EmptyMachine {
 public:
  EmptyMachine()
      : home_(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC)),
        entered_(home_.valid() && ::unshare(CLONE_NEWNET) == 0) {}
  ~EmptyMachine() {
    if (entered_) {
      EXPECT_EQ(::setns(home_.get(), CLONE_NEWNET), 0);
    }
  }
  EmptyMachine(const EmptyMachine&) = delete;
  EmptyMachine& operator=(const EmptyMachine&) = delete;

  // False: not available here.
  [[nodiscard]] bool ip(const std::string& words) const {
    return entered_ && std::system(("ip " + words + " 2>/dev/null").c_str()) == 0;
  }

 private:
  TcpSocket home_;
  bool entered_;
};

SocketAddress v6(const char* text) {
  SocketAddress address;
  EXPECT_EQ(::inet_pton(AF_INET6, text, address.ip.data()), 1);
  address.port = kTcpTestPort;
  return address;
}

// Until the link is up the kernel keeps an IPv6 address tentative, that is, unusable.
TEST(TcpDevice, ListensOnAnAddressWhoseLinkIsDown) {
  const EmptyMachine machine;
  if (!machine.ip("link add eth0 type veth peer name far") || !machine.ip("link set eth0 up") ||
      !machine.ip("address add fd88::1/64 dev eth0"))
    GTEST_SKIP() << "no network namespaces, veth devices or IPv6 here";
  const SocketAddress ours = v6("fd88::1");
  if (is_address_of_host(ours)) GTEST_SKIP() << "this system looks for no duplicates";
  StreamCounter events;
  const auto device = open_device({.connections_max = 8}, events);
  EXPECT_TRUE(is_on_interface(ours));
  ASSERT_TRUE(device->listen(ours, 8, {}).has_value());
  device->stop_listening(ours);
  ASSERT_TRUE(device->listen(ours, 8, {}).has_value()) << "again";
  const auto second = open_device({.connections_max = 8}, events);
  EXPECT_EQ(second->listen(ours, 8, {}).error(), Errc::kBusy);
  EXPECT_FALSE(is_on_interface(v6("fd88::2")));
  EXPECT_EQ(device->listen(v6("fd88::2"), 8, {}).error(), Errc::kNotFound);
  // Connections from that address fail meanwhile.
  ConnectRequest request;
  request.addresses = {.local = ours, .remote = v6("fd88::3")};
  request.addresses.local.port = 0;
  request.privileged_port = false;
  EXPECT_EQ(device->connect(request).error(), Errc::kNotFound);
}

// Uses up the remaining descriptors of the process, and releases them at the end.
class NoDescriptors {
 public:
  NoDescriptors() {
    (void)::getrlimit(RLIMIT_NOFILE, &before_);
    const int next = ::dup(0);
    ::close(next);
    const rlimit now{.rlim_cur = static_cast<rlim_t>(next), .rlim_max = before_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &now), 0);
  }
  ~NoDescriptors() { EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before_), 0); }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;

 private:
  rlimit before_{};
};

TEST_F(TcpDevicePlain, OutOfDescriptorsTheListenerRestsAndGoesOn) {
  establish();
  const auto second = connect();
  ASSERT_TRUE(second.has_value());
  {
    const NoDescriptors none;
    bench.run_for(1000);
    EXPECT_EQ(connect().error(), Errc::kNoMemory);
    EXPECT_EQ(count_of(*far, Id::kAcceptFailures), 1U) << "it does not spin";
    EXPECT_EQ(far->next_deadline(),
              bench.now - std::chrono::microseconds(999) + TcpDevice::kAcceptRetry);
    bench.now += TcpDevice::kAcceptRetry;
    bench.run_for(10);
    EXPECT_EQ(count_of(*far, Id::kAcceptFailures), 2U);
    // This releases a descriptor of our device.
    near->close(stream, Errc::kShutdown);
    ASSERT_TRUE(bench.run([&] { return far_events.accepted == 2; }));
  }
  EXPECT_EQ(far->next_deadline(), Instant::max());
}

}  // namespace
}  // namespace plnet::drivers
