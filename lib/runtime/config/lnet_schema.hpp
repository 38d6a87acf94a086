// SPDX-License-Identifier: BSD-3-Clause
// The rows of the schema that LNet's own tools know: net, route, peer, ….
#pragma once

#include <span>

#include "lib/runtime/config/schema.hpp"

namespace plnet::runtime {

[[nodiscard]] std::span<const Key> lnet_keys();

}  // namespace plnet::runtime
