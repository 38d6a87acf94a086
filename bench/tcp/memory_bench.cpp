// SPDX-License-Identifier: BSD-3-Clause
// The cost of one more connected peer: our resident memory, and the kernel's. Two nodes that differ
// only in their number of peers, all of them connected, three connections each, and sent to.
#include <array>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

#include <malloc.h>
#include <unistd.h>

#include "bench/harness/harness.hpp"
#include "bench/tcp/crowd.hpp"
#include "bench/tcp/node.hpp"

namespace plnet::bench {
namespace {

constexpr std::uint32_t kFew = 200;
constexpr std::uint32_t kMany = 1200;
constexpr double kMore = kMany - kFew;
constexpr double kPageBytes = 4096;

double resident_bytes() {
  (void)::malloc_trim(0);
  std::ifstream file("/proc/self/statm");
  double all = 0;
  double resident = 0;
  file >> all >> resident;
  return resident * kPageBytes;
}

// In use on the whole machine; 0 if it is not readable.
double slab_bytes(std::string_view cache) {
  std::ifstream file("/proc/slabinfo");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    double active = 0;
    double all = 0;
    double size = 0;
    if (words >> name >> active >> all >> size && name == cache) return active * size;
  }
  return 0;
}

// Kernel memory of the sockets at both ends, and of the readiness set at this end.
struct KernelBytes {
  double sockets = slab_bytes("TCP") + slab_bytes("sock_inode_cache") + slab_bytes("filp");
  double watched = slab_bytes("eventpoll_epi") + slab_bytes("eventpoll_pwq");
};

struct Cost {
  double ours = 0;
  double kernel = 0;
  bool good = false;
};

Cost cost_of(std::uint32_t peers) {
  Cost cost;
  const KernelBytes kernel_before;
  const double before = resident_bytes();
  const runtime::TscClock clock;
  std::unique_ptr<TcpNode> node;
  for (std::uint16_t port = 21'100; port < 21'200; ++port) {
    node = std::make_unique<TcpNode>(TcpNodeSetup{.port = port, .peers = peers, .clock = &clock});
    if (node->listen()) break;
  }
  Crowd crowd;
  if (!crowd.join(*node, peers, [&] { node->turn(); })) return cost;
  const KernelBytes kernel_after;
  const lnet::MdHandle md = node->source(0);
  for (std::uint32_t peer = 0; peer < peers; ++peer) {
    const lnet::Nid nid = nid_of(Crowd::kFirstAddress + peer);
    node->know(nid);
    node->put(md, nid, false);
    node->turn();
  }
  for (unsigned turns = 0; turns < 1000; ++turns)
    node->turn();
  cost.ours = resident_bytes() - before;
  cost.kernel = (kernel_after.sockets - kernel_before.sockets) / 2 + kernel_after.watched -
                kernel_before.watched;
  cost.good = node->events.sends == peers && node->events.failures == 0;
  return cost;
}

void peer_memory(benchmark::State& state) {
  Cost few;
  Cost many;
  for ([[maybe_unused]] auto _ : state) {
    few = cost_of(kFew);
    many = cost_of(kMany);
  }
  if (!few.good || !many.good)
    return state.SkipWithError("needs reserved ports and 7300 descriptors");
  state.counters["value"] = (many.ours - few.ours) / kMore;
  state.counters["kernel_bytes_per_peer"] = (many.kernel - few.kernel) / kMore;
}

}  // namespace

void add_benchmarks(Suite& suite) {
  suite.push_back(
      {.name = "tcp.peer.memory",
       .what = "resident memory for each connected peer, three connections, core and all",
       .unit = "bytes",
       .once = true,
       .bar = Bar{.limit = 12.0 * 1024},
       .value = peer_memory});
}

}  // namespace plnet::bench
