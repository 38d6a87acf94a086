// SPDX-License-Identifier: BSD-3-Clause
// Conversion of outcomes to replies of verbs.
#pragma once

#include <expected>

#include "lib/base/result.hpp"
#include "lib/lnet/node/lnet_control.hpp"
#include "lib/runtime/config/config_error.hpp"
#include "lib/runtime/control/verb_table.hpp"

namespace plnet::node {

// The errors of a document, with their places if the caller has the document.
[[nodiscard]] std::unexpected<runtime::VerbError> refuse(const runtime::ConfigErrors& errors,
                                                         bool with_place);
[[nodiscard]] runtime::VerbReply reply_of(Outcome<void> done);
// For a verb that is answered later.
[[nodiscard]] lnet::Reply<void> answer_of(runtime::VerbToken token);

}  // namespace plnet::node
