// SPDX-License-Identifier: BSD-3-Clause
// Two NICs on a wire inside the process, each with a host.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "drivers/net/cassini/soft/packet_port.hpp"
#include "drivers/net/cassini/soft/wire_inproc.hpp"
#include "tests/unit/drivers/cassini/soft/host.hpp"

namespace plnet::cassini::soft::rigs {

class Lines final : public RetryLog {
 public:
  void line(std::string_view text) override { all.emplace_back(text); }
  std::vector<std::string> all;
};

struct End {
  End(InprocCable& cable, NicAddress address, const PortOptions& options, RetryLog* log = nullptr)
      : nic({.address = address}), wire(cable, address), port(nic, wire, options, log) {}
  Nic nic;
  InprocWire wire;
  PacketPort port;
};

inline PortOptions quick(std::uint64_t seed = 0) {
  PortOptions options;
  options.seed = seed;
  options.retry.time_divisor = 10000;              // a packet times out after 107 us
  options.retry.idle_ns = std::uint64_t{1} << 40;  // connections stay open
  options.source_connections = options.target_connections = 16;
  return options;
}

// A pattern that repeats after 64 KiB; it is computed once, since writing millions of bytes under
// sanitizers takes longer than a test.
inline void fill(Arena& arena) {
  static const auto pattern = [] {
    std::array<std::byte, std::size_t{64} << 10U> made{};
    for (std::size_t i = 0; i < made.size(); ++i)
      made[i] = static_cast<std::byte>(i * 7 + i / 256);
    return made;
  }();
  for (std::size_t at = 0; at < arena.size(); at += pattern.size())
    std::memcpy(arena.data() + at, pattern.data(), std::min(pattern.size(), arena.size() - at));
}

// The members are constructed in this order; the padding does not matter.
struct Rig {  // NOLINT(clang-analyzer-optin.performance.Padding)
  explicit Rig(const WireFaults& faults = {}, const PortOptions& options = quick())
      : cable(faults), one(cable, 1, options, &lines), two(cable, 2, options) {
    const auto step = [this](std::uint64_t now) { this->step(now); };
    a = std::make_unique<Host>(one.nic, step, HostOptions{.address = 1});
    b = std::make_unique<Host>(two.nic, step, HostOptions{.address = 2, .pid = 9});
    fill(a->arena);
  }
  void step(std::uint64_t now) {
    one.port.step(now);
    two.port.step(now);
  }
  void run(unsigned steps) {
    for (unsigned i = 0; i < steps; ++i)
      step(Host::now_ns += 2000);
  }
  Lines lines;
  InprocCable cable;
  End one, two;
  std::unique_ptr<Host> a, b;
};

}  // namespace plnet::cassini::soft::rigs
