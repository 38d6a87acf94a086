// SPDX-License-Identifier: BSD-3-Clause
// The driver's libcxi backend on the shared object that exports libcxi's symbols: device properties
// and errors. conformance_list_test checks the traffic.
#include <cerrno>
#include <memory>

#include <gtest/gtest.h>

#include "drivers/net/cassini/backend_libcxi.hpp"
#include "drivers/net/cassini/memory.hpp"
#include "drivers/net/cassini/soft/backend_soft.hpp"

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
  EXPECT_EQ(backend->open_device(2).error().value, ENOENT);
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

// As at the end of a process: the next one can allocate the same objects.
TEST(LibcxiSoft, ABackendGivesBackItsObjects) {
  soft::Fabric fabric;
  soft::Nic& nic = fabric.add({.address = 0x1a0});
  PageMemory memory(4096);
  for (unsigned round = 0; round < 2; ++round) {
    soft::SoftBackend backend(fabric, {&nic});
    const auto device = backend.open_device(0).value();
    const auto lni = backend.alloc_lni(device, 1).value();
    const auto profile = backend.alloc_profile(lni, 255, TrafficClass::kBestEffort).value();
    const auto domain = backend.alloc_domain(lni, 255, 40).value();
    const auto mapping =
        backend.map(lni, memory.bytes().data(), memory.bytes().size(), kMapPin | kMapWrite).value();
    const auto events =
        backend
            .alloc_event_queue(lni, mapping.handle,
                               {.queue = memory.bytes().data(), .bytes = memory.bytes().size()})
            .value();
    EXPECT_TRUE(backend.alloc_command_queue(lni, events.handle,
                                            {.slots = 64, .transmit = true, .lcid = profile.lcid}));
    const auto portal = backend.alloc_portal(lni, events.handle, {.matching = true}).value();
    EXPECT_TRUE(backend.map_portal(portal.handle, domain.handle, 3));
    EXPECT_EQ(backend.unmap(mapping.handle).error(), Errno{EBUSY});
    EXPECT_EQ(backend.objects(), 9U);
  }
  EXPECT_EQ(nic.resources().used(soft::Resource::kPortals), 0U);
  EXPECT_EQ(nic.resources().used(soft::Resource::kEventQueues), 0U);
}

}  // namespace
}  // namespace plnet::cassini::libcxi_soft_test
