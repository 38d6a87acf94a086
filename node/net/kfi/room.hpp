// SPDX-License-Identifier: BSD-3-Clause
// Several NIs on one interface, each of another network: what tells them apart on the NIC, and for
// how many of them it has room.
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

// kfilnd serves it, and no other driver that it asks for.
[[nodiscard]] bool is_kfi(const lnet::NetConfig& net, const lnet::NiConfig& ni);

// The process on its NIC that an NI of this network is: two that come to the same cannot share one.
[[nodiscard]] unsigned kfi_process_of(lnet::NetId net);

// Receive buffers of one interface: so many bytes for each of so many NIs, one behind the other.
struct KfiMemory {
  ArenaId arena = kNoArena;
  std::uint32_t bytes_each = 0;
  unsigned nis = 1;

  [[nodiscard]] Fragment of(unsigned seat) const {
    return {{arena, std::uint64_t{seat} * bytes_each}, bytes_each};
  }
};

// So many NIs an interface is made for: what it says, or those that are configured on it, and one
// that may come by hand where that is fewer than two. `settled`: rules about addresses are networks
// already.
[[nodiscard]] unsigned kfi_nis_of(const KfiInterface& interface, const lnet::NodeConfig& settled);

// The receive buffers of each configured interface, as yet in no arena. kInvalid, kTooBig: options
// that cannot be.
[[nodiscard]] Outcome<std::vector<KfiMemory>> kfi_memory_of(const runtime::Settings& settings);

// What NIs share of a NIC in software, as if each had one to itself.
[[nodiscard]] cassini::soft::NodeOptions with_room(cassini::soft::NodeOptions options,
                                                   unsigned nis);

// For how many NIs an interface was made; 0: it is none of ours.
using NisOfInterface = std::function<unsigned(const std::string& interface)>;

// Whether the NIs that share an interface can. kExists, kNoSpace: with who has it, and what to do
// about it. Two of one network are for check_node_config() to refuse.
[[nodiscard]] Outcome<void> check_kfi_sharing(const lnet::NodeConfig& config,
                                              const NisOfInterface& nis_of);

}  // namespace plnet::node
