// SPDX-License-Identifier: BSD-3-Clause
// Files of the host that belong to a NIC, as the driver's in /sys/class/cxi.
#pragma once

namespace plnet::cassini::soft {

class HostFiles {
 public:
  virtual ~HostFiles() = default;

  // Resource groups in use by all processes.
  virtual void show_resource_groups(unsigned used) = 0;
  // The atomic operation that becomes a fetching addition of PCIe; -1: none.
  [[nodiscard]] virtual int atomic_remap() = 0;
};

}  // namespace plnet::cassini::soft
