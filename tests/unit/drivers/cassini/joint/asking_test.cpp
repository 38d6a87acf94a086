// SPDX-License-Identifier: BSD-3-Clause
// Devices are opened and closed while other threads report on them and their NICs run: the report
// thread differs from the thread of the NI.
#include <atomic>
#include <cerrno>
#include <thread>

#include "tests/unit/drivers/cassini/joint/ground.hpp"

namespace plnet::cassini::asking_test {
namespace {

void check_asking(Ground& ground) {
  constexpr unsigned kRounds = 300;
  Backend& backend = ground.backend(0);
  const unsigned id = ground.device(0);
  std::atomic<std::uintptr_t> open{0};
  std::atomic<bool> is_over{false};
  std::thread asker([&] {
    while (!is_over.load(std::memory_order_relaxed)) {
      const DeviceHandle device{open.load(std::memory_order_relaxed)};
      if (const auto info = backend.device_info(device); info) {
        EXPECT_EQ(info->id, id);
      } else {
        EXPECT_EQ(info.error(), Errno{EINVAL});
      }
      (void)backend.statistics(device);
      backend.refresh();
      std::this_thread::yield();
    }
  });
  for (unsigned round = 0; round < kRounds; ++round) {
    const DeviceHandle device = backend.open_device(id).value();
    open.store(device.value, std::memory_order_relaxed);
    (void)ground.turn();
    EXPECT_TRUE(backend.link(device).value().up);
    backend.close_device(device);
  }
  is_over.store(true, std::memory_order_relaxed);
  asker.join();
}

// Checks one of two users that have a device open.
void check_other(Ground& ground) {
  Backend& backend = ground.backend(0);
  const DeviceHandle first = backend.open_device(ground.device(0)).value();
  const DeviceHandle second = backend.open_device(ground.device(0)).value();
  backend.close_device(first);
  EXPECT_TRUE(backend.link(second).value().up);
  const auto lni = backend.alloc_lni(second, 1);
  ASSERT_TRUE(lni.has_value());
  EXPECT_TRUE(backend.destroy_lni(*lni).has_value());
  backend.close_device(second);
  EXPECT_EQ(backend.link(second).error(), Errno{EINVAL});
}

TEST(CassiniAsking, WhileTheModelsDeviceCloses) {
  SoftGround ground({});
  check_asking(ground);
  check_other(ground);
}

TEST(CassiniAsking, WhileLibcxisDeviceCloses) {
  const auto ground = LibcxiGround::load(PLNET_CXI_SOFT);
  ASSERT_NE(ground, nullptr);
  check_asking(*ground);
  check_other(*ground);
}

}  // namespace
}  // namespace plnet::cassini::asking_test
