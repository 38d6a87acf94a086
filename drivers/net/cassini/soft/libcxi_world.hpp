// SPDX-License-Identifier: BSD-3-Clause
// What stands behind libcxi's symbols. The C interface has no room for a context, so there is one
// world per process, made by the first call and kept to the end.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "drivers/net/cassini/soft/backend_soft.hpp"
#include "drivers/net/cassini/soft/libcxi_structs.hpp"
#include "drivers/net/cassini/soft/soft_config.hpp"

#define PLNET_EXPORT extern "C" __attribute__((visibility("default")))

// Readable while there is something that clear() has not seen.
// NOLINTNEXTLINE(readability-identifier-naming): libcxi's
struct cxil_wait_obj final : plnet::cassini::soft::Waker {
  int fd = -1;
  unsigned queues = 0;  // that tell it
  std::atomic<bool> told{false};
  void wake() override;
  void clear();
};

struct cxil_pte_map {  // NOLINT(readability-identifier-naming): libcxi's
  plnet::cassini::PortalMapHandle handle;
};

namespace plnet::cassini::soft {

// Devices joined in this process, and a thread that runs them.
class World {
 public:
  explicit World(const SoftConfig& config);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  [[nodiscard]] SoftBackend& backend() { return *backend_; }
  [[nodiscard]] std::uint64_t now_ns() const { return now_ns_.load(std::memory_order_acquire); }

 private:
  void run();
  Fabric fabric_;
  std::vector<Nic*> nics_;
  std::unique_ptr<SoftBackend> backend_;
  std::atomic<bool> stop_{false};
  std::atomic<std::uint64_t> now_ns_{0};
  std::thread thread_;
};

// Null: the file beside the library (its path and ".conf") is wrong. It has been said on stderr
// what, and there are no devices.
[[nodiscard]] World* world();
// For calls that name an object: there is a world then.
[[nodiscard]] inline SoftBackend& backend() {
  return world()->backend();
}

// The public structure first, so that its address is the object's.
struct CxiDevice : cxil_dev {
  DeviceHandle handle;
};
struct CxiLni : cxil_lni {
  LniHandle handle;
};
struct CxiCp : cxi_cp {
  ProfileHandle handle;
};
struct CxiDomain : cxil_domain {
  DomainHandle handle;
};
struct CxiMd : cxi_md {
  MappingHandle handle;
};
struct CxiEq : cxi_eq {
  EventQueueHandle handle;
  cxil_wait_obj* waits[2] = {nullptr, nullptr};
  std::uint8_t* next = nullptr;  // while it is being resized
  unsigned next_bytes = 0;
};
struct CxiCq : cxi_cq {
  CommandQueueHandle handle;
};
struct CxiPte : cxil_pte {
  PortalHandle handle;
};

}  // namespace plnet::cassini::soft
