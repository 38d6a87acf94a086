// SPDX-License-Identifier: BSD-3-Clause
// Which hosts the nodes of a report are, where their NIDs do not say so.
#pragma once

#include "apps/lnet-selftest/run/report.hpp"
#include "lib/runtime/files/nic_names.hpp"

namespace plnet::run {

// Fills `report.hosts` with those of its nodes that have a name.
void learn_hosts(Report& report, const runtime::NicNames& names);
// For people: each such node with its host behind it, "418@… (login1)".
[[nodiscard]] Report with_hosts(Report report);

}  // namespace plnet::run
