// SPDX-License-Identifier: BSD-3-Clause
// Every call of the libcxi backend: its arguments to the library and its results.
#include "drivers/net/cassini/backend_libcxi.hpp"

#include <array>

#include <dlfcn.h>
#include <gtest/gtest.h>

namespace plnet::cassini::backend_libcxi_test {
namespace {

class CassiniLibcxi : public testing::Test {
 public:
  void SetUp() override {
    auto loaded = LibcxiBackend::load(PLNET_FAKE_LIBCXI);
    ASSERT_TRUE(loaded.has_value()) << loaded.error().what;
    backend = std::move(*loaded);
    fake_ = dlopen(PLNET_FAKE_LIBCXI, RTLD_NOW | RTLD_NOLOAD);
    ASSERT_NE(fake_, nullptr);
    said_ = reinterpret_cast<const char* (*)()>(dlsym(fake_, "fake_libcxi_said"));
    fail = reinterpret_cast<void (*)(int)>(dlsym(fake_, "fake_libcxi_fail"));
    change = reinterpret_cast<void (*)(unsigned, unsigned, std::uint32_t)>(
        dlsym(fake_, "fake_libcxi_change"));
    fail(0);
    change(1, 1, 0x1a2);
    device = backend->open_device(2).value();
    lni = backend->alloc_lni(device, 1).value();
  }
  void TearDown() override { (void)dlclose(fake_); }
  [[nodiscard]] std::string said() const { return said_(); }

  std::unique_ptr<LibcxiBackend> backend;
  void (*fail)(int) = nullptr;
  void (*change)(unsigned devices, unsigned link_state, std::uint32_t nic_address) = nullptr;
  DeviceHandle device;
  LniHandle lni;

 private:
  void* fake_ = nullptr;
  const char* (*said_)() = nullptr;
};

TEST(CassiniLibcxiLoad, MissingLibraryAndMissingFunctionsAreNamed) {
  const auto missing = LibcxiBackend::load("libno-such-thing.so.7");
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().code, Errc::kNotFound);
  EXPECT_NE(missing.error().what.find("libno-such-thing.so.7"), std::string::npos);
  const auto other = LibcxiBackend::load("libm.so.6");
  ASSERT_FALSE(other.has_value());
  EXPECT_EQ(other.error().code, Errc::kNotSupported);
  EXPECT_NE(other.error().what.find("libm.so.6 has no cxil_get_device_list, "), std::string::npos)
      << other.error().what;
}

TEST_F(CassiniLibcxi, DeviceAndItsProperties) {
  const auto info = backend->device_info(device).value();
  EXPECT_EQ(info.id, 2U);
  EXPECT_EQ(info.name, "cxi2");
  EXPECT_EQ(info.description, "sixteen letters!");
  EXPECT_EQ(info.nic_address, 0x1a2U);
  EXPECT_EQ(info.pid_bits, 9U);
  EXPECT_EQ(info.pid_granule, 256U);
  EXPECT_EQ(info.min_free_shift, 4U);
  EXPECT_EQ(info.version, 2U);
  EXPECT_TRUE(info.retry_handler && info.link_up && info.virtual_function);
  EXPECT_EQ(info.link_mtu, 2112U);
  EXPECT_EQ(info.link_mbps, 200000U);
  EXPECT_EQ(info.portals, 2048U);
  EXPECT_EQ(info.list_entries, 16384U);
  EXPECT_EQ(backend->devices().value().size(), 1U);
  backend->close_device(device);
  EXPECT_EQ(said(), "close_device");
}

TEST_F(CassiniLibcxi, AClosedDeviceReportsNothing) {
  backend->close_device(device);
  EXPECT_EQ(backend->device_info(device).error(), Errno{EINVAL});
}

// Reading the link state opens no file; the state is that of the last refresh.
TEST_F(CassiniLibcxi, LinkIsAsOfTheLastRefresh) {
  EXPECT_TRUE(backend->link(device).value().up);
  EXPECT_EQ(backend->link(device).value().nic_address, 0x1a2U);
  change(1, 0, 0x1a3);
  EXPECT_TRUE(backend->link(device).value().up);
  backend->refresh();
  EXPECT_FALSE(backend->link(device).value().up);
  EXPECT_EQ(backend->link(device).value().nic_address, 0x1a3U);
  change(1, 1, 0x1a4);
  fail(-EIO);
  backend->refresh();
  EXPECT_EQ(backend->link(device).value().nic_address, 0x1a3U) << "no news arrived";
  fail(0);
  change(0, 1, 0);
  backend->refresh();
  EXPECT_EQ(backend->link(device).error(), Errno{ENODEV});
}

TEST_F(CassiniLibcxi, LniProfileDomain) {
  EXPECT_EQ(said(), "alloc_lni 1");
  const auto profile = backend->alloc_profile(lni, 255, TrafficClass::kBulkData).value();
  EXPECT_EQ(said(), "alloc_cp 3 255 2 0");
  EXPECT_EQ(profile.lcid, 9U);
  const auto domain = backend->alloc_domain(lni, 255, 12).value();
  EXPECT_EQ(said(), "alloc_domain 3 255 12");
  EXPECT_EQ(domain.pid, 12U);
  EXPECT_TRUE(backend->destroy_domain(domain.handle));
  EXPECT_EQ(said(), "destroy_domain 12");
  EXPECT_TRUE(backend->destroy_profile(profile.handle));
  EXPECT_EQ(said(), "destroy_cp 9");
  EXPECT_TRUE(backend->destroy_lni(lni));
  EXPECT_EQ(said(), "destroy_lni 3");
}

TEST_F(CassiniLibcxi, MemoryAndQueues) {
  alignas(4096) static std::array<std::byte, 8192> memory{};
  const auto mapping =
      backend->map(lni, memory.data(), memory.size(), kMapPin | kMapRead | kMapWrite).value();
  EXPECT_EQ(said(), "map 3 8192 13 1");
  EXPECT_EQ(mapping.iova, 0x1000'0000U);
  EXPECT_EQ(mapping.va, reinterpret_cast<std::uintptr_t>(memory.data()));
  EXPECT_EQ(mapping.length, 8192U);
  EXPECT_EQ(mapping.lac, 5U);
  const auto events = backend
                          ->alloc_event_queue(lni, mapping.handle,
                                              {.queue = memory.data(),
                                               .bytes = 4096,
                                               .flags = 4,
                                               .status_percent = 50,
                                               .combining_delay_ns = 200})
                          .value();
  EXPECT_EQ(said(), "alloc_evtq 3 5 4096 4 50 1 200 1 1");
  EXPECT_EQ(events.number, 41U);
  EXPECT_EQ(events.queue, memory.data());
  EXPECT_EQ(events.bytes, 4096U);
  EXPECT_NE(events.software_state, nullptr);
  EXPECT_TRUE(backend->adjust_reserved(events.handle, 16)) << "reports the present reservation";
  EXPECT_EQ(said(), "evtq_adjust_reserved_fc 41 16");
  const auto commands =
      backend
          ->alloc_command_queue(lni, events.handle,
                                {.slots = 64, .transmit = true, .lcid = 9, .update_policy = 3})
          .value();
  EXPECT_EQ(said(), "alloc_cmdq 3 0 64 3 2 9");
  EXPECT_EQ(commands.slots, 64U);
  EXPECT_EQ(commands.hardware_index, 1024U);
  EXPECT_NE(commands.commands, nullptr);
  EXPECT_NE(commands.launch_page, nullptr);
  EXPECT_TRUE(backend->alloc_command_queue(lni, {}, {.slots = 32}));
  EXPECT_EQ(said(), "alloc_cmdq 3 1 32 0 0 0") << "a target queue without an error queue";
  EXPECT_TRUE(backend->destroy_command_queue(commands.handle));
  EXPECT_EQ(said(), "destroy_cmdq 1024");
  EXPECT_TRUE(backend->destroy_event_queue(events.handle));
  EXPECT_EQ(said(), "destroy_evtq 41");
  EXPECT_TRUE(backend->unmap(mapping.handle));
  EXPECT_EQ(said(), "unmap 5");
}

TEST_F(CassiniLibcxi, Portals) {
  alignas(4096) static std::array<std::byte, 4096> memory{};
  const auto mapping = backend->map(lni, memory.data(), memory.size(), kMapPin).value();
  const auto events =
      backend->alloc_event_queue(lni, mapping.handle, {.queue = memory.data(), .bytes = 4096})
          .value();
  const auto domain = backend->alloc_domain(lni, 255, 12).value();
  const auto portal = backend->alloc_portal(lni, events.handle, {.matching = true}).value();
  EXPECT_EQ(said(), "alloc_pte 3 41 128");
  EXPECT_EQ(portal.number, 77U);
  EXPECT_TRUE(backend->alloc_portal(lni, events.handle,
                                    {.event_match = true,
                                     .flow_control = true,
                                     .use_long_event = true,
                                     .clear_remote_offset = true}));
  EXPECT_EQ(said(), "alloc_pte 3 41 15");
  const auto map = backend->map_portal(portal.handle, domain.handle, 130).value();
  EXPECT_EQ(said(), "map_pte 77 12 130 0");
  EXPECT_TRUE(backend->invalidate_entry(portal.handle, 300, 0));
  EXPECT_EQ(said(), "invalidate_pte_le 77 300 0");
  const auto status = backend->portal_status(portal.handle).value();
  EXPECT_EQ(status.drop_count, 5U);
  EXPECT_EQ(status.state, 1U);
  EXPECT_EQ(status.entries_reserved, 2U);
  EXPECT_EQ(status.entries_allocated, 3U);
  EXPECT_EQ(status.entries_max, 4U);
  EXPECT_TRUE(backend->transition_software_managed(portal.handle, 6));
  EXPECT_EQ(said(), "pte_transition_sm 77 6");
  EXPECT_TRUE(backend->unmap_portal(map));
  EXPECT_EQ(said(), "unmap_pte 77");
  EXPECT_TRUE(backend->destroy_portal(portal.handle));
  EXPECT_EQ(said(), "destroy_pte 77");
}

TEST_F(CassiniLibcxi, FailuresComeBackAsTheirErrno) {
  alignas(4096) static std::array<std::byte, 4096> memory{};
  const auto mapping = backend->map(lni, memory.data(), memory.size(), kMapPin).value();
  const auto profile = backend->alloc_profile(lni, 1, TrafficClass::kDedicated).value();
  const auto domain = backend->alloc_domain(lni, 255, 12).value();
  const auto events =
      backend->alloc_event_queue(lni, mapping.handle, {.queue = memory.data(), .bytes = 4096})
          .value();
  const auto commands = backend->alloc_command_queue(lni, {}, {.slots = 32}).value();
  const auto portal = backend->alloc_portal(lni, events.handle, {}).value();
  const auto map = backend->map_portal(portal.handle, domain.handle, 1).value();
  fail(-ENOSPC);
  const Errno expected{ENOSPC};
  EXPECT_EQ(backend->devices().error(), expected);
  EXPECT_EQ(backend->device_info(device).error(), expected);
  EXPECT_EQ(backend->open_device(0).error(), expected);
  EXPECT_EQ(backend->alloc_lni(device, 1).error(), expected);
  EXPECT_EQ(backend->destroy_lni(lni).error(), expected);
  EXPECT_EQ(backend->alloc_profile(lni, 1, TrafficClass::kDedicated).error(), expected);
  EXPECT_EQ(backend->destroy_profile(profile.handle).error(), expected);
  EXPECT_EQ(backend->alloc_domain(lni, 255, 12).error(), expected);
  EXPECT_EQ(backend->destroy_domain(domain.handle).error(), expected);
  EXPECT_EQ(backend->map(lni, memory.data(), 4096, 0).error(), expected);
  EXPECT_EQ(backend->unmap(mapping.handle).error(), expected);
  EXPECT_EQ(backend->alloc_event_queue(lni, mapping.handle, {}).error(), expected);
  EXPECT_EQ(backend->destroy_event_queue(events.handle).error(), expected);
  EXPECT_EQ(backend->adjust_reserved(events.handle, 1).error(), expected);
  EXPECT_EQ(backend->alloc_command_queue(lni, {}, {}).error(), expected);
  EXPECT_EQ(backend->destroy_command_queue(commands.handle).error(), expected);
  EXPECT_EQ(backend->alloc_portal(lni, events.handle, {}).error(), expected);
  EXPECT_EQ(backend->destroy_portal(portal.handle).error(), expected);
  EXPECT_EQ(backend->map_portal(portal.handle, domain.handle, 1).error(), expected);
  EXPECT_EQ(backend->unmap_portal(map).error(), expected);
  EXPECT_EQ(backend->invalidate_entry(portal.handle, 1, 0).error(), expected);
  EXPECT_EQ(backend->portal_status(portal.handle).error(), expected);
  EXPECT_EQ(backend->transition_software_managed(portal.handle, 0).error(), expected);
}

}  // namespace
}  // namespace plnet::cassini::backend_libcxi_test
