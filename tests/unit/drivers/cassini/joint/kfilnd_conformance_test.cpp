// SPDX-License-Identifier: BSD-3-Clause
// The kfi LND on the driver for Cassini on the software Cassini, checked against the LND contract,
// both in order and with all the freedom of order that the device has.
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "drivers/net/cassini/endpoint.hpp"
#include "drivers/net/cassini/soft/backend_soft.hpp"
#include "lib/kfilnd/endpoint_relay.hpp"
#include "lib/kfilnd/lnd.hpp"
#include "tests/conformance/lnd_conformance.hpp"

namespace plnet::cassini::kfilnd_conformance_test {
namespace {

constexpr std::uint32_t kFirstAddress = 0x1a0;
constexpr std::uint64_t kReceiveBytes = 1U << 19U;
constexpr std::uint64_t kMemoryBytes = 8U << 20U;

lnet::Nid nid_of(unsigned side) {
  return lnet::Nid::of(lnet::NetType::kKfi, 3, kFirstAddress + side);
}

class KfiOnCassini final : public conformance::LndRig {
 public:
  KfiOnCassini(const conformance::LndRigOptions& options, const soft::Freedom& freedom,
               bool always_bulk)
      : fabric_(freedom) {
    for (unsigned i = 0; i < 2; ++i)
      build(i, options, always_bulk);
  }
  ~KfiOnCassini() override {
    for (Side& side : sides_) {
      side.endpoint.reset();
      side.device.reset();
      EXPECT_EQ(side.backend->objects(), 0U) << "something is left over";
    }
  }
  mocks::FakeCore& a() override { return *sides_[0].core; }
  mocks::FakeCore* b() override { return sides_[1].core.get(); }
  lnet::Lnd& lnd_a() override { return *sides_[0].lnd; }
  lnet::Nid nid_b() override { return nid_of(1); }
  // The wire shows no idle state, so quiet must last for a while.
  bool quiet() override {
    const bool again = now() == asked_ + std::chrono::microseconds(1);
    asked_ = now();
    const bool still = sides_[0].lnd->idle() && sides_[1].lnd->idle();
    quiet_turns_ = again && still ? quiet_turns_ + 1 : 0;
    return quiet_turns_ > kQuietTurns;
  }
  void turn(Instant now) override {
    (void)fabric_.step(static_cast<std::uint64_t>(now.time_since_epoch().count()));
    for (Side& side : sides_) {
      (void)side.endpoint->poll(now);
      (void)side.core->turn(now);
    }
  }

 private:
  static constexpr unsigned kQuietTurns = 200;

  struct Side {
    std::vector<std::byte> memory;
    ArenaTable arenas;
    std::unique_ptr<soft::SoftBackend> backend;
    std::unique_ptr<Device> device;
    kfilnd::EndpointRelay relay;
    std::unique_ptr<Endpoint> endpoint;
    std::unique_ptr<mocks::FakeCore> core;
    std::unique_ptr<kfilnd::KfiLnd> lnd;
  };

  void build(unsigned i, const conformance::LndRigOptions& options, bool always_bulk) {
    Side& side = sides_[i];
    side.memory.resize(kReceiveBytes + kMemoryBytes);
    const ArenaId id =
        side.arenas.add({.base = side.memory.data(), .size = side.memory.size()}).value();
    soft::Nic& nic = fabric_.add({.address = kFirstAddress + i});
    side.backend = std::make_unique<soft::SoftBackend>(fabric_, std::vector<soft::Nic*>{&nic});
    side.device =
        Device::open(*side.backend, {.pid = kfilnd::service_of(nid_of(i))}, side.arenas).value();
    EndpointConfig config;
    config.limits.operations_max = 512;
    config.receive_event_bytes = 1U << 18U;
    config.not_ready_time = std::chrono::milliseconds(5);
    side.endpoint = Endpoint::create(*side.device, config, side.relay, nullptr).value();
    side.core = std::make_unique<mocks::FakeCore>(
        mocks::FakeCoreConfig{.nid = nid_of(i),
                              .arenas = &side.arenas,
                              .memory = {id, kReceiveBytes},
                              .memory_bytes = kMemoryBytes,
                              .seed = options.seed * 2 + i,
                              .park_percent = options.park_percent,
                              .drop_percent = options.drop_percent,
                              .park_turns_max = options.park_turns_max});
    side.lnd = std::make_unique<kfilnd::KfiLnd>(
        kfilnd::KfiLndConfig{.nid = nid_of(i),
                             .arenas = &side.arenas,
                             .receive_memory = {{id, 0}, kReceiveBytes},
                             .always_bulk = always_bulk},
        *side.core, *side.endpoint);
    side.relay.attach(*side.lnd);
    side.core->attach(*side.lnd);
  }

  soft::Fabric fabric_;
  std::array<Side, 2> sides_;
  Instant asked_ = Instant::min();
  unsigned quiet_turns_ = 0;
};

conformance::LndCase make_case(const char* name, bool rough, bool always_bulk) {
  return {name,
          [=](const conformance::LndRigOptions& options) -> std::unique_ptr<conformance::LndRig> {
            const soft::Freedom freedom = rough ? soft::Freedom{.seed = options.seed,
                                                                .link_failure = 0.1,
                                                                .torn_event = 0.3,
                                                                .event_after_answer = 0.5,
                                                                .delay_ns_max = 5'000,
                                                                .command_pause = 0.2}
                                                : soft::Freedom{};
            return std::make_unique<KfiOnCassini>(options, freedom, always_bulk);
          },
          false};
}

}  // namespace
}  // namespace plnet::cassini::kfilnd_conformance_test

namespace plnet::conformance {

INSTANTIATE_TEST_SUITE_P(
    KfiOnCassini, LndConformance,
    testing::Values(cassini::kfilnd_conformance_test::make_case("calm", false, false),
                    cassini::kfilnd_conformance_test::make_case("calm_bulk", false, true),
                    cassini::kfilnd_conformance_test::make_case("rough", true, false),
                    cassini::kfilnd_conformance_test::make_case("rough_bulk", true, true)),
    [](const auto& which) { return which.param.name; });

}  // namespace plnet::conformance
