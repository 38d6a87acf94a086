// SPDX-License-Identifier: BSD-3-Clause
// The rows of the schema that LNet's own tools know: net, route, peer, ….
#pragma once

#include <span>

#include "lib/lnet/faults/fault_spec.hpp"
#include "lib/runtime/config/schema.hpp"

namespace plnet::runtime {

[[nodiscard]] std::span<const Key> lnet_keys();
// Keys of a record of `access` (lnet::AccessRule), and of `fault` (lnet::FaultSpec).
[[nodiscard]] std::span<const Key> access_keys();
[[nodiscard]] std::span<const Key> fault_keys();

// An empty rule: Nid{} stands for a missing source or destination.
inline constexpr lnet::FaultSpec kBlankFault{.source = {}, .destination = {}};

}  // namespace plnet::runtime
