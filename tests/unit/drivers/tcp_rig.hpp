// SPDX-License-Identifier: BSD-3-Clause
// Devices over real loopback sockets, polled in turn by one thread.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "drivers/net/tcp/device.hpp"
#include "tests/conformance/stream_conformance.hpp"
#include "tests/unit/drivers/stream_counter.hpp"

namespace plnet::drivers {

inline constexpr std::uint16_t kTcpTestPort = 20'988;

// Addresses of this process alone, so that tests can run at the same time: 127.x.y.`last`.
inline socklnd::SocketAddress own_loopback(unsigned last, std::uint16_t port = kTcpTestPort) {
  const auto pid = static_cast<unsigned>(::getpid());
  socklnd::SocketAddress address;
  address.ip = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127};
  address.ip[13] = static_cast<std::uint8_t>(64 + (pid >> 8U) % 128);
  address.ip[14] = static_cast<std::uint8_t>(pid & 0xffU);
  address.ip[15] = static_cast<std::uint8_t>(last);
  address.port = port;
  return address;
}

// ::1 is the only IPv6 loopback address; the port tells processes apart.
inline socklnd::SocketAddress own_loopback_v6() {
  socklnd::SocketAddress address;
  address.ip[15] = 1;
  address.port = static_cast<std::uint16_t>(20'000 + ::getpid() % 12'000);
  return address;
}

inline std::unique_ptr<TcpDevice> open_device(const TcpConfig& config,
                                              socklnd::StreamEvents& events) {
  auto device = TcpDevice::open(config, events);
  EXPECT_TRUE(device.has_value()) << device.error().what;
  return device ? std::move(*device) : nullptr;
}

inline std::uint64_t count_of(const TcpDevice& device, TcpTable::Id id) {
  return device.counters().value(static_cast<std::size_t>(id));
}

class TcpBench : public conformance::StreamBench {
 public:
  // Loopback answers within the system call; the rest is kernel timers at worst.
  static constexpr unsigned kTurnsMax = 20'000'000;

  explicit TcpBench(const TcpConfig& config = {.connections_max = 64}, bool ipv6 = false)
      : config_(config), ipv6_(ipv6) {}

  socklnd::StreamDriver& make(unsigned side, socklnd::StreamEvents& events) override {
    devices.push_back(open_device(config_, events));
    EXPECT_EQ(devices.size(), side + 1U);
    return *devices.back();
  }
  bool run(const std::function<bool()>& done) override {
    for (unsigned turn = 0; turn < kTurnsMax; ++turn) {
      if (done()) return true;
      turn_once();
    }
    return false;
  }
  // For events that must not happen.
  void run_for(unsigned turns) {
    for (unsigned turn = 0; turn < turns; ++turn)
      turn_once();
  }
  virtual void turn_once() {
    now += std::chrono::microseconds(1);
    for (const auto& device : devices)
      device->poll(now);
  }
  socklnd::SocketAddress address(unsigned side) override {
    return ipv6_ ? own_loopback_v6() : own_loopback(side + 1);
  }

  std::vector<std::unique_ptr<TcpDevice>> devices;
  Instant now{};

 private:
  const TcpConfig config_;
  const bool ipv6_;
};

// Two devices, of which one listens, and a stream between them.
class TcpDevicePlain : public ::testing::Test {
 protected:
  explicit TcpDevicePlain(const TcpConfig& config = {.connections_max = 64}) : bench(config) {
    near = static_cast<TcpDevice*>(&bench.make(0, near_events));
    far = static_cast<TcpDevice*>(&bench.make(1, far_events));
  }
  Result<socklnd::StreamId> connect(const socklnd::StreamOptions& options = {}) {
    socklnd::ConnectRequest request;
    request.addresses.remote = bench.address(1);
    request.privileged_port = false;
    request.options = options;
    return near->connect(request);
  }
  void establish(const socklnd::StreamOptions& options = {}) {
    ASSERT_TRUE(far->listen(bench.address(1), 127, options).has_value());
    stream = connect(options).value();
    ASSERT_TRUE(bench.run([&] { return far_events.accepted == 1 && near_events.connected == 1; }));
    there = far_events.last;
  }
  // Polls until everything sent over loopback has arrived.
  void settle() { bench.run_for(100); }

  TcpBench bench;
  testrig::StreamCounter near_events;
  testrig::StreamCounter far_events;
  TcpDevice* near = nullptr;
  TcpDevice* far = nullptr;
  socklnd::StreamId stream;
  socklnd::StreamId there;
};

}  // namespace plnet::drivers
