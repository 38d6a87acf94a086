// SPDX-License-Identifier: BSD-3-Clause
// The NICs of nodes in network namespaces of one host, by network type.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace plnet::node {

// One end of a wire between two nodes, for a NIC in software.
struct LabPort {
  std::size_t wire;    // its number
  bool listens;        // the other end connects
  std::string folder;  // of both nodes, for sockets
  std::string address;
};

using LabKeys = std::vector<std::pair<std::string, std::string>>;

struct LabNic {
  std::string_view network;           // the name of the network type
  bool needs_hardware = false;        // none in namespaces
  std::string_view interface_name{};  // "cxi" of cxi0; empty: an NI is found by its address
  std::string_view section{};         // below `plnet:`, whose `interfaces` have the named NICs
  LabKeys (*keys)(const LabPort& port) = nullptr;  // of such an interface, but for its name

  // Otherwise the NIC is the namespace's Ethernet device.
  [[nodiscard]] bool is_named() const { return !interface_name.empty(); }
};

}  // namespace plnet::node
