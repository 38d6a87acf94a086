// SPDX-License-Identifier: BSD-3-Clause
// The clock of the shared object, whose NICs have a thread of their own: time passes when both
// threads have had a turn. The driver on a clock of its own would give up whenever the NICs' thread
// has no CPU for a while, and on theirs whenever it has none itself.
#pragma once

#include <chrono>
#include <ctime>
#include <thread>

#include <dlfcn.h>

#include "drivers/net/cassini/soft/libcxi_further.hpp"
#include "lib/base/check.hpp"
#include "lib/base/clock.hpp"

namespace plnet::cassini {

class CommonClock {
 public:
  explicit CommonClock(const char* library) : library_(dlopen(library, RTLD_NOW | RTLD_LOCAL)) {
    PLNET_CHECK(library_ != nullptr, "a backend was loaded from it");
    find(open_, "cxil_open_device");
    find(close_, "cxil_close_device");
    find(read_, "cxil_read_cntr");
    PLNET_CHECK(open_(0, &device_) == 0, "device 0 is always there");
  }
  ~CommonClock() {
    close_(device_);
    (void)dlclose(library_);
  }
  CommonClock(const CommonClock&) = delete;
  CommonClock& operator=(const CommonClock&) = delete;
  // Once a turn of the driver. The NICs' time is that of any of their counters.
  Instant turn() {
    constexpr unsigned kAnyCounter = 992;
    std::uint64_t value = 0;
    timespec seen{};
    (void)read_(device_, kAnyCounter, &value, &seen);
    if (seen.tv_sec == seen_.tv_sec && seen.tv_nsec == seen_.tv_nsec)
      std::this_thread::yield();
    else
      now_ += std::chrono::microseconds(10);
    seen_ = seen;
    return now_;
  }

 private:
  template <class Function>
  void find(Function*& function, const char* name) {
    function = reinterpret_cast<Function*>(dlsym(library_, name));
    PLNET_CHECK(function != nullptr, "a symbol of our own library");
  }
  void* library_;
  int (*open_)(std::uint32_t, libcxi::Device**) = nullptr;
  void (*close_)(libcxi::Device*) = nullptr;
  int (*read_)(libcxi::Device*, unsigned, std::uint64_t*, timespec*) = nullptr;
  libcxi::Device* device_ = nullptr;
  timespec seen_{};
  Instant now_{};
};

}  // namespace plnet::cassini
