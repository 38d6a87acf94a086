// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/host/memory.hpp"

#include <array>
#include <cerrno>

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/runtime/host/host_facts.hpp"

// The headers may be older than the kernels that we run on.
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#ifndef MAP_HUGE_2MB
#define MAP_HUGE_2MB (21 << 26)
#endif

namespace plnet::runtime {
namespace {

constexpr unsigned kNodesMax = 1024;  // the kernel's own bound on NUMA nodes
constexpr long kBindPolicy = 2;       // MPOL_BIND of <linux/mempolicy.h>

std::uint64_t round_up(std::uint64_t bytes, std::uint64_t page) {
  return (bytes + page - 1) / page * page;
}

std::uint64_t small_page() {
  return static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

int bind_to_node(void* base, std::size_t size, int node) {
  constexpr unsigned kBits = 8 * sizeof(unsigned long);
  std::array<unsigned long, kNodesMax / kBits> mask{};
  const auto bit = static_cast<unsigned>(node);
  mask[bit / kBits] = 1UL << (bit % kBits);
  // The kernel reads one bit less than the given number.
  return ::syscall(SYS_mbind, base, size, kBindPolicy, mask.data(), kNodesMax + 1, 0UL) == 0
             ? 0
             : errno;
}

// Faults all pages in. Returns an error where a touch would raise SIGBUS: no hugepage left on the
// node.
int populate(void* base, std::size_t size, bool huge) {
  // Transparent hugepages on request need none reserved beforehand.
  if (!huge) (void)::madvise(base, size, MADV_HUGEPAGE);
  if (::madvise(base, size, MADV_POPULATE_WRITE) == 0) return 0;
  if (errno != EINVAL || huge) return errno;
  auto* const bytes = static_cast<volatile std::byte*>(base);  // a kernel before 5.14
  for (std::size_t at = 0; at < size; at += small_page())
    bytes[at] = std::byte{0};
  return 0;
}

struct Attempt {
  void* base = MAP_FAILED;
  std::size_t size = 0;
  int number = 0;         // errno of the failed step, or 0
  const char* what = "";  // the failed step
};

Attempt try_map(const ArenaRequest& request, bool huge) {
  Attempt attempt;
  attempt.size = round_up(request.bytes, huge ? ArenaMemory::kHugePage : small_page());
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | (huge ? MAP_HUGETLB | MAP_HUGE_2MB : 0) |
                    (request.reserve_only ? MAP_NORESERVE : 0);
  attempt.base = ::mmap(nullptr, attempt.size, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (attempt.base == MAP_FAILED) {
    attempt.number = errno;
    attempt.what = "map";
    return attempt;
  }
  if (request.numa_node >= 0) {
    attempt.number = bind_to_node(attempt.base, attempt.size, request.numa_node);
    attempt.what = "place";
    // A kernel without NUMA has one node, and the memory lies on it.
    if (attempt.number == ENOSYS && request.numa_node == 0) attempt.number = 0;
  }
  if (attempt.number == 0 && !request.reserve_only) {
    attempt.number = populate(attempt.base, attempt.size, huge);
    attempt.what = "fault in";
  }
  if (attempt.number == 0 && request.lock) {
    attempt.number = ::mlock(attempt.base, attempt.size) == 0 ? 0 : errno;
    attempt.what = "lock";
  }
  if (attempt.number != 0) {
    ::munmap(attempt.base, attempt.size);
    attempt.base = MAP_FAILED;
  }
  return attempt;
}

std::string limit_text(__rlimit_resource_t resource) {
  rlimit limit{};
  if (::getrlimit(resource, &limit) != 0) return "unknown";
  if (limit.rlim_cur == RLIM_INFINITY) return "unlimited";
  return fmt::format("{} KiB", limit.rlim_cur / 1024);
}

std::string place_text(int node) {
  return node < 0 ? std::string("any node") : fmt::format("node {}", node);
}

Error explain(const ArenaRequest& request, const Attempt& attempt) {
  const Errc code = errc_of_errno(attempt.number);
  std::string advice;
  if (std::string_view(attempt.what) == "lock") {
    advice = fmt::format(
        "the limit on locked memory is {}: raise it (`ulimit -l unlimited`, LimitMEMLOCK= in the "
        "unit) or grant CAP_IPC_LOCK",
        limit_text(RLIMIT_MEMLOCK));
  } else if (std::string_view(attempt.what) == "place") {
    advice = "expected a NUMA node that this process may use (numactl --show, cgroup cpuset.mems)";
  } else {
    advice = fmt::format(
        "expected as much free memory on {}; the limit on address space is {} (ulimit -v); ask for "
        "less with `plnet: memory: arena_mib`",
        place_text(request.numa_node), limit_text(RLIMIT_AS));
  }
  return {code,
          fmt::format("memory: cannot {} an arena of {} MiB on {}: {}; {}", attempt.what,
                      attempt.size >> 20U, place_text(request.numa_node), text_of(code), advice)};
}

}  // namespace

std::string memory_limits_text() {
  const HostFacts facts = read_host_facts();
  const auto mib = [](const std::optional<std::uint64_t>& bytes) {
    return bytes ? fmt::format("{} MiB", *bytes >> 20U) : std::string("unlimited");
  };
  return fmt::format(
      "the limit on address space is {} (`ulimit -v unlimited`, LimitAS= in the unit), the control "
      "group has {} left (memory.max, MemoryMax= in the unit), the machine {} MiB; raise the one "
      "that is short, or ask for less with `plnet: memory: arena_mib`",
      limit_text(RLIMIT_AS), mib(facts.group_memory_left), facts.available_memory >> 20U);
}

ArenaMemory::~ArenaMemory() {
  for (const Mapping& mapping : mappings_)
    ::munmap(mapping.base, mapping.size);
}

Outcome<ArenaId> ArenaMemory::add(ArenaTable& table, const ArenaRequest& request) {
  constexpr std::uint64_t kBytesMax = 1ULL << 44U;  // 16 TiB: more is a typing error
  if (request.bytes == 0 || request.bytes > kBytesMax) {
    return failure(Errc::kOutOfRange, fmt::format("memory: an arena of {} bytes; expected 1 to {}",
                                                  request.bytes, kBytesMax));
  }
  if (request.numa_node >= static_cast<int>(kNodesMax)) {
    return failure(Errc::kOutOfRange, fmt::format("memory: NUMA node {}; expected less than {}",
                                                  request.numa_node, kNodesMax));
  }
  bool huge = request.hugepages && !request.reserve_only;
  Attempt attempt;
  if (huge) attempt = try_map(request, true);
  // A limit on locking applies to small pages as well.
  const bool final_word = attempt.number != 0 && std::string_view(attempt.what) == "lock";
  if (!huge || (attempt.number != 0 && !final_word)) {
    huge = false;
    attempt = try_map(request, false);
  }
  if (attempt.number != 0) return std::unexpected(explain(request, attempt));

  const std::uint64_t page = huge ? kHugePage : small_page();
  const auto id = table.add({.base = static_cast<std::byte*>(attempt.base),
                             .size = attempt.size,
                             .page_size = page,
                             .numa_node = request.numa_node,
                             .taken_when_used = request.reserve_only});
  if (!id) {
    ::munmap(attempt.base, attempt.size);
    return failure(id.error(), fmt::format("memory: more than {} arenas", kArenasMax));
  }
  mappings_.push_back({attempt.base, attempt.size});
  if (request.reserve_only) {
    lines_.push_back(fmt::format("arena {}: up to {} MiB on {}, taken when used", *id,
                                 attempt.size >> 20U, place_text(request.numa_node)));
    return *id;
  }
  const std::uint64_t pages = attempt.size / page;
  (huge ? huge_pages_ : small_pages_) += pages;
  lines_.push_back(fmt::format("arena {}: {} x {} pages on {}{}", *id, pages,
                               huge ? "2 MiB" : fmt::format("{} KiB", page / 1024),
                               place_text(request.numa_node),
                               !huge && request.hugepages ? " (no hugepages left: slower)" : ""));
  return *id;
}

}  // namespace plnet::runtime
