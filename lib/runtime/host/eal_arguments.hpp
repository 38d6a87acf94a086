// SPDX-License-Identifier: BSD-3-Clause
// What DPDK's environment (EAL) is told for a plan. Pure: nothing of DPDK is needed to build or to
// test it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.hpp"

namespace plnet::runtime {

struct HugepagePool {
  int numa_node = 0;
  std::uint64_t page_size = 0;
  std::uint64_t total = 0;
  std::uint64_t free = 0;
};

// For /proc/sys/vm/nr_hugepages: the 2 MiB pages that there are, free or not, and those that are
// missing of `needed_bytes`. Never less than there are, and enough for a small node.
[[nodiscard]] std::uint64_t advised_hugepages(std::uint64_t needed_bytes,
                                              std::span<const HugepagePool> pools);

struct EalLcore {
  unsigned shard = 0;
  unsigned cpu = 0;  // several shards may name the same
};

enum class EalLevel : std::uint8_t { kError, kWarning, kDetail };

struct EalRequest {
  std::string program = "plnet";
  std::vector<EalLcore> lcores;
  std::vector<unsigned> main_cpus;  // where the main and the admin thread may run; not empty
  std::size_t memory_mib = 32;      // for DPDK's own objects; the arenas are not part of it
  std::vector<std::string> pci;     // devices of the bus that are ours, as `-a` takes them
  bool debug = false;               // also EAL's info and debug lines
  std::vector<std::string> extra;   // for instance --vdev=...
  // What it says, line by line. Any thread; empty: silence.
  std::function<void(EalLevel level, std::string_view line)> log;
};

struct EalArguments {
  std::vector<std::string> words;  // argv, the program's name first
  bool hugepages = false;
  std::string memory_line;  // "memory: ..." for the log and for lnetctl
};

inline constexpr unsigned kEalMainLcore = 0;
inline constexpr unsigned kEalLcoresMax = 128;  // RTE_MAX_LCORE of Debian's DPDK
[[nodiscard]] constexpr unsigned eal_lcore_of(unsigned shard) {
  return shard + 1;
}

// Hugepages are used if the free ones of 2 MiB or 1 GiB hold memory_mib. kInvalid or kOutOfRange
// for an unusable request.
[[nodiscard]] Outcome<EalArguments> eal_arguments(const EalRequest& request,
                                                  std::span<const HugepagePool> pools);

// "0000:81:00.0", perhaps with parameters: of a bus, where the others are virtual.
[[nodiscard]] inline bool is_bus_device(std::string_view device) {
  return device.substr(0, device.find(',')).find(':') != std::string_view::npos;
}

// As one would type it, for messages.
[[nodiscard]] std::string command_line(const EalArguments& arguments);

}  // namespace plnet::runtime
