// SPDX-License-Identifier: BSD-3-Clause
// The clock of the shared object, whose NICs have a thread of their own. Time advances when both
// threads have had a turn. With its own clock the driver would time out whenever the NIC thread has
// no CPU for a while; with the NICs' clock it would time out whenever it has none itself.
#pragma once

#include <chrono>
#include <cstdint>
#include <thread>

#include <dlfcn.h>

#include "lib/base/check.hpp"
#include "lib/base/clock.hpp"

namespace plnet::cassini {

class CommonClock {
 public:
  explicit CommonClock(const char* library) : library_(dlopen(library, RTLD_NOW | RTLD_LOCAL)) {
    PLNET_CHECK(library_ != nullptr, "it is there, or there would be no backend");
    nics_now_ns_ = reinterpret_cast<NowNs*>(dlsym(library_, "plnet_cxi_soft_now_ns"));
    PLNET_CHECK(nics_now_ns_ != nullptr, "a symbol of our own library");
  }
  ~CommonClock() { (void)dlclose(library_); }
  CommonClock(const CommonClock&) = delete;
  CommonClock& operator=(const CommonClock&) = delete;
  // Called once in each turn of the driver.
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

}  // namespace plnet::cassini
