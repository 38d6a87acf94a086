// SPDX-License-Identifier: BSD-3-Clause
// Results of libcxi's functions (libcxi.h, and the driver's error numbers): queues, portals,
// mappings, and the file that says which devices there are.
#include <filesystem>
#include <fstream>
#include <vector>

#include <poll.h>
#include <sys/mman.h>

#include "drivers/net/cassini/soft/service.hpp"
#include "tests/unit/drivers/cassini/joint/libcxi_process.hpp"

namespace plnet::cassini::libcxi::libcxi_calls_test {
namespace {

struct LibcxiCalls : LibcxiProcess {
  LibcxiCalls() : LibcxiProcess(PLNET_CXI_SOFT) {}
  std::vector<Mapping*> kept;
};

TEST_F(LibcxiCalls, ServicesAndTheirResources) {
  ServiceList* list = nullptr;
  ASSERT_EQ(PLNET_CALL(library, cxil_get_svc_list)(device, &list), 0);
  ASSERT_EQ(list->count, 1U);
  Service one{};
  std::memcpy(&one, reinterpret_cast<std::byte*>(list) + kServiceListHead, sizeof one);
  PLNET_CALL(library, cxil_free_svc_list)(list);
  EXPECT_EQ(one.id, 1U);
  EXPECT_EQ(one.flags, kServiceEnabled | kResourceLimits) << "it has any VNI";
  EXPECT_EQ(one.limits[static_cast<unsigned>(soft::Resource::kPortals)].most, 2047U);
  EXPECT_EQ(one.limits[static_cast<unsigned>(soft::Resource::kListEntries)].most, 65535U)
      << "as much as 16 bits say";
  const ResourceLimits triggered = one.limits[static_cast<unsigned>(soft::Resource::kTriggered)];
  EXPECT_EQ(triggered.kept, 512U);
  EXPECT_EQ(triggered.most, 512U);
  Service same{};
  const auto get = [&](unsigned id) {
    return PLNET_CALL(library, cxil_get_svc)(device, id, &same);
  };
  EXPECT_EQ(get(1), 0);
  EXPECT_EQ(same.id, one.id);
  EXPECT_EQ(same.flags, one.flags);
  EXPECT_EQ(get(2), -EINVAL);
  const Pages pages(kPage);
  Mapping* const md = map(pages.at, kPage);
  ResourceUse use{};
  EXPECT_EQ(PLNET_CALL(library, cxil_get_svc_rsrc_use)(device, 1U, &use), 0);
  constexpr auto kContexts = static_cast<unsigned>(soft::Resource::kAddressContexts);
  EXPECT_EQ(use.in_use[kContexts], 1U);
  unmap(md);
}

TEST_F(LibcxiCalls, QueueGrowsAndItsReaderIsWoken) {
  const Pages first(kPage);
  const Pages second(2 * kPage);
  Mapping* const before = map(first.at, kPage);
  Mapping* const after = map(second.at, 2 * kPage);
  WaitObject* wait = nullptr;
  ASSERT_EQ(PLNET_CALL(library, cxil_alloc_wait_obj)(lni, &wait), 0);
  pollfd waits{
      .fd = PLNET_CALL(library, cxil_get_wait_obj_fd)(wait), .events = POLLPRI, .revents = 0};
  EventQueue* eq = nullptr;
  ASSERT_EQ(make_queue(before, {.queue = first.at, .bytes = kPage}, eq, wait), 0);
  EXPECT_EQ(PLNET_CALL(library, cxil_destroy_wait_obj)(wait), -EBUSY);
  EXPECT_EQ(poll(&waits, 1, 0), 0);
  const auto resize = [&] {
    return PLNET_CALL(library, cxil_evtq_resize)(eq, second.at, 2 * kPage, after);
  };
  const auto complete = [&] { return PLNET_CALL(library, cxil_evtq_resize_complete)(eq); };
  EXPECT_EQ(complete(), -EINVAL);
  ASSERT_EQ(resize(), 0);
  EXPECT_EQ(resize(), -EINVAL) << "one at a time";
  EXPECT_EQ(poll(&waits, 1, 0), 1) << "EQ_SWITCH is there";
  EXPECT_EQ(std::to_integer<unsigned>(first.at[64 + 14]) >> 2U & 31U, 30U);
  PLNET_CALL(library, cxil_clear_wait_obj)(wait);
  EXPECT_EQ(poll(&waits, 1, 0), 0);
  ASSERT_EQ(complete(), 0);
  EXPECT_EQ(reinterpret_cast<std::byte*>(eq->events), second.at);
  EXPECT_EQ(eq->bytes, 2 * kPage);
  EXPECT_EQ(eq->state, kReadingSecond | 1U);
  unmap(before);
  unmap(after, -EBUSY);
  EXPECT_EQ(drop_queue(eq), 0);
  unmap(after);
  EXPECT_EQ(PLNET_CALL(library, cxil_destroy_wait_obj)(wait), 0);
}

TEST_F(LibcxiCalls, SeveralThresholds) {
  const Pages pages(kPage);
  Mapping* const md = map(pages.at, kPage);
  EventQueue* eq = nullptr;
  EventQueueAttributes attributes{.queue = pages.at,
                                  .bytes = kPage,
                                  .threshold_base = 95,
                                  .threshold_delta = 15,
                                  .threshold_count = 4};
  ASSERT_EQ(make_queue(md, attributes, eq), 0);
  EXPECT_EQ(drop_queue(eq), 0);
  attributes.threshold_delta = 32;
  EXPECT_EQ(make_queue(md, attributes, eq), -EINVAL) << "-1 %";
  attributes.threshold_delta = 1;
  attributes.threshold_count = 5;
  EXPECT_EQ(make_queue(md, attributes, eq), -EINVAL);
  unmap(md);
}

// Only a page of physical memory is one piece for a device that does not translate.
TEST_F(LibcxiCalls, EventQueueWithoutTranslation) {
  const Pages pages(2 * kPage);
  EventQueue* eq = nullptr;
  EventQueueAttributes attributes{
      .queue = pages.at, .bytes = kPage, .flags = kPassthrough, .reserved_slots = 64};
  EXPECT_EQ(make_queue(nullptr, attributes, eq), -EINVAL) << "no slot is left";
  attributes.reserved_slots = 7;
  pages.at[100] = std::byte{1};
  ASSERT_EQ(make_queue(nullptr, attributes, eq), 0);
  EXPECT_EQ(pages.at[100], std::byte{0}) << "libcxi clears the memory";
  const auto adjust = [&](int slots) {
    return PLNET_CALL(library, cxil_evtq_adjust_reserved_fc)(eq, slots);
  };
  EXPECT_EQ(adjust(3), 10) << "the new value";
  EXPECT_EQ(adjust(-10), 0);
  EXPECT_EQ(adjust(-1), -EINVAL);
  EXPECT_EQ(adjust(1 << 14), -EINVAL);
  EXPECT_EQ(adjust((1 << 14) - 1), -ENOSPC);
  EXPECT_EQ(drop_queue(eq), 0);
  attributes.bytes = 2 * kPage;
  EXPECT_EQ(make_queue(nullptr, attributes, eq), -EINVAL) << "two pages";
  attributes.flags = 0;
  EXPECT_EQ(make_queue(nullptr, attributes, eq), -EINVAL) << "translation needs a mapping";
}

TEST_F(LibcxiCalls, CommandQueues) {
  CommandQueue* queue = nullptr;
  CommandQueueOptions options{.slots = 0};
  const auto make = [&] {
    return PLNET_CALL(library, cxil_alloc_cmdq)(lni, nullptr, &options, &queue);
  };
  const auto drop = [&] { return PLNET_CALL(library, cxil_destroy_cmdq)(queue); };
  ASSERT_EQ(make(), 0) << "0 is the least that there is";
  EXPECT_EQ(queue->size, 64U);
  unsigned outstanding = 1;
  EXPECT_EQ(PLNET_CALL(library, cxil_cmdq_ack_counter)(queue, &outstanding), 0);
  EXPECT_EQ(outstanding, 0U);
  EXPECT_EQ(drop(), 0);
  options.slots = 65537;
  EXPECT_EQ(make(), -E2BIG);
  options = {.slots = 64, .update_policy = 4};
  EXPECT_EQ(make(), -EINVAL);
  options = {.slots = 64, .credit_threshold = 4};
  EXPECT_EQ(make(), -EINVAL);
  options = {.slots = 64, .flags = kTransmitQueue};
  EXPECT_EQ(make(), -EINVAL) << "no such LCID";
  options.flags = kTransmitQueue | kEthernetQueue;
  EXPECT_EQ(make(), -EPERM) << "there is no Ethernet";
  EXPECT_EQ(PLNET_CALL(library, cxil_alloc_cmdq)(lni, nullptr, nullptr, &queue), -EINVAL);

  const Pages memory(2 * kPage);
  CommandQueueBuffer buffer{.options = {.slots = 100}, .buffer = memory.at, .is_host_memory = true};
  const auto make_in = [&] {
    return PLNET_CALL(library, cxil_alloc_buf_cmdq)(lni, nullptr, &buffer, &queue);
  };
  ASSERT_EQ(make_in(), 0);
  EXPECT_EQ(queue->commands, memory.at);
  EXPECT_EQ(queue->size, 128U);
  EXPECT_EQ(drop(), 0);
  buffer.buffer = memory.at + 64;
  EXPECT_EQ(make_in(), -EINVAL) << "not at a page";
  buffer = {.options = {.slots = 64}, .buffer = memory.at, .is_host_memory = false};
  EXPECT_EQ(make_in(), -EINVAL) << "memory of a device";
}

TEST_F(LibcxiCalls, Portals) {
  Portal* portal = nullptr;
  PortalOptions options{};
  const auto make = [&](PortalOptions* wanted) {
    return PLNET_CALL(library, cxil_alloc_pte)(lni, nullptr, wanted, &portal);
  };
  EXPECT_EQ(make(nullptr), -EINVAL);
  options.flags = kEthernet;
  EXPECT_EQ(make(&options), -EPERM);
  options.flags = 0;
  ASSERT_EQ(make(&options), 0);
  PortalStatus status{};
  std::uint64_t offsets[2]{};
  status.unexpected_offsets = offsets;
  status.unexpected_count = 2;
  EXPECT_EQ(PLNET_CALL(library, cxil_pte_status)(portal, &status), 0);
  EXPECT_EQ(status.unexpected_count, 0U);
  EXPECT_EQ(PLNET_CALL(library, cxil_invalidate_pte_le)(portal, 0U, 0U), 0) << "buffer 0";
  EXPECT_EQ(PLNET_CALL(library, cxil_pte_transition_sm)(portal, 1U), -EAGAIN) << "the drop count";
  EXPECT_EQ(PLNET_CALL(library, cxil_pte_transition_sm)(portal, 0U), 0);
  EXPECT_EQ(PLNET_CALL(library, cxil_pte_transition_sm)(portal, 0U), 0) << "it is already";
  EXPECT_EQ(PLNET_CALL(library, cxil_destroy_pte)(portal), 0);
}

struct Unmapped {
  explicit Unmapped(std::size_t bytes, int protection = PROT_NONE)
      : at(mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)), length(bytes) {}
  ~Unmapped() { (void)munmap(at, length); }
  Unmapped(const Unmapped&) = delete;
  Unmapped& operator=(const Unmapped&) = delete;
  void* at;
  std::size_t length;
};

TEST_F(LibcxiCalls, MappingsNeedTheirMemory) {
  const Pages pages(kPage);
  const Unmapped no_access(kPage);
  const Unmapped readable(kPage, PROT_READ);
  Mapping* md = nullptr;
  MapHints hints{};
  const auto map = [&](void* at, std::size_t bytes, std::uint32_t flags) {
    return PLNET_CALL(library, cxil_map)(lni, at, bytes, flags, &hints, &md);
  };
  EXPECT_EQ(map(pages.at, 0, kPinReadWrite), -EINVAL);
  EXPECT_EQ(map(pages.at, SIZE_MAX, kPinReadWrite), -EOVERFLOW);
  EXPECT_EQ(map(pages.at, kPage, kPinReadWrite | kMapFault), -EINVAL);
  EXPECT_EQ(map(pages.at, kPage, kPinReadWrite | kMapPrefetch), -EINVAL);
  EXPECT_EQ(map(pages.at, kPage, kPinReadWrite | kMapTranslated), -EOPNOTSUPP);
  EXPECT_EQ(map(pages.at, kPage, kPinReadWrite | kMapDevice), -EOPNOTSUPP);
  EXPECT_EQ(map(no_access.at, kPage, kPinReadWrite), -EFAULT);
  EXPECT_EQ(map(readable.at, kPage, kPinReadWrite), -EFAULT) << "the NIC may not write to it";
  EXPECT_EQ(map(no_access.at, kPage, kMapRead | kMapWrite | kMapFault), -EINVAL);
  hints.table_mode_valid = true;
  hints.table_mode = kTableModes;
  EXPECT_EQ(map(pages.at, kPage, kPinReadWrite), -EINVAL) << "a hint";
  hints = {};
  ASSERT_EQ(map(readable.at, kPage, kMapPin | kMapRead), 0);
  unmap(md);
  ASSERT_EQ(map(pages.at + 8, 100, kPinReadWrite), 0);
  EXPECT_EQ(md->va, reinterpret_cast<std::uintptr_t>(pages.at)) << "whole pages";
  EXPECT_EQ(md->length, kPage);
  EXPECT_EQ(md->huge_shift, 21);
  unmap(md);
  ASSERT_EQ(map(pages.at, kPage, 0), 0) << "of no use, but no error";
  unmap(md);
}

TEST_F(LibcxiCalls, MappingOnDemandAsksForPages) {
  const Unmapped memory(4 * kPage, PROT_READ | PROT_WRITE);
  Mapping* md = nullptr;
  ASSERT_EQ(
      PLNET_CALL(library, cxil_map)(lni, memory.at, 2 * kPage, kMapRead | kMapWrite, nullptr, &md),
      0);
  auto* const begin = static_cast<std::byte*>(memory.at);
  const auto update = [&](std::byte* at, std::size_t bytes, std::uint32_t flags) {
    return PLNET_CALL(library, cxil_update_md)(md, at, bytes, flags);
  };
  EXPECT_EQ(update(begin, kPage, kMapFault), 0);
  EXPECT_EQ(update(begin, kPage, 0), -EINVAL) << "nothing is asked for";
  EXPECT_EQ(update(begin + kPage, 2 * kPage, kMapFault), -EINVAL) << "beyond its end";
  EXPECT_EQ(update(begin, SIZE_MAX, kMapFault), -EOVERFLOW);
  ASSERT_EQ(mprotect(memory.at, kPage, PROT_NONE), 0);
  EXPECT_EQ(update(begin, kPage, kMapFault), -EINVAL) << "no such pages";
  unmap(md);
  Mapping* const pinned = map(begin + kPage, kPage);
  EXPECT_EQ(PLNET_CALL(library, cxil_update_md)(pinned, begin + kPage, kPage, kMapFault), -EINVAL);
  unmap(pinned);
}

// Flags other than permissions make another kind of mapping, which has an address context of its
// own: a service may have few of them.
TEST_F(LibcxiCalls, KindsOfMappingsHaveContexts) {
  const Pages pages(kPage);
  const auto lac = [&](std::uint32_t flags) {
    Mapping* md = nullptr;
    EXPECT_EQ(PLNET_CALL(library, cxil_map)(lni, pages.at, kPage, flags, nullptr, &md), 0);
    kept.push_back(md);
    return md->lac;
  };
  const auto usual = lac(kPinReadWrite);
  EXPECT_EQ(lac(kMapPin | kMapRead), usual);
  EXPECT_NE(lac(kPinReadWrite | kMapNoCache), usual);
  EXPECT_NE(lac(kMapRead | kMapWrite), usual) << "on demand";
  for (Mapping* const md : kept)
    unmap(md);
}

// A program finds the device of an LNI before it.
TEST_F(LibcxiCalls, LniHasItsDevice) {
  Device* before = nullptr;
  std::memcpy(&before, reinterpret_cast<std::byte*>(lni) - sizeof before, sizeof before);
  EXPECT_EQ(before, device);
}

// A copy of the library with a device file beside it.
struct Copy {
  explicit Copy(const std::string& text) {
    std::filesystem::create_directories(folder);
    std::filesystem::copy_file(PLNET_CXI_SOFT, path,
                               std::filesystem::copy_options::overwrite_existing);
    std::ofstream(path.string() + ".conf") << text;
  }
  ~Copy() { std::filesystem::remove_all(folder); }
  Copy(const Copy&) = delete;
  Copy& operator=(const Copy&) = delete;
  std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) /
      (std::string("cxi_soft_") + testing::UnitTest::GetInstance()->current_test_info()->name());
  std::filesystem::path path = folder / "libcxi.so.1";
};

TEST(LibcxiConfig, TheFileListsTheDevices) {
  const Copy copy("devices = 3\naddress.2 = 0x2b0\n");
  const Library library(copy.path);
  DeviceList* list = nullptr;
  ASSERT_EQ(PLNET_CALL(library, cxil_get_device_list)(&list), 0);
  EXPECT_EQ(list->count, 3U);
  DeviceInfo info{};
  std::memcpy(&info, reinterpret_cast<std::byte*>(list) + kDeviceListHead + 2 * sizeof info,
              sizeof info);
  EXPECT_EQ(info.nic_address, 0x2b0U);
  PLNET_CALL(library, cxil_free_device_list)(list);
}

// Each process that has the library has the services of its file, too.
TEST(LibcxiConfig, TheFileListsServices) {
  const Copy copy("vnis = 1\nservice.2.vnis = 8\nservice.2.limits = tgqs 1\n");
  const Library library(copy.path);
  Device* device = nullptr;
  Lni* lni = nullptr;
  ASSERT_EQ(PLNET_CALL(library, cxil_open_device)(0U, &device), 0);
  Service shown{};
  ASSERT_EQ(PLNET_CALL(library, cxil_get_svc)(device, 2U, &shown), 0);
  EXPECT_EQ(shown.flags, kServiceEnabled | kRestrictedVnis | kResourceLimits);
  EXPECT_EQ(shown.vnis[0], 8);
  EXPECT_EQ(shown.limits[static_cast<unsigned>(soft::Resource::kTargetQueues)].most, 1);
  ASSERT_EQ(PLNET_CALL(library, cxil_alloc_lni)(device, &lni, 2U), 0);
  const CommandQueueOptions options{.slots = 64};
  CommandQueue* queue = nullptr;
  CommandQueue* further = nullptr;
  EXPECT_EQ(PLNET_CALL(library, cxil_alloc_cmdq)(lni, nullptr, &options, &queue), 0);
  EXPECT_EQ(PLNET_CALL(library, cxil_alloc_cmdq)(lni, nullptr, &options, &further), -ENOSPC);
  EXPECT_EQ(PLNET_CALL(library, cxil_destroy_cmdq)(queue), 0);
  EXPECT_EQ(PLNET_CALL(library, cxil_destroy_lni)(lni), 0);
  PLNET_CALL(library, cxil_close_device)(device);
}

TEST(LibcxiConfig, FileThatIsWrongLeavesNoDevices) {
  const Copy copy("devices = many\n");
  const Library library(copy.path);
  DeviceList* list = nullptr;
  testing::internal::CaptureStderr();
  EXPECT_EQ(PLNET_CALL(library, cxil_get_device_list)(&list), -EINVAL);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "libcxi: " + copy.path.string() +
                ".conf: line 1: devices is a number from 1 to 16, not many\n");
  Device* device = nullptr;
  EXPECT_EQ(PLNET_CALL(library, cxil_open_device)(0U, &device), -EINVAL);
}

}  // namespace
}  // namespace plnet::cassini::libcxi::libcxi_calls_test
