// SPDX-License-Identifier: BSD-3-Clause
// The answer of the commands that turn routing on and off: a line that says what happens next, when
// it ends, and how it is cancelled.
#pragma once

#include <string>

#include "lib/lnet/node/lnet_control.hpp"
#include "lib/runtime/control/verb_table.hpp"

namespace plnet::runtime {

[[nodiscard]] std::string routing_outlook(const lnet::RoutingReport& report);

// For a verb that changes the state of routing: after its success the answer has the outlook as a
// note.
[[nodiscard]] lnet::Reply<void> with_outlook(lnet::LnetControl& control, VerbToken token);

}  // namespace plnet::runtime
