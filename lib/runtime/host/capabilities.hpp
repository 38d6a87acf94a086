// SPDX-License-Identifier: BSD-3-Clause
// Capabilities of this process, by their numbers in <linux/capability.h>.
#pragma once

#include <cstdint>
#include <span>

#include "lib/base/result.hpp"

namespace plnet::runtime {

// Gives up all others for good, also for programs that this one runs. Those that it does not have
// it does not get. Capabilities belong to threads: call it before there is a second one.
[[nodiscard]] Outcome<void> keep_only_capabilities(std::span<const unsigned> kept);

}  // namespace plnet::runtime
