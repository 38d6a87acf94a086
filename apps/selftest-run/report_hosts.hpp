// SPDX-License-Identifier: BSD-3-Clause
// Which hosts the nodes of a report are, where their NIDs do not say so.
#pragma once

#include "apps/files/nic_names.hpp"
#include "apps/selftest-run/report.hpp"

namespace plnet::run {

// Fills `report.hosts` with those of its nodes that have a name.
void learn_hosts(Report& report, const apps::NicNames& names);
// For people: each such node with its host behind it, "418@kfi (login1)".
[[nodiscard]] Report with_hosts(Report report);

}  // namespace plnet::run
