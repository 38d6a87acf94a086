// SPDX-License-Identifier: BSD-3-Clause
// The settings of a host that belong to a placement, as commands of a shell. They hold until the
// next start of the host.
#pragma once

#include <string>

#include "apps/lnet-pin/run/journal.hpp"

namespace plnet::pin {

// "" if the placement keeps the frequency governor.
[[nodiscard]] std::string governor_commands(const Results& results, const Placement& placement);
// "" if the placement keeps the huge pages.
[[nodiscard]] std::string hugepage_commands(const Results& results, const Placement& placement);
// "" if the placement keeps the interrupts of the sweep's cards.
[[nodiscard]] std::string interrupt_commands(const Results& results, const Placement& placement);

}  // namespace plnet::pin
