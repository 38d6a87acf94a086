// SPDX-License-Identifier: BSD-3-Clause
// The hosts of a report's nodes, where their NIDs do not show them.
#pragma once

#include "apps/lnet-selftest/run/report.hpp"
#include "lib/runtime/files/nic_names.hpp"

namespace plnet::run {

// Fills `report.hosts` with the named hosts of its nodes.
void learn_hosts(Report& report, const runtime::NicNames& names);
// For people: appends the host to each such node, "418@… (login1)".
[[nodiscard]] Report with_hosts(Report report);

}  // namespace plnet::run
