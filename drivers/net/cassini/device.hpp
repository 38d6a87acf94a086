// SPDX-License-Identifier: BSD-3-Clause
// A NIC opened by this process, with everything that the endpoints of its shards share.
#pragma once

#include <memory>
#include <vector>

#include "drivers/net/cassini/address.hpp"
#include "drivers/net/cassini/backend.hpp"
#include "drivers/net/cassini/memory.hpp"
#include "lib/base/result.hpp"

namespace plnet::cassini {

struct DeviceConfig {
  unsigned id = 0;
  unsigned service = 1;  // decides which VNIs are allowed, and the share of the NIC
  unsigned vni = 255;    // the kernel's kfilnd uses this one
  unsigned pid = 0;      // LNet's network number
  TrafficClass traffic_class = TrafficClass::kBestEffort;
};

// Cold throughout. Destroy the endpoints first.
class Device {
 public:
  // `backend` and the arenas outlive the device. An arena that the NIC cannot map is accessed by
  // bounce buffers.
  [[nodiscard]] static Outcome<std::unique_ptr<Device>> open(Backend& backend,
                                                             const DeviceConfig& config,
                                                             const ArenaTable& arenas);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  [[nodiscard]] Backend& backend() const { return backend_; }
  [[nodiscard]] const DeviceConfig& config() const { return config_; }
  // As of the opening.
  [[nodiscard]] const DeviceInfo& info() const { return info_; }
  // The link as of the backend's last refresh; an error if the device is gone.
  [[nodiscard]] Allocated<LinkSeen> link() const { return backend_.link(handle_); }
  // As of the opening, except for the link. Memory only.
  [[nodiscard]] DeviceInfo seen() const;
  [[nodiscard]] std::vector<Statistic> statistics() const { return backend_.statistics(handle_); }
  [[nodiscard]] LniHandle lni() const { return lni_; }
  [[nodiscard]] DomainHandle domain() const { return domain_.handle; }
  [[nodiscard]] unsigned lcid() const { return profile_.lcid; }
  [[nodiscard]] Process own() const { return {.nic = info_.nic_address, .pid = domain_.pid}; }
  [[nodiscard]] const ArenaTable& arenas() const { return arenas_; }
  [[nodiscard]] const ArenaMap& map() const { return map_; }
  [[nodiscard]] unsigned arenas_refused() const { return arenas_refused_; }

 private:
  Device(Backend& backend, const DeviceConfig& config, const ArenaTable& arenas)
      : backend_(backend), config_(config), arenas_(arenas) {}
  [[nodiscard]] Outcome<void> set_up();
  void map_arenas();

  Backend& backend_;
  DeviceConfig config_;
  const ArenaTable& arenas_;
  DeviceInfo info_;
  DeviceHandle handle_;
  LniHandle lni_;
  Profile profile_;
  Domain domain_;
  unsigned made_ = 0;  // how many of the four objects above exist
  ArenaMap map_;
  std::vector<MappingHandle> mappings_;
  unsigned arenas_refused_ = 0;
};

// "alloc_lni: no space left on device (errno 28)"
[[nodiscard]] std::unexpected<Error> backend_failure(const char* call, Errno errno_value);

}  // namespace plnet::cassini
