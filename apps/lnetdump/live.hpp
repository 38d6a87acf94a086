// SPDX-License-Identifier: BSD-3-Clause
// A capture on a node from its begin to its end: by a signal, by time, by the end of a command or
// of the node.
#pragma once

#include <cstdint>
#include <optional>

#include "apps/lnetdump/arguments.hpp"
#include "apps/lnetdump/dump.hpp"
#include "lib/base/clock.hpp"
#include "lib/runtime/admin/system_clock.hpp"

namespace plnet::lnetdump {

struct LiveEnd {
  std::uint64_t lost = 0;
  bool node_ended = false;
  std::optional<int> command;  // its exit status
};

// An error: the capture could not begin, or was interrupted.
[[nodiscard]] Outcome<LiveEnd> capture_node(const Arguments& arguments, Dump& dump,
                                            const Clock& clock,
                                            const runtime::WallClock& wall_clock);
// The same of the kernel's LNet on this machine.
[[nodiscard]] Outcome<LiveEnd> capture_kernel(const Arguments& arguments, Dump& dump,
                                              const Clock& clock,
                                              const runtime::WallClock& wall_clock);
// The same for a remote node by ssh: lnetdump on that host writes a file to its standard output.
[[nodiscard]] Outcome<LiveEnd> capture_by_ssh(const Arguments& arguments, Dump& dump,
                                              const Clock& clock);

}  // namespace plnet::lnetdump
