// SPDX-License-Identifier: BSD-3-Clause
// libcxi's functions by their symbols in the shared object, as a program calls them that was linked
// with the vendor's library.
#pragma once

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include <dlfcn.h>
#include <gtest/gtest.h>

#include "drivers/net/cassini/soft/libcxi_functions.hpp"

namespace plnet::cassini::libcxi {

#define PLNET_CALL(library, name) (library).find<decltype(name)>(#name)

inline constexpr std::uint32_t kPinReadWrite = kMapPin | kMapRead | kMapWrite;
inline constexpr std::size_t kPage = 4096;

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

// A process with a resource group of the default service on cxi0.
struct LibcxiProcess : testing::Test {
  explicit LibcxiProcess(const std::string& path) : library(path) {
    EXPECT_EQ(PLNET_CALL(library, cxil_open_device)(0U, &device), 0);
    EXPECT_EQ(PLNET_CALL(library, cxil_alloc_lni)(device, &lni, 1U), 0);
  }
  ~LibcxiProcess() override {
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

  Library library;
  Device* device = nullptr;
  Lni* lni = nullptr;
};

}  // namespace plnet::cassini::libcxi
