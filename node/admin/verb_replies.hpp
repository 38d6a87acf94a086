// SPDX-License-Identifier: BSD-3-Clause
// How outcomes become replies to verbs.
#pragma once

#include <expected>

#include "lib/base/result.hpp"
#include "lib/lnet/node/lnet_control.hpp"
#include "lib/runtime/config/config_error.hpp"
#include "lib/runtime/control/verb_table.hpp"

namespace plnet::node {

// What is wrong with a document; with where, if it is one that the caller has.
[[nodiscard]] std::unexpected<runtime::VerbError> refuse(const runtime::ConfigErrors& errors,
                                                         bool with_place);
[[nodiscard]] runtime::VerbReply reply_of(Outcome<void> done);
// For what is answered later.
[[nodiscard]] lnet::Reply<void> answer_of(runtime::VerbToken token);

}  // namespace plnet::node
