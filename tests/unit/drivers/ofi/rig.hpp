// SPDX-License-Identifier: BSD-3-Clause
// Two endpoints in one process over a provider, and the parts that a child process needs for its
// own.
#pragma once

#include <array>
#include <memory>
#include <optional>
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

// Addresses of a single test: others may run at the same time.
struct Site {
  std::uint32_t process = static_cast<std::uint32_t>(getpid());
  std::uint32_t serial = 0;
};
inline Site next_site() {
  static std::uint32_t serial = 0;
  return {.serial = ++serial};
}

inline DeviceConfig device_config(const Provider& provider, unsigned side, const Site& site) {
  const std::uint64_t named = std::uint64_t{site.process} << 16U | site.serial;
  return {.provider = provider.name,
          .addresses = {.family = provider.family, .port_base = 20480 + site.process % 250 * 48},
          .nic_address = provider.family == Family::kInet ? 0x7f000001U : named,
          .service = side};
}

inline EndpointConfig endpoint_config(unsigned side) {
  EndpointConfig config;
  config.limits.operations_max = 64;
  config.bulk_blocks = 2;
  config.connect_time = std::chrono::milliseconds(200);  // of a clock that advances 1 us each turn
  config.operation_time = std::chrono::milliseconds(300);
  config.not_ready_time = std::chrono::milliseconds(5);
  // differs from start to start
  config.seed = (static_cast<std::uint64_t>(getpid()) << 8U) + 77 + side;
  return config;
}

struct Side {
  Side() : memory(conformance::kEndpointArenaBytes) {
    (void)arenas.add({.base = memory.data(), .size = memory.size()}).value();
  }
  Endpoint& open(const Provider& provider, unsigned side, kfilnd::EndpointEvents& events,
                 const Site& site, const std::optional<EndpointConfig>& config = {}) {
    device = Device::open(device_config(provider, side, site), arenas).value();
    endpoint = Endpoint::create(*device, config.value_or(endpoint_config(side)), events).value();
    return *endpoint;
  }

  std::vector<std::byte> memory;
  ArenaTable arenas;
  std::unique_ptr<Device> device;
  std::unique_ptr<Endpoint> endpoint;
};

class OfiBench final : public conformance::EndpointBench {
 public:
  explicit OfiBench(const Provider& the_provider, const Site& the_site = next_site())
      : provider(the_provider), site_(the_site) {}
  kfilnd::EndpointDriver& make(unsigned number, kfilnd::EndpointEvents& events) override {
    EndpointConfig config = endpoint_config(number);
    config.strangers_max = strangers_max;
    return sides[number].open(provider, number, events, site_, config);
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
    const DeviceConfig config = device_config(provider, side, site_);
    return {config.nic_address, config.service};
  }
  std::span<std::byte> memory(unsigned side) override { return sides[side].memory; }
  [[nodiscard]] const Site& addresses() const { return site_; }

  Provider provider;
  unsigned strangers_max = EndpointConfig{}.strangers_max;
  std::array<Side, 2> sides;
  Instant now{std::chrono::hours(1)};  // far from zero, like a real clock

 private:
  Site site_;
};

// The reason why a provider cannot be tested here; empty if it can.
inline std::string missing(const Provider& provider) {
  const ArenaTable none;
  const auto device = Device::open(device_config(provider, 0, next_site()), none);
  return device ? "" : std::string(provider.name) + ": " + device.error().what;
}

class OfiTest : public testing::TestWithParam<Provider> {
 protected:
  void SetUp() override {
    if (const std::string why = missing(GetParam()); !why.empty()) GTEST_SKIP() << why;
  }
};

inline std::string provider_name(const testing::TestParamInfo<Provider>& info) {
  return info.param.name;
}

}  // namespace plnet::ofi
