// SPDX-License-Identifier: BSD-3-Clause
// Reading a Topology by hwloc. The only file of the product that knows hwloc.
#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <system_error>

#include <fmt/format.h>
#include <hwloc.h>

#include "lib/base/check.hpp"
#include "lib/runtime/cpt/topology.hpp"

namespace plnet::runtime {
namespace {

std::string errno_text() {
  return std::generic_category().message(errno);
}

struct FreeTopology {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using HwlocTopology = std::unique_ptr<hwloc_topology, FreeTopology>;

struct FreeBitmap {
  void operator()(hwloc_bitmap_t bitmap) const { hwloc_bitmap_free(bitmap); }
};
using HwlocBitmap = std::unique_ptr<hwloc_bitmap_s, FreeBitmap>;

Outcome<HwlocTopology> new_topology() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) {
    return failure(Errc::kNoMemory, "machine topology: hwloc could not start");
  }
  HwlocTopology topology(raw);
  // Keep CPUs that the cgroup forbids, so that a plan can report them as existing but forbidden.
  hwloc_topology_set_flags(raw, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
  hwloc_topology_set_io_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
  return topology;
}

constexpr std::uint64_t kTooMany = ~std::uint64_t{0};

// hwloc would build a machine of any size, so compute the size first. Returns nothing when the text
// is no list of counts: hwloc then refuses it as well.
std::optional<std::uint64_t> described_cpus(std::string_view text) {
  std::uint64_t product = 1;
  std::uint64_t nodes = 0;
  for (std::size_t at = 0; at < text.size();) {
    const char here = text[at];
    if (here == '[' || here == '(') {  // attached memory; attributes
      const std::size_t end = text.find(here == '[' ? ']' : ')', at);
      if (end == std::string_view::npos) {
        return std::nullopt;
      }
      at = end + 1;
      nodes += here == '[' ? product : 0;
      if (nodes > kMaxNodes) {
        return kTooMany;
      }
    } else if (std::isdigit(static_cast<unsigned char>(here)) != 0 &&
               (at == 0 || text[at - 1] == ':' || text[at - 1] == ' ')) {
      unsigned count = 0;
      const auto [end, code] = std::from_chars(text.data() + at, text.data() + text.size(), count);
      if (code != std::errc{} || count == 0 || count > kMaxCpus) {
        return code == std::errc{} && count == 0 ? std::nullopt : std::optional(kTooMany);
      }
      product *= count;
      if (product > kMaxCpus) {
        return kTooMany;
      }
      at = static_cast<std::size_t>(end - text.data());
    } else {
      ++at;
    }
  }
  return product;
}

Outcome<HwlocTopology> load_synthetic(const std::string& text) {
  const std::string where = fmt::format("machine description \"{:.100}\"", text);
  if (text.size() > kMaxSyntheticLength || text.find('\0') != std::string::npos) {
    return failure(Errc::kTooBig,
                   fmt::format("{}: over {} characters", where, kMaxSyntheticLength));
  }
  const auto cpus = described_cpus(text);
  if (cpus && *cpus > kMaxCpus) {
    return failure(Errc::kTooBig, fmt::format("{}: more than {} CPUs or {} NUMA nodes", where,
                                              kMaxCpus, kMaxNodes));
  }
  auto topology = new_topology();
  if (!topology) {
    return topology;
  }
  if (!cpus || hwloc_topology_set_synthetic(topology->get(), text.c_str()) != 0 ||
      hwloc_topology_load(topology->get()) != 0) {
    return failure(Errc::kInvalid,
                   where +
                       ": hwloc does not understand it; expected levels from the outside in, "
                       "such as \"pack:2 [numa] l3:2 core:4 pu:2\"");
  }
  return topology;
}

Outcome<HwlocTopology> load_xml(const std::string& text, const std::string& name) {
  const std::string where = fmt::format("machine file \"{}\"", name);
  if (text.size() > kMaxXmlBytes) {
    return failure(Errc::kTooBig, fmt::format("{}: over {} bytes", where, kMaxXmlBytes));
  }
  auto topology = new_topology();
  if (!topology) {
    return topology;
  }
  // hwloc includes the terminating zero in the length.
  if (hwloc_topology_set_xmlbuffer(topology->get(), text.c_str(),
                                   static_cast<int>(text.size()) + 1) != 0 ||
      hwloc_topology_load(topology->get()) != 0) {
    return failure(
        Errc::kInvalid,
        where + ": hwloc cannot read it; expected the XML that `lstopo FILE.xml` writes");
  }
  return topology;
}

Outcome<HwlocTopology> load_live() {
  auto topology = new_topology();
  if (topology && hwloc_topology_load(topology->get()) != 0) {
    return failure(
        errc_of_errno(errno),
        fmt::format("machine topology: hwloc cannot read this machine ({})", errno_text()));
  }
  return topology;
}

Outcome<std::string> read_file(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rbe"),
                                                             &std::fclose);
  if (!file) {
    return failure(errc_of_errno(errno),
                   fmt::format("machine file \"{}\": {}", path, errno_text()));
  }
  std::string text;
  std::array<char, 65536> block{};
  // One block over the limit is enough for load_xml() to refuse it.
  while (std::feof(file.get()) == 0 && std::ferror(file.get()) == 0 &&
         text.size() <= kMaxXmlBytes) {
    text.append(block.data(), std::fread(block.data(), 1, block.size(), file.get()));
  }
  if (std::ferror(file.get()) != 0) {
    return failure(Errc::kIo, fmt::format("machine file \"{}\": cannot be read", path));
  }
  return text;
}

void fill_nodes(hwloc_topology_t from, Topology& to) {
  const hwloc_const_nodeset_t allowed = hwloc_topology_get_allowed_nodeset(from);
  for (hwloc_obj_t node = hwloc_get_next_obj_by_type(from, HWLOC_OBJ_NUMANODE, nullptr);
       node != nullptr; node = hwloc_get_next_obj_by_type(from, HWLOC_OBJ_NUMANODE, node)) {
    to.nodes.push_back({.node = node->os_index,
                        .memory_bytes = node->attr->numanode.local_memory,
                        .allowed = hwloc_bitmap_isset(allowed, node->os_index) != 0});
  }
  std::ranges::sort(to.nodes, {}, &NumaNode::node);
}

// Several nodes may be local to a CPU (DRAM and high-bandwidth memory). Linux numbers the CPU's own
// node first, so it is the lowest number.
int own_node(hwloc_obj_t pu) {
  return pu->nodeset == nullptr ? -1 : hwloc_bitmap_first(pu->nodeset);
}

void fill_threads(hwloc_topology_t from, Topology& to) {
  const hwloc_const_cpuset_t allowed = hwloc_topology_get_allowed_cpuset(from);
  std::map<unsigned, unsigned> siblings;  // core -> hardware threads seen so far
  hwloc_obj_t last_core = nullptr;
  for (hwloc_obj_t pu = hwloc_get_next_obj_by_type(from, HWLOC_OBJ_PU, nullptr); pu != nullptr;
       pu = hwloc_get_next_obj_by_type(from, HWLOC_OBJ_PU, pu)) {
    hwloc_obj* const core = hwloc_get_ancestor_obj_by_type(from, HWLOC_OBJ_CORE, pu);
    hwloc_obj* const package = hwloc_get_ancestor_obj_by_type(from, HWLOC_OBJ_PACKAGE, pu);
    hwloc_obj* const l3 = hwloc_get_ancestor_obj_by_type(from, HWLOC_OBJ_L3CACHE, pu);
    if (core == nullptr || core != last_core) {  // some virtual machines report no cores
      ++to.cores;
    }
    last_core = core;
    HardwareThread thread;
    thread.cpu = pu->os_index;
    thread.core = to.cores - 1;
    thread.smt = siblings[thread.core]++;
    thread.package = package == nullptr ? 0 : package->logical_index;
    thread.l3 = l3 == nullptr ? -1 : static_cast<int>(l3->logical_index);
    thread.numa_node = own_node(pu);
    thread.in_cgroup = hwloc_bitmap_isset(allowed, pu->os_index) != 0;
    to.threads.push_back(thread);
    to.packages = std::max(to.packages, thread.package + 1);
    const auto own = std::ranges::find_if(to.nodes, [&](const NumaNode& node) {
      return static_cast<int>(node.node) == thread.numa_node;
    });
    if (own != to.nodes.end()) {
      ++own->cpu_count;
    }
  }
}

void fill_efficiency(hwloc_topology_t from, Topology& to) {
  const int kinds = hwloc_cpukinds_get_nr(from, 0);
  if (kinds < 2) {
    return;
  }
  const HwlocBitmap cpus(hwloc_bitmap_alloc());
  for (unsigned kind = 0; kind < static_cast<unsigned>(kinds); ++kind) {
    int efficiency = -1;
    if (hwloc_cpukinds_get_info(from, kind, cpus.get(), &efficiency, nullptr, nullptr, 0) != 0) {
      continue;
    }
    for (HardwareThread& thread : to.threads) {
      if (hwloc_bitmap_isset(cpus.get(), thread.cpu) != 0) {
        thread.efficiency = efficiency;
      }
    }
  }
}

void fill_affinity(hwloc_topology_t from, Topology& to) {
  const HwlocBitmap mask(hwloc_bitmap_alloc());
  if (hwloc_get_cpubind(from, mask.get(), HWLOC_CPUBIND_PROCESS) != 0) {
    return;  // unknown: binding will show it
  }
  for (HardwareThread& thread : to.threads) {
    thread.in_affinity = hwloc_bitmap_isset(mask.get(), thread.cpu) != 0;
  }
}

void fill_adapters(hwloc_topology_t from, Topology& to) {
  for (hwloc_obj_t device = hwloc_get_next_osdev(from, nullptr); device != nullptr;
       device = hwloc_get_next_osdev(from, device)) {
    const hwloc_obj_osdev_type_t type = device->attr->osdev.type;
    const bool rdma = type == HWLOC_OBJ_OSDEV_OPENFABRICS;
    if ((!rdma && type != HWLOC_OBJ_OSDEV_NETWORK) || device->name == nullptr) continue;
    if (to.adapters.size() == kMaxAdapters) break;
    const hwloc_obj* const near = hwloc_get_non_io_ancestor_obj(from, device);
    const bool of_one_node =
        near != nullptr && near->nodeset != nullptr && hwloc_bitmap_weight(near->nodeset) == 1;
    to.adapters.push_back({.name = device->name,
                           .rdma = rdma,
                           .numa_node = of_one_node ? hwloc_bitmap_first(near->nodeset) : -1});
  }
  std::ranges::sort(to.adapters, {}, &AdapterPlace::name);
}

void fill_offline(hwloc_topology_t from, Topology& to) {
  const HwlocBitmap missing(hwloc_bitmap_alloc());
  hwloc_bitmap_andnot(missing.get(), hwloc_topology_get_complete_cpuset(from),
                      hwloc_topology_get_topology_cpuset(from));
  for (int cpu = hwloc_bitmap_first(missing.get()); cpu >= 0 && cpu < static_cast<int>(kMaxCpus);
       cpu = hwloc_bitmap_next(missing.get(), cpu)) {
    to.offline_cpus.push_back(static_cast<unsigned>(cpu));
  }
}

void fill_distances(hwloc_topology_t from, Topology& to) {
  const std::size_t count = to.nodes.size();
  to.distance.assign(count, std::vector<unsigned>(count, kRemoteDistance));
  for (std::size_t i = 0; i < count; ++i) {
    to.distance[i][i] = kLocalDistance;
  }
  unsigned found = 1;
  hwloc_distances_s* matrix = nullptr;
  if (hwloc_distances_get_by_type(from, HWLOC_OBJ_NUMANODE, &found, &matrix,
                                  HWLOC_DISTANCES_KIND_MEANS_LATENCY, 0) != 0 ||
      found == 0 || matrix == nullptr) {
    return;
  }
  const auto index_of = [&](hwloc_obj_t node) -> std::optional<std::size_t> {
    const NumaNode* known = node == nullptr ? nullptr : to.find_node(node->os_index);
    return known == nullptr ? std::nullopt
                            : std::optional(static_cast<std::size_t>(known - to.nodes.data()));
  };
  for (unsigned i = 0; i < matrix->nbobjs; ++i) {
    for (unsigned j = 0; j < matrix->nbobjs; ++j) {
      const auto row = index_of(matrix->objs[i]);
      const auto column = index_of(matrix->objs[j]);
      if (row && column) {
        const hwloc_uint64_t value = matrix->values[i * matrix->nbobjs + j];
        to.distance[*row][*column] =
            static_cast<unsigned>(std::min<hwloc_uint64_t>(value, UINT32_MAX));
      }
    }
  }
  to.distances_known = true;
  hwloc_distances_release(from, matrix);
}

Outcome<Topology> convert(hwloc_topology_t from, std::string name) {
  const int cpus = hwloc_get_nbobjs_by_type(from, HWLOC_OBJ_PU);
  const int nodes = hwloc_get_nbobjs_by_type(from, HWLOC_OBJ_NUMANODE);
  if (cpus <= 0 || cpus > static_cast<int>(kMaxCpus) || nodes > static_cast<int>(kMaxNodes)) {
    return failure(Errc::kTooBig,
                   fmt::format("machine \"{}\": {} CPUs and {} NUMA nodes; expected 1 to {} CPUs "
                               "and at most {} nodes",
                               name, cpus, nodes, kMaxCpus, kMaxNodes));
  }
  Topology to;
  to.name = std::move(name);
  fill_nodes(from, to);
  fill_threads(from, to);
  fill_efficiency(from, to);
  fill_adapters(from, to);
  fill_offline(from, to);
  fill_distances(from, to);
  to.live = hwloc_topology_is_thissystem(from) != 0;
  if (to.live) {
    fill_affinity(from, to);
  }
  PLNET_CHECK(to.threads.size() == static_cast<std::size_t>(cpus), "hwloc lists every PU once");
  return to;
}

std::string host_name(hwloc_topology_t topology) {
  const char* name = hwloc_obj_get_info_by_name(hwloc_get_root_obj(topology), "HostName");
  return name == nullptr ? "this machine" : name;
}

}  // namespace

Outcome<Topology> read_topology_xml(const std::string& text, const std::string& name) {
  const auto topology = load_xml(text, name);
  if (!topology) {
    return std::unexpected(topology.error());
  }
  return convert(topology->get(), name);
}

Outcome<Topology> read_topology(const MachineSource& source) {
  if (!source.synthetic.empty() && !source.xml_path.empty()) {
    return failure(Errc::kInvalid, "machine: give either a description or a file, not both");
  }
  if (!source.xml_path.empty()) {
    const auto text = read_file(source.xml_path);
    return text ? read_topology_xml(*text, source.xml_path)
                : Outcome<Topology>(std::unexpected(text.error()));
  }
  const auto topology = source.synthetic.empty() ? load_live() : load_synthetic(source.synthetic);
  if (!topology) {
    return std::unexpected(topology.error());
  }
  return convert(topology->get(),
                 source.synthetic.empty() ? host_name(topology->get()) : source.synthetic);
}

}  // namespace plnet::runtime
