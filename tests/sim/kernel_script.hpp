// SPDX-License-Identifier: BSD-3-Clause
// A capture of two kernels as a script: the messages of both, in order.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/lnet/names/nid.hpp"
#include "tests/mocks/tcp_capture.hpp"
#include "tests/sim/wire_item.hpp"

namespace plnet::sim {

struct KernelScript {
  struct Line {
    unsigned connection = 0;  // in order of creation
    bool by_dialler = false;
    std::size_t packet = 0;
    WireItem item;
  };
  struct Side {
    lnet::Nid nid;
    std::uint64_t incarnation = 0;
    std::uint64_t interface_cookie = 0;
  };

  std::vector<Line> lines;
  unsigned connections = 0;
  std::vector<std::uint16_t> ports;  // source ports of the dialler
  Side dialler;
  Side answerer;
  std::string trouble;  // reason why it cannot be played; empty: playable

  [[nodiscard]] const Side& side(bool of_dialler) const { return of_dialler ? dialler : answerer; }
};

// All connections of the capture go from one node to the other.
[[nodiscard]] KernelScript script_of(const std::vector<mocks::CapturedStream>& streams);

}  // namespace plnet::sim
