// SPDX-License-Identifier: BSD-3-Clause
// The ports of RDMA devices as listed by the system, and the port of a network interface.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/arena.hpp"
#include "lib/base/result.hpp"

namespace plnet::node {

// One port of one device.
struct VerbsPort {
  std::string device;  // mlx5_0
  unsigned port = 1;
  bool is_infiniband = false;  // else Ethernet: RoCE
  bool active = false;
  std::uint32_t mbps = 0;  // 0: unknown
  int numa_node = kAnyNumaNode;
  std::vector<std::string> interfaces;  // its network interfaces

  friend bool operator==(const VerbsPort&, const VerbsPort&) = default;
};

inline constexpr const char* kSysfs = "/sys";
inline constexpr std::size_t kVerbsPortsMax = 256;  // more than any machine has

// By device and port; empty where there is no RDMA. `root` has the layout of /sys.
[[nodiscard]] std::vector<VerbsPort> verbs_ports(const std::string& root = kSysfs);

// Null: none. An alias of an address ("ib0:1") belongs to its interface.
[[nodiscard]] const VerbsPort* port_behind(const std::vector<VerbsPort>& ports,
                                           std::string_view interface);

// The reason for a missing device, and the remedy.
[[nodiscard]] std::string no_verbs_device(std::string_view interface,
                                          const std::vector<VerbsPort>& ports);

}  // namespace plnet::node
