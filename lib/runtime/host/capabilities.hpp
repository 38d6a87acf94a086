// SPDX-License-Identifier: BSD-3-Clause
// Capabilities of this process, by their numbers in <linux/capability.h>.
#pragma once

#include <cstdint>
#include <span>

#include "lib/base/result.hpp"

namespace plnet::runtime {

// Gives up all other capabilities for good, also for programs that this one runs, and adds none.
// Capabilities belong to threads: call this before the process has a second thread.
[[nodiscard]] Outcome<void> keep_only_capabilities(std::span<const unsigned> kept);

}  // namespace plnet::runtime
