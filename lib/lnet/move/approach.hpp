// SPDX-License-Identifier: BSD-3-Clause
// Prefetches the lines that the home of a peer NI reads and writes for a message to it, in the
// steps of a pipeline: each step reads the lines that the step before has fetched.
#pragma once

#include <cstddef>

#include "lib/base/cache_line.hpp"
#include "lib/base/pipeline.hpp"
#include "lib/base/prefetch.hpp"
#include "lib/lnet/move/peer_port.hpp"

namespace plnet::lnet {

inline constexpr std::size_t kApproachSteps = 4;

inline void approach(const PeerNi& hop, const PeerPorts& /*ports*/, PipelineStep<0> /*step*/) {
  static_assert(kApproachSteps == 4, "each step has its function");
  prefetch(&hop);
}
inline void approach(const PeerNi& hop, const PeerPorts& ports, PipelineStep<1> /*step*/) {
  ports.prefetch(hop);
  prefetch_to_write(reinterpret_cast<const std::byte*>(&hop) + kCacheLine);
}
inline void approach(const PeerNi& hop, const PeerPorts& ports, PipelineStep<2> /*step*/) {
  if (const PeerPort* const port = ports.find(hop)) port->prefetch();
}
inline void approach(const PeerNi& hop, const PeerPorts& ports, PipelineStep<3> /*step*/) {
  const PeerPort* const port = ports.find(hop);
  if (port != nullptr && port->links != nullptr) prefetch_to_write(port->links->lnd_peer);
}

}  // namespace plnet::lnet
