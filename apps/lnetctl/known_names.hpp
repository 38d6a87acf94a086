// SPDX-License-Identifier: BSD-3-Clause
// Names that a node knows, for completion in a shell and at the prompt.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "apps/lnetctl/command_row.hpp"
#include "apps/manual/program_page.hpp"

namespace plnet::apps {

// `kind`: "nids", "nets" or "interfaces". One name a line, sorted; "" for other kinds, and if the
// node does not answer. Only names of letters, digits and .:@_- are in the result: it goes to a
// shell.
[[nodiscard]] std::string known_names(std::string_view kind, Session& session);
// The same names of the node that begin so; none for values that no node knows.
[[nodiscard]] std::vector<std::string> known_names(manual::Values values, std::string_view begun,
                                                   Session& session);

}  // namespace plnet::apps
