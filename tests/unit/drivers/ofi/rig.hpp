// SPDX-License-Identifier: BSD-3-Clause
// Two endpoints in one process over a provider, and what a child process needs to be one.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include "drivers/net/ofi/endpoint.hpp"
#include "tests/conformance/endpoint_conformance.hpp"

namespace plnet::ofi {

struct Provider {
  const char* name;
  Family family;
};
inline constexpr Provider kShm{"shm", Family::kName};
inline constexpr Provider kNet{"net", Family::kInet};

// Addresses of this test run alone: others may run beside it.
inline DeviceConfig device_config(const Provider& provider, unsigned side, int run = getpid()) {
  const auto number = static_cast<std::uint32_t>(run);
  return {.provider = provider.name,
          .addresses = {.family = provider.family, .port_base = 20480 + number % 250 * 48},
          .nic_address = provider.family == Family::kInet ? 0x7f000001U : 0x1a00'0000U + number,
          .service = side};
}

inline EndpointConfig endpoint_config(unsigned side) {
  EndpointConfig config;
  config.limits.operations_max = 64;
  config.bulk_blocks = 2;
  config.connect_time = std::chrono::milliseconds(200);  // of a clock that each turn moves by 1 us
  config.operation_time = std::chrono::milliseconds(300);
  config.not_ready_time = std::chrono::milliseconds(5);
  config.seed = 77 + side;
  return config;
}

struct Side {
  Side() : memory(conformance::kEndpointArenaBytes) {
    (void)arenas.add({.base = memory.data(), .size = memory.size()}).value();
  }
  Endpoint& open(const Provider& provider, unsigned side, kfilnd::EndpointEvents& events,
                 int run = getpid()) {
    device = Device::open(device_config(provider, side, run), arenas).value();
    endpoint = Endpoint::create(*device, endpoint_config(side), events).value();
    return *endpoint;
  }

  std::vector<std::byte> memory;
  ArenaTable arenas;
  std::unique_ptr<Device> device;
  std::unique_ptr<Endpoint> endpoint;
};

class OfiBench final : public conformance::EndpointBench {
 public:
  explicit OfiBench(const Provider& the_provider) : provider(the_provider) {}
  kfilnd::EndpointDriver& make(unsigned number, kfilnd::EndpointEvents& events) override {
    return sides[number].open(provider, number, events);
  }
  bool run(const std::function<bool()>& done) override {
    for (unsigned turn = 0; turn < 3'000'000; ++turn) {
      if (done()) return true;
      now += std::chrono::microseconds(1);
      for (Side& side : sides) {
        if (side.endpoint) (void)side.endpoint->poll(now);
      }
      std::this_thread::yield();
    }
    return false;
  }
  std::pair<std::uint64_t, unsigned> process(unsigned side) override {
    const DeviceConfig config = device_config(provider, side);
    return {config.nic_address, config.service};
  }
  std::span<std::byte> memory(unsigned side) override { return sides[side].memory; }

  Provider provider;
  std::array<Side, 2> sides;
  Instant now{};
};

// Why a provider cannot be tested here; empty if it can.
inline std::string missing(const Provider& provider) {
  const ArenaTable none;
  const auto device = Device::open(device_config(provider, 0), none);
  return device ? "" : std::string(provider.name) + ": " + device.error().what;
}

// Not solved: libfabric 1.17 crashes in shm's fi_av_insert() when two endpoints of one process
// meet.
inline constexpr const char* kShmCrashes = "shm: fi_av_insert() crashes here, cause not yet known";

class OfiTest : public testing::TestWithParam<Provider> {
 protected:
  void SetUp() override {
    if (GetParam().family == Family::kName) GTEST_SKIP() << kShmCrashes;
    if (const std::string why = missing(GetParam()); !why.empty()) GTEST_SKIP() << why;
  }
};

inline std::string provider_name(const testing::TestParamInfo<Provider>& info) {
  return info.param.name;
}

}  // namespace plnet::ofi
