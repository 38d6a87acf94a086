// SPDX-License-Identifier: BSD-3-Clause
// The driver's libcxi backend on the shared object that exports libcxi's symbols: every call of the
// real path, with the software Cassini in the vendor's place and a thread of its own behind it.
#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <thread>

#include <dlfcn.h>
#include <gtest/gtest.h>

#include "drivers/net/cassini/backend_libcxi.hpp"
#include "drivers/net/cassini/endpoint.hpp"
#include "tests/conformance/endpoint_conformance.hpp"
#include "tests/unit/drivers/cassini/joint/seed_count.hpp"

namespace plnet::cassini {
namespace {

using conformance::BufferOrder;

std::unique_ptr<LibcxiBackend> load() {
  auto made = LibcxiBackend::load(PLNET_CXI_SOFT);
  EXPECT_TRUE(made.has_value()) << (made ? "" : made.error().what);
  return made ? std::move(*made) : nullptr;
}

// Time passes when both threads have had a turn. With a clock of one's own the driver would give up
// whenever the NICs' thread has no CPU for a while, and with theirs whenever it has none itself.
class CommonClock {
 public:
  CommonClock() : library_(dlopen(PLNET_CXI_SOFT, RTLD_NOW | RTLD_LOCAL)) {
    PLNET_CHECK(library_ != nullptr, "it was loaded a moment ago");
    nics_now_ns_ = reinterpret_cast<NowNs*>(dlsym(library_, "plnet_cxi_soft_now_ns"));
    PLNET_CHECK(nics_now_ns_ != nullptr, "a symbol of our own library");
  }
  ~CommonClock() { (void)dlclose(library_); }
  CommonClock(const CommonClock&) = delete;
  CommonClock& operator=(const CommonClock&) = delete;
  // Once a turn of the driver.
  Instant turn() {
    const std::uint64_t seen_ns = nics_now_ns_();
    if (seen_ns == seen_ns_)
      std::this_thread::yield();
    else
      now_ += std::chrono::microseconds(10);
    seen_ns_ = seen_ns;
    return now_;
  }

 private:
  using NowNs = std::uint64_t();
  void* library_;
  NowNs* nics_now_ns_;
  std::uint64_t seen_ns_ = 0;
  Instant now_{};
};

constexpr Duration kRunMax = std::chrono::seconds(2);

class LibcxiBench final : public conformance::EndpointBench {
 public:
  LibcxiBench() : backend(load()) {
    for (Side& side : sides) {
      side.memory.resize(conformance::kEndpointArenaBytes);
      (void)side.arenas.add({.base = side.memory.data(), .size = side.memory.size()}).value();
    }
    const auto infos = backend->devices().value();
    for (unsigned i = 0; i < 2; ++i)
      sides[i].nic = infos[i].nic_address;
  }
  ~LibcxiBench() override {
    for (Side& side : sides) {
      side.endpoint.reset();
      side.device.reset();
    }
  }
  kfilnd::EndpointDriver& make(unsigned number, kfilnd::EndpointEvents& events) override {
    Side& side = sides[number];
    side.device = Device::open(*backend, {.id = number, .pid = 3 + number}, side.arenas).value();
    EndpointConfig config;
    config.limits.operations_max = 64;
    config.bulk_blocks = 2;
    config.receive_event_bytes = 1U << 16U;
    config.not_ready_time = std::chrono::milliseconds(20);
    side.endpoint = Endpoint::create(*side.device, config, events).value();
    return *side.endpoint;
  }
  bool run(const std::function<bool()>& done) override {
    Instant now = clock.turn();
    for (const Instant end = now + kRunMax; now < end; now = clock.turn()) {
      if (done()) return true;
      for (Side& side : sides) {
        if (side.endpoint) (void)side.endpoint->poll(now);
      }
    }
    return false;
  }
  std::pair<std::uint64_t, unsigned> process(unsigned side) override {
    return {sides[side].nic, 3 + side};
  }
  std::span<std::byte> memory(unsigned side) override { return sides[side].memory; }

  struct Side {
    std::uint32_t nic = 0;
    std::vector<std::byte> memory;
    ArenaTable arenas;
    std::unique_ptr<Device> device;
    std::unique_ptr<Endpoint> endpoint;
  };
  std::unique_ptr<LibcxiBackend> backend;
  CommonClock clock;
  std::array<Side, 2> sides;
};

TEST(LibcxiSoft, DevicesAndErrors) {
  const auto backend = load();
  ASSERT_NE(backend, nullptr);
  const auto devices = backend->devices().value();
  ASSERT_EQ(devices.size(), 2U);
  EXPECT_EQ(devices[0].name, "cxi0");
  EXPECT_EQ(devices[1].id, 1U);
  EXPECT_NE(devices[0].nic_address, devices[1].nic_address);
  EXPECT_EQ(devices[0].pid_bits, 9U);
  EXPECT_EQ(devices[0].pid_granule, 256U);
  EXPECT_TRUE(devices[0].retry_handler);
  EXPECT_EQ(backend->open_device(2).error().value, ENODEV);
  const auto device = backend->open_device(0).value();
  EXPECT_EQ(backend->alloc_lni(device, 99).error().value, EINVAL);
  const auto lni = backend->alloc_lni(device, 1).value();
  const auto domain = backend->alloc_domain(lni, 255, 40).value();
  EXPECT_EQ(backend->alloc_domain(lni, 255, 40).error().value, EEXIST);
  EXPECT_EQ(backend->destroy_lni(lni).error().value, EBUSY);
  EXPECT_TRUE(backend->destroy_domain(domain.handle));
  EXPECT_TRUE(backend->destroy_lni(lni));
  backend->close_device(device);
}

TEST(LibcxiSoft, Messages) {
  LibcxiBench bench;
  conformance::check_messages(bench, 1, 60, BufferOrder::kAny);
}

TEST(LibcxiSoft, Tagged) {
  LibcxiBench bench;
  conformance::check_tagged(bench, 1, 20);
}

TEST(LibcxiSoft, Failures) {
  LibcxiBench bench;
  conformance::check_failures(bench);
}

// Who wins is the thread's business; whoever does, what is told must be true.
TEST(LibcxiSoft, CancelAgainstArrival) {
  for (std::uint64_t seed = 1; seed <= seed_count(5); ++seed) {
    SCOPED_TRACE(seed);
    LibcxiBench bench;
    (void)conformance::check_cancel_race(bench, seed);
    if (HasFailure()) return;
  }
}

// Everything is under way when one end goes, and then the other.
TEST(LibcxiSoft, TeardownUnderLoad) {
  for (unsigned turns = 0; turns < 20; ++turns) {
    SCOPED_TRACE(turns);
    LibcxiBench bench;
    conformance::EndpointPair pair(bench);
    auto& [near, far] = pair.users;
    const Fragment buffer{{0, 0}, 65536};
    const lnet::Payload payload{{&buffer, 1}, 0, 65536};
    const std::array<std::byte, 8> header{};
    ASSERT_TRUE(far.driver->post_multi_receive(buffer, 1));
    ASSERT_TRUE(near.driver->post_tagged(pair.peers[0], 7, false, payload, 2));
    ASSERT_TRUE(near.driver->send(pair.peers[0], header, {}, 3));
    ASSERT_TRUE(far.driver->write_tagged(pair.peers[1], 7, payload, 4));
    unsigned left = turns;
    ASSERT_TRUE(bench.run([&] { return left-- == 0; }));
    bench.sides[turns % 2].endpoint.reset();
    left = 20;
    ASSERT_TRUE(bench.run([&] { return left-- == 0; }));
  }
}

// The longest that a short event tells of, and one byte more.
TEST(LibcxiSoft, LengthsAroundTwentyBits) {
  LibcxiBench bench;
  conformance::EndpointPair pair(bench);
  auto& [near, far] = pair.users;
  const Fragment whole{{0, 0}, 1U << 20U};
  for (const std::uint32_t length : {0xfffffU, 0x100000U}) {
    const lnet::Payload payload{{&whole, 1}, 0, length};
    std::ranges::fill(bench.memory(0), std::byte{0});
    std::ranges::fill(bench.memory(1), std::byte{7});
    ASSERT_TRUE(near.driver->post_tagged(pair.peers[0], length, false, payload, length));
    ASSERT_TRUE(far.driver->write_tagged(pair.peers[1], length, payload, length));
    ASSERT_TRUE(
        bench.run([&] { return near.ended.contains(length) && far.ended.contains(length); }));
    EXPECT_EQ(near.ended.at(length).event, kfilnd::FabricEvent::kTaggedWritten);
    EXPECT_EQ(near.ended.at(length).length, length);
    EXPECT_TRUE(far.ended.at(length).status);
    EXPECT_EQ(std::ranges::count(bench.memory(0), std::byte{7}), std::ptrdiff_t{length});
  }
}

}  // namespace
}  // namespace plnet::cassini
