// SPDX-License-Identifier: BSD-3-Clause
// Handlers of the verbs of kfi networks (verb_rows.hpp).
#pragma once

#include "lib/runtime/control/verb_table.hpp"

namespace plnet::node {

class FamilyAccess;

// `access` outlives the verbs.
void add_kfi_verbs(runtime::VerbTable& verbs, FamilyAccess& access);

}  // namespace plnet::node
