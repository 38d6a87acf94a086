// SPDX-License-Identifier: BSD-3-Clause
// Calls of libcxi's that the driver does not make, by their symbols in the shared object: services,
// wait objects, event queues that grow, mappings that move, and the file that says what devices
// there are.
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <poll.h>

#include "drivers/net/cassini/soft/codes.hpp"
#include "drivers/net/cassini/soft/libcxi_structs.hpp"

struct cxil_wait_obj;  // NOLINT(readability-identifier-naming): libcxi's

namespace plnet::cassini::soft::libcxi_calls_test {
namespace {

constexpr std::uint32_t kPinReadWrite = 1U << 0U | 1U << 2U | 1U << 3U;
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
  template <class Function, class... Arguments>
  auto call(const char* name, Arguments... arguments) const {
    auto* const function = reinterpret_cast<Function*>(dlsym(handle_, name));
    EXPECT_NE(function, nullptr) << name;
    return function(arguments...);
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
    EXPECT_EQ(library.call<int(std::uint32_t, cxil_dev**)>("cxil_open_device", 0U, &device), 0);
    EXPECT_EQ(
        library.call<int(cxil_dev*, cxil_lni**, unsigned)>("cxil_alloc_lni", device, &lni, 1U), 0);
  }
  ~LibcxiCalls() override {
    EXPECT_EQ(library.call<int(cxil_lni*)>("cxil_destroy_lni", lni), 0);
    library.call<void(cxil_dev*)>("cxil_close_device", device);
  }
  cxi_md* map(std::byte* at, std::size_t bytes) {
    cxi_md* md = nullptr;
    EXPECT_EQ((library.call<int(cxil_lni*, void*, std::size_t, std::uint32_t, void*, cxi_md**)>(
                  "cxil_map", lni, at, bytes, kPinReadWrite, nullptr, &md)),
              0);
    return md;
  }
  void unmap(cxi_md* md, int expected = 0) {
    EXPECT_EQ(library.call<int(cxi_md*)>("cxil_unmap", md), expected);
  }
  int make_queue(cxi_md* md, const cxi_eq_attr& attributes, cxi_eq*& eq,
                 cxil_wait_obj* wait = nullptr) {
    return library.call<int(cxil_lni*, const cxi_md*, const cxi_eq_attr*, cxil_wait_obj*,
                            cxil_wait_obj*, cxi_eq**)>("cxil_alloc_evtq", lni, md, &attributes,
                                                       wait, nullptr, &eq);
  }
  int drop_queue(cxi_eq* eq) { return library.call<int(cxi_eq*)>("cxil_destroy_evtq", eq); }

  Library library{PLNET_CXI_SOFT};
  cxil_dev* device = nullptr;
  cxil_lni* lni = nullptr;
};

TEST_F(LibcxiCalls, ServicesAndWhatTheyUse) {
  cxil_svc_list* list = nullptr;
  ASSERT_EQ(library.call<int(cxil_dev*, cxil_svc_list**)>("cxil_get_svc_list", device, &list), 0);
  ASSERT_EQ(list->count, 1U);
  cxi_svc_desc one{};
  std::memcpy(&one, reinterpret_cast<std::byte*>(list) + kServiceListHead, sizeof one);
  library.call<void(cxil_svc_list*)>("cxil_free_svc_list", list);
  EXPECT_EQ(one.svc_id, 1U);
  EXPECT_EQ(one.flags, 1U << 4U) << "enabled, nothing restricted";
  EXPECT_EQ(one.limits[0].max, 2047U);
  EXPECT_EQ(one.limits[5].max, 65535U) << "as much as 16 bits say";
  cxi_svc_desc same{};
  const auto get = [&](unsigned id) {
    return library.call<int(cxil_dev*, unsigned, cxi_svc_desc*)>("cxil_get_svc", device, id, &same);
  };
  EXPECT_EQ(get(1), 0);
  EXPECT_EQ(same.svc_id, one.svc_id);
  EXPECT_EQ(same.flags, one.flags);
  EXPECT_EQ(get(2), -EINVAL);
  const Pages pages(kPage);
  cxi_md* const md = map(pages.at, kPage);
  cxi_rsrc_use use{};
  EXPECT_EQ((library.call<int(cxil_dev*, unsigned, cxi_rsrc_use*)>("cxil_get_svc_rsrc_use", device,
                                                                   1U, &use)),
            0);
  EXPECT_EQ(use.in_use[7], 1U) << "an address context";
  unmap(md);
}

TEST_F(LibcxiCalls, QueueGrowsAndItsReaderIsWoken) {
  const Pages first(kPage);
  const Pages second(2 * kPage);
  cxi_md* const before = map(first.at, kPage);
  cxi_md* const after = map(second.at, 2 * kPage);
  cxil_wait_obj* wait = nullptr;
  ASSERT_EQ(library.call<int(cxil_lni*, cxil_wait_obj**)>("cxil_alloc_wait_obj", lni, &wait), 0);
  pollfd waits{.fd = library.call<int(cxil_wait_obj*)>("cxil_get_wait_obj_fd", wait),
               .events = POLLIN,
               .revents = 0};
  cxi_eq* eq = nullptr;
  ASSERT_EQ(make_queue(before, {.queue = first.at, .queue_len = kPage}, eq, wait), 0);
  EXPECT_EQ(library.call<int(cxil_wait_obj*)>("cxil_destroy_wait_obj", wait), -EBUSY);
  EXPECT_EQ(poll(&waits, 1, 0), 0);
  const auto resize = [&] {
    return library.call<int(cxi_eq*, void*, std::size_t, cxi_md*)>("cxil_evtq_resize", eq,
                                                                   second.at, 2 * kPage, after);
  };
  const auto complete = [&] { return library.call<int(cxi_eq*)>("cxil_evtq_resize_complete", eq); };
  EXPECT_EQ(complete(), -EINVAL);
  ASSERT_EQ(resize(), 0);
  EXPECT_EQ(resize(), -EBUSY);
  EXPECT_EQ(poll(&waits, 1, 0), 1) << "EQ_SWITCH is there";
  EXPECT_EQ(std::to_integer<unsigned>(first.at[64 + 14]) >> 2U & 31U, 30U);
  library.call<void(cxil_wait_obj*)>("cxil_clear_wait_obj", wait);
  EXPECT_EQ(poll(&waits, 1, 0), 0);
  ASSERT_EQ(complete(), 0);
  EXPECT_EQ(reinterpret_cast<std::byte*>(eq->events), second.at);
  EXPECT_EQ(eq->byte_size, 2 * kPage);
  EXPECT_EQ(eq->sw_state, 1ULL << 31U | 1U);
  unmap(before);
  unmap(after, -EBUSY);
  EXPECT_EQ(drop_queue(eq), 0);
  unmap(after);
  EXPECT_EQ(library.call<int(cxil_wait_obj*)>("cxil_destroy_wait_obj", wait), 0);
}

TEST_F(LibcxiCalls, SeveralThresholds) {
  const Pages pages(kPage);
  cxi_md* const md = map(pages.at, kPage);
  cxi_eq* eq = nullptr;
  cxi_eq_attr attributes{.queue = pages.at,
                         .queue_len = kPage,
                         .status_thresh_base = 40,
                         .status_thresh_delta = 20,
                         .status_thresh_count = 4};
  ASSERT_EQ(make_queue(md, attributes, eq), 0);
  EXPECT_EQ(drop_queue(eq), 0);
  attributes.status_thresh_delta = 21;
  EXPECT_EQ(make_queue(md, attributes, eq), -EINVAL) << "103 %";
  attributes.status_thresh_delta = 1;
  attributes.status_thresh_count = 5;
  EXPECT_EQ(make_queue(md, attributes, eq), -EINVAL);
  unmap(md);
}

TEST_F(LibcxiCalls, MappingMoves) {
  const Pages first(kPage);
  const Pages second(kPage);
  cxi_md* const md = map(first.at, kPage);
  const std::uint64_t iova = md->iova;
  const auto update = [&](std::byte* at, std::size_t bytes) {
    return library.call<int(cxi_md*, void*, std::size_t, std::uint32_t)>("cxil_update_md", md, at,
                                                                         bytes, kPinReadWrite);
  };
  EXPECT_EQ(update(second.at, 2 * kPage), -EINVAL);
  EXPECT_EQ(update(second.at, kPage), 0);
  EXPECT_EQ(md->iova, iova);
  EXPECT_EQ(md->va, reinterpret_cast<std::uintptr_t>(second.at));
  unmap(md);
}

// A copy of the library with a file beside it.
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

TEST(LibcxiConfig, FileSaysWhichDevicesThereAre) {
  const Copy copy("devices = 3\naddress.2 = 0x2b0\n");
  const Library library(copy.path);
  cxil_device_list* list = nullptr;
  ASSERT_EQ(library.call<int(cxil_device_list**)>("cxil_get_device_list", &list), 0);
  EXPECT_EQ(list->count, 3U);
  cxil_devinfo info{};
  std::memcpy(&info, reinterpret_cast<std::byte*>(list) + kDeviceListHead + 2 * sizeof info,
              sizeof info);
  EXPECT_EQ(info.nid, 0x2b0U);
  library.call<void(cxil_device_list*)>("cxil_free_device_list", list);
}

TEST(LibcxiConfig, FileThatIsWrongLeavesNoDevices) {
  const Copy copy("devices = many\n");
  const Library library(copy.path);
  cxil_device_list* list = nullptr;
  testing::internal::CaptureStderr();
  EXPECT_EQ(library.call<int(cxil_device_list**)>("cxil_get_device_list", &list), -EINVAL);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "libplnet_cxi_soft: " + copy.path.string() +
                ".conf: line 1: devices is a number from 1 to 16, not many\n");
  cxil_dev* device = nullptr;
  EXPECT_EQ(library.call<int(std::uint32_t, cxil_dev**)>("cxil_open_device", 0U, &device), -EINVAL);
}

}  // namespace
}  // namespace plnet::cassini::soft::libcxi_calls_test
