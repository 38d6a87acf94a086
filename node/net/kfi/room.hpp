// SPDX-License-Identifier: BSD-3-Clause
// Several NIs on one interface, each of another network: their process numbers on the NIC, and the
// NIC's room for them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "drivers/net/cassini/soft/node.hpp"
#include "lib/base/arena.hpp"
#include "lib/base/result.hpp"
#include "lib/lnet/node/node_config.hpp"
#include "lib/runtime/config/settings.hpp"
#include "node/net/kfi/settings.hpp"

namespace plnet::node {

// Whether kfilnd serves the NI, which may ask for another driver.
[[nodiscard]] bool is_kfi(const lnet::NetConfig& net, const lnet::NiConfig& ni);

// The process number of this network's NI on its NIC. NIs with the same number cannot share a NIC.
[[nodiscard]] unsigned kfi_process_of(lnet::NetId net);

// Receive buffers of one interface: the same number of bytes for each NI, one after the other.
struct KfiMemory {
  ArenaId arena = kNoArena;
  std::uint32_t bytes_each = 0;
  unsigned nis = 1;

  [[nodiscard]] Fragment of(unsigned seat) const {
    return {{arena, std::uint64_t{seat} * bytes_each}, bytes_each};
  }
};

// The number of NIs that an interface has room for: the configured number, or the NIs on it and at
// least 2, so that one can be added by hand. `settled`: rules about addresses are networks already.
[[nodiscard]] unsigned kfi_nis_of(const KfiInterface& interface, const lnet::NodeConfig& settled);

// The receive buffers of each configured interface, in no arena yet. kInvalid, kTooBig: an option
// is out of range.
[[nodiscard]] Outcome<std::vector<KfiMemory>> kfi_memory_of(const runtime::Settings& settings);

// Scales the shared resources of a NIC in software, so that each NI has as much as a NIC of its
// own.
[[nodiscard]] cassini::soft::NodeOptions with_room(cassini::soft::NodeOptions options,
                                                   unsigned nis);

// The number of NIs that an interface has room for; 0: no interface of this family.
using NisOfInterface = std::function<unsigned(const std::string& interface)>;

// Whether the NIs on each interface can share it. kExists: two networks have the same process
// number; kNoSpace: there are too many NIs. Two NIs of one network are refused by
// check_node_config().
[[nodiscard]] Outcome<void> check_kfi_sharing(const lnet::NodeConfig& config,
                                              const NisOfInterface& nis_of);

}  // namespace plnet::node
