// SPDX-License-Identifier: BSD-3-Clause
// libcxi calls that the driver does not use, through the symbols of the shared object: services,
// wait objects, growing event queues, moving mappings, and the file that lists the devices.
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <poll.h>

#include "drivers/net/cassini/soft/libcxi_functions.hpp"

namespace plnet::cassini::libcxi::libcxi_calls_test {
namespace {

#define PLNET_CALL(library, name) (library).find<decltype(name)>(#name)

constexpr std::uint32_t kPinReadWrite = kMapPin | kMapRead | kMapWrite;
constexpr std::size_t kPage = 4096;

class Library {
 public:
  explicit Library(const std::string& path) : handle_(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    EXPECT_NE(handle_, nullptr) << path;
  }
  ~Library() {
    if (handle_ != nullptr) (void)dlclose(handle_);
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  template <class Function>
  Function* find(const char* name) const {
    auto* const function = reinterpret_cast<Function*>(dlsym(handle_, name));
    EXPECT_NE(function, nullptr) << name;
    return function;
  }

 private:
  void* handle_;
};

struct Pages {
  explicit Pages(std::size_t bytes)
      : at(static_cast<std::byte*>(std::aligned_alloc(kPage, bytes))) {
    std::memset(at, 0, bytes);
  }
  ~Pages() { std::free(at); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  std::byte* at;
};

struct LibcxiCalls : testing::Test {
  LibcxiCalls() {
    EXPECT_EQ(PLNET_CALL(library, cxil_open_device)(0U, &device), 0);
    EXPECT_EQ(PLNET_CALL(library, cxil_alloc_lni)(device, &lni, 1U), 0);
  }
  ~LibcxiCalls() override {
    EXPECT_EQ(PLNET_CALL(library, cxil_destroy_lni)(lni), 0);
    PLNET_CALL(library, cxil_close_device)(device);
  }
  Mapping* map(std::byte* at, std::size_t bytes) {
    Mapping* md = nullptr;
    EXPECT_EQ(PLNET_CALL(library, cxil_map)(lni, at, bytes, kPinReadWrite, nullptr, &md), 0);
    return md;
  }
  void unmap(Mapping* md, int expected = 0) {
    EXPECT_EQ(PLNET_CALL(library, cxil_unmap)(md), expected);
  }
  int make_queue(Mapping* md, const EventQueueAttributes& attributes, EventQueue*& eq,
                 WaitObject* wait = nullptr) {
    return PLNET_CALL(library, cxil_alloc_evtq)(lni, md, &attributes, wait, nullptr, &eq);
  }
  int drop_queue(EventQueue* eq) { return PLNET_CALL(library, cxil_destroy_evtq)(eq); }

  Library library{PLNET_CXI_SOFT};
  Device* device = nullptr;
  Lni* lni = nullptr;
};

TEST_F(LibcxiCalls, ServicesAndTheirResources) {
  ServiceList* list = nullptr;
  ASSERT_EQ(PLNET_CALL(library, cxil_get_svc_list)(device, &list), 0);
  ASSERT_EQ(list->count, 1U);
  Service one{};
  std::memcpy(&one, reinterpret_cast<std::byte*>(list) + kServiceListHead, sizeof one);
  PLNET_CALL(library, cxil_free_svc_list)(list);
  EXPECT_EQ(one.id, 1U);
  EXPECT_EQ(one.flags, kServiceEnabled) << "enabled, nothing restricted";
  EXPECT_EQ(one.limits[0].most, 2047U);
  EXPECT_EQ(one.limits[5].most, 65535U) << "as much as 16 bits say";
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
  EXPECT_EQ(use.in_use[7], 1U) << "an address context";
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
      .fd = PLNET_CALL(library, cxil_get_wait_obj_fd)(wait), .events = POLLIN, .revents = 0};
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
  EXPECT_EQ(resize(), -EBUSY);
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
                                  .threshold_base = 40,
                                  .threshold_delta = 20,
                                  .threshold_count = 4};
  ASSERT_EQ(make_queue(md, attributes, eq), 0);
  EXPECT_EQ(drop_queue(eq), 0);
  attributes.threshold_delta = 21;
  EXPECT_EQ(make_queue(md, attributes, eq), -EINVAL) << "103 %";
  attributes.threshold_delta = 1;
  attributes.threshold_count = 5;
  EXPECT_EQ(make_queue(md, attributes, eq), -EINVAL);
  unmap(md);
}

TEST_F(LibcxiCalls, MappingMoves) {
  const Pages first(kPage);
  const Pages second(kPage);
  Mapping* const md = map(first.at, kPage);
  const std::uint64_t iova = md->iova;
  const auto update = [&](std::byte* at, std::size_t bytes) {
    return PLNET_CALL(library, cxil_update_md)(md, at, bytes, kPinReadWrite);
  };
  EXPECT_EQ(update(second.at, 2 * kPage), -EINVAL);
  EXPECT_EQ(update(second.at, kPage), 0);
  EXPECT_EQ(md->iova, iova);
  EXPECT_EQ(md->va, reinterpret_cast<std::uintptr_t>(second.at));
  unmap(md);
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
  std::filesystem::path path = folder / "libplnet_cxi_soft.so";
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

TEST(LibcxiConfig, FileThatIsWrongLeavesNoDevices) {
  const Copy copy("devices = many\n");
  const Library library(copy.path);
  DeviceList* list = nullptr;
  testing::internal::CaptureStderr();
  EXPECT_EQ(PLNET_CALL(library, cxil_get_device_list)(&list), -EINVAL);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "libplnet_cxi_soft: " + copy.path.string() +
                ".conf: line 1: devices is a number from 1 to 16, not many\n");
  Device* device = nullptr;
  EXPECT_EQ(PLNET_CALL(library, cxil_open_device)(0U, &device), -EINVAL);
}

}  // namespace
}  // namespace plnet::cassini::libcxi::libcxi_calls_test
