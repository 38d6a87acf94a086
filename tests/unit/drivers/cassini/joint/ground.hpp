// SPDX-License-Identifier: BSD-3-Clause
// The environment of the conformance list: two devices that reach each other, by one backend or by
// one each. The checks do not know which environment they run in.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "drivers/net/cassini/backend_libcxi.hpp"
#include "drivers/net/cassini/endpoint.hpp"
#include "drivers/net/cassini/soft/backend_soft.hpp"
#include "tests/conformance/endpoint_conformance.hpp"
#include "tests/unit/drivers/cassini/joint/common_clock.hpp"

namespace plnet::cassini {

class Ground {
 public:
  virtual ~Ground() = default;
  [[nodiscard]] virtual Backend& backend(unsigned side) = 0;
  [[nodiscard]] virtual unsigned device(unsigned side) const = 0;
  // Lets the NICs do everything that was requested before.
  virtual Instant turn() = 0;
};

// The model, stepped by the test.
class SoftGround final : public Ground {
 public:
  explicit SoftGround(const soft::Freedom& freedom) : fabric_(freedom) {
    for (unsigned side = 0; side < 2; ++side) {
      soft::Nic& nic = fabric_.add({.address = 0x1a0 + side});
      backends_[side] = std::make_unique<soft::SoftBackend>(fabric_, std::vector<soft::Nic*>{&nic});
    }
  }
  ~SoftGround() override {
    for (const auto& backend : backends_)
      EXPECT_EQ(backend->objects(), 0U) << "something is left over";
  }
  [[nodiscard]] Backend& backend(unsigned side) override { return *backends_[side]; }
  [[nodiscard]] unsigned device(unsigned /*side*/) const override { return 0; }
  Instant turn() override {
    now_ += std::chrono::microseconds(1);
    (void)fabric_.step(static_cast<std::uint64_t>(now_.time_since_epoch().count()));
    return now_;
  }

 private:
  soft::Fabric fabric_;
  std::array<std::unique_ptr<soft::SoftBackend>, 2> backends_;
  Instant now_{};
};

// The symbols of libcxi, whose NICs have a thread of their own.
class LibcxiGround final : public Ground {
 public:
  LibcxiGround(std::unique_ptr<LibcxiBackend> backend, const char* library)
      : backend_(std::move(backend)), clock_(library) {}
  [[nodiscard]] static std::unique_ptr<Ground> load(const char* library) {
    auto made = LibcxiBackend::load(library);
    EXPECT_TRUE(made.has_value()) << (made ? "" : made.error().what);
    return made ? std::make_unique<LibcxiGround>(std::move(*made), library) : nullptr;
  }
  [[nodiscard]] Backend& backend(unsigned /*side*/) override { return *backend_; }
  [[nodiscard]] unsigned device(unsigned side) const override { return side; }
  Instant turn() override {
    // The first step may have been under way already; one of the following is complete.
    const Instant begin = clock_.turn();
    Instant now = begin;
    while (now < begin + std::chrono::microseconds(30))
      now = clock_.turn();
    return now;
  }

 private:
  std::unique_ptr<LibcxiBackend> backend_;
  CommonClock clock_;
};

// Endpoints of the driver in such an environment.
class GroundBench final : public conformance::EndpointBench {
 public:
  explicit GroundBench(Ground& on) : ground(on) {
    config.limits.operations_max = 64;
    config.bulk_blocks = 2;
    config.not_ready_time = std::chrono::milliseconds(20);
    for (unsigned number = 0; number < 2; ++number) {
      Side& side = sides[number];
      side.memory.resize(conformance::kEndpointArenaBytes);
      (void)side.arenas.add({.base = side.memory.data(), .size = side.memory.size()}).value();
      side.nic = ground.backend(number).devices().value()[ground.device(number)].nic_address;
    }
  }
  ~GroundBench() override {
    for (Side& side : sides) {
      side.endpoint.reset();
      side.device.reset();
    }
  }
  kfilnd::EndpointDriver& make(unsigned number, kfilnd::EndpointEvents& events) override {
    Side& side = sides[number];
    side.device = Device::open(ground.backend(number),
                               {.id = ground.device(number), .vni = vni[number], .pid = 3 + number},
                               side.arenas)
                      .value();
    side.endpoint = Endpoint::create(*side.device, config, events).value();
    return *side.endpoint;
  }
  bool run(const std::function<bool()>& done) override {
    const Instant begin = ground.turn();
    for (Instant now = begin; now < begin + std::chrono::seconds(2); now = ground.turn()) {
      if (done()) return true;
      for (Side& side : sides) {
        if (side.endpoint && !side.stands_still) (void)side.endpoint->poll(now);
      }
    }
    return done();
  }
  std::pair<std::uint64_t, unsigned> process(unsigned side) override {
    return {sides[side].nic, 3 + side};
  }
  std::span<std::byte> memory(unsigned side) override { return sides[side].memory; }

  struct Side {
    std::uint32_t nic = 0;
    bool stands_still = false;  // not polled
    std::vector<std::byte> memory;
    ArenaTable arenas;
    std::unique_ptr<Device> device;
    std::unique_ptr<Endpoint> endpoint;
  };
  Ground& ground;
  EndpointConfig config;
  std::array<unsigned, 2> vni{255, 255};
  std::array<Side, 2> sides;
};

}  // namespace plnet::cassini
