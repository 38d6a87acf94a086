// SPDX-License-Identifier: BSD-3-Clause
// Names that a node knows, for completion in a shell.
#pragma once

#include <string>
#include <string_view>

#include "apps/lnetctl/command_row.hpp"

namespace plnet::apps {

// `kind`: "nids", "nets" or "interfaces". One name a line, sorted; "" for other kinds, and if the
// node does not answer. Only names of letters, digits and .:@_- are in the result: it goes to a
// shell.
[[nodiscard]] std::string known_names(std::string_view kind, Session& session);

}  // namespace plnet::apps
