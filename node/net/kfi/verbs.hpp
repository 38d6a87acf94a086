// SPDX-License-Identifier: BSD-3-Clause
// What can be asked of kfi networks beyond LNet's own reports: the queues under them, their peers,
// and kfilnd's statistics.
#pragma once

#include "lib/runtime/control/verb_table.hpp"

namespace plnet::node {

class FamilyAccess;

// `lnet` outlives the verbs; none is called before it was started.
void add_kfi_verbs(runtime::VerbTable& verbs, FamilyAccess& access);

}  // namespace plnet::node
