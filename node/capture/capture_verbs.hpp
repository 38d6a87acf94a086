// SPDX-License-Identifier: BSD-3-Clause
// The verbs of captures: `capture start` for lnetdump, `capture show` for lnetctl.
#pragma once

#include <functional>

#include "lib/runtime/control/verb_table.hpp"

namespace plnet::node {

class Captures;

// `captures`: null while the node starts or ends.
void add_capture_verbs(runtime::VerbTable& verbs, const std::function<Captures*()>& captures);

}  // namespace plnet::node
