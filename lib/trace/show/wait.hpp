// SPDX-License-Identifier: BSD-3-Clause
// Waits of messages, from captures of states.
#pragma once

#include <string>

#include "lib/trace/record/record.hpp"

namespace plnet::trace {

// The line for a record of a wait.
[[nodiscard]] std::string wait_line_of(const Record& record);
[[nodiscard]] std::string wait_json_of(const Record& record);

}  // namespace plnet::trace
