// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/host/eal_arguments.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace plnet::runtime {
namespace {

std::string join(std::span<const std::string> words, std::string_view between) {
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += between;
    text += word;
  }
  return text;
}

std::string size_text(std::uint64_t bytes) {
  return bytes >= (1ULL << 30U) ? fmt::format("{} GiB", bytes >> 30U)
                                : fmt::format("{} MiB", bytes >> 20U);
}

// `wanted_bytes`: of all memory of the node.
std::string memory_line(bool hugepages, std::uint64_t wanted_bytes,
                        std::span<const HugepagePool> pools) {
  constexpr std::string_view kSlower = "4 KiB pages (slower: 512 times the page table entries)";
  std::uint64_t free_bytes = 0;
  std::uint64_t all_pages = 0;
  std::vector<std::string> parts;
  for (const HugepagePool& pool : pools) {
    free_bytes += pool.free * pool.page_size;
    all_pages += pool.total;
    if (pool.free == 0) continue;
    parts.push_back(fmt::format("{} x {} hugepages on node {}", pool.free,
                                size_text(pool.page_size), pool.numa_node));
  }
  const std::string command = reserving_hugepages(wanted_bytes, pools);
  if (hugepages && free_bytes >= wanted_bytes) return fmt::format("memory: {}", join(parts, ", "));
  if (!hugepages && free_bytes == 0 && all_pages == 0)
    return fmt::format("memory: no hugepages, {}; `{}` reserves them", kSlower, command);
  return fmt::format(
      "memory: too few hugepages are free ({} MiB of {} MiB), {}{}; `{}` reserves more",
      free_bytes >> 20U, wanted_bytes >> 20U, kSlower, hugepages ? " for the rest" : "", command);
}

}  // namespace

std::uint64_t advised_hugepages(std::uint64_t needed_bytes, std::span<const HugepagePool> pools) {
  constexpr std::uint64_t kPage = 2ULL << 20U;
  constexpr std::uint64_t kAdvisedMin = 128;
  std::uint64_t free_bytes = 0;
  std::uint64_t pages = 0;
  for (const HugepagePool& pool : pools) {
    free_bytes += pool.free * pool.page_size;
    if (pool.page_size == kPage) pages += pool.total;
  }
  const std::uint64_t missing = needed_bytes > free_bytes ? needed_bytes - free_bytes : 0;
  return std::max(kAdvisedMin, pages + (missing + kPage - 1) / kPage);
}

std::string reserving_hugepages(std::uint64_t needed_bytes, std::span<const HugepagePool> pools) {
  return fmt::format("echo {} > /sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages",
                     advised_hugepages(needed_bytes, pools));
}

Outcome<EalArguments> eal_arguments(const EalRequest& request,
                                    std::span<const HugepagePool> pools) {
  if (request.lcores.empty() || request.main_cpus.empty())
    return failure(Errc::kInvalid, "eal: expected at least one shard and one CPU for the rest");
  std::vector<std::string> main_cpus;
  main_cpus.reserve(request.main_cpus.size());
  for (const unsigned cpu : request.main_cpus)
    main_cpus.push_back(std::to_string(cpu));
  std::vector<std::string> lcores = {fmt::format("{}@({})", kEalMainLcore, join(main_cpus, ","))};
  std::vector<unsigned> seen;
  for (const EalLcore& lcore : request.lcores) {
    if (eal_lcore_of(lcore.shard) >= kEalLcoresMax) {
      return failure(Errc::kOutOfRange, fmt::format("eal: shard {}; expected at most {}",
                                                    lcore.shard, kEalLcoresMax - 2));
    }
    if (std::ranges::find(seen, lcore.shard) != seen.end())
      return failure(Errc::kExists, fmt::format("eal: shard {} is in the plan twice", lcore.shard));
    seen.push_back(lcore.shard);
    lcores.push_back(fmt::format("{}@{}", eal_lcore_of(lcore.shard), lcore.cpu));
  }

  const std::uint64_t needed = std::uint64_t{request.memory_mib} << 20U;
  std::uint64_t free_bytes = 0;
  for (const HugepagePool& pool : pools)
    free_bytes += pool.free * pool.page_size;

  EalArguments arguments;
  arguments.hugepages = free_bytes >= needed && free_bytes > 0;
  arguments.memory_line =
      memory_line(arguments.hugepages, std::max(needed, request.all_bytes), pools);
  arguments.words = {request.program,
                     "--no-telemetry",
                     "--iova-mode=va",
                     fmt::format("--main-lcore={}", kEalMainLcore),
                     fmt::format("--lcores={}", join(lcores, ",")),
                     fmt::format("--log-level={}", request.debug ? "debug" : "warning"),
                     "-m",
                     fmt::format("{}", request.memory_mib)};
  // Virtual devices are attached later. Scanning the bus would take devices that are not ours.
  if (request.pci.empty()) arguments.words.emplace_back("--no-pci");
  for (const std::string& device : request.pci)
    arguments.words.insert(arguments.words.end(), {"-a", device});
  // No files, so that instances coexist and a killed one leaves nothing behind. DPDK 22.11 refuses
  // --in-memory together with --no-huge, which uses no files but its shared configuration.
  if (arguments.hugepages) {
    arguments.words.emplace_back("--in-memory");
  } else {
    arguments.words.insert(arguments.words.end(), {"--no-huge", "--no-shconf"});
  }
  arguments.words.insert(arguments.words.end(), request.extra.begin(), request.extra.end());
  return arguments;
}

std::string command_line(const EalArguments& arguments) {
  return join(arguments.words, " ");
}

}  // namespace plnet::runtime
