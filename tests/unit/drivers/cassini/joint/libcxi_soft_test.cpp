// SPDX-License-Identifier: BSD-3-Clause
// The driver's libcxi backend on the shared object that exports libcxi's symbols: what it says of
// its devices, and its errors. What goes through it is conformance_list_test's.
#include <cerrno>
#include <memory>

#include <gtest/gtest.h>

#include "drivers/net/cassini/backend_libcxi.hpp"

namespace plnet::cassini::libcxi_soft_test {
namespace {

std::unique_ptr<LibcxiBackend> load() {
  auto made = LibcxiBackend::load(PLNET_CXI_SOFT);
  EXPECT_TRUE(made.has_value()) << (made ? "" : made.error().what);
  return made ? std::move(*made) : nullptr;
}

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

}  // namespace
}  // namespace plnet::cassini::libcxi_soft_test
