// SPDX-License-Identifier: BSD-3-Clause
// The arguments of DPDK's environment (EAL) for a plan. Pure: needs no DPDK to build or to test.
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

// The number of 2 MiB pages to advise: the existing ones, free or not, and those missing of
// `needed_bytes`. Never below the present number, and enough for a small node.
[[nodiscard]] std::uint64_t advised_hugepages(std::uint64_t needed_bytes,
                                              std::span<const HugepagePool> pools);
// The command that reserves them. It names the pool: /proc/sys/vm/nr_hugepages is that of the
// default size, which may be 1 GiB, and a number of 2 MiB pages would change it.
[[nodiscard]] std::string reserving_hugepages(std::uint64_t needed_bytes,
                                              std::span<const HugepagePool> pools);

struct EalLcore {
  unsigned shard = 0;
  unsigned cpu = 0;  // several shards may have the same
};

enum class EalLevel : std::uint8_t { kError, kWarning, kDetail };

struct EalRequest {
  std::string program = "plnet";
  std::vector<EalLcore> lcores;
  std::vector<unsigned> main_cpus;  // CPUs of the main and the admin thread; not empty
  std::size_t memory_mib = 32;      // for DPDK's own objects; the arenas are not part of it
  std::uint64_t all_bytes = 0;      // with the arenas: the memory that hugepages should hold
  std::vector<std::string> pci;     // our devices of the bus, in the form of `-a`
  bool debug = false;               // include EAL's info and debug lines
  std::vector<std::string> extra;   // for example --vdev=...
  // Called for each line of EAL's output, from any thread; empty: no output.
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

// "0000:81:00.0", perhaps with parameters: a device of a bus, not a virtual one.
[[nodiscard]] inline bool is_bus_device(std::string_view device) {
  return device.substr(0, device.find(',')).find(':') != std::string_view::npos;
}

// The arguments as typed in a shell, for messages.
[[nodiscard]] std::string command_line(const EalArguments& arguments);

}  // namespace plnet::runtime
