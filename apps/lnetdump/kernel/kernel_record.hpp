// SPDX-License-Identifier: BSD-3-Clause
// A record of the probes, converted to the form of lnetdump's other sources.
#pragma once

#include <cstdint>

#include "apps/lnetdump/kernel/probe_record.h"
#include "lib/lnet/names/nid.hpp"
#include "lib/trace/record/record.hpp"

namespace plnet::lnetdump {

// The cause of a drop that the probes cannot tell.
inline constexpr std::uint8_t kCauseUnknown = 255;

struct KernelRecord {
  trace::Record record;  // headers only
  lnet::Nid interface;   // of type 0: not yet selected
};

// `wall_offset_ns`: from the monotonic clock to time since the epoch.
[[nodiscard]] KernelRecord record_of(const lnetdump_probe_record& probed,
                                     std::int64_t wall_offset_ns);

}  // namespace plnet::lnetdump
