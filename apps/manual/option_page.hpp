// SPDX-License-Identifier: BSD-3-Clause
// Options and verbs of tables (lib/runtime/verbs) as parts of a page.
#pragma once

#include <span>
#include <vector>

#include "apps/manual/program_page.hpp"
#include "lib/runtime/verbs/verb_row.hpp"

namespace plnet::manual {

[[nodiscard]] std::vector<Option> options_of(std::span<const runtime::OptionRow> rows);
[[nodiscard]] Command command_of(const runtime::VerbRow& verb);

}  // namespace plnet::manual
